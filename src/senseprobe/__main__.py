"""`python -m senseprobe`."""

from senseprobe.cli import main

main()
