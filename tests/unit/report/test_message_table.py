"""Messages on a terminal: one table for each path, whose rows say what varies."""

from __future__ import annotations

import re
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


def test_rates_are_one_table_of_a_path_with_what_varies() -> None:
    lines = print_summary(make_rates(2))
    assert len([line for line in lines if line.startswith("Messages: west → east")]) == 1
    start = next(number for number, line in enumerate(lines) if line.split()[:2] == ["Size", "Combination"])
    rows = [line.split("  ") for line in lines[start + 1 : start + 9]]
    found = [[part.strip() for part in row if part] for row in rows]
    assert [(size, name, n) for size, name, *_, n in found] == [
        (size, f"tcp, {place}{batch}", f"2{mark}")
        for size in ("64 B", "1 KiB")
        for place, mark in (("one host", ""), ("two hosts", "*"))
        for batch in ("", ", batch 64 KiB")
    ]
    assert "n*: provisional" in " ".join(lines)
    assert "Trials: 16 host-limited, 8 lab-limited." in lines
    assert "dRTT" not in "".join(lines)


def test_an_interval_is_shown_where_there_are_trials_for_it() -> None:
    assert "95 % CI" not in "".join(print_summary(make_rates(2)))
    lines = print_summary(make_rates(8), width=140)
    (heading,) = [line for line in lines if line.split()[:2] == ["Size", "Combination"]]
    assert re.search(r"Messages +95 % CI +Throughput +CPU/message +n$", heading)
    assert all("–" not in line for line in lines if "two hosts" in line)  # provisional


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


def test_of_many_sizes_some_are_shown() -> None:
    lines = print_summary(make_rates(1, sizes=tuple(2**power for power in range(4, 14))), width=120)
    sizes = [line.split("  ")[0].strip() for line in lines if "host" in line and "batch" not in line]
    shown = [line for line in lines if "tcp, " in line]
    assert len(shown) <= 25
    assert "16 B" in "".join(shown)
    assert "8 KiB" in "".join(shown)
    assert sizes
    assert "16 more rows: pathlab analyze RESULTS --only message_rates" in lines


def test_a_warning_names_what_its_combinations_share() -> None:
    lines = " ".join(print_summary(make_rates(2), width=300))
    assert "! With placement host the machine could not keep up with the emulation." in lines
    assert "! In all 8 combinations a host's CPU limited the rate." in lines
    assert "! All combinations have only 2 trials; a 95 % confidence interval needs 6." in lines
    assert "paths" not in lines


def test_a_warning_on_unlike_combinations_names_some_or_counts_them() -> None:
    def warn(*numbers: int) -> str:
        results = make_rates(1)
        results.change_trials(
            lambda record: replace(record, flags=("over-line-rate",) if record.plan_row in numbers else ())
        )
        return " ".join(print_summary(results, width=300))

    # rows 0 to 7: two hosts, unbatched and batched, then one host; each with 64 B and 1 KiB
    assert "! With message 64 B, batch none, placement host trials counted more" in warn(0)
    unlike = "! With message 64 B, batch none, placement host; message 1 KiB, batch 64 KiB, placement process"
    assert unlike in warn(0, 7)
    assert "! In 5 of 8 combinations trials counted more" in warn(0, 1, 2, 4, 7)
