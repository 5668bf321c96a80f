"""Sphinx makes the site of these pages: `make site`."""

import tomllib
from pathlib import Path

_about = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = _about["name"]
author = "the senseprobe developers"
copyright = f"{author}, {_about['license']}"  # noqa: A001 - Sphinx asks for this name
version = release = _about["version"]
extensions = ["myst_parser"]
myst_heading_anchors = 4
nitpicky = True
html_theme = "furo"
html_title = f"{project} {version}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Every kind of token has a contrast of 4.5 or more; a test computes it.
pygments_style = "a11y-light"
pygments_dark_style = "github-dark-high-contrast"
