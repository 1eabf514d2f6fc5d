"""The terminal's tables: their numbers, their width, and nothing of the user's read as markup."""

from __future__ import annotations

import io
import re
from dataclasses import replace

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


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("cycles", [2, 6])
def test_the_answer_comes_first_and_the_rest_fits_a_screen(cycles: int, width: int) -> None:
    lines = print_summary(make_quickstart(cycles=cycles), width)
    assert lines[0].startswith(("Use 1 stream", "Tentatively, use 1 stream"))
    assert max(map(len, lines)) <= width
    if width >= 80:
        assert len(lines) <= 24 - len(("Report:", "its path", "the prompt"))
    text = "\n".join(lines)
    assert text.count("Confidence:") == 1
    assert "a 95 % confidence interval needs" not in text
    assert "Granted: Linux reports double the usable size." in " ".join(text.split())


def test_flags_are_one_line_and_provisional_medians_are_marked() -> None:
    results = make_quickstart(cycles=2)
    results.change_trials(flags=("lab", "lab-limited"))
    lines = print_summary(results, 80)
    assert [line for line in lines if line.startswith("Trials: ")] == ["Trials: 16 lab-limited."]
    assert sum("lab-limited" in line for line in lines) <= 3
    assert any("n = 2*" in line for line in lines) or any(line.endswith("  2*") for line in lines)
    assert any("provisional" in line for line in lines)
    assert any("38.6 Mbit/s" in line for line in lines)


def test_failed_cells_are_marked() -> None:
    results = make_quickstart()
    results.records[0] = make_failed(results.records[0])
    text = "\n".join(print_summary(results))
    assert "1 failed" in text
    assert "! 1 of 16 trials failed" in text


def test_warnings_keep_whole_sentences_and_the_remedy() -> None:
    environment = {"fallback": "the kernel refused, e.g. by policy. Use sudo."}
    results = make_quickstart(cycles=2, environment=environment)
    del results.records[-1]
    results.change_trials(flags=("lab", "lab-limited"), window_granted_receiver_bytes=65_536)
    text = " ".join(" ".join(print_summary(results)).split())
    assert "! Loopback fallback: the kernel refused, e.g. by policy. Use sudo. The numbers describe" in text
    assert (
        "! In all 8 combinations the machine could not keep up with the emulation. "
        "Repeat the run on an idle machine (--wait-idle 2m)." in text
    )
    assert "Raise net.core.rmem_max and net.core.wmem_max on both hosts" in text
    assert "planned trials have no result. 'pathlab run' on the same campaign measures them." in text


def test_several_paths_are_told_apart() -> None:
    results = make_quickstart()
    back = [replace(record, path_source="east", path_destination="west") for record in results.records]
    results.records += back
    text = "\n".join(print_summary(results))
    assert "east → west: Tentatively, use 1 stream" in text
    assert "west → east: Tentatively, use 1 stream" in text


def test_trial_shows_streams_windows_rtts_and_loss() -> None:
    results = make_quickstart(cycles=1, levels=[(4, 256 * KIB)])
    text = print_trial(results, 1)
    streams = results.series(1, "receiver_intervals")
    steady = streams[streams["phase"] == "steady"].groupby("stream")["bytes"].sum()
    for stream, received in steady.items():
        row = next(line for line in text.splitlines() if line.split()[:1] == [str(stream)])
        assert f"{received / 1e6:.2f} MB" in row
        assert f"{received * 8 / 3 / 1e6:.3g} Mbit/s" in row
        assert f"{100 * received / steady.sum():.1f} %" in row
        assert "57.9 kB" in row  # 40 segments of 1448 bytes
    assert "256 KiB per stream" in text
    assert "sender 512 KiB, receiver 512 KiB" in text
    assert "largest in flight" in text
    assert "1 of 20 (95 % CI 0.888 % to 23.6 %)" in text
    assert "engine 0.01 s user, 0.08 s kernel; busiest core 36 %" in text
    assert "49.9 ms (difference of medians 50 ms)" in text
    assert "…" not in text


def test_percentile_is_left_out_for_few_probes() -> None:
    text = print_trial(make_quickstart(cycles=1, levels=[(4, 256 * KIB)]), 1)
    loaded = next(line for line in text.splitlines() if line.strip().startswith("loaded"))
    assert loaded.split("1 of 20")[0].rstrip().endswith("–")  # 19 answered


def test_trial_shows_what_was_undelivered_where_something_was() -> None:
    results = make_quickstart(cycles=1)
    assert "Undelivered" not in print_trial(results, 1)
    results.records[0] = replace(results.records[0], undelivered_bytes=5_000_000)
    assert "5 MB when the drain time was up (the connections were reset)" in print_trial(results, 1)


def test_trial_of_messages_shows_their_rate_and_round_trips() -> None:
    results = make_quickstart(cycles=1)
    assert "Messages" not in print_trial(results, 1)
    counted = replace(results.records[0], messages_per_s=1998.0, messages_missing=3, messages_out_of_order=0)
    results.records[0] = counted
    text = print_trial(results, 1)
    assert re.search(r"^Messages +2\.00 k/s; 3 missing, 0 reordered$", text, re.MULTILINE), text
    assert "Round trips" not in text
    results.records[0] = replace(
        counted,
        offered_messages_per_s=2000,
        round_trips=1001,
        round_trip_median_ns=14_300.0,
        round_trip_p99_ns=1_580_000.0,
        round_trip_max_ns=5.06e6,
    )
    text = print_trial(results, 1)
    assert "2.00 k/s (offered 2 k/s); 3 missing" in text
    assert "median 14.3 µs, p99 1.58 ms, p99.9 –, max 5.06 ms (1001 messages)" in text


def test_trial_without_series_still_prints() -> None:
    text = print_trial(make_quickstart(cycles=1), 1, series=False)
    assert "Stream " not in text
    assert "Throughput" in text


@pytest.mark.parametrize("reason", ["no route to [bold]host[/bold]", "cannot bind [/]"])
def test_failed_trial_says_why_and_takes_no_markup(reason: str) -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB)])
    results.records = [make_failed(results.records[0], stage="network", reason=reason)]
    assert f"failed (network): {reason}" in print_trial(results, 1, series=False)
