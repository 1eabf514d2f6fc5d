"""Rates in the steady window of one end; of several receivers, each over the window on its own clock."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pathlab.runner.trial.flow_records import EndPhase

#: By how much of its planned length a receiver's window may differ before the trial is flagged.
LENGTH_TOLERANCE_RATIO = 0.01


def list_spans_ns(phase: EndPhase) -> list[int | None]:
    """The length of each stream's window: that of its receiver; None where that stated none."""
    return phase.get("spans_ns") or [phase["end_ns"] - phase["start_ns"]] * len(phase["bytes"])


def sum_rates_per_s(phase: EndPhase, counted: Literal["bytes", "sent_bytes", "messages"]) -> float | None:
    """What the streams counted under this name, per second of each one's window; None where one had none."""
    spans, counts = list_spans_ns(phase), phase[counted]
    if not all(span is not None and span > 0 for span in spans) or None in counts:
        return None
    by_span: Counter[int] = Counter()
    for span, count in zip(spans, counts, strict=True):
        by_span[span or 0] += count
    return float(sum(count * 1e9 / span for span, count in by_span.items()))


def is_window_uneven(phase: EndPhase | None, planned_ns: int) -> bool:
    """Whether a receiver's window differs from the plan by more than ``LENGTH_TOLERANCE_RATIO``."""
    spans = phase.get("spans_ns", ()) if phase else ()
    return any(span is None or abs(span - planned_ns) > LENGTH_TOLERANCE_RATIO * planned_ns for span in spans)
