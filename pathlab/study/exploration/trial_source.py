"""The results as one trial's details read them: each of its series is fetched and decoded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from pathlab.errors import StoreError
from pathlab.store.records import CampaignRecord, HostRecord, JournalRecord, PlanRecord, TrialRecord
from pathlab.store.series_columns import SERIES, SERIES_KINDS, find_series_kind
from pathlab.study.base.trials import StudySource

if TYPE_CHECKING:
    import pandas as pd

#: Large, and read by nothing that is shown.
_UNREAD = (SERIES["tcp_info_raw"],)


class TrialSource:
    """A ``StudySource`` that keeps the series of the trial read last."""

    def __init__(self, source: StudySource) -> None:
        self._source = source
        self._hosts: Sequence[HostRecord] | None = None
        self._kept: tuple[int, dict[str, pa.Table] | None] | None = None

    @property
    def campaign(self) -> CampaignRecord:
        return self._source.campaign

    def plan(self) -> Sequence[PlanRecord]:
        return self._source.plan()

    def hosts(self) -> Sequence[HostRecord]:
        if self._hosts is None:
            self._hosts = self._source.hosts()
        return self._hosts

    def journal(self) -> Sequence[JournalRecord]:
        return self._source.journal()

    def trials(self) -> pd.DataFrame:
        return self._source.trials()

    def record(self, trial_id: int) -> TrialRecord:
        return self._source.record(trial_id)

    def series_kinds(self, trial_id: int) -> Sequence[str]:
        return self._source.series_kinds(trial_id)

    def series(self, trial_id: int, kind: str) -> pd.DataFrame:
        return self._source.series(trial_id, kind)

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
        if any(find_series_kind(kind) in _UNREAD for kind in columns):
            return self._source.series_tables(trial_id, columns)
        if self._kept is None or self._kept[0] != trial_id:
            self._kept = trial_id, self._read_all(trial_id)
        kept = self._kept[1]
        if kept is None:
            return self._source.series_tables(trial_id, columns)
        return {
            kind: kept[kind].select([name for name in names if name in kept[kind].column_names])
            for kind, names in columns.items()
            if kind in kept
        }

    def _read_all(self, trial_id: int) -> dict[str, pa.Table] | None:
        """Every series that may be shown; None where one is damaged, so that the others are read alone."""
        kinds = {kind: find_series_kind(kind) for kind in SERIES_KINDS}
        wanted = {kind: tuple(item.columns) for kind, item in kinds.items() if item not in _UNREAD}
        try:
            return self._source.series_tables(trial_id, wanted)
        except StoreError:
            return None
