"""Designs: parts of all combinations, Latin hypercubes, lists; control rows; hours within cycles."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pathlab.analysis.libraries import LazyModule
from pathlab.campaign.design import list_cells
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow, plan_rows
from tests.builders.campaigns import make_sample

qmc = LazyModule("scipy.stats.qmc")
GRID = {"streams": "1..10", "window": "16KiB..128KiB step 16KiB"}
PART_OF_SEED_7 = [(1, 128), (3, 16), (4, 32), (4, 48), (9, 16)]
HYPERCUBE_OF_SEED_7 = [(3, 32), (9, 96), (1, 16), (6, 64), (7, 112)]


def streams_and_kib(campaign: Campaign) -> list[tuple[int, int]]:
    return [(cell.streams, (cell.window_bytes or 0) // 1024) for cell in list_cells(campaign)]


def test_a_random_part_has_the_requested_size() -> None:
    whole = set(streams_and_kib(make_sample(factors=GRID)))
    quarter = streams_and_kib(make_sample(factors=GRID, design="fraction", fraction="25%"))
    assert len(quarter) == len(set(quarter)) == 20
    assert set(quarter) < whole
    assert len(list_cells(make_sample(factors=GRID, design="fraction", points=7))) == 7
    assert len(list_cells(make_sample(factors=GRID, design="fraction", points=700))) == 80
    assert len(list_cells(make_sample(factors=GRID, design="fraction", fraction="0.1%"))) == 1


def test_a_random_part_is_drawn_from_what_constraints_leave() -> None:
    campaign = make_sample(factors=GRID, design="fraction", fraction="50%", where="streams <= 2")
    cells = streams_and_kib(campaign)
    assert len(cells) == 8
    assert {streams for streams, _ in cells} <= {1, 2}


def test_parts_follow_the_seed_and_never_change() -> None:
    """Frozen: a plan that was begun must be continued by every later version."""
    options = {"factors": GRID, "design": "fraction", "points": 5}
    frozen = streams_and_kib(make_sample(**options, seed=7))
    assert frozen == PART_OF_SEED_7
    assert streams_and_kib(make_sample(**options, seed=8)) != frozen


def test_a_hypercube_never_changes() -> None:
    """Frozen, as above."""
    frozen = streams_and_kib(make_sample(factors=GRID, design="lhs", points=5, seed=7))
    assert frozen == HYPERCUBE_OF_SEED_7


@given(points=st.integers(1, 40), seed=st.integers(0, 10_000))
def test_a_hypercube_takes_each_level_as_often_as_any_other(points: int, seed: int) -> None:
    factors = {"streams": "1..400", "window": ["16KiB", "64KiB", "256KiB"], "congestion": ["reno", "cubic"]}
    cells = list_cells(make_sample(factors=factors, design="lhs", points=points, seed=seed))
    assert len(cells) == points  # 400 levels of streams: no two points are alike
    for name in ("window_bytes", "congestion"):
        counts = Counter(getattr(cell, name) for cell in cells)
        levels = 3 if name == "window_bytes" else 2
        assert max(counts.values()) - (min(counts.values()) if len(counts) == levels else 0) <= 1
    for part, streams in enumerate(sorted(cell.streams for cell in cells)):
        assert part * 400 // points < streams <= (part + 1) * 400 // points


def test_a_hypercube_fills_the_space_as_scipys_does() -> None:
    """Centred discrepancy of 20 points in two dimensions, mean of 40 seeds, against scipy's sampler."""
    ours, theirs = [], []
    for seed in range(40):
        factors = {"streams": "1..20", "window": "1KiB..20KiB step 1KiB"}
        cells = list_cells(make_sample(factors=factors, design="lhs", points=20, seed=seed))
        sample = np.array([[c.streams - 0.5, (c.window_bytes or 0) / 1024 - 0.5] for c in cells]) / 20
        assert [len(set(column)) for column in sample.T.tolist()] == [20, 20]
        ours.append(qmc.discrepancy(sample))
        theirs.append(qmc.discrepancy(qmc.LatinHypercube(2, scramble=False, rng=seed).random(20)))
    spread = float(np.std(theirs)) / np.sqrt(40)
    assert abs(np.mean(ours) - np.mean(theirs)) < 5 * np.sqrt(2) * spread


