"""Whether round trips still rose at the end of a combination's trials: its queue had not filled by then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.latency import MINIMUM_READINGS, RttClimb, classify_rtt_climb
from pathlab.errors import StoreError
from pathlab.store.flags import Phase
from pathlab.store.steady import SENDER_INTERVALS
from pathlab.study.base.selection import Sample
from pathlab.study.base.trials import StudySource
from pathlab.study.flows.limits import choose_trials
from pathlab.study.flows.streams import read_rtt_course


@dataclass(frozen=True, slots=True, kw_only=True)
class CellClimb:
    """``classified`` trials with readings at their end, and the ``rising`` ones: their dRTT is a lower bound.

    ``damaged``: why a stored series could not be read; its trial is none of those classified.
    """

    classified: int
    rising: int
    damaged: tuple[str, ...] = ()

    @property
    def still_rising(self) -> bool:
        """Whether most of the classified trials were rising."""
        return 2 * self.rising > self.classified


def classify_cell_climb(source: StudySource, part: Sample, margin_ns: float, trials: int) -> CellClimb:
    """The trials of one cell, at most so many of them, by ``latency.classify_rtt_climb``."""
    ids = part.get("trial_id")
    verdicts: list[bool | None] = []
    damaged: list[str] = []
    for index in choose_trials(part, trials):
        try:
            verdicts.append(_classify_trial(source, int(ids[index]), margin_ns).rising)
        except StoreError as error:
            damaged.append(str(error))
    known = [verdict for verdict in verdicts if verdict is not None]
    return CellClimb(classified=len(known), rising=sum(known), damaged=tuple(damaged))


def _classify_trial(source: StudySource, trial_id: int, margin_ns: float) -> RttClimb:
    """By the loaded probes of the steady window; by the kernel's smoothed RTT where these are too few."""
    rtt_climb = classify_rtt_climb(*read_rtt_course(source, trial_id), margin_ns)
    if rtt_climb.n >= MINIMUM_READINGS:
        return rtt_climb
    return classify_rtt_climb(*_read_smoothed(source, trial_id), margin_ns)


def _read_smoothed(source: StudySource, trial_id: int) -> tuple[Floats, Floats]:
    """End and mean smoothed RTT over the streams, ns, of each interval of the steady window."""
    wanted = ("phase", "end_ns", "rtt_us")
    table = source.series_tables(trial_id, {SENDER_INTERVALS: wanted}).get(SENDER_INTERVALS)
    if table is None or not {*wanted} <= {*table.column_names}:
        return np.empty(0), np.empty(0)
    frame = table.to_pandas()
    steady = frame[frame["phase"].astype(str) == Phase.STEADY]
    means = steady.groupby("end_ns")["rtt_us"].mean().dropna()
    return means.index.to_numpy(dtype=np.float64), 1e3 * means.to_numpy(dtype=np.float64)
