"""The command line (`application.py`); rooms of ours and plug-ins add commands (`command.py`)."""
