"""The plan: which trial runs when."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pathlab.campaign.cell import PlannedCell, build_combination, pace_cell
from pathlab.campaign.design import list_cells
from pathlab.campaign.factor import Level
from pathlab.campaign.factor_model import Control
from pathlab.campaign.factors import ALWAYS_GIVEN
from pathlab.campaign.model import Campaign, MeasuredPath
from pathlab.campaign.quantities import HOUR_NS

_IDENTITY = json.JSONEncoder(ensure_ascii=True, sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One trial of the plan. Rows and cycles count from 0; None leaves the choice to the kernel."""

    row: int
    cycle: int
    path: MeasuredPath
    cell: PlannedCell
    control: bool = False  # repeated at fixed places to show drift; no cell of the design

    @property
    def addresses(self) -> tuple[str | None, str | None]:
        """Of source and destination, as far as the campaign names them."""
        pair = self.path.addresses.get(self.cell.addresses) if self.cell.addresses is not None else None
        if pair is not None:
            return pair.source, pair.destination
        return self.path.source_address, self.path.destination_address

    @property
    def settings(self) -> Mapping[str, Level]:
        """The levels of the factors given, and sinks and addresses where the path names them, as stored."""
        source, destination = self.addresses
        others = {
            "source_address": source,
            "destination_address": destination,
            "sinks": ", ".join(self.path.sinks) or None,
            "control": self.control or None,
        }
        return self.cell.levels | {key: value for key, value in others.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A cell on a path, with what its random rank is drawn from."""

    path: MeasuredPath
    cell: PlannedCell
    identity: str  # the end of the JSON text
    group: int = 0  # hours of work before it, in the base order


def plan_rows(campaign: Campaign) -> tuple[PlanRow, ...]:
    """Return all trials in the order in which they run: in each cycle, every cell of every path once.

    With ``order = "random"`` each cycle's order is drawn afresh: cells are sorted by a SHA-256 of seed, cycle
    and cell, which is a uniformly random order that no library's version can change. With
    ``block = "cycle+hour"`` the cells are dealt into groups of an hour's work, and the groups change places
    from cycle to cycle, so that each cell meets every hour. Control rows come at the start, then after each
    ``every`` - 1 others, on one path after the other, and at the end. Of a search for the lossless rate this
    is the first trial; those that follow depend on what it shows (``pathlab.study.lossless.rate_searches``).
    """
    cells = list_cells(campaign)
    if campaign.search is not None:
        cells = tuple(pace_cell(cell, campaign.search.lowest_bits_per_s) for cell in cells)
    names = [_name_cell(cell) for cell in cells] if campaign.order == "random" else [""] * len(cells)
    places = [
        _Place(path=path, cell=cell, identity=f"{start}, {name}")
        for path, start in ((path, _name_path(path)) for path in campaign.paths)
        for cell, name in zip(cells, names, strict=True)
    ]
    if campaign.order == "random" and campaign.block == "cycle+hour":
        places = _deal_groups(campaign, places)
    ordered = (
        (cycle, place.path, place.cell)
        for cycle in range(campaign.cycles_planned)
        for place in _draw(campaign, places, cycle)
    )
    if campaign.control is None:
        return tuple(
            PlanRow(row=row, cycle=cycle, path=path, cell=cell)
            for row, (cycle, path, cell) in enumerate(ordered)
        )
    return tuple(_insert_controls(campaign, campaign.control, ordered))


def _insert_controls(
    campaign: Campaign, control: Control, ordered: Iterable[tuple[int, MeasuredPath, PlannedCell]]
) -> Iterator[PlanRow]:
    cell = build_combination(control, campaign)
    row = controls = cycle = 0
    for cycle, path, drawn in ordered:
        if row % control.every_rows == 0:
            turn = campaign.paths[controls % len(campaign.paths)]
            yield PlanRow(row=row, cycle=cycle, path=turn, cell=cell, control=True)
            row, controls = row + 1, controls + 1
        yield PlanRow(row=row, cycle=cycle, path=path, cell=drawn)
        row += 1
    if row:
        turn = campaign.paths[controls % len(campaign.paths)]
        yield PlanRow(row=row, cycle=cycle, path=turn, cell=cell, control=True)


def _name_path(path: MeasuredPath) -> str:
    """The path's part of an identity: JSON without its end."""
    ends = [path.source, path.destination, path.source_address, path.destination_address, *path.sinks]
    return json.dumps(ends, ensure_ascii=True).removeprefix("[").removesuffix("]")


def _name_cell(cell: PlannedCell) -> str:
    """The cell's part: JSON without its start. Factors that the campaign does not have are no part of it."""
    identity: list[object] = [cell.streams, cell.window_bytes, cell.congestion]
    if len(cell.given) > len(ALWAYS_GIVEN):
        levels = cell.levels
        identity.append({name: levels[name] for name in cell.given if name not in ALWAYS_GIVEN})
    return _IDENTITY.encode(identity).removeprefix("[")


def _draw(campaign: Campaign, places: Sequence[_Place], cycle: int) -> Sequence[_Place]:
    if campaign.order == "given":
        return places
    start = json.dumps(["order-1", campaign.seed, cycle]).removesuffix("]") + ", "
    drawn = sorted(places, key=lambda place: _digest(start + place.identity))
    if campaign.block == "cycle":
        return drawn
    groups = max((place.group for place in places), default=0) + 1
    return sorted(drawn, key=lambda place: (place.group + cycle) % groups)


def _deal_groups(campaign: Campaign, places: Sequence[_Place]) -> list[_Place]:
    """Put the places into groups of at most an hour of requested time, in a random base order.

    Only times in the file count, so that a better estimate of the rest cannot change a plan.
    """
    start = json.dumps(["hours-1", campaign.seed]).removesuffix("]") + ", "
    probes_ns = campaign.probes.unloaded * campaign.probes.interval_ns
    dealt: list[_Place] = []
    group = spent_ns = 0
    for place in sorted(places, key=lambda place: _digest(start + place.identity)):
        requested_ns = place.cell.warmup_ns + place.cell.duration_ns + probes_ns
        if spent_ns and spent_ns + requested_ns > HOUR_NS:
            group, spent_ns = group + 1, 0
        spent_ns += requested_ns
        dealt.append(replace(place, group=group))
    return dealt


def _digest(identity: str) -> bytes:
    return hashlib.sha256(identity.encode("ascii")).digest()


def list_varied(levels: Sequence[Mapping[str, Level]]) -> tuple[str, ...]:
    """The settings of which these rows have several levels; one that a row does not name is a level too."""
    names = dict.fromkeys(name for level in levels for name in level)
    return tuple(name for name in names if len({level.get(name) for level in levels}) > 1)
