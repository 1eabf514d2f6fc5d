"""Programs that a release runs, and its errors: one line that names the culprit, one with the fix."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


class ReleaseError(Exception):
    """A release cannot be made; ``fix`` says what to do."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


def require_programs(packages: Mapping[str, str]) -> None:
    """Raise ReleaseError unless every program is here; ``packages`` has the Debian package of each."""
    missing = {name: package for name, package in packages.items() if shutil.which(name) is None}
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        wanted = " ".join(dict.fromkeys(missing.values()))
        raise ReleaseError(f"no {names} here, needed for a release", f"Debian: apt-get install {wanted}")


def run_program(
    command: Sequence[str | Path], *, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Run a program and return its output. Where it fails, print what it said and raise ReleaseError."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        print(done.stdout + done.stderr, end="", file=sys.stderr)
        name = " ".join([Path(command[0]).name, *(str(word) for word in command[1:4])])
        raise ReleaseError(
            f"'{name} ...' failed with status {done.returncode}; the reason is above",
            "remove the reason, and make the release again",
        )
    return done.stdout
