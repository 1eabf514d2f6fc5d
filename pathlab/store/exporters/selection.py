"""Which trials are exported, each with its record, its plan's settings and its origin."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pathlab._version import VERSION
from pathlab.errors import UsageError
from pathlab.store.flags import Status
from pathlab.store.importers.exported import list_columns
from pathlab.store.records import OriginRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.trial_table import list_values, parse_trial_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTrial:
    """A trial to be exported."""

    trial_id: int
    record: TrialRecord
    settings: Mapping[str, Any]  # factor levels of its plan row
    origin: OriginRecord | None
    kinds: tuple[str, ...]  # series that it kept

    @property
    def started(self) -> datetime.datetime:
        """When it was begun, UTC."""
        stamp = datetime.datetime.fromisoformat(self.record.started_utc)
        return stamp if stamp.tzinfo else stamp.replace(tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to export of which results; ``with_series`` as far as the format can leave them out."""

    results: Results
    trials: tuple[ChosenTrial, ...]
    with_series: bool = True

    def read_intervals(self, trial: ChosenTrial, kind: str) -> list[dict[str, Any]]:
        """The rows of a trial's intervals; none where it kept no such series, or one without counts."""
        if kind not in trial.kinds:
            return []
        table = self.results.series_table(trial.trial_id, kind)
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows if {"phase", "bytes"} <= set(table.column_names) else []

    def complete(self) -> Iterator[ChosenTrial]:
        """The trials that measured what they were planned to."""
        return (trial for trial in self.trials if trial.record.status == Status.COMPLETE)


def select_trials(results: Results, trial_ids: Iterable[int] = (), *, with_series: bool = True) -> Selection:
    """Choose trials by id (a list, an array, a Series), or all.

    Raises UsageError for an id that is not there, or when there is none.
    """
    stored = {int(number): None for number in results.trials()["trial_id"]}
    wanted = [parse_trial_id(number) for number in list_values(trial_ids)]
    for number in wanted:
        if number not in stored:
            raise UsageError(
                f"there is no trial {number} in '{results.path}'",
                hint=f"pathlab results show {results.folder} lists them.",
            )
    if not stored:
        raise UsageError(
            f"'{results.path}' holds no trial yet", hint="Run the campaign first: there is nothing to export."
        )
    settings = {row.row: row.settings for row in results.plan()}
    origins, kinds = results.origins(), results.all_series_kinds()
    chosen = set(wanted) or stored.keys()
    return Selection(
        results=results,
        with_series=with_series,
        trials=tuple(
            ChosenTrial(
                trial_id=number,
                record=record,
                settings=settings.get(record.plan_row, {}),
                origin=origins.get(number),
                kinds=kinds.get(number, ()),
            )
            for number, record in zip(stored, results.records(), strict=True)
            if number in chosen
        ),
    )


def describe_trial(trial: ChosenTrial) -> dict[str, Any]:
    """What PathLab knows of a trial besides what a foreign format has a place for; its importer reads it."""
    return {
        "version": VERSION,
        "trial_id": trial.trial_id,
        "status": trial.record.status,
        "failed_stage": trial.record.failed_stage,
        "failure": trial.record.failure,
        "flags": list(trial.record.flags),
        "settings": dict(trial.settings),
        "columns": list_columns(trial.record),
    }
