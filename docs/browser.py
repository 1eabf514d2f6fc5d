"""A headless Chromium, controlled over a pipe by the DevTools protocol: standard library only."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

DEADLINE_S = 120.0
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio"),
    *("--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND"),
)


def find_chromium() -> str | None:
    """The browser's program; None where there is none."""
    return next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)


class Browser:
    """One Chromium with one page; a context manager that ends it and leaves nothing behind.

    ``complaints``: every exception, console error and log entry of the page. ``requests``: every address that
    it requested.
    """

    def __init__(self, program: str) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._profile = tempfile.TemporaryDirectory(prefix="pathlab-browser-", ignore_cleanup_errors=True)
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        # the browser reads descriptor 3 and writes descriptor 4
        script = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = ["bash", "-c", script, program, *FLAGS, f"--user-data-dir={self._profile.name}"]
        self._process = subprocess.Popen(
            [*command, "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._number = 0
        self._rest = b""
        self._session = ""
        self._events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        os.close(self._from)
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(DEADLINE_S)
        self._profile.cleanup()

    def open(
        self, page: Path, *, width: int = 1280, height: int = 900, phone: bool = False, fragment: str = ""
    ) -> None:
        """Show a page of this machine at that size and wait until it is loaded."""
        self.complaints.clear()
        self.requests.clear()
        self._events.clear()
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        loader = self.ask("Page.navigate", url=page.resolve().as_uri() + fragment)["loaderId"]
        self._wait_for("Page.lifecycleEvent", name="load", loaderId=loader)  # not that of the page before

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited if it is a promise. Raises AssertionError."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def capture(self, *, scale: float = 1.0) -> bytes:
        """What the window shows now, as PNG with ``scale`` pixels for each of the page's."""
        width, height = self.evaluate("[window.innerWidth, window.innerHeight]")
        left, top = self.evaluate("[window.scrollX, window.scrollY]")
        clip = {"x": left, "y": top, "width": width, "height": height, "scale": scale}
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", clip=clip)["data"])

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command; raises AssertionError for a refusal."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        limit = time.monotonic() + DEADLINE_S
        while True:
            found = self._read(limit)
            if found.get("id") == self._number:
                assert "error" not in found, f"{method}: {found['error']}"
                answer: dict[str, Any] = found["result"]
                return answer

    def _wait_for(self, method: str, **parameters: str) -> None:
        limit = time.monotonic() + DEADLINE_S
        while not any(
            event["method"] == method and parameters.items() <= event["params"].items()
            for event in self._events
        ):
            self._read(limit)

    def _read(self, limit: float) -> dict[str, Any]:
        """The next message; what the page complains of and asks for is noted."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, limit - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._from, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self._events.append(message)
            self._note(message["method"], message["params"])
        return message

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(str(details.get("exception", {}).get("description") or details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(one.get("value", one)) for one in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
