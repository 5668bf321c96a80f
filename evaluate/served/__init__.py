"""Models behind an OpenAI-compatible address: what is asked over the wire, what is believed, and what is kept."""
