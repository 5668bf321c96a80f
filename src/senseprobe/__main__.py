"""`python -m senseprobe`."""

from senseprobe.cli.application import main

main()
