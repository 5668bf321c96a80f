"""Commands on word senses: senses build, senses show, senses report, and wat."""

import typer

senses = typer.Typer(help="Make, look at and report embeddings of word senses.", no_args_is_help=True)
