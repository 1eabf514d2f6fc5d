"""The setup that meets targets with the least CPU time, and why others fail."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from pathlab.errors import UsageError
from pathlab.report.messages.message_text import describe_choice, list_choice_rows
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.messages.message_choice import MessageChoice, MessageTarget, choose_setups
from tests.builders.messages import BATCHED, RATES, SHARED, TCP, Setup, make_message_results
from tests.builders.results import SyntheticResults
from tests.golden.conftest import Say, catch

UNIX, SLOW = Setup({"transport": "unix"}), Setup(capacity_per_s=500.0)
MS = 1_000_000


def measure(
    *setups: Setup, cycles: int = 8, rates: tuple[int | None, ...] = (None, *RATES)
) -> SyntheticResults:
    """Messages of 64 B by these setups; without one: all of them with every size."""
    if not setups:
        return make_message_results(cycles=cycles)
    return make_message_results(setups, sizes=(64,), cycles=cycles, rates=rates)


def change(results: SyntheticResults, edit: Callable[[TrialRecord], TrialRecord]) -> SyntheticResults:
    return results.copy(trials=[edit(one) for one in results.records])


def slow_down(record: TrialRecord) -> TrialRecord:
    """Batches that wait for company are slow where there is little traffic."""
    idle = record.offered_messages_per_s == 5000 and (record.sender_cpu_ns_per_message or 0) < 1000
    return replace(record, round_trip_p99_ns=1e6) if idle else record


def forget_cpu(record: TrialRecord) -> TrialRecord:
    return replace(record, sender_cpu_ns_per_message=None)


def lose_messages(record: TrialRecord) -> TrialRecord:
    return replace(record, messages_missing=(record.messages_total or 0) // 1000)


def overload_batched(record: TrialRecord) -> TrialRecord:
    batched = (record.sender_cpu_ns_per_message or 0) < 700
    return replace(record, flags=("lab-limited",)) if batched else record


def choose(results: SyntheticResults, rate: int, p99_ns: int, size: int = 64) -> MessageChoice:
    target = MessageTarget(rate_per_s=rate, size_bytes=size, p99_ns=p99_ns)
    (found,) = choose_setups(Study(results).study_table(), target)
    return found


def find_median(results: SyntheticResults) -> int:
    """The p99 of TCP at 5 k/s."""
    tcp = next(one for one in choose(results, 5000, 50_000).candidates if one.setup.name == "tcp")
    return round(tcp.figures.p99_ns.median or 0)


SITUATIONS: Mapping[str, Callable[[], MessageChoice]] = {
    "equal CPU time": lambda: choose(measure(TCP, UNIX), 5000, 50_000),
    "between two rates, both are fast": lambda: choose(measure(TCP, BATCHED), 7000, 100_000),
    "between two rates, one is slow": lambda: choose(change(measure(TCP, BATCHED), slow_down), 7000, 100_000),
    "nothing is fast enough": lambda: choose(measure(), 100_000, 5_000),
    "nothing was offered that rate": lambda: choose(measure(), MS, 50_000),
    "nothing carried the rate": lambda: choose(measure(SLOW, rates=(1000, 2000)), 5000, 50_000),
    "the rate was not offered": lambda: choose(measure(SHARED, BATCHED), 300_000, MS),
    "the rate was missed": lambda: choose(measure(), 200_000, 1000 * MS),
    "one meets the targets": lambda: choose(measure(), 5000, 20_000),
    "one was measured": lambda: choose(measure(TCP), 5000, 50_000),
    "another would by its median": lambda: choose(measure(), 5000, find_median(measure())),
    "few trials": lambda: choose(measure(cycles=2), 5000, 50_000),
    "messages were lost": lambda: choose(change(measure(TCP), lose_messages), 5000, 50_000),
    "one without a usable trial": lambda: choose(
        change(measure(TCP, BATCHED), overload_batched), 5000, 50_000
    ),
    "no CPU time": lambda: choose(change(measure(), forget_cpu), 5000, 100_000),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_choice_is_explained(say: Say, situation: str) -> None:
    found = SITUATIONS[situation]()
    say(f"{row[0]}: {row[-1]}" for row in list_choice_rows(found))
    say(describe_choice(found))


def test_sizes_are_not_extrapolated(say: Say) -> None:
    say(catch(UsageError, choose, measure(), 5000, 50_000, size=100))
