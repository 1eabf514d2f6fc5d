"""What is printed of results and of single trials: the answer first, no line too long, no markup."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.messages import Setup, make_message_results
from tests.builders.multipath import UNEQUAL, Bonds, make_multipath_results
from tests.builders.printed import print_summary, print_trial
from tests.builders.results import SyntheticResults, make_quickstart
from tests.builders.technologies import Technology, make_adapter, make_technology_results
from tests.builders.trials import make_failed
from tests.golden.conftest import Say

KIB = 1024
FLOWS = [{"pacing_bits_per_s": rate * 10**6, "gso": gso} for rate in (32, 48, 80) for gso in (False, True)]
BATCHED = {"batch_bytes": 65536}
TCP, REDIS = Technology(), make_adapter("redis", 20_000.0)


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


SUMMARIES: Mapping[str, Callable[[], SyntheticResults]] = {
    "streams and windows, 2 cycles": lambda: make_quickstart(cycles=2),
    "streams and windows, 6 cycles": lambda: make_quickstart(cycles=6),
    "UDP flows": lambda: make_udp_trials(FLOWS, carry_flow),
    "messages": lambda: make_rates(8),
    "round trips": lambda: make_message_results(cycles=8, sizes=(64,)),
    "technologies": lambda: make_technology_results((TCP, REDIS), sizes=(64, 1024, 16384), cycles=7),
    "several links": lambda: make_multipath_results(Bonds(rates=UNEQUAL)),
}


@pytest.mark.parametrize("kind", SUMMARIES)
def test_summaries_fit_any_terminal(say: Say, kind: str) -> None:
    study = Study(SUMMARIES[kind]())
    for width in (60, 80, 120):
        text = print_summary(study, width)
        assert max(map(cell_len, text.splitlines())) <= width
        if kind.startswith("streams") and width >= 80:
            assert len(text.splitlines()) <= 24 - len(("Report:", "its path", "the prompt"))
        say(text)


def test_failed_cells_and_unequal_grants_are_marked(say: Say) -> None:
    results = make_quickstart()
    results.change_trials(window_granted_sender_bytes=212_992)
    results.records[0] = make_failed(results.records[0])
    say(print_summary(results))


def test_warnings_keep_whole_sentences_and_the_remedy(say: Say) -> None:
    results = make_quickstart(environment={"fallback": "the kernel refused, e.g. by policy. Use sudo."})
    del results.records[-1]
    results.change_trials(flags=("lab", "lab-limited"), window_granted_receiver_bytes=65_536)
    say(print_summary(results))


def test_several_paths_are_told_apart(say: Say) -> None:
    results = make_quickstart()
    results.records += [replace(one, path_source="east", path_destination="west") for one in results.records]
    say(print_summary(results))


def test_rates_of_messages_are_one_table_of_a_path(say: Say) -> None:
    say(print_summary(make_rates(2)))
    many = make_rates(1, sizes=tuple(2**power for power in range(4, 14)))
    say(print_summary(many, width=120))


@pytest.mark.parametrize("rows", [(0,), (0, 7), (0, 1, 2, 4, 7)])
def test_a_warning_names_its_combinations_or_counts_them(say: Say, rows: tuple[int, ...]) -> None:
    """Rows 0 to 7: two hosts, unbatched and batched, then one host; each with 64 B and 1 KiB."""
    results = make_rates(1)
    results.change_trials(lambda one: replace(one, flags=("over-line-rate",) if one.plan_row in rows else ()))
    say(line for line in print_summary(results, width=300).splitlines() if line.startswith("!"))


def test_many_technologies_are_shown_once(say: Say) -> None:
    many = [TCP, *(make_adapter(f"technology-{number}", 5_000.0 + number) for number in range(12))]
    say(print_summary(make_technology_results(many, sizes=(64, 1024), cycles=2, histograms=False)))


def test_a_trial_shows_streams_windows_round_trips_and_loss(say: Say) -> None:
    results = make_quickstart(cycles=1, levels=[(4, 256 * KIB)])
    text = print_trial(results)
    streams = results.series(1, "receiver_intervals")
    steady = streams[streams["phase"] == "steady"].groupby("stream")["bytes"].sum()
    for stream, received in steady.items():
        row = next(line for line in text.splitlines() if line.split()[:1] == [str(stream)])
        assert f"{received / 1e6:.2f} MB" in row
        assert f"{received * 8 / 3 / 1e6:.3g} Mbit/s" in row
        assert f"{100 * received / steady.sum():.1f} %" in row
        assert "57.9 kB" in row  # 40 segments of 1448 bytes
    say(text)


MESSAGES = {"messages_per_s": 1998.0, "messages_missing": 3, "messages_out_of_order": 0}
REPLIES = {"offered_messages_per_s": 2000, "round_trips": 1001, "round_trip_median_ns": 14_300.0}
TAIL = {"round_trip_p99_ns": 1_580_000.0, "round_trip_max_ns": 5.06e6}


@pytest.mark.parametrize(
    "columns",
    [{}, {"undelivered_bytes": 5_000_000}, MESSAGES, {**MESSAGES, **REPLIES, **TAIL}],
    ids=["plain", "undelivered data", "messages", "replies"],
)
def test_a_trial_shows_what_it_has(say: Say, columns: dict[str, Any]) -> None:
    results = make_quickstart(cycles=1)
    results.records[0] = replace(results.records[0], **columns)
    say(print_trial(results))


@pytest.mark.parametrize("reason", ["no route to [bold]host[/bold]", "cannot bind [/]"])
def test_a_failed_trial_says_why_and_takes_no_markup(say: Say, reason: str) -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB)])
    results.records[0] = make_failed(results.records[0], stage="network", reason=reason)
    say(print_trial(results, series=False))