def test_a_hypercube_meets_constraints() -> None:
    campaign = make_sample(factors=GRID, design="lhs", points=30, where="streams * window <= 256KiB")
    cells = streams_and_kib(campaign)
    assert 0 < len(cells) < 30
    assert all(streams * kib <= 256 for streams, kib in cells)


def control_plan(**changes: Any) -> tuple[PlanRow, ...]:
    control = {"every": 4, "streams": 1}
    factors = {"streams": [1, 2, 4, 8], "window": ["64KiB", "auto"]}
    return plan_rows(make_sample(**{"factors": factors, "control": control, "cycles": 2, **changes}))


def test_control_rows_stand_at_fixed_places() -> None:
    rows = control_plan()
    assert [row.row for row in rows] == list(range(len(rows)))
    assert [row.row for row in rows if row.control] == [0, 4, 8, 12, 16, 20, 22]
    controls = [row for row in rows if row.control]
    assert {(row.cell.streams, row.cell.window_bytes) for row in controls} == {(1, 65_536)}
    assert {row.settings.get("control") for row in controls} == {True}
    assert len(rows) - len(controls) == 16
    assert [row.cycle for row in rows] == sorted(row.cycle for row in rows)


def test_control_rows_leave_the_order_of_the_others_alone() -> None:
    order = [
        (row.cycle, row.cell.streams, row.cell.window_bytes) for row in control_plan() if not row.control
    ]
    plain = make_sample(factors={"streams": [1, 2, 4, 8], "window": ["64KiB", "auto"]}, cycles=2)
    assert order == [(row.cycle, row.cell.streams, row.cell.window_bytes) for row in plan_rows(plain)]
    assert all("control" not in row.settings for row in plan_rows(plain))


def test_control_rows_go_round_the_paths() -> None:
    hosts = {"far": {"transport": "local"}}
    paths = [{"source": "local", "destination": "far"}, {"source": "far", "destination": "local"}]
    controls = [row.path.source for row in control_plan(hosts=hosts, paths=paths) if row.control]
    assert controls == ["local", "far"] * (len(controls) // 2) + ["local"] * (len(controls) % 2)


HOURS = {
    "factors": {"streams": "1..24"},
    "trial": {"warmup": "0s", "duration": "15min"},
    "probes": {"unloaded": 0},
    "order": "random",
    "block": "cycle+hour",
}


def test_each_cell_meets_every_hour() -> None:
    """24 trials of a quarter of an hour: six groups of four, which change places from cycle to cycle."""
    rows = plan_rows(make_sample(**HOURS, cycles=6))
    met: dict[int, set[int]] = {}
    for row in rows:
        met.setdefault(row.cell.streams, set()).add(row.row % 24 // 4)
    assert all(hours == set(range(6)) for hours in met.values())
    for cycle in range(6):
        assert sorted(row.cell.streams for row in rows if row.cycle == cycle) == list(range(1, 25))


def test_order_within_an_hour_is_drawn_afresh() -> None:
    rows = plan_rows(make_sample(**HOURS, cycles=12))
    first, again = ([row.cell.streams for row in rows if row.cycle == cycle][:4] for cycle in (0, 6))
    assert sorted(first) == sorted(again)
    orders = {tuple(row.cell.streams for row in rows if row.cycle == cycle) for cycle in range(12)}
    assert len(orders) == 12


def test_a_cycle_shorter_than_an_hour_is_one_group() -> None:
    short = {**HOURS, "trial": {"duration": "1s"}}
    blocked = [row.cell.streams for row in plan_rows(make_sample(**short, cycles=3))]
    plain = [row.cell.streams for row in plan_rows(make_sample(**{**short, "block": "cycle"}, cycles=3))]
    assert blocked == plain
