"""Completions of the shells, where packages put them below /usr/share."""

from __future__ import annotations

import os
import sys

from release.commands import run_program
from release.commit import Commit

PLACES = {
    "bash": "bash-completion/completions/pathlab",
    "zsh": "zsh/site-functions/_pathlab",
    "fish": "fish/vendor_completions.d/pathlab.fish",
}


def make_completions(commit: Commit) -> dict[str, bytes]:
    """Each shell's script, by its path below share."""
    environment = {**os.environ, **commit.environment, "PYTHONPATH": str(commit.folder)}
    command = [sys.executable, "-m", "pathlab", "completion"]
    return {
        place: run_program([*command, shell], folder=commit.folder, environment=environment).encode()
        for shell, place in PLACES.items()
    }
