"""What `senseprobe init` and `senseprobe new` write: a project, and templates to be filled in."""

from senseprobe.scaffold.template import add, render_steps, start
from senseprobe.scaffold.word_list import add_list

__all__ = ["add", "add_list", "render_steps", "start"]
