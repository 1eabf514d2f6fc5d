"""Which combinations of the factors' levels a campaign measures."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from pathlab.campaign.cell import PlannedCell, build_cell, build_combination
from pathlab.campaign.constraints import Constraint, parse_constraint
from pathlab.campaign.factor import Level
from pathlab.campaign.factors import name_levels
from pathlab.campaign.model import Campaign

Levels = tuple[Level, ...]


def list_cells(campaign: Campaign) -> tuple[PlannedCell, ...]:
    """Return the cells of a campaign's design that meet its constraints, in the order of the factors.

    Empty when no combination meets them.
    """
    if campaign.design == "explicit":
        return tuple(build_combination(row, campaign) for row in campaign.rows)
    combinations = _choose_combinations(campaign)
    if campaign.design == "fraction":
        combinations = _draw_part(campaign, list(combinations))
    names = campaign.factors.given
    return tuple(build_cell(dict(zip(names, levels, strict=True)), campaign.trial) for levels in combinations)


def count_cells(campaign: Campaign) -> int:
    """Return how many cells ``list_cells`` would return, without making them."""
    if campaign.design == "explicit":
        return len(campaign.rows)
    count = sum(1 for _ in _choose_combinations(campaign))
    return _part_size(campaign, count) if campaign.design == "fraction" else count


def count_candidates(campaign: Campaign) -> int:
    """Return how many combinations a design takes its cells from, without making them."""
    if campaign.design == "explicit":
        return len(campaign.rows)
    if campaign.design == "lhs":
        return campaign.points or 1
    return math.prod(len(campaign.factors.levels(name)) for name in campaign.factors.given)


def _choose_combinations(campaign: Campaign) -> Iterable[Levels]:
    """All combinations (the first factor varies slowest), or a hypercube's, that meet the constraints."""
    factors = campaign.factors
    combinations: Iterable[Levels] = itertools.product(*(factors.levels(name) for name in factors.given))
    if campaign.design == "lhs":
        combinations = dict.fromkeys(_draw_hypercube(campaign))
    for text in campaign.where:
        combinations = _keep(factors.given, combinations, parse_constraint(text))
    return combinations


def _part_size(campaign: Campaign, count: int) -> int:
    if campaign.points is not None:
        return min(campaign.points, count)
    return min(count, max(1, math.ceil((campaign.fraction or 1.0) * count)))


def _keep(names: Sequence[str], combinations: Iterable[Levels], constraint: Constraint) -> Iterator[Levels]:
    """The combinations that meet a constraint, tested once for all that differ in other factors."""
    keys = list(name_levels(dict.fromkeys(names)))
    places = [index for index, key in enumerate(keys) if key in constraint.factors]
    known: dict[Levels, bool] = {}
    for levels in combinations:
        part = tuple([levels[index] for index in places])
        holds = known.get(part)
        if holds is None:
            holds = constraint.holds({keys[index]: levels[index] for index in places})
            known[part] = holds
        if holds:
            yield levels


def _draw_part(campaign: Campaign, combinations: list[Levels]) -> list[Levels]:
    """A random part, in the order of the combinations."""
    drawn = sorted(combinations, key=functools.partial(_rank, "fraction-1", campaign.seed))
    chosen = set(drawn[: _part_size(campaign, len(combinations))])
    return [levels for levels in combinations if levels in chosen]


def _draw_hypercube(campaign: Campaign) -> Iterator[Levels]:
    """A Latin hypercube: each level of a factor comes as often as any other of it, give or take one.

    McKay, Beckman, Conover, Technometrics 21 (1979). Each factor's points are put into a random order of
    their own by a sort by SHA-256, like the plan's order, so that no library's generator can change them.
    """
    points = campaign.points or 1
    columns = []
    for name in campaign.factors.given:
        levels = campaign.factors.levels(name)
        indices = sorted(range(points), key=functools.partial(_rank, "lhs-1", campaign.seed, name))
        columns.append(
            [levels[_choose_level(campaign.seed, name, index, points, len(levels))] for index in indices]
        )
    return iter(zip(*columns, strict=True))


def _choose_level(seed: int, name: str, index: int, points: int, count: int) -> int:
    """The level of one of ``points`` equal parts of a factor's levels; any of it where it has several."""
    first, end = index * count // points, (index + 1) * count // points
    if end - first < 2:
        return first
    drawn = int.from_bytes(_rank("lhs-within-1", seed, name, index)[:8], "big")
    return first + drawn % (end - first)


def _rank(*identity: object) -> bytes:
    """A position in a random order, the same in every version: numbers, texts and None have one form."""
    return hashlib.sha256(repr(identity).encode("utf-8")).digest()
