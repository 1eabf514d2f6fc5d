"""The terminal's tables: their numbers, their width, and nothing of the user's read as markup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders.results import make_quickstart
from tests.builders.trials import make_failed
from tests.golden.conftest import Say
from tests.unit.report.test_text import print_summary, print_trial

KIB = 1024


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("cycles", [2, 6])
def test_the_answer_comes_first_and_the_rest_fits_a_screen(say: Say, cycles: int, width: int) -> None:
    lines = print_summary(make_quickstart(cycles=cycles), width)
    say(lines[0])
    assert max(map(len, lines)) <= width
    if width >= 80:
        assert len(lines) <= 24 - len(("Report:", "its path", "the prompt"))
    text = "\n".join(lines)
    say(text)


def test_failed_cells_are_marked(say: Say) -> None:
    results = make_quickstart()
    results.records[0] = make_failed(results.records[0])
    text = "\n".join(print_summary(results))
    say(text)


def test_warnings_keep_whole_sentences_and_the_remedy(say: Say) -> None:
    environment = {"fallback": "the kernel refused, e.g. by policy. Use sudo."}
    results = make_quickstart(cycles=2, environment=environment)
    del results.records[-1]
    results.records = [
        replace(one, flags=("lab", "lab-limited"), window_granted_receiver_bytes=65_536)
        for one in results.records
    ]
    text = " ".join(" ".join(print_summary(results)).split())
    say(text)


def test_several_paths_are_told_apart(say: Say) -> None:
    results = make_quickstart()
    back = [replace(record, path_source="east", path_destination="west") for record in results.records]
    results.records += back
    text = "\n".join(print_summary(results))
    say(text)


def test_trial_shows_streams_windows_rtts_and_loss(say: Say) -> None:
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
    say(text)


def test_trial_shows_what_was_undelivered_where_something_was(say: Say) -> None:
    results = make_quickstart(cycles=1)
    say(print_trial(results, 1))
    results.records[0] = replace(results.records[0], undelivered_bytes=5_000_000)
    say(print_trial(results, 1))


def test_trial_of_messages_shows_their_rate_and_round_trips(say: Say) -> None:
    results = make_quickstart(cycles=1)
    assert "Messages" not in print_trial(results, 1)
    counted = replace(results.records[0], messages_per_s=1998.0, messages_missing=3, messages_out_of_order=0)
    results.records[0] = counted
    text = print_trial(results, 1)
    say(text)
    results.records[0] = replace(
        counted,
        offered_messages_per_s=2000,
        round_trips=1001,
        round_trip_median_ns=14_300.0,
        round_trip_p99_ns=1_580_000.0,
        round_trip_max_ns=5.06e6,
    )
    text = print_trial(results, 1)
    say(text)
