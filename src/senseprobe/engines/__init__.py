"""Who does numbered pieces of work: processes of this machine, or Ray. Engines know nothing of the work itself."""
