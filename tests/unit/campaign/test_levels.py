"""Levels of factors: single, lists, ranges; and what each factor takes."""

import dataclasses
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pathlab.campaign.cell import PlannedCell
from pathlab.campaign.design import list_cells
from pathlab.campaign.factors import FACTORS, FACTORS_BY_KEY
from pathlab.campaign.levels import expand_range
from pathlab.campaign.quantities import COUNT, Unit
from tests.builders.campaigns import make_sample


def unit_of(key: str) -> Unit:
    unit = FACTORS_BY_KEY[key].unit
    assert unit is not None
    return unit


@given(first=st.integers(0, 50), count=st.integers(1, 50), step=st.integers(1, 9))
def test_a_range_has_both_ends_where_they_are_met(first: int, count: int, step: int) -> None:
    last = first + step * (count - 1)
    levels = expand_range(f"{first}..{last} step {step}", COUNT)
    assert (levels[0], levels[-1], len(levels)) == (first, last, count)


def test_a_range_in_a_file_is_a_list_of_levels() -> None:
    ranged = make_sample(factors={"streams": "1..8 step x2", "window": "64KiB..256KiB step x2"})
    listed = make_sample(factors={"streams": [1, 2, 4, 8], "window": ["64KiB", "128KiB", "256KiB"]})
    assert ranged.digest == listed.digest


EVERY_FACTOR: dict[str, Any] = {
    "streams": 2,
    "window_sender": "64KiB",
    "window_receiver": "128KiB",
    "congestion": "reno",
    "duration": "1s",
    "warmup": "0s",
    "write": "4KiB",
    "transport": "mptcp",
    "direction": ["forward", "reverse", "both"],
    "dscp": ["LE", "qbss", 46, "none"],
    "pacing": ["10Mbit/s", "none"],
    "mss": [536, "auto"],
    "no_delay": True,
    "zero_copy": True,
    "workers": ["auto", 2],
    "cpus": ["any", "0,2-3"],
    "engine": "native",
    "family": "ipv4",
}


def test_every_factor_reaches_the_cells() -> None:
    campaign = make_sample(factors=EVERY_FACTOR)
    cells = list_cells(campaign)
    assert len(cells) == len(set(cells)) == 3 * 4 * 2 * 2 * 2 * 2
    first = cells[0]
    assert (first.streams, first.transport, first.congestion, first.no_delay) == (2, "mptcp", "reno", True)
    assert (first.window_sender_bytes, first.window_receiver_bytes) == (65_536, 131_072)
    assert (first.duration_ns, first.warmup_ns, first.write_bytes) == (1_000_000_000, 0, 4096)
    assert {cell.dscp for cell in cells} == {1, 8, 46, None}
    assert {cell.pacing_bits_per_s for cell in cells} == {10_000_000, None}
    assert {cell.mss_bytes for cell in cells} == {536, None}
    assert {cell.direction for cell in cells} == {"forward", "reverse", "both"}
    assert {cell.worker_threads for cell in cells} == {None, 2}
    assert {(cell.cpus, cell.cpus_sender, cell.cpus_receiver) for cell in cells} == {
        (None, None, None), ("0,2-3", "0,2-3", "0,2-3")
    }  # fmt: skip
    assert all(cell.zero_copy and cell.family == "ipv4" and cell.engine == "native" for cell in cells)


def test_factors_that_are_not_given_stand_at_their_defaults() -> None:
    (cell,) = list_cells(make_sample(trial={"duration": "3s", "warmup": "2s"}))
    assert (cell.duration_ns, cell.warmup_ns) == (3_000_000_000, 2_000_000_000)
    assert (cell.transport, cell.direction, cell.engine, cell.family) == ("tcp", "forward", "native", "any")
    assert cell.levels == {"streams": 1, "window_bytes": None, "congestion": None}


def test_the_typed_cell_has_every_factor_of_the_table() -> None:
    assert {field.name for field in dataclasses.fields(PlannedCell)} == {*FACTORS, "given"}
