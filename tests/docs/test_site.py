"""The site that Sphinx makes of docs/: it is whole, and readable on a phone and on a desk, in both schemes.

Expected values: 4.5 is the contrast that WCAG 2 asks of text, by its own formula.
"""

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pygments.styles import get_style_by_name  # type: ignore[import-untyped]
from tests.annotation.label_studio.browser import Browser
from tests.docs.pages import DOCS
from tests.reporting.test_page_layout import show

PAGES = sorted(path.stem for path in DOCS.glob("*.md"))
CONTRAST = 4.5

LOOK = """
(() => {
  const room = document.documentElement.clientWidth, content = document.querySelector(".content");
  const described = (part) => part.outerHTML.slice(0, 160);
  const scrolls = (part) => /auto|scroll/.test(getComputedStyle(part).overflowX) && !part.matches(".content");
  const scroller = (part) => part && (scrolls(part) ? part : scroller(part.parentElement));
  const drawers = ".sidebar-drawer, .toc-drawer, .visually-hidden, script, style";
  const parts = [...document.body.querySelectorAll("*")].filter((part) => !part.closest(drawers));
  const right = (part) => part.getBoundingClientRect().right, hides = (part) => getComputedStyle(part).overflowX;
  const outside = parts.filter((part) => right(part) > room + 1 && !scroller(part.parentElement));
  const narrow = parts.filter((part) => part.clientWidth && part.scrollWidth > part.clientWidth + 1);
  const cut = narrow.filter((part) => /hidden|clip/.test(hides(part)));
  return JSON.stringify({
    outside: outside.map(described), cut: cut.map(described), blocks: document.querySelectorAll("pre").length,
    wide: document.documentElement.scrollWidth - room, content: content.scrollWidth - content.clientWidth,
  });
})()
"""
"""What is outside of the page or cut off, and by how many pixels the page and its text scroll sideways."""

COLOURS = """
JSON.stringify([...document.querySelectorAll(".highlight pre, .highlight pre span, article code, article p")].map(
  (part) => {
    const colour = (name) => getComputedStyle(part)[name].match(/[\\d.]+/g).map(Number);
    const ground = (at) => {
      const found = at ? getComputedStyle(at).backgroundColor.match(/[\\d.]+/g).map(Number) : [255, 255, 255];
      return found.length === 4 && found[3] === 0 ? ground(at.parentElement) : found;
    };
    return [colour("color"), ground(part), part.outerHTML.slice(0, 80)];
  }
))
"""
"""The colour of text and of what is behind it, of code and of the text around it."""


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The ratio of contrast of WCAG 2.2, between two colours of sRGB, from 0 to 255."""
    dark, light = sorted(_luminance(colour) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: tuple[float, ...]) -> float:
    shares = (part / 255 for part in colour[:3])
    linear = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _colour(digits: str) -> tuple[float, ...]:
    digits = digits.lstrip("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    return tuple(int(digits[at : at + 2], 16) for at in (0, 2, 4))


@pytest.mark.parametrize("scheme", ["pygments_style", "pygments_dark_style"])
def test_code_has_contrast(scheme: str) -> None:
    """Every kind of token against the background of blocks, or against its own."""
    style = get_style_by_name(runpy.run_path(str(DOCS / "conf.py"))[scheme])
    colours = {
        str(token): contrast(_colour(about["color"]), _colour(about["bgcolor"] or style.background_color))
        for token, about in style
        if about["color"]
    }

    assert len(colours) > 20
    assert {token: ratio for token, ratio in colours.items() if ratio < CONTRAST} == {}


def test_contrast_is_that_of_the_standard() -> None:
    """Black on white is 21; #767676 is the lightest grey on white that passes, as WCAG's own examples have it."""
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast(_colour("#767676"), (255, 255, 255)) == pytest.approx(4.54, abs=0.005)
    assert contrast(_colour("#777"), (255, 255, 255)) < CONTRAST


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The build of the site, as `make site` does it, in a folder that is the last of its arguments."""
    folder = tmp_path_factory.mktemp("site")
    build = ["-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-d", str(folder / "trees"), str(DOCS)]
    return subprocess.run([sys.executable, *build, str(folder)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(built: subprocess.CompletedProcess[str]) -> Path:
    """The folder of the site."""
    return Path(built.args[-1])


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(built: subprocess.CompletedProcess[str], site: Path) -> None:
    """And no page of it asks another machine for anything."""
    assert (built.returncode, built.stderr) == (0, "")
    pages = [path.read_text(encoding="utf-8") for path in site.glob("*.html")]
    assert len(pages) > len(PAGES)
    assert [
        found for page in pages for found in re.findall(r'<(?:script|link|img)\b[^>]*?(?:src|href)="https?:', page)
    ] == []


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.do("Page.enable")
        yield opened


@pytest.mark.system
@pytest.mark.parametrize("width", [390, 1280])
def test_layout(browser: Browser, site: Path, width: int) -> None:
    """Blocks of code and tables scroll by themselves; the page does not, and nothing of it is outside or cut off."""
    blocks = 0
    for page in PAGES:
        show(browser, site / f"{page}.html", width)
        seen = json.loads(browser.ask(LOOK))
        blocks += seen.pop("blocks")
        assert seen == {"outside": [], "cut": [], "wide": 0, "content": 0}, page
    assert blocks > 100, "they were looked at"


@pytest.mark.system
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_code_have_contrast(browser: Browser, site: Path, scheme: str) -> None:
    """As a browser paints them, after all style sheets; the two schemes are two."""
    for page in ("index", "start", "start-score", "plugins", "authoring"):
        show(browser, site / f"{page}.html", 1280, scheme)
        painted = json.loads(browser.ask(COLOURS))
        assert len(painted) > 3
        assert [part for colour, ground, part in painted if contrast(colour, ground) < CONTRAST] == [], page
        assert {sum(ground) > 384 for _, ground, _ in painted} == {scheme == "light"}


BAD = """<!doctype html><meta charset="utf-8">
<style>body { margin: 0 } .content { overflow-x: auto; width: 100% }</style>
<div class="content"><p style="width: 99px; overflow: hidden; white-space: nowrap">cut off, as there is no room</p>
<pre style="overflow: auto">a line that scrolls by itself, as it is longer than a telephone is wide, as it may</pre>
<pre>one that does not, so that the text around it has to scroll sideways, which nobody expects</pre></div>
<div class="highlight"><pre style="color: #888; background: #f0f0f0">grey</pre></div><article><p>black</p></article>"""


@pytest.mark.system
def test_what_is_looked_for_is_seen(browser: Browser, tmp_path: Path) -> None:
    """A page with one mistake of each kind has each of them found, and nothing else."""
    (tmp_path / "bad.html").write_text(BAD, encoding="utf-8")
    show(browser, tmp_path / "bad.html", 390)
    seen = json.loads(browser.ask(LOOK))
    texts = {kind: [re.sub("<[^>]*>", "", part)[:7] for part in seen[kind]] for kind in ("outside", "cut")}
    assert texts == {"outside": [], "cut": ["cut off"]}
    assert seen["content"] > 0
    low = [part for colour, ground, part in json.loads(browser.ask(COLOURS)) if contrast(colour, ground) < CONTRAST]
    assert [re.sub("<[^>]*>", "", part) for part in low] == ["grey"]
