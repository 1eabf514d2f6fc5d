"""The terminal's tables: their numbers, their width, and nothing of the user's read as markup."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from pathlab.report.formats.terminal import render_summary
from pathlab.report.report_builder import gather_inputs
from pathlab.report.sections.notices import list_notices
from pathlab.report.text import render_trial
from tests.builders.results import SyntheticResults, make_quickstart
from tests.builders.trials import make_failed

KIB = 1024


def print_summary(results: SyntheticResults, width: int = 100) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    inputs = gather_inputs(results)
    render_summary(inputs.study, list_notices(inputs.study), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def print_trial(results: SyntheticResults, trial_id: int, *, series: bool = True) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    render_trial(results.records[trial_id - 1], results if series else None, trial_id, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_each_cell_is_one_whole_row_at_100_columns() -> None:
    results = make_quickstart()
    results.change_trials(window_granted_sender_bytes=212_992)
    lines = print_summary(results)
    assert max(map(len, lines)) <= 100
    rows = [line for line in lines if re.match(r" +[1248]  ", line)]
    assert len(rows) == 8
    assert not any("…" in row for row in rows)
    assert "64 KiB" in rows[0]
    assert "208 KiB/128 KiB" in rows[0]
    assert "13.1 Mbit/s" in rows[0]


def test_flags_are_one_line_and_provisional_medians_are_marked() -> None:
    results = make_quickstart(cycles=2)
    results.change_trials(flags=("lab", "lab-limited"))
    lines = print_summary(results, 80)
    assert [line for line in lines if line.startswith("Trials: ")] == ["Trials: 16 lab-limited."]
    assert sum("lab-limited" in line for line in lines) <= 3
    assert any("n = 2*" in line for line in lines) or any(line.endswith("  2*") for line in lines)
    assert any("provisional" in line for line in lines)
    assert any("38.6 Mbit/s" in line for line in lines)


def test_percentile_is_left_out_for_few_probes() -> None:
    text = print_trial(make_quickstart(cycles=1, levels=[(4, 256 * KIB)]), 1)
    loaded = next(line for line in text.splitlines() if line.strip().startswith("loaded"))
    assert loaded.split("1 of 20")[0].rstrip().endswith("–")  # 19 answered


def test_trial_without_series_still_prints() -> None:
    text = print_trial(make_quickstart(cycles=1), 1, series=False)
    assert "Stream " not in text
    assert "Throughput" in text


@pytest.mark.parametrize("reason", ["no route to [bold]host[/bold]", "cannot bind [/]"])
def test_failed_trial_says_why_and_takes_no_markup(reason: str) -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB)])
    results.records = [make_failed(results.records[0], stage="network", reason=reason)]
    assert f"failed (network): {reason}" in print_trial(results, 1, series=False)
