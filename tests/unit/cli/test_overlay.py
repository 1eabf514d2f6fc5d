"""Own results compared with a published table, on the terminal."""

import io

from rich.console import Console

from pathlab.cli.overlay import render_overlays
from tests.unit.study.comparison.test_references import COLUMN, NAME, make_messages


def test_each_level_has_both_sides_and_a_dash_for_what_is_missing() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=140, color_system=None)
    render_overlays(NAME, make_messages(7).against_reference(NAME, COLUMN), console)
    text = screen.getvalue()
    assert f"{NAME}, {COLUMN}, compared with 1 × 64 KiB: west → east" in text
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()[:1].isdigit()}
    assert rows["4"] == ["4", "7", "120", "Mbit/s", "116–124", "Mbit/s†", "60", "Mbit/s", "2", "1.79–2.25†"]
    assert rows["8"][1:4] == ["–", "–", "–"]
    assert rows["100"][-3:] == ["–", "–", "–"]


def test_without_a_level_in_common_a_line_says_so() -> None:
    screen = io.StringIO()
    render_overlays(NAME, (), Console(file=screen, width=140, color_system=None))
    assert "nothing to compare" in screen.getvalue()
