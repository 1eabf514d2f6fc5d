"""When compared results were measured, in words: times apart are part of every difference."""

from __future__ import annotations

import datetime

from pathlab.study.comparison.circumstances import HOURS_OF_DAY, MeasuredSpan
from pathlab.study.comparison.rows import ResultsComparison

OTHER_PATH = "How the path differs between these times is part of every difference."


def warn_of_times(comparison: ResultsComparison, label: str) -> str | None:
    """The sentence alongside the answer where ``label`` was measured at other hours than the first results.

    Or where hours or days lie between the two.
    """
    spans = _find_spans(comparison, label)
    if spans is None:
        return None
    before, after = spans
    if before.overlaps(after) and not before.shares_hours_with(after):
        texts = ", ".join(f"{span.label} {_format_hours(span.hours)}" for span in spans)
        return f"Measured at other hours of the day: {texts} UTC. {OTHER_PATH}"
    if before.overlaps(after) or (not before.is_far_from(after) and before.shares_hours_with(after)):
        return None
    hours = "" if before.shares_hours_with(after) else ", at other hours of the day"
    return f"{_describe(spans)}{hours}. {OTHER_PATH}"


def note_times(comparison: ResultsComparison, label: str) -> str | None:
    """The sentence among the notes where ``label`` was measured soon before or after the first results."""
    spans = _find_spans(comparison, label)
    if spans is None or spans[0].overlaps(spans[1]) or warn_of_times(comparison, label) is not None:
        return None
    return f"{_describe(spans)}."


def _find_spans(comparison: ResultsComparison, label: str) -> tuple[MeasuredSpan, MeasuredSpan] | None:
    """The spans of the first results and of ``label``; None where one is not known."""
    spans = {span.label: span for span in comparison.spans}
    before, after = spans.get(comparison.labels[0]), spans.get(label)
    return None if before is None or after is None else (before, after)


def _format_hours(hours: frozenset[int]) -> str:
    """Hours of the day as ranges: ``from 07:00 to 09:00``, one over midnight as ``from 23:00 to 01:00``."""
    starts = [hour for hour in sorted(hours) if (hour - 1) % HOURS_OF_DAY not in hours]
    texts = []
    for start in starts:
        end = next(end for end in range(start + 1, start + HOURS_OF_DAY) if end % HOURS_OF_DAY not in hours)
        texts.append(f"from {start:02}:00 to {end % HOURS_OF_DAY:02}:00")
    return " and ".join(texts)


def _describe(spans: tuple[MeasuredSpan, MeasuredSpan]) -> str:
    return (
        f"Measured at different times: {', '.join(f'{one.label} {_format_span(one)}' for one in spans)} UTC"
    )


def _format_span(span: MeasuredSpan) -> str:
    """``2026-11-02 19:00 to 21:00``; the second day where it is another one."""
    first, last = (time.astimezone(datetime.UTC) for time in (span.first, span.last))
    start = f"{first:%Y-%m-%d %H:%M}"
    if last - first < datetime.timedelta(minutes=1):
        return start
    return f"{start} to {last:{'%H:%M' if first.date() == last.date() else '%Y-%m-%d %H:%M'}}"
