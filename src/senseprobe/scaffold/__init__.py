"""What `senseprobe init` and `senseprobe new` write: a project, and templates with comments that lint clean."""

from senseprobe.scaffold.template import add, start

__all__ = ["add", "start"]
