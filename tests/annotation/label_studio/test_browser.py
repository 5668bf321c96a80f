"""The interface in a browser: what annotators see, and that their clicks come back as the answers that they mean."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from label_studio_server import Login
from tests.annotation import given
from tests.annotation.label_studio.browser import Browser
from tests.annotation.label_studio.conftest import plan_of
from tests.annotation.label_studio.studio import RATERS, Client, Studio

from senseprobe.annotation.label_studio.exports import parse_export
from senseprobe.annotation.label_studio.interface import interface
from senseprobe.annotation.plan_file import hash_item, read_plan, write_plan
from senseprobe.annotation.records import Plan

pytestmark = pytest.mark.system
Planned = Callable[..., Path]
Opened = Callable[[str, int, int], tuple[Browser, Plan, Path]]

SUBMIT = "document.querySelector('button[name=submit]:not([disabled])')"
WARNING = "document.querySelector('.lsf-modal-ls__content')"
COMMENT = "document.querySelector('input[name=comment]')"


def log_in(browser: Browser, studio: Studio, who: Login) -> None:
    """Log in with the form."""
    browser.open(f"{studio.url}/user/login/")
    browser.write("document.querySelector('input[name=email]')", who.email)
    browser.write("document.querySelector('input[name=password]')", who.password)
    browser.click("document.querySelector('button[type=submit], input[type=submit]')")
    browser.wait("!location.pathname.startsWith('/user/login')")


def box(plan: Plan, question: str, position: int, value: str) -> str:
    """The box of a choice: controls stand on the page in the order that they have in the interface."""
    controls = [each.get("name") for each in ElementTree.fromstring(interface(plan)).iter("Choices")]  # noqa: S314
    number = controls.index(f"{question}-{position}" if position else question)
    return f"document.querySelectorAll('.lsf-choices')[{number}]?.querySelector('input[name=\"{value}\"]')"


def fill_in(browser: Browser, plan: Plan, answers: Mapping[str, str]) -> None:
    """Click on what answers, by question key, mean on the screen."""
    roles = [sentence.role for sentence in plan.items[0].sentences]
    for key, value in answers.items():
        question, _, role = key.partition(".")
        chosen = box(plan, question, roles.index(role) + 1 if role else 0, value)
        browser.click(chosen)
        browser.wait(f"{chosen}.checked")


def test_a_task_is_answered_by_clicks(studio: Studio, client: Client, planned: Planned, tmp_path: Path) -> None:
    """A warning, then sentences as text, with the target marked; choices that are clicked are what comes back."""
    folder = planned(1)
    project = client.ask("push", studio.url, folder=folder)["project"]
    plan = read_plan(folder)
    answers = {"sense": "unsure", "stereotype.stereo": "stereotype", "stereotype.anti": "neither"}
    answers |= {"natural.stereo": "yes", "natural.anti": "no", "withhold": "yes"}
    with Browser(tmp_path / "profile") as browser:
        log_in(browser, studio, RATERS[0])
        browser.open(f"{studio.url}/projects/{project}/data?labeling=1")
        shown = browser.wait("document.body.innerText.includes('lazy nurse') && document.body.innerText")
        marked = browser.ask("[...document.querySelectorAll('mark')].map(e => e.innerText)")
        told = browser.wait(f"{WARNING}?.innerText")
        browser.click(f"{WARNING}.querySelector('button')")
        browser.wait(f"!{WARNING}")
        fill_in(browser, plan, answers)
        browser.write(COMMENT, "Zürich: <i>sic</i>")
        browser.press_enter()
        browser.click(SUBMIT)
        browser.wait(f"!({SUBMIT})")
    pulled = client.ask("pull", studio.url, folder=folder)
    received = parse_export(Path(pulled["path"]).read_bytes(), plan, lambda who: pulled["people"][who])

    assert "Stereotypes are wrong and can hurt." in told
    assert "<b>Person</b> & 0 is a lazy nurse." in shown
    assert not [role for role in ("stereo", "anti") if role in shown.split()]
    assert marked == ["nurse", "nurse"]
    assert received.findings == ()
    (found,) = received.annotations
    assert found.answers == {**answers, "comment": "Zürich: <i>sic</i>"}
    assert (found.annotator, found.status) == (RATERS[0].email, "submitted")


# --- what the screen looks like (issue 15) --------------------------------------------------------------------------

CONTRAST = ("sense", "stereotype", "whom", "natural", "withhold", "comment")
SEEN = """(element => {
    const box = element.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const covers = element.contains(top) || !!top?.closest('label')?.contains(element);
    return box.width > 0 && box.right <= innerWidth && covers;
})"""
FIELDS = "[...document.querySelectorAll('.task input, .task textarea')].filter(e => e.offsetParent)"
SCROLLER = "document.querySelector('.lsf-main-content')"


def everything(kind: str, title: str) -> Plan:
    """A plan that asks all that there is to ask of a kind of rows, of sentences of usual length."""
    premise, hypothesis = "The accountant ate a bagel on the train.", "The woman ate a bagel on the train."
    if kind == "contrast":
        made = replace(plan_of(title, 2), questions=CONTRAST, groups=True, guidelines="# Example 1\n- “Yes” if so.")
    else:
        made = given.plan(2, kind, project=title, groups=True)
        roles = {"premise": premise, "hypothesis": hypothesis}
        items = [
            replace(item, sentences=tuple(replace(each, text=roles[each.role]) for each in item.sentences))
            for item in made.items
        ]
        made = replace(made, items=tuple(replace(item, content=hash_item(item)) for item in items))
    return made


@pytest.fixture
def opened(request: pytest.FixtureRequest, studio: Studio, client: Client, tmp_path: Path) -> Iterator[Opened]:
    """What pushes a plan that asks everything, and opens its first task at a size, after what is read before it."""
    with Browser(tmp_path / "profile") as browser:
        log_in(browser, studio, RATERS[0])

        def open_(kind: str, width: int, height: int) -> tuple[Browser, Plan, Path]:
            plan = everything(kind, f"{kind} {request.node.name}"[:50])
            folder = tmp_path / kind
            write_plan(folder, plan)
            project = client.ask("push", studio.url, folder=folder)["project"]
            browser.resize(width, height)
            browser.open(f"{studio.url}/projects/{project}/data?labeling=1")
            browser.wait("!!document.querySelector('.task mark')")
            browser.wait(f"{WARNING}?.innerText")
            return browser, plan, folder

        yield open_


def close_instruction(browser: Browser) -> None:
    """Close what is read before the first task."""
    browser.click(f"{WARNING}.querySelector('button')")
    browser.wait(f"!{WARNING}")


@pytest.mark.parametrize("kind", ["contrast", "inference"])
def test_all_is_on_one_screen(opened: Opened, kind: str) -> None:
    """At 1280 by 900 nothing is scrolled, also where every question that follows an answer is there."""
    browser, plan, _ = opened(kind, 1280, 900)
    close_instruction(browser)
    for position in (1, 2) if kind == "contrast" else (0,):
        browser.click(box(plan, "stereotype", position, "stereotype"))
    browser.wait(f"{FIELDS}.filter(e => e.name.startsWith('whom')).length === {2 if kind == 'contrast' else 1}")
    shown = browser.ask(f"[{SCROLLER}.scrollHeight, {SCROLLER}.clientHeight, document.body.scrollWidth]")
    hidden = browser.ask(f"{FIELDS}.filter(e => !{SEEN}(e)).map(e => e.name)")
    sentences = browser.ask(f"[...document.querySelectorAll('.task mark')].every({SEEN})")

    assert shown[0] <= shown[1]
    assert shown[2] <= 1280
    assert (hidden, sentences) == ([], True)


@pytest.mark.parametrize("kind", ["contrast", "inference"])
def test_a_narrow_screen_is_readable(opened: Opened, kind: str) -> None:
    """At 390 px nothing is cut off, the sentences stay in view to the end, and letters are of 15 px or more."""
    browser, plan, _ = opened(kind, 390, 844)
    told = browser.ask(f"[{WARNING}.getBoundingClientRect().left, {WARNING}.getBoundingClientRect().right]")
    close_instruction(browser)
    browser.click(box(plan, "natural", 2, "yes"))
    browser.wait(f"!!{SUBMIT}")  # the bar has more buttons then
    browser.ask(f"{SCROLLER}.scrollTo(0, {SCROLLER}.scrollHeight)")
    browser.wait(f"{SCROLLER}.scrollTop > 200")
    wide = browser.ask(
        "[...document.querySelectorAll('.task *')].filter(e => e.getBoundingClientRect().right > 390).length"
    )
    letters = browser.ask(
        "Math.min(...[...document.querySelectorAll('.task p, .task label, .task .question h4')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    sentences = browser.ask(f"[...document.querySelectorAll('.task .sentence p')].every({SEEN})")
    buttons = browser.ask(
        "[...document.querySelectorAll('.lsf-controls button')].every(e => e.getBoundingClientRect().right <= 390)"
    )

    assert (told[0] >= 0, told[1] <= 390) == (True, True)
    assert wide == 0
    assert letters >= 15
    assert (sentences, buttons) == (True, True)
    assert browser.ask("document.documentElement.scrollWidth") <= 390


def test_keys_answer(opened: Opened) -> None:
    """The same keys in projects of two kinds: q is a stereotype, e neither; z and c are natural English."""
    for kind in ("contrast", "inference"):
        browser, plan, _ = opened(kind, 1280, 900)
        close_instruction(browser)
        for key, question, position, value in [("q", "stereotype", 1, "stereotype"), ("c", "natural", 2, "yes")]:
            browser.press(key)
            browser.wait(
                f"{box(plan, question, position if kind == 'contrast' or position == 2 else 0, value)}.checked"
            )


def test_of_whom_is_asked_of_stereotypes_alone(opened: Opened) -> None:
    """Not after "the opposite"; and it goes again where the answer is another."""
    browser, plan, _ = opened("contrast", 1280, 900)
    close_instruction(browser)
    asked = f"{FIELDS}.map(e => e.name).filter(name => name.startsWith('whom')).join()"
    browser.click(box(plan, "stereotype", 1, "stereotype"))
    browser.wait(f"{asked} === 'whom-1'")
    browser.click(box(plan, "stereotype", 1, "anti-stereotype"))
    browser.wait(f"{asked} === ''")


def test_groups_are_asked_for_once(opened: Opened, studio: Studio, client: Client) -> None:
    """The instruction asks; a task has no question about groups until somebody unfolds it, and what they say counts."""
    browser, plan, folder = opened("contrast", 1280, 900)
    told = browser.ask(f"{WARNING}.innerText")
    close_instruction(browser)
    consent = f"{FIELDS}.filter(e => e.closest('.ant-collapse')).length"
    before = browser.ask(consent)
    fill_in(browser, plan, {"sense": "yes", "stereotype.stereo": "neither", "stereotype.anti": "neither"})
    fill_in(browser, plan, {"natural.stereo": "yes", "natural.anti": "yes"})
    browser.click("document.querySelector('.ant-collapse-header')")
    browser.wait(f"{consent} === 1 && !document.querySelector('.ant-motion-collapse')")  # it moves while it unfolds
    browser.click("document.querySelector('.ant-collapse input')")
    browser.wait(f"{consent} === 2")
    browser.write("document.querySelector('input[name=groups]')", "Women, nurses")
    browser.press_enter()
    browser.click(SUBMIT)
    browser.wait(f"!({SUBMIT})")
    browser.wait("!!document.querySelector('.task mark')")
    pulled = client.ask("pull", studio.url, folder=folder)
    received = parse_export(Path(pulled["path"]).read_bytes(), plan, str)

    assert "which groups you belong to" in told
    assert "Example 1" in told
    assert (before, browser.ask(consent)) == (0, 0)
    assert [each.groups for each in received.annotations] == [("nurses", "women")]
