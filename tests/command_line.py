"""The command line, called in this process: for all that needs no process, terminal or signal of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from pathlab.cli.main import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str


def call(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> Said:
    """Run ``pathlab ARGUMENTS`` from the arguments to the exit status."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return Said(status=ended.value.code, out=printed.out, err=printed.err)


def call_lines(
    arguments: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str], list[str]]:
    """The same as exit status, lines of stdout and lines of stderr."""
    said = call(arguments, capsys)
    return said.status, said.out.splitlines(), said.err.splitlines()
