"""Sample a release, ask people, agree, decide: the annotation bridge."""
