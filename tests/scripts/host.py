"""The explorer's scripts without a browser: functions of theirs are called in one process of deno."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pathlab import web
from pathlab.report.explorer.page import BUNDLE, read_assets

HOST, WEB = Path(__file__).with_name("host.js"), Path(web.__file__).parent
NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class ScriptError(Exception):
    """What a script threw."""


class ScriptHost:
    """All scripts of the page in their order, in a world that has no page; a context manager that ends it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "deno", "run", "--quiet", "--no-remote", f"--allow-read={WEB}", str(HOST)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def load(self) -> None:
        """Run the scripts anew, as a page that was just opened does."""
        self._ask({"load": read_assets()[BUNDLE].content.decode()})

    def evaluate(self, function: str, argument: Any = None) -> Any:
        """What a JavaScript function gives for the argument, awaited. Raises ScriptError.

        Typed arrays and maps become lists.
        """
        return self._ask({"call": function, "argument": argument})

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request, allow_nan=False).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "deno has ended"
        answer = json.loads(line, object_hook=_read_number)
        if "error" in answer:
            raise ScriptError(answer["error"])
        return answer.get("value")


def _read_number(found: dict[str, Any]) -> Any:
    return NUMBERS[found["$number"]] if found.keys() == {"$number"} else found
