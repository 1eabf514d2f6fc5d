"""Whether a trial has one rate: bursts, changes and outages against what TCP ordinarily does."""

from collections.abc import Sequence

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.steadiness import describe_steadiness
from pathlab.errors import UsageError

SECOND_NS = 1_000_000_000
TENTH_NS = SECOND_NS // 10


def to_bytes(mbit_per_s: Sequence[float]) -> list[float]:
    """Bytes of a second at each rate."""
    return [125_000 * rate for rate in mbit_per_s]


CHANGES = {
    "a burst in the first second": ([1500] + [10] * 9, (1, 1500, 10)),
    "a burst of two seconds": ([900, 920, *[100] * 8], (2, 910, 100)),
    "half as much from the middle on": ([800] * 5 + [300] * 5, (5, 800, 300)),
    "more after a long low start": ([100, 100, 90, *[900] * 7], (3, 96.7, 900)),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_rate_that_changes_once_has_two_parts(case: str) -> None:
    rates, (seconds, first, second) = CHANGES[case]
    found = describe_steadiness(to_bytes(rates), [SECOND_NS] * len(rates))
    assert (found.steady, found.disturbed, found.outages) == (False, True, 0)
    assert [part.length_ns / SECOND_NS for part in found.parts] == [seconds, len(rates) - seconds]
    assert [part.bits_per_s / 1e6 for part in found.parts] == pytest.approx([first, second], rel=0.01)
    assert found.mean_bits_per_s == pytest.approx(1e6 * np.mean(rates))


UNSTEADY = {
    "up and down": [900, 100] * 5,
    "a hole of four seconds": [900, 910, 890, 100, 90, 100, 95, 905, 900, 890],
    "a burst in the middle": [10] * 4 + [1500] + [10] * 5,
}


@pytest.mark.parametrize("case", UNSTEADY)
def test_a_rate_that_goes_up_and_down_is_not_steady(case: str) -> None:
    rates = UNSTEADY[case]
    found = describe_steadiness(to_bytes(rates), [SECOND_NS] * 10)
    assert (found.steady, found.parts) == (False, ())
    assert (found.least_bits_per_s, found.most_bits_per_s) == pytest.approx(
        (1e6 * min(rates), 1e6 * max(rates))
    )


STEADY = {
    "slow start": [20, 90, 400, *[900] * 7],
    "slow start of five seconds": [10, 40, 150, 400, 800, 900, 910, 900, 905, 890, 900],
    "sawtooth of Reno": [500, 600, 700, 800, 900, 990] * 3,
    "probes of BBR": [*[900] * 9, 730] * 2,
    "one slow second": [*[900] * 9, 200, *[900] * 5],
    "a slow last second": [*[900] * 9, 300],
    "noise": list(100 * np.exp(np.random.default_rng(1).normal(0, 0.2, 30))),
}


@pytest.mark.parametrize("case", STEADY)
def test_what_tcp_ordinarily_does_is_steady(case: str) -> None:
    found = describe_steadiness(to_bytes(STEADY[case]), [SECOND_NS] * len(STEADY[case]))
    assert (found.steady, found.disturbed, found.parts) == (True, False, ())


def test_lumps_after_losses_are_steady_in_records_of_a_tenth() -> None:
    counts = np.full((10, 10), 1e6)
    counts[:, 2:4], counts[:, 4] = 0, 3e6  # 0.2 s wait behind a hole, then all of it at once
    found = describe_steadiness(counts.ravel(), [TENTH_NS] * 100)
    assert (found.steady, found.outages) == (True, 0)


@pytest.mark.parametrize(
    ("rates", "outages", "seconds"),
    [
        ([100] * 4 + [0] * 3 + [100] * 3, 1, 3),
        ([100, 100, 0, 100, 100, 0, 0, 100], 2, 3),
        ([100] * 5 + [0] * 5, 1, 5),
        ([100, 0, 100], 1, 1),  # a short trial too
        ([0, 100, 100, 100, 100, 100], 0, 0),  # the start
        ([0, 0, 0, 0, 100, 100, 100, 100, 100], 1, 4),
    ],
)
def test_seconds_without_a_byte_are_counted(rates: list[float], outages: int, seconds: int) -> None:
    for parts in (1, 10):
        counts = np.repeat(to_bytes(rates), parts) / parts
        found = describe_steadiness(counts, [SECOND_NS // parts] * counts.size)
        assert (found.outages, found.silent_ns) == (outages, seconds * SECOND_NS)
        assert found.steady is not False  # what was carried between them was steady


def test_a_slow_line_or_a_full_send_buffer_is_no_outage() -> None:
    segments = [8960, 0, 8960, 0, 0] * 4  # 29 kbit/s in segments of 9 kB
    assert describe_steadiness(segments, [SECOND_NS] * 20, segment_bytes=8960).outages == 0
    assert describe_steadiness(segments, [SECOND_NS] * 20, segment_bytes=100).outages > 0
    # The sender writes as its buffer of 4 MiB drains at 10 Mbit/s, of which the start fills it.
    written = [5.4e6, 0, 2.5e6, 0, 2.5e6, 0, 2.5e6, 0, 2.5e6, 0]
    assert describe_steadiness(written, [SECOND_NS] * 10, buffered_bytes=4.2e6).outages == 0
    first = [5.4e6, *[1.25e6] * 9]
    assert describe_steadiness(first, [SECOND_NS] * 10, buffered_bytes=4.2e6).steady
    assert describe_steadiness(first, [SECOND_NS] * 10).steady is False


def test_round_trips_of_seconds_need_longer_spans() -> None:
    waiting = [0, 0, 3e6, 0, 0, 3e6] * 8
    assert describe_steadiness(waiting, [SECOND_NS] * 48, rtt_ns=1.5e9).outages == 0


def test_too_little_is_undecided_and_nonsense_refused() -> None:
    assert describe_steadiness([1e9, 1e6, 1e6], [SECOND_NS] * 3).undecided is Undecided.TOO_FEW_SAMPLES
    assert describe_steadiness([], []).undecided is Undecided.NO_SAMPLES
    assert describe_steadiness([0, 0], [SECOND_NS] * 2).undecided is Undecided.ALL_ZERO
    with pytest.raises(UsageError, match="no length"):
        describe_steadiness([1], [0])
