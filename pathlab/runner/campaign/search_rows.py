"""Rows of the plan that a search for the lossless rate has added to those of its campaign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pathlab.campaign.cell import RATE_FACTOR, pace_cell
from pathlab.campaign.order import PlanRow
from pathlab.errors import UsageError
from pathlab.store.records import PlanRecord
from pathlab.study.lossless.rate_searches import name_search, read_rate


def record_row(row: PlanRow) -> PlanRecord:
    """A row of the plan as the store keeps it."""
    return PlanRecord(
        row=row.row,
        cycle=row.cycle,
        path_source=row.path.source,
        path_destination=row.path.destination,
        settings=dict(row.settings),
    )


def restore_rows(first: Iterable[PlanRow], stored: Sequence[PlanRecord]) -> list[PlanRow]:
    """The rows that searches have added to the plan, whose ``first`` rows are given.

    Raises UsageError for a row that is none of a search's.
    """
    begun = list(first)
    searches = {name_search(record_row(row)): row for row in begun}
    restored = []
    for record in stored[len(begun) :]:
        row = searches.get(name_search(record))
        if row is None or not isinstance(record.settings.get(RATE_FACTOR), int):
            raise UsageError(
                f"row {record.row} of the stored plan belongs to no search of this campaign",
                hint="start a new run with --new",
            )
        restored.append(replace(row, row=record.row, cell=pace_cell(row.cell, read_rate(record))))
    return restored
