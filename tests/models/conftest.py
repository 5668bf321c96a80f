"""What is not collected."""

collect_ignore = ["odd_models.py"]  # it has no tests and no examples, and loads torch
