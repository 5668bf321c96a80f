"""The commands of this room, what they print, and when they are used."""

from senseprobe.cli.command import AddedCommand

COMMANDS: tuple[AddedCommand, ...] = ()
