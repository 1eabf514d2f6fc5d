"""One of the explored results: what it is, and its trials as they are stored, read once each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pathlab._version import VERSION
from pathlab.errors import StoreError
from pathlab.store.location import locate_database
from pathlab.store.lock import find_writer
from pathlab.store.trial_columns import (
    count_plan_rows,
    find_last_trial,
    read_plan_settings,
    read_trial_columns,
)
from pathlab.study.analyses import Analyses, StudiedResults
from pathlab.study.base.cells import MEDIA
from pathlab.study.base.trials import (
    LAB,
    TrialTable,
    build_trial_table,
    is_order_drawn,
    is_searching,
    list_values,
)
from pathlab.study.exploration.source_piece import PlannedSettings, SourcePiece, read_piece


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredSource:
    """One of the results. ``notes`` say what a reader must know: written now, by another version, damaged.

    ``path`` is the results folder ("" where there is none), ``planned`` and ``trials`` the rows of its plan
    and its stored trials; ``medium`` is what was measured over, in words. ``order_drawn``: as ``TrialTable``.
    """

    label: str
    title: str
    name: str
    path: str
    created_utc: str
    program_version: str
    medium: str
    planned: int
    trials: int
    order_drawn: bool = False
    notes: tuple[str, ...] = ()


def name_source(index: int) -> str:
    """A, B, ... Z, AA, AB ...: the label of the results at a place."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


class SourceReader:
    """Reads the trials of one of the results, each once; ``study`` None: it could not be opened."""

    def __init__(self, index: int, study: Analyses | None, source: ExploredSource) -> None:
        self.place = index
        self.study = study
        self.source = source
        self.settings = PlannedSettings()
        self._results = study if isinstance(study, StudiedResults) else None
        self._last = 0  # number of the last trial that was read

    @classmethod
    def open(cls, path: Path, index: int, *, alone: bool) -> SourceReader:
        """Open a results folder or its file; where it is damaged and not ``alone``, a note says so.

        Raises StoreError where it is missing, no PathLab file, or damaged and alone.
        """
        database = locate_database(path)
        try:
            return cls.of(StudiedResults.open(database), index)
        except StoreError as error:
            if alone:
                raise
            return cls(index, None, _describe_unreadable(database, index, error))

    @classmethod
    def of(cls, study: Analyses, index: int) -> SourceReader:
        """Read results that are open already."""
        return cls(index, study, _describe_study(study, index))

    def read(self, *, alone: bool) -> SourcePiece | None:
        """The trials that were not read yet; None where there are none.

        Where they cannot be read, ``alone`` raises StoreError, else a note says so.
        """
        if self.study is None:
            return None
        try:
            piece = self._read_piece(self.study)
        except StoreError as error:
            if alone:
                raise
            self.source = replace(self.source, notes=(f"cannot be read: {error.message}",))
            return None
        self.source = replace(self.source, notes=tuple(self._list_notes()))
        return piece

    def _read_piece(self, study: Analyses) -> SourcePiece | None:
        planned, last = self._count()
        if (planned, last) == (self.source.planned, self._last):
            return None
        if self.source.planned or self._last:
            study.reread()  # what its analyses know is older than these trials
        if planned != self.source.planned:
            self.settings = self._read_settings()
            self.source = replace(self.source, planned=planned)
        if last <= self._last:
            return None
        first, table = self._read_table(study)
        piece = read_piece(self.place, study, table, self.settings, first)
        self._last = last
        media = dict.fromkeys(
            MEDIA.get(item, item)
            for item in dict.fromkeys(condition.medium for condition in table.conditions)
        )
        known = dict.fromkeys(
            (*filter(None, self.source.medium.split(", ") if self.source.trials else ()), *media)
        )
        self.source = replace(self.source, trials=self.source.trials + piece.size, medium=", ".join(known))
        return piece

    def _count(self) -> tuple[int, int]:
        """Rows of the plan, and the number of the last trial."""
        if self._results is not None:
            return count_plan_rows(self._results), find_last_trial(self._results)
        assert self.study is not None
        numbers = self.study.study_source.trials()["trial_id"]
        return len(self.study.study_source.plan()), int(numbers.max()) if len(numbers) else 0

    def _read_settings(self) -> PlannedSettings:
        if self._results is None:
            assert self.study is not None
            return PlannedSettings.of(self.study.study_source.plan())
        stored = read_plan_settings(self._results)
        places = dict(zip(stored.rows.tolist(), stored.places.tolist(), strict=True))
        return PlannedSettings(places=places, distinct=list(stored.distinct))

    def _read_table(self, study: Analyses) -> tuple[int, TrialTable]:
        """A table with the trials that were not read yet, and the place of the first of them."""
        # of a search the rate of a cycle follows from all of its trials
        after = 0 if is_searching(study.study_source.campaign.model) else self._last
        if self._results is not None:
            frame = read_trial_columns(self._results, after)
        else:
            every = study.study_source.trials().sort_values("trial_id", kind="stable")
            frame = every[every["trial_id"] > after].reset_index(drop=True)
        table = build_trial_table(frame, self.settings.list_settings(*list_values(frame, ("plan_row",))))
        return int((table.get("trial_id") <= self._last).sum()), table

    def _list_notes(self) -> Iterator[str]:
        if self._results is not None and find_writer(self._results.folder) is not None:
            yield "being written: trials are added while the run goes on"
        if self._results is not None and find_last_trial(self._results) < self._last:
            yield "was replaced while it was open: open it again"
        if self.source.program_version != VERSION:
            yield f"made by PathLab {self.source.program_version}: columns that it did not know are empty"


def _describe_unreadable(database: Path, index: int, error: StoreError) -> ExploredSource:
    return ExploredSource(
        label=name_source(index),
        title=database.parent.name,
        name=database.parent.name,
        path=str(database.parent),
        created_utc="",
        program_version="",
        medium="",
        planned=0,
        trials=0,
        notes=(f"cannot be read: {error.message}",),
    )


def _describe_study(study: Analyses, index: int) -> ExploredSource:
    campaign = study.study_source.campaign
    return ExploredSource(
        label=name_source(index),
        title=campaign.title,
        name=campaign.name,
        path=str(study.folder) if isinstance(study, StudiedResults) else "",
        created_utc=campaign.created_utc,
        program_version=campaign.program_version,
        medium=MEDIA[LAB] if campaign.environment.get("lab") else "",
        planned=0,
        trials=0,
        order_drawn=is_order_drawn(campaign.model),
    )
