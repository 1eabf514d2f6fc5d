"""The plan: which trial runs when."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from pathlab.campaign.factors import Cell, expand_cells
from pathlab.campaign.model import Campaign, MeasuredPath


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One trial of the plan. Rows and cycles count from 0; None leaves the choice to the kernel."""

    row: int
    cycle: int
    path_source: str
    path_destination: str
    source_address: str | None = None
    destination_address: str | None = None
    streams: int
    window_bytes: int | None
    congestion: str | None

    @property
    def settings(self) -> Mapping[str, int | str | None]:
        """The factor levels, and the addresses where the path names them, as the store keeps them."""
        levels: dict[str, int | str | None] = {
            "streams": self.streams,
            "window_bytes": self.window_bytes,
            "congestion": self.congestion,
        }
        addresses = {
            "source_address": self.source_address,
            "destination_address": self.destination_address,
        }
        return levels | {key: address for key, address in addresses.items() if address is not None}


def plan_rows(campaign: Campaign) -> tuple[PlanRow, ...]:
    """Return all trials in the order in which they run: in each cycle, every cell of every path once.

    With ``order = "random"`` each cycle's order is drawn afresh: cells are sorted by a SHA-256 of seed, cycle
    and cell, which is a uniformly random order that no library's version can change.
    """
    cells = [(path, cell) for path in campaign.paths for cell in expand_cells(campaign.factors)]
    rows: list[PlanRow] = []
    for cycle in range(campaign.cycles):
        drawn = list(cells)
        if campaign.order == "random":
            drawn.sort(key=lambda item: _rank(campaign.seed, cycle, *item))
        for path, cell in drawn:
            rows.append(_row(len(rows), cycle, path, cell))
    return tuple(rows)


def _row(row: int, cycle: int, path: MeasuredPath, cell: Cell) -> PlanRow:
    return PlanRow(
        row=row,
        cycle=cycle,
        path_source=path.source,
        path_destination=path.destination,
        source_address=path.source_address,
        destination_address=path.destination_address,
        streams=cell.streams,
        window_bytes=cell.window_bytes,
        congestion=cell.congestion,
    )


def _rank(seed: int, cycle: int, path: MeasuredPath, cell: Cell) -> bytes:
    ends = [path.source, path.destination, path.source_address, path.destination_address]
    identity = ["order-1", seed, cycle, *ends, cell.streams, cell.window_bytes, cell.congestion]
    return hashlib.sha256(json.dumps(identity, ensure_ascii=True).encode("ascii")).digest()
