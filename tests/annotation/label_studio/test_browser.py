"""The interface in a browser: what annotators see, and that their clicks come back as the answers that they mean."""

from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.annotation.label_studio.browser import Browser
from tests.annotation.label_studio.studio import RATERS, Client, Studio

from senseprobe.annotation.label_studio.exports import parse_export
from senseprobe.annotation.label_studio.interface import interface
from senseprobe.annotation.label_studio.local_server import Login
from senseprobe.annotation.project_folder import read_plan
from senseprobe.annotation.records import Plan

pytestmark = pytest.mark.system
Planned = Callable[..., Path]

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

    assert "The sentences state stereotypes, which are wrong and can hurt." in told
    assert "<b>Person</b> & 0 is a lazy nurse." in shown
    assert not [role for role in ("stereo", "anti") if role in shown.split()]
    assert marked == ["nurse", "nurse"]
    assert received.findings == ()
    (found,) = received.annotations
    assert found.answers == {**answers, "comment": "Zürich: <i>sic</i>"}
    assert (found.annotator, found.status) == (RATERS[0].email, "submitted")
