"""Rate and RTT of single streams while a trial runs: every stream of few, of many the extremes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from pathlab.runner.events import Emit, StreamsNow

#: Up to so many streams are reported one by one; of more, half as many lowest and half as many highest.
STREAMS_SHOWN = 16
#: People do not read faster; intervals may be much shorter.
REPORT_S = 0.25


class StreamReadings:
    """Reports readings of the streams of one row, a few times each second. Called from any thread."""

    def __init__(self, row: int, emit: Emit, clock: Callable[[], float] = time.monotonic) -> None:
        self._row, self._emit, self._clock = row, emit, clock
        self._due_s: dict[str, float] = {}  # by measure

    def __call__(self, measure: str, values: Sequence[float | None], elapsed_ns: int) -> None:
        """Take the latest value of each stream, None where it is unknown."""
        now_s = self._clock()
        if now_s < self._due_s.get(measure, now_s):
            return
        known = np.array([np.nan if value is None else value for value in values], dtype=float)
        order = np.argsort(known, kind="stable")
        order = order[: np.count_nonzero(~np.isnan(known))]  # NaN comes last
        if not order.size:
            return
        self._due_s[measure] = now_s + REPORT_S
        shown = order
        if order.size > STREAMS_SHOWN:
            half = STREAMS_SHOWN // 2
            shown = np.concatenate([order[:half], order[-half:]])
        self._emit(
            StreamsNow(
                row=self._row,
                measure=measure,
                elapsed_ns=elapsed_ns,
                count=int(order.size),
                median=float(np.median(known[order])),
                streams=tuple((int(stream), float(known[stream])) for stream in shown),
            )
        )
