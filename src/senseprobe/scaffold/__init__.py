"""What `senseprobe init` and `senseprobe new` write: a project, and templates to be filled in."""

from senseprobe.scaffold.template import add, start

__all__ = ["add", "start"]
