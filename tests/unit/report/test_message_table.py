"""Messages on a terminal: one table for each path, whose rows say what varies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from pathlab.store.records import TrialRecord
from tests.builders.messages import RATES, TCP, Setup, make_message_results
from tests.builders.results import SyntheticResults
from tests.unit.report.test_text import print_summary

BATCHED = {"batch_bytes": 65536}


def make_rates(cycles: int, *, sizes: tuple[int, ...] = (64, 1024)) -> SyntheticResults:
    """Messages without replies over one host and over two; all trials of the latter were lab-limited."""
    host, process = ({"reply": False, "placement": name} for name in ("host", "process"))
    setups = [Setup({**place, **batch}) for place in (host, process) for batch in ({}, BATCHED)]
    results = make_message_results(setups, sizes=sizes, rates=(None,), cycles=cycles)

    def change(record: TrialRecord) -> TrialRecord:
        limited = results.plan()[record.plan_row].settings["placement"] == "host"
        flags = ("lab-limited", "host-limited") if limited else ("host-limited",)
        return replace(record, flags=flags, round_trips=None, round_trip_median_ns=None)

    results.change_trials(change)
    return results


def test_round_trips_are_those_of_trials_that_kept_their_rate() -> None:
    results = make_message_results((TCP,), sizes=(64,), rates=(None, RATES[0], RATES[-1]), cycles=2)
    lines = print_summary(results)
    start = next(number for number, line in enumerate(lines) if line.strip().startswith("Offered"))
    assert lines[start].split() == ["Offered", "Achieved", "Median", "p99", "p99.9", "CPU/message", "n"]
    closed, kept, missed = (line.split() for line in lines[start + 1 : start + 4])
    assert closed[:4] == ["one", "at", "a", "time"]
    assert kept[:2] == ["1", "k/s"]
    assert missed[:4] == ["200", "k/s", "120", "k/s"]
    assert missed[4:7] == ["–"] * 3
    assert missed[-3:] == ["0", "of", "2"]
    assert "Trials: 2 rate-missed." in lines


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_messages_is_too_wide(width: int) -> None:
    for results in (make_rates(8), make_message_results(cycles=8, sizes=(64,))):
        lines = print_summary(results, width)
        assert [line for line in lines if cell_len(line) > width] == []
        assert "".join(lines).count("Combination") == 1
