"""When compared results were measured, in words: times apart are part of every difference."""

from __future__ import annotations

import datetime

from pathlab.study.comparison.circumstances import MeasuredSpan
from pathlab.study.comparison.rows import ResultsComparison

OTHER_PATH = "What changed on the path in between is part of every difference."


def warn_of_times(found: ResultsComparison, label: str) -> str | None:
    """The sentence beside the answer where ``label`` was measured hours or more from the first results."""
    spans = _find_spans(found, label)
    if spans is None or not (spans[0].is_far_from(spans[1]) or not spans[0].shares_hours_with(spans[1])):
        return None
    hours = "" if spans[0].shares_hours_with(spans[1]) else ", at other hours of the day"
    return f"{_describe(spans)}{hours}. {OTHER_PATH}"


def note_times(found: ResultsComparison, label: str) -> str | None:
    """The sentence among the notes where ``label`` was measured soon before or after the first results."""
    spans = _find_spans(found, label)
    if spans is None or warn_of_times(found, label) is not None:
        return None
    return f"{_describe(spans)}."


def _find_spans(found: ResultsComparison, label: str) -> tuple[MeasuredSpan, MeasuredSpan] | None:
    """The spans of the first results and of ``label``; None where they overlap or one is not known."""
    spans = {span.label: span for span in found.spans}
    before, after = spans.get(found.labels[0]), spans.get(label)
    return None if before is None or after is None or before.overlaps(after) else (before, after)


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
