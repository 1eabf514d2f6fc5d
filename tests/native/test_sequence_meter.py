"""The engine's meter of numbered datagrams equals plain references of RFC 4737, RFC 5236 and RFC 3550."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.length import choose_runs
from tests.machines.engines import NATIVE, make_native
from tests.native import reordering_reference as reference
from tests.native.reordering_reference import Arrival

MS = 1_000_000
FOREVER = range(2**62)

pytestmark = pytest.mark.engine

Measure = Callable[[list[Arrival], int, range, range], Any]


def use_meter(program: Path) -> Measure:
    """What a build of the meter says of arrivals, the first number, the window's time, and its numbers."""

    def measure(arrivals: list[Arrival], first: int, measured: range, numbers: range) -> Any:
        lines = [f"{number} {sent} {arrived} {sent in measured:d}" for number, sent, arrived in arrivals]
        last = (numbers.stop - 1) % 2**64
        text = "\n".join([str(first), *lines, f"end {numbers.start} {last}\n"])
        ended = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        return json.loads(ended.stdout)

    return measure


@pytest.fixture(scope="module")
def measure() -> Measure:
    make_native("meter")
    return use_meter(NATIVE / "build" / "meter")


def check(measure: Measure, arrivals: list[Arrival], first: int, measured: range, numbers: range) -> Any:
    """The engine's record, after each of its numbers was compared with the references."""
    found = measure(arrivals, first, measured, numbers)
    want = reference.compute_reordering(arrivals, first, measured, numbers)
    window, histograms = found["window"], found["histograms"]
    for name in ("received", "duplicates", "reordered", "unclassified", "jitter_ns"):
        assert window[name] == getattr(want, name), name
    assert window["lost"] == len(numbers) - want.received == sum(want.loss_runs)
    for name in ("loss_runs", "reorder_extents", "late_times_ns", "n_reordering"):
        assert histograms[name] == reference.count_places(getattr(want, name), histograms[name]), name
    unique = reference.list_first_arrivals(arrivals, first)
    displacements, displaced_beyond = reference.compute_displacements(unique, first)
    occupancies, occupied_beyond = reference.compute_occupancies(unique, first)
    assert histograms["reorder_density"] == reference.count_density(displacements, numbers)
    assert histograms["buffer_density"] == reference.count_density(occupancies, numbers)
    assert histograms["displaced_beyond"] == sum(number in numbers for number in displaced_beyond)
    assert histograms["occupied_beyond"] == sum(number in numbers for number in occupied_beyond)
    return found


RFC_4737 = [
    # numbers in order of arrival, extents, n-reordering, late times (ms)
    ([1, 2, 3, 5, 6, 7, 8, 4, 9, 10], [4], [4], [62]),  # section 9.1: 4 arrives at 210, 5 at 148 ms
    ([1, 2, 3, 4, 7, 5, 6, 8, 9, 10], [1, 2], [1, 0], None),  # section 9.2
    ([1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11], [4, 5, 6], [4, 0, 0], None),  # section 9.3
]


@pytest.mark.parametrize(("order", "extents", "degrees", "late_ms"), RFC_4737)
def test_examples_of_rfc_4737(
    measure: Measure, order: list[int], extents: list[int], degrees: list[int], late_ms: list[int] | None
) -> None:
    times_ms = [68 + 20 * place for place in range(len(order))]
    if late_ms:
        times_ms = [210 if number == 4 else 68 + 20 * (number - 1) for number in order]
    arrivals = [
        Arrival(number, 20 * MS * (number - 1), time * MS)
        for number, time in zip(order, times_ms, strict=True)
    ]
    want = reference.compute_reordering(arrivals, 1, FOREVER, range(1, max(order) + 1))
    assert (want.reorder_extents, want.n_reordering) == (extents, degrees)
    assert late_ms is None or want.late_times_ns == [time * MS for time in late_ms]
    check(measure, arrivals, 1, FOREVER, range(1, max(order) + 1))


@pytest.mark.parametrize(
    ("order", "displacements"),
    [
        ([2, 1, 4, 5, 3], {2: -1, 1: 1, 4: -1, 5: -1, 3: 2}),  # RFC 5236 section 3, example 1
        ([1, 4, 3, 5, 3], {1: 0, 4: -1, 3: 1, 5: 0}),  # example 2: 2 is lost, 3 is duplicated
    ],
)
def test_examples_of_rfc_5236(measure: Measure, order: list[int], displacements: dict[int, int]) -> None:
    assert reference.compute_displacements(list(dict.fromkeys(order)), 1) == (displacements, [])
    arrivals = [Arrival(number, number, place) for place, number in enumerate(order)]
    check(measure, arrivals, 1, FOREVER, range(1, 6))


STREAMS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "first": st.sampled_from([0, 1, 2**32 - 100]),
        "count": st.integers(0, 400),
        "loss_ratio": st.sampled_from([0, 0.01, 0.3]),
        "burst": st.sampled_from([0, 3, 60, 5000]),
        "duplicate_ratio": st.sampled_from([0, 0.05, 0.5]),
        "late_ratio": st.sampled_from([0, 0.02, 0.5]),
        "late_by": st.sampled_from([1, 3, 20, 200, 4500]),
        "warmup": st.integers(0, 100),
    }
)


@settings(max_examples=choose_runs(250), suppress_health_check=list(HealthCheck))
@given(STREAMS)
def test_any_arrivals_are_measured_as_the_references_do(measure: Measure, stream: dict[str, Any]) -> None:
    check_stream(measure, stream)


def check_stream(measure: Measure, stream: dict[str, Any]) -> None:
    """The engine's record of a stream with losses, copies and late datagrams."""
    chance = random.Random(stream["seed"])
    first, count = stream["first"], stream["count"] + stream["burst"]
    burst = range(first + stream["count"] // 2, first + stream["count"] // 2 + stream["burst"])
    copies: list[tuple[float, int]] = []
    for number in range(first, first + count):
        for _ in range(1 + (chance.random() < stream["duplicate_ratio"])):
            late = chance.random() < stream["late_ratio"]
            if number not in burst and chance.random() >= stream["loss_ratio"]:
                copies.append((number + late * chance.uniform(0, stream["late_by"]), number))
    arrivals = [
        Arrival(number, 1000 * (number - first), int(1000 * (time - first)) + 5 * MS)
        for time, number in sorted(copies)
    ]
    numbers = range(first + min(stream["warmup"], count), first + count)
    measured = range(1000 * (numbers.start - first), 1000 * count)
    found = check(measure, arrivals, first, measured, numbers)
    assert found["totals"]["received"] == len(reference.list_first_arrivals(arrivals, first))
