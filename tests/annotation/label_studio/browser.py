"""Chromium without a window, driven over pipes by its DevTools protocol: what is clicked is what people click."""

import json
import os
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    " --disable-sync --disable-quic --window-size=1400,1800 --remote-debugging-pipe"
)


class Browser:
    """A page; it is closed when its block ends."""

    def __init__(self, profile: Path) -> None:
        asked, ours_out = os.pipe()
        ours_in, told = os.pipe()
        command = f'exec chromium {FLAGS} --user-data-dir="$0" 3<&{asked} 4>&{told}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, profile], pass_fds=(asked, told), stderr=subprocess.DEVNULL
        )
        os.close(asked)
        os.close(told)
        self._out, self._in = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")
        self._number, self._rest, self._session = 0, b"", ""
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._in.close()

    def do(self, method: str, **parameters: object) -> dict[str, Any]:
        """What the browser answers to a command of its protocol."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        command = {"id": self._number, "method": method, "params": parameters, **session}
        self._out.write(json.dumps(command).encode() + b"\0")
        self._out.flush()
        while (told := self._read()).get("id") != self._number:
            pass
        assert "error" not in told, told
        return dict(told["result"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._in.fileno(), 1 << 16)
            assert more, "the browser ended"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(line))

    def open(self, url: str) -> None:
        """Go to a page."""
        self.do("Page.navigate", url=url)

    def ask(self, script: str) -> Any:  # noqa: ANN401 - any JSON
        """What an expression of JavaScript gives; None where it throws, as on a page that is just changing."""
        told = self.do("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return told["result"].get("value")

    def wait(self, script: str, seconds: float = 60) -> Any:  # noqa: ANN401 - any JSON
        """What an expression gives once that is something; AssertionError, with the page's text, where it never is."""
        until = time.monotonic() + seconds
        while not (found := self.ask(script)):
            assert time.monotonic() < until, f"{script}: {self.ask('document.body.innerText')}"
            time.sleep(0.1)
        return found

    def click(self, element: str) -> None:
        """Click in the middle of an element that an expression gives, once it is there."""
        self.wait(f"(() => {{ const e = {element}; if (e) e.scrollIntoView({{block: 'center'}}); return !!e }})()")
        middle = "[r.x + r.width / 2, r.y + r.height / 2]"
        x, y = self.ask(f"(() => {{ const r = ({element}).getBoundingClientRect(); return {middle} }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, element: str, text: str) -> None:
        """Click on a field and type."""
        self.click(element)
        self.do("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size, in pixels of CSS."""
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def press(self, key: str) -> None:
        """Press a letter or digit, wherever the cursor is."""
        code = f"Digit{key}" if key.isdigit() else f"Key{key.upper()}"
        for kind in ("keyDown", "keyUp"):
            number = ord(key.upper())
            self.do("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number, text=key)

    def press_enter(self) -> None:
        """Press the key where the cursor is."""
        for kind in ("keyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
