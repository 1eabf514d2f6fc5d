"""Checks of a host: what was found wraps beside its name, a command to copy stays on one line."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pathlab.report.host_text import render_check

FOUND = "windows up to 4 MiB can be requested; autotuning goes to 32 MiB received, 4 MiB sent"
FIX = "as root: sysctl -w net.core.rmem_max=16777216 net.core.wmem_max=16777216"


def render(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    render_check("limited", "windows", FOUND, FIX, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_was_found_wraps_beside_its_name(width: int) -> None:
    *found, fix = render(width)
    assert max(map(len, found)) <= width
    assert found[0].startswith("   less  windows             windows up to")
    assert all(line.startswith(" " * 29) for line in found[1:])
    assert " ".join(line[29:] for line in found) == FOUND
    assert fix.endswith(f"fix: {FIX}")
