"""Whether round trips still rose at the end of a combination's trials: its queue had not filled by then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.latency import MINIMUM_READINGS, RttClimb, classify_rtt_climb
from pathlab.errors import StoreError
from pathlab.store.steady import LOADED_PROBES, SENDER_INTERVALS, STEADY
from pathlab.study.limits import choose_trials
from pathlab.study.selection import Sample
from pathlab.study.trials import StudySource, column


@dataclass(frozen=True, slots=True, kw_only=True)
class CellClimb:
    """``judged`` trials whose series tell, and those ``rising`` of them, whose dRTT is a lower bound."""

    judged: int
    rising: int

    @property
    def still_rising(self) -> bool:
        """Whether most of the trials that tell were rising."""
        return 2 * self.rising > self.judged


def classify_cell_climb(source: StudySource, part: Sample, margin_ns: float, trials: int) -> CellClimb:
    """The trials of one cell, at most so many of them, by ``latency.classify_rtt_climb``."""
    verdicts = [
        _judge_trial(source, (int(number), int(start_ns), int(length_ns)), margin_ns).rising
        for number, start_ns, length_ns in (
            (part.get("trial_id")[place], part.get("warmup_ns")[place], part.get("steady_ns")[place])
            for place in choose_trials(part, trials)
        )
        if np.isfinite(start_ns) and np.isfinite(length_ns)
    ]
    known = [verdict for verdict in verdicts if verdict is not None]
    return CellClimb(judged=len(known), rising=sum(known))


def _judge_trial(source: StudySource, trial: tuple[int, int, int], margin_ns: float) -> RttClimb:
    """By the loaded probes of the steady window; by the kernel's smoothed RTT where these are too few."""
    number, start_ns, length_ns = trial
    times, rtts = _read_probes(source, number)
    inside = (times >= start_ns) & (times < start_ns + length_ns)
    found = classify_rtt_climb(times[inside], rtts[inside], margin_ns)
    if found.n >= MINIMUM_READINGS:
        return found
    return classify_rtt_climb(*_read_smoothed(source, number), margin_ns)


def _read_probes(source: StudySource, number: int) -> tuple[Floats, Floats]:
    """Time of sending and RTT, ns, of every loaded probe."""
    frame = _read_series(source, number, LOADED_PROBES)
    if frame is None:
        return np.empty(0), np.empty(0)
    return column(frame, "sent_ns"), column(frame, "rtt_ns")


def _read_smoothed(source: StudySource, number: int) -> tuple[Floats, Floats]:
    """End and mean smoothed RTT over the streams, ns, of each interval of the steady window."""
    frame = _read_series(source, number, SENDER_INTERVALS)
    if frame is None or not {"phase", "end_ns", "rtt_us"} <= set(frame.columns):
        return np.empty(0), np.empty(0)
    steady = frame[frame["phase"].astype(str) == STEADY]
    means = steady.groupby("end_ns")["rtt_us"].mean().dropna()
    return means.index.to_numpy(dtype=np.float64), 1e3 * means.to_numpy(dtype=np.float64)


def _read_series(source: StudySource, number: int, kind: str) -> pd.DataFrame | None:
    """A series of a trial; None where it kept none, or where it is damaged."""
    try:
        return source.series(number, kind) if kind in source.series_kinds(number) else None
    except StoreError:
        return None
