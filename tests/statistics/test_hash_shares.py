"""Shares of a bond's members under good and polarised hashes, in simulation and by counting."""

import itertools

import numpy as np
import pytest

from pathlab.analysis.estimators.occupancy import idle_chances, list_sets, used_set_chances
from pathlab.analysis.planning.hash_streams import use_chance
from pathlab.analysis.verdicts.hash_shares import HashVerdict, evaluate_counts, evaluate_used
from tests.length import choose_runs

from .noise import check_share

RUNS = choose_runs(150, short=12)
#: Streams, members, trials.
SHAPES = [
    *((1, 2, 9), (8, 2, 1), (8, 2, 7), (16, 4, 7)),
    *(pytest.param(shape, marks=pytest.mark.long) for shape in ((2, 2, 7), (32, 2, 7), (3, 8, 5))),
]


def draw(rng: np.random.Generator, shape: tuple[int, int, int], fixed: float, member: int = 0) -> np.ndarray:
    """Streams by trial and member; a hash that sends the share ``fixed`` to one member regardless."""
    streams, members, trials = shape
    chances = np.full(members, (1 - fixed) / members)
    chances[member] += fixed
    return rng.multinomial(streams, chances, trials)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("fixed", "wrong"), [(0.0, {HashVerdict.POLARISED}), (0.5, {HashVerdict.BAD_LUCK, HashVerdict.EVEN})]
)
def test_neither_a_good_hash_nor_a_polarised_one_is_often_misjudged(
    fixed: float, wrong: set[HashVerdict], shape: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng([*shape, round(2 * fixed)])
    counted = used = 0
    for _ in range(RUNS):
        table = draw(rng, shape, fixed, member=shape[1] - 1)
        counted += evaluate_counts(table, rng=rng).verdict in wrong
        used += evaluate_used(table > 0, [shape[0]] * shape[2]).verdict in wrong
    check_share(counted, RUNS, 0.0, 0.05)
    check_share(used, RUNS, 0.0, 0.05)


@pytest.mark.parametrize("table", [[[8, 0], [0, 8]] * 3, [[8, 0]] * 3, [[4, 0, 0, 0]] * 6], ids=str)
def test_streams_that_share_a_fate_are_found(table: list[list[int]]) -> None:
    """All streams of a trial on one member: always the same, or another one in each trial."""
    counts = np.array(table)
    assert evaluate_counts(counts, rng=np.random.default_rng(3)).verdict is HashVerdict.POLARISED
    assert evaluate_used(counts > 0, list(counts.sum(axis=1))).verdict is HashVerdict.POLARISED


@pytest.mark.parametrize("weights", [(1.0, 1.0), (3.0, 1.0), (1.0, 1.0, 1.0), (5.0, 3.0, 1.0)], ids=str)
@pytest.mark.parametrize("streams", [1, 2, 5, 7])
def test_chances_are_those_of_all_placements(weights: tuple[float, ...], streams: int) -> None:
    """Every placement of the streams, one by one."""
    shares = np.array(weights) / sum(weights)
    sets = [tuple(row) for row in list_sets(len(weights)).tolist()]
    expected = dict.fromkeys(sets, 0.0)
    for placement in itertools.product(range(len(weights)), repeat=streams):
        used = tuple(member in placement for member in range(len(weights)))
        expected[used] += float(np.prod(shares[list(placement)]))
    found = used_set_chances(weights, streams)
    assert found == pytest.approx([expected[one] for one in sets], abs=1e-12)
    idle = [
        sum(chance for one, chance in expected.items() if one.count(False) == k) for k in range(len(weights))
    ]
    assert idle_chances(weights, streams) == pytest.approx(idle, abs=1e-12)


@pytest.mark.parametrize(
    ("capacities", "streams"), [((50.0, 50.0), 6), ((50.0, 20.0), 5), ((10.0, 5.0, 1.0), 9), ((1.0,) * 8, 38)]
)
def test_the_chance_to_use_90_percent_is_that_of_drawn_streams(
    capacities: tuple[float, ...], streams: int
) -> None:
    rng = np.random.default_rng(streams)
    runs = 20_000
    drawn = rng.multinomial(streams, np.full(len(capacities), 1 / len(capacities)), runs)
    carried = ((drawn > 0) * np.array(capacities)).sum(axis=1)
    share = float((carried >= 0.9 * sum(capacities)).mean())
    chance = use_chance(capacities, streams)
    assert abs(share - chance) <= 4 * np.sqrt(chance * (1 - chance) / runs)
