"""Levels of factors: single, lists, ranges; and what each factor takes."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.campaign.cell import PlannedCell
from pathlab.campaign.design import list_cells
from pathlab.campaign.factors import FACTORS, FACTORS_BY_KEY, format_levels
from pathlab.campaign.levels import expand_range
from pathlab.campaign.quantities import COUNT, Unit
from tests.builders.campaigns import make_sample


def unit_of(key: str) -> Unit:
    unit = FACTORS_BY_KEY[key].unit
    assert unit is not None
    return unit


@pytest.mark.parametrize(
    ("key", "text", "levels"),
    [
        ("streams", "1..64 step x2", [1, 2, 4, 8, 16, 32, 64]),
        ("streams", "3..20 step x 3", [3, 9]),
        ("streams", "0..10 step 5", [0, 5, 10]),
        ("streams", "2..5", [2, 3, 4, 5]),
        ("streams", " 7 .. 7 ", [7]),
        ("window", "64KiB..1MiB step x4", ["64KiB", "256KiB", "1MiB"]),
        ("window", "10kB..30kB step 10kB", ["10kB", "20kB", "30kB"]),
        ("duration", "500ms..2s step 500ms", ["500ms", "1s", "1500ms", "2s"]),
        ("pacing", "10Mbit/s..40Mbit/s step x2", ["10Mbit/s", "20Mbit/s", "40Mbit/s"]),
    ],
)
def test_a_range_is_its_levels(key: str, text: str, levels: list[Any]) -> None:
    assert expand_range(text, unit_of(key)) == levels


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


def test_each_end_may_have_cores_of_its_own() -> None:
    factors = {"streams": 1, "cpus_sender": "0", "cpus_receiver": ["0", "1"], "background": ["none", "cpu"]}
    cells = list_cells(make_sample(factors=factors))
    assert {(cell.cpus, cell.cpus_sender, cell.cpus_receiver) for cell in cells} == {
        (None, "0", "0"), (None, "0", "1")
    }  # fmt: skip
    assert {cell.background for cell in cells} == {"none", "cpu"}


def test_the_factors_of_messages_reach_the_cells() -> None:
    factors = {
        "streams": 1,
        "message": [64, "4KiB"],
        "message_rate": ["max", 20_000],
        "batch": ["none", "8KiB"],
        "no_delay": True,
        "reply": True,
        "encoding": "protobuf",
        "wait": "poll",
        "priority": 5,
    }
    cells = list_cells(make_sample(factors=factors))
    assert {cell.message_bytes for cell in cells} == {64, 4096}
    assert {cell.message_rate_per_s for cell in cells} == {None, 20_000}
    assert {cell.batch_bytes for cell in cells} == {None, 8192}
    assert all(cell.reply and cell.encoding == "protobuf" and cell.priority == 5 for cell in cells)
    assert format_levels(cells[0].levels)["message_rate"] == "max"
    (plain,) = list_cells(make_sample(factors={"streams": 1}))
    assert (plain.message_bytes, plain.reply, plain.placement, plain.wait) == (None, False, "host", "block")


def test_the_smaller_of_two_windows_stands_for_both() -> None:
    ends = {"window_sender": ["64KiB", "auto"], "window_receiver": ["32KiB", "auto"]}
    cells = list_cells(make_sample(factors={"streams": 1, **ends}))
    windows = {(cell.window_sender_bytes, cell.window_receiver_bytes): cell.window_bytes for cell in cells}
    assert windows == {
        (65_536, 32_768): 32_768,
        (65_536, None): 65_536,
        (None, 32_768): 32_768,
        (None, None): None,
    }


def test_factors_that_are_not_given_stand_at_their_defaults() -> None:
    (cell,) = list_cells(make_sample(trial={"duration": "3s", "warmup": "2s"}))
    assert (cell.duration_ns, cell.warmup_ns) == (3_000_000_000, 2_000_000_000)
    assert (cell.transport, cell.direction, cell.engine, cell.family) == ("tcp", "forward", "native", "any")
    assert cell.levels == {"streams": 1, "window_bytes": None, "congestion": None}


def test_the_typed_cell_has_every_factor_of_the_table() -> None:
    assert {field.name for field in dataclasses.fields(PlannedCell)} == {*FACTORS, "given"}
