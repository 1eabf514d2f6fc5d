"""Cells, their order, and what a plan will take."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.campaign.budget import Estimator, estimate_campaign, find_path_facts
from pathlab.campaign.load import load_campaign
from pathlab.campaign.model import Campaign, MeasuredPath
from pathlab.campaign.order import PlanRow, plan_rows
from tests.builders.campaigns import make_sample

# (streams, window in KiB) of the shipped quickstart. A plan that was started must be continued in this order
# by every later version, so these values never change.
QUICKSTART_ORDER = [
    [(4, 64), (1, 64), (1, 32), (4, 32), (8, 32), (8, 64)],
    [(1, 32), (8, 64), (8, 32), (4, 64), (4, 32), (1, 64)],
]


def make_campaign(**changes: Any) -> Campaign:
    data: dict[str, Any] = {
        "cycles": 3,
        "paths": [{"source": "a", "destination": "b"}, {"source": "b", "destination": "a"}],
        "factors": {"streams": [1, 2, 3], "window": ["64KiB", "auto"], "congestion": ["cubic", "reno"]},
        "lab": {"hosts": ["a", "b"], "links": [{"between": ["a", "b"], "rate": "8Mbit/s", "delay": "50ms"}]},
    }
    return make_sample(**data | changes)


def cell_of(row: PlanRow) -> tuple[object, ...]:
    return (
        row.path.source,
        row.path.destination,
        row.cell.streams,
        row.cell.window_bytes,
        row.cell.congestion,
    )


@settings(max_examples=20)
@given(seed=st.integers(0, 2**53 - 1))
def test_each_cycle_holds_every_cell_of_every_path_once(seed: int) -> None:
    rows = plan_rows(make_campaign(seed=seed))
    assert [row.row for row in rows] == list(range(3 * 24))
    for cycle in range(3):
        assert set(Counter(cell_of(row) for row in rows if row.cycle == cycle).values()) == {1}
        assert sum(row.cycle == cycle for row in rows) == 24
    assert [row.cycle for row in rows] == sorted(row.cycle for row in rows)


def test_cycles_and_seeds_are_drawn_afresh() -> None:
    rows = plan_rows(make_campaign())
    cycles = [[cell_of(row) for row in rows if row.cycle == cycle] for cycle in range(3)]
    assert cycles[0] != cycles[1] != cycles[2] != cycles[0]
    assert [cell_of(row) for row in plan_rows(make_campaign(seed=2))] != [cell_of(row) for row in rows]
    assert plan_rows(make_campaign()) == rows


def test_every_place_is_equally_likely() -> None:
    """Chi-square of one cell's place over 1200 draws: 23 degrees of freedom, 0.1 % critical value 49.7."""
    places: Counter[int] = Counter()
    for seed in range(400):
        rows = plan_rows(make_campaign(seed=seed))
        wanted = ("a", "b", 1, 65_536, "cubic")
        places.update(row.row % 24 for row in rows if cell_of(row) == wanted)
    expected = 1200 / 24
    assert sum((places[place] - expected) ** 2 / expected for place in range(24)) < 49.7


def test_the_order_of_quickstart_never_changes() -> None:
    rows = plan_rows(load_campaign("quickstart"))
    order = [
        [(r.cell.streams, (r.cell.window_bytes or 0) // 1024) for r in rows if r.cycle == cycle]
        for cycle in (0, 1)
    ]
    assert order == QUICKSTART_ORDER


def test_addresses_of_a_path_are_part_of_its_settings() -> None:
    path = {"source": "local", "destination": "local", "destination_address": "127.0.0.2"}
    (row,) = plan_rows(make_sample(factors={"streams": 2}, paths=[path]))
    levels = {"streams": 2, "window_bytes": None, "congestion": None}
    assert row.settings == levels | {"destination_address": "127.0.0.2"}


def test_the_estimate_adds_up_by_hand() -> None:
    campaign = load_campaign("quickstart")
    rows = plan_rows(campaign)
    times_ns = {
        (row.cell.streams, (row.cell.window_bytes or 0) // 1024): Estimator(campaign).trial(row).time_ns
        for row in rows
    }
    # 0.4 + 1 s of traffic, 8 probes at 20 ms, round trips of 40 ms for connecting (3), for the drain and for
    # the last probe, and 0.1 s for starting the engines
    least_ns = 10**6 * (400 + 1000 + 8 * 20 + 5 * 40 + 100)
    assert {times_ns[one] for one in ((1, 32), (1, 64), (4, 32))} == {least_ns}
    # what the line does not hold of the windows waits in the queue of 400 kB, at 40 Mbit/s
    queued_ns = {one: 1600 * (one[0] * one[1] * 1024 - 200_000) / 8 for one in ((4, 64), (8, 32), (8, 64))}
    assert {one: times_ns[one] - least_ns for one in queued_ns} == pytest.approx(queued_ns, abs=1)
    estimate = estimate_campaign(campaign)
    assert estimate.trials == 36
    assert estimate.time_ns == 6 * sum(times_ns.values())
    longest_ns = [Estimator(campaign).trial(row).time_max_ns for row in rows]
    assert estimate.time_max_ns == sum(longest_ns) + 6 * max(longest_ns)  # six lab retries
    assert estimate.time_max_ns > estimate.time_ns + 42 * 9e9


def test_what_has_no_bound_is_unknown() -> None:
    links = [{"between": ["a", "b"], "delay": "50ms"}]
    campaign = make_campaign(lab={"hosts": ["a", "b"], "links": links})
    bounds = {row.cell.window_bytes: Estimator(campaign).trial(row).bytes_max for row in plan_rows(campaign)}
    assert bounds[None] is None
    assert bounds[65_536] is not None
    assert estimate_campaign(campaign).bytes_max is None


def test_a_chain_of_links_adds_delays_and_takes_the_narrowest() -> None:
    links = [
        {"between": ["a", "m"], "rate": "100Mbit/s", "delay": "5ms", "queue": "100kB"},
        {"between": ["m", "b"], "rate": "10Mbit/s", "delay": "15ms", "queue": "50kB"},
    ]
    campaign = make_campaign(lab={"hosts": ["a", "m", "b"], "links": links})
    there, here = (
        MeasuredPath.model_validate({"source": source, "destination": destination})
        for source, destination in (("a", "b"), ("local", "local"))
    )
    facts = find_path_facts(campaign, there)
    assert (facts.rtt_ns, facts.rate_bits_per_s, facts.queue_bytes) == (40_000_000, 10_000_000, 100_000)
    assert find_path_facts(campaign, here).rate_bits_per_s is None


@pytest.mark.parametrize("streams", [1, 3])
def test_more_time_never_bounds_fewer_bytes(streams: int) -> None:
    sizes = []
    for duration in ("1s", "2s", "10s"):
        campaign = make_campaign(
            trial={"duration": duration}, factors={"streams": streams, "window": "64KiB"}
        )
        sizes.append(Estimator(campaign).trial(plan_rows(campaign)[0]).bytes_max or 0)
    assert 0 < sizes[0] < sizes[1] < sizes[2]
