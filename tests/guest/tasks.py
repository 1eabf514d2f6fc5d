"""Runs inside the guest: every task in turn; prints one line of JSON with their answers or errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from pathlab.errors import HostError
from tests.guest import netem_task, pacing_task

TASKS: dict[str, Callable[[], dict[str, Any]]] = {"netem": netem_task.measure, "pacing": pacing_task.measure}


def main() -> None:
    answers = {}
    for name, measure in TASKS.items():
        try:
            answers[name] = measure()
        except (HostError, OSError, subprocess.SubprocessError, KeyError) as error:
            answers[name] = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
