"""A series of a trial over its time as the explorer draws it: numbers for JSON, null where not measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.report.base.phrases import format_count
from pathlab.study.exploration import courses
from pathlab.study.exploration.courses import Course, CourseCache
from pathlab.study.exploration.explored_results import ExploredResults

#: Digits of times in seconds, to the nanosecond of a trial of a day, and significant digits of values.
TIME_DIGITS, DIGITS = 9, 6
RANGE_NAMES = ("minimum", "lower quartile", "median", "upper quartile", "maximum")


def read_course(
    results: ExploredResults,
    row: int,
    series: str,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    pixels: int = 800,
    cache: CourseCache | None = None,
) -> dict[str, Any]:
    """The course ``KIND.COLUMN`` of the trial at a row, for JSON. Raises as ``read_reduced_course``."""
    course = courses.read_reduced_course(
        results, row, series, start_s=start_s, end_s=end_s, pixels=pixels, cache=cache
    )
    return write_course(course)


def write_course(course: Course) -> dict[str, Any]:
    """The document of a course: times in seconds since the trial's start, values in its unit."""
    return {
        "series": course.series.name,
        "label": course.series.label,
        "group": course.series.group,
        "unit": course.series.unit.unit,
        "first": course.first_s,
        "last": course.last_s,
        "start": course.start_s,
        "end": course.end_s,
        "step": course.is_step,
        "reduced": course.reduced,
        "x": _write_times(course.x_s),
        "lines": [
            {"name": line.name, "total": line.is_total, "values": _write_values(line.values)}
            for line in course.lines
        ],
        "bandX": _write_times(course.band_x_s),
        "bands": [
            {"name": name, "values": _write_values(course.bands[:, index])}
            for index, name in enumerate(RANGE_NAMES)
        ]
        if len(course.bands)
        else [],
        "lost": _write_times(course.lost_s),
        "notes": list_course_notes(course),
    }


def list_course_notes(course: Course) -> list[str]:
    """What a reader has to know of the lines, in sentences."""
    notes = []
    if course.reduced:
        shown = "bands of quantiles" if len(course.bands) else "minimum and maximum"
        notes.append(f"{course.samples:,} times are drawn as {shown} of each part of the width.")
    if len(course.bands):
        notes.append(f"{format_count(course.count, course.series.noun)}: range, middle half and median.")
    if course.lost is not None:
        notes.append(f"{format_count(course.lost, 'probe')} lost.")
    return notes


def _write_times(times_s: Floats) -> list[float]:
    return [round(time, TIME_DIGITS) for time in times_s.tolist()]


def _write_values(values: Floats) -> list[float | None]:
    """Values with so many significant digits; null for what was not measured."""
    known = np.isfinite(values)
    return [
        float(f"{value:.{DIGITS}g}") if there else None
        for value, there in zip(values.tolist(), known.tolist(), strict=True)
    ]
