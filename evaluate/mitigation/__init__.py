"""Mitigation: directions in vectors, models and files without them, controls at random, and NLI models that read them.

Dev, Li, Phillips & Srikumar (2020) removed a direction from the input and read nli-occupation before and after. What is
removed, how, and what can still be read, stands in a `debias.json` beside the model, a part of its identity.
"""
