"""Commands that draw a figure print its path last, on stderr beside JSON."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "command",
    [("lab", "show", "lan"), ("path", "local", "--no-capacity", "--method", "udp", "--flows", "1")],
    ids=["lab", "path"],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_the_path_of_a_figure_is_printed(command: tuple[str, ...], as_json: bool, tmp_path: Path) -> None:
    figure = tmp_path / "drawn.svg"
    options = ["--figure", str(figure), *(["--json"] if as_json else [])]
    done = subprocess.run(
        [sys.executable, "-m", "pathlab", *command, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert figure.read_text(encoding="utf-8").startswith("<?xml")
    printed, silent = (done.stderr, done.stdout) if as_json else (done.stdout, done.stderr)
    assert printed.splitlines()[-1] == str(figure)
    assert str(figure) not in silent
