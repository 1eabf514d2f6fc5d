"""What is said of a cell that a page has put together itself: its limit, and how it compares to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.interval import Undecided
from pathlab.analysis.limits import Limit
from pathlab.study.analyses import Analyses
from pathlab.study.limits import AGREEING_RATIO, TRIALS_PER_CELL, agree_on_limit
from pathlab.study.selection import LAB_FLAGS
from pathlab.study.source import Condition
from pathlab.study.throughput import StreamsVsWindows

Cell = tuple[Condition, int, int | None]  # condition, streams, window asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class CellVerdict:
    """What limited a cell. ``limit`` None: the lab (``lab_doubted``), or not told, as ``undecided`` says.

    ``agreeing`` of ``judged`` trials bear the limit; trials of a doubted lab are not judged.
    """

    limit: Limit | None
    lab_doubted: bool
    judged: int
    agreeing: int
    undecided: Undecided | None


class Verdicts:
    """The verdicts of the analyses, found by the numbers of a cell's complete trials.

    A page may group trials otherwise than ``Condition`` does: the trials' own verdicts are put together anew.
    Nothing is judged twice: what ``Analyses`` has answered with is looked up.
    """

    def __init__(self, study: Analyses, trials_per_cell: int | None = TRIALS_PER_CELL) -> None:
        self._table = study.study_table()
        ids = self._table.get("trial_id").astype(np.int64)
        self._places = {int(number): place for place, number in enumerate(ids)}
        self._doubted = np.logical_or.reduce([self._table.flagged(flag) for flag in LAB_FLAGS])
        self._judged = {
            trial.trial_id: trial
            for answer in study.limits(trials_per_cell)
            for trial in answer.result.trials
        }
        self._study = study
        self._compared: dict[tuple[Cell, Cell], StreamsVsWindows] | None = None

    def find_limit(self, trial_ids: Iterable[int]) -> CellVerdict:
        """The limit that more than half of the judged trials share; the lab's where it doubted most."""
        ids = [number for number in trial_ids if number in self._places]
        doubted = sum(bool(self._doubted[self._places[number]]) for number in ids)
        if ids and doubted > AGREEING_RATIO * len(ids):
            return CellVerdict(limit=None, lab_doubted=True, judged=0, agreeing=0, undecided=None)
        found = agree_on_limit([self._judged[number] for number in ids if number in self._judged])
        counts = {count.limit: count.trials for count in found.counts}
        return CellVerdict(
            limit=found.limit,
            lab_doubted=False,
            judged=found.judged,
            agreeing=counts[found.limit] if found.limit is not None else 0,
            undecided=found.undecided,
        )

    def find_comparison(
        self, many_trial_ids: Iterable[int], large_trial_ids: Iterable[int]
    ) -> StreamsVsWindows | None:
        """The comparison of two cells of equal streams x window; None where there is none.

        There is none for autotuned windows, and where a cell's trials are all left out (``selection``).
        """
        if self._compared is None:
            self._compared = {
                (
                    (answer.condition, answer.result.many_streams, answer.result.many_window_bytes),
                    (answer.condition, answer.result.large_streams, answer.result.large_window_bytes),
                ): answer.result
                for answer in self._study.streams_vs_windows()
            }
        many, large = self._find_cell(many_trial_ids), self._find_cell(large_trial_ids)
        return None if many is None or large is None else self._compared.get((many, large))

    def _find_cell(self, trial_ids: Iterable[int]) -> Cell | None:
        """The cell of these trials; None where they are of several, or of none."""
        places = [self._places[number] for number in trial_ids if number in self._places]
        streams, windows = self._table.get("streams"), self._table.get("window_asked_bytes")
        cells = {
            (
                self._table.conditions[place],
                int(streams[place]),
                None if np.isnan(windows[place]) else int(windows[place]),
            )
            for place in places
            if np.isfinite(streams[place])
        }
        return cells.pop() if len(cells) == 1 else None
