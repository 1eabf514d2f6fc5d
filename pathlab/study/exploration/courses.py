"""A series of one trial over its time, reduced to what a screen of so many pixels can show.

Few lines are reduced to their extremes, many to bands of quantiles and, where it means something, their sum.
A part of the time is read from the stored series again, so that a closer look shows more.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.reduction import BAND_RATIOS, reduce_bands, reduce_extremes
from pathlab.errors import StoreError
from pathlab.store.arrays import read_floats, read_objects
from pathlab.store.series_columns import find_series_kind
from pathlab.study.base.trial_series import read_columns
from pathlab.study.base.trials import StudySource
from pathlab.study.exploration.course_series import (
    BUSY,
    CWND,
    DERIVED,
    KEYS,
    RATE,
    RETRANSMISSIONS,
    SPANS,
    CourseSeries,
    find_span,
    holds_counters,
    list_courses,
    parse_course,
)

if TYPE_CHECKING:
    from pathlab.study.analyses import Analyses
    from pathlab.study.exploration.explored_results import ExploredResults

#: Values that reach the reader for each pixel of width, of all lines together.
VALUES_PER_PIXEL = 4
#: More streams, cores or interfaces are drawn as bands.
LINES_MAX = 8
CACHE_BYTES = 256 * 2**20
_CWND_COLUMNS = ("snd_cwnd_bytes", "snd_cwnd_segments", "snd_mss_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCourse:
    """A course as it was stored: rows are times, columns of ``values`` lines; in the unit of the series.

    ``x_s`` ascends, seconds since the trial's start; ``end_s`` is the end of the last row. ``keys`` names the
    lines by number. ``lost_s``: when lost probes were sent, None: these are no probes.
    """

    series: CourseSeries
    x_s: Floats
    end_s: float
    values: Floats
    keys: NDArray[Any]
    lost_s: Floats | None

    @property
    def size_bytes(self) -> int:
        """What it takes in memory."""
        return self.x_s.nbytes + self.values.nbytes + self.keys.nbytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseLine:
    """One line: its name and values at the course's times; NaN: not measured. ``is_total``: of all lines."""

    name: str
    values: Floats
    is_total: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What is drawn of a course: from ``start_s`` to ``end_s`` of the trial's ``first_s`` to ``last_s``.

    ``lines`` are the sum of all ``count`` streams (cores, interfaces), where it means something, and each of
    few. ``bands`` have the times ``band_x_s`` and the shape (times, 5), least, quarter, median, three
    quarters, largest; empty: the lines are all. ``reduced``: extremes of parts of the time are shown, not
    every value. ``is_step``: a value is that of the span from its time to the next. ``lost_s`` are times of
    lost probes, one for each pixel at most, and ``lost`` their number.
    """

    series: CourseSeries
    first_s: float
    last_s: float
    start_s: float
    end_s: float
    x_s: Floats
    lines: tuple[CourseLine, ...]
    band_x_s: Floats
    bands: Floats
    count: int
    samples: int
    reduced: bool
    is_step: bool
    lost_s: Floats
    lost: int | None


class CourseCache:
    """The courses that were loaded last, up to some bytes, for closer looks at them. For several threads."""

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[tuple[int, int, str], tuple[Analyses, LoadedCourse]] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, study: Analyses, trial_id: int, series: CourseSeries) -> LoadedCourse:
        """The course, from memory where it is held. Raises StoreError."""
        key = (id(study), trial_id, series.name)  # the entry holds the study, so that its id is its own
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][1]
        loaded = load_course(study, trial_id, series)
        with self._lock:
            self._held[key] = study, loaded
            while sum(item.size_bytes for _, item in self._held.values()) > self._most_bytes:
                self._held.popitem(last=False)
        return loaded


def read_reduced_course(
    results: ExploredResults,
    row: int,
    name: str,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    pixels: int = 800,
    cache: CourseCache | None = None,
) -> Course:
    """The course ``KIND.COLUMN`` of the trial at a row, between two times (None: all of it).

    Raises UsageError for a course that no series has, StoreError where the trial kept none or it is damaged.
    """
    series = parse_course(name)
    study = results.study(results.name_trial(row).rpartition(":")[0])
    trial_id = int(results.numbers("trial")[row])
    load = load_course if cache is None else cache.load
    return reduce_course(load(study, trial_id, series), start_s, end_s, pixels)


def find_courses(source: StudySource, trial_id: int, kinds: Iterable[str]) -> tuple[CourseSeries, ...]:
    """The courses that a trial kept values of, those of most use first. Raises StoreError."""
    timed = {kind: tuple(columns) for kind in kinds if find_span(columns := find_series_kind(kind).columns)}
    tables = source.series_tables(trial_id, timed)
    return list_courses(
        {
            kind: _list_counters(table)
            if holds_counters(kind)
            else [name for name in table.column_names if table[name].null_count < table.num_rows]
            for kind, table in tables.items()
        }
    )


def _list_counters(table: pa.Table) -> list[str]:
    """The counters that were not 0 throughout."""
    if not {"name", "value"} <= {*table.column_names}:
        return []
    names, values = read_objects(table["name"]), read_floats(table["value"])
    return sorted({str(name) for name, value in zip(names, values, strict=True) if name and value > 0})


def load_course(study: Analyses, trial_id: int, series: CourseSeries) -> LoadedCourse:
    """All values of a course. Raises StoreError where the trial kept none, or the series is damaged."""
    wanted = _list_columns(series)
    result = read_columns(study.study_source, trial_id, {series.kind: wanted}).get(series.kind)
    if result is not None and series.is_counter:
        own = result.get("name", np.empty(0)) == series.column
        result = (
            {name: column[own] for name, column in result.items() if name != "name"} if own.any() else None
        )
    span = None if result is None else next((item for item in SPANS if item[0] in result), None)
    values = None if result is None else _derive(series, result)
    if result is None or span is None or values is None:
        raise StoreError(f"trial {trial_id} kept no series '{series.name}'", hint="choose another series")
    begin_ns, end_ns = _find_times(result, span)
    x_ns = begin_ns if series.is_additive or span[1] is None else end_ns
    keys, place = _number_lines(result, len(x_ns))
    x_s, grid = _arrange(x_ns, place, len(keys), values)
    lost_s = None
    if series.column == "rtt_ns" and span[1] is None:
        unanswered = np.isfinite(x_ns) & np.isnan(result["rtt_ns"])
        late = ~np.isnan(result["waited_ns"]) if "waited_ns" in result else np.zeros_like(unanswered)
        lost_s = np.sort(x_ns[unanswered & ~late]) / 1e9
    if series.column == RETRANSMISSIONS:  # the kernel counts from the connection's begin
        steps = np.diff(grid, axis=0, prepend=np.zeros((1, grid.shape[1])))
        grid = np.where(steps >= 0, steps, np.nan)
    return LoadedCourse(
        series=series,
        x_s=x_s,
        end_s=float(np.nanmax(end_ns)) / 1e9,
        values=grid / series.unit.size,
        keys=keys,
        lost_s=lost_s,
    )


def _list_columns(series: CourseSeries) -> tuple[str, ...]:
    if series.is_counter:
        return ("time_ns", "span_ns", "name", "value")
    base = series.kind.removeprefix("sender_").removeprefix("receiver_")
    source = DERIVED.get(base, {}).get(series.column, (series.column,))[0]
    further = {CWND: _CWND_COLUMNS, "rtt_ns": ("waited_ns",)}.get(series.column, ())
    keys = [name for name in KEYS if name in find_series_kind(series.kind).columns]
    return tuple(dict.fromkeys([name for span in SPANS for name in span if name] + keys + [source, *further]))


def _derive(series: CourseSeries, result: Mapping[str, Any]) -> Floats | None:
    """The values of the rows in the store's unit; None where a column is not there or has no number."""
    nothing = np.full(len(next(iter(result.values()))), np.nan)
    values: Floats
    if series.column == RATE and {"bytes", "start_ns", "end_ns"} <= result.keys():
        length_s = (result["end_ns"] - result["start_ns"]) / 1e9
        values = result["bytes"] * 8 / np.where(length_s > 0, length_s, np.nan)
    elif series.column == CWND:
        segments = result.get("snd_cwnd_segments", nothing) * result.get("snd_mss_bytes", nothing)
        values = result.get("snd_cwnd_bytes", nothing)
        values = np.where(np.isfinite(values), values, segments)
    elif series.column == BUSY and "idle_ratio" in result:
        values = 1 - result["idle_ratio"]
    elif series.column == RETRANSMISSIONS:
        values = result.get("total_retrans_segments", nothing)
    else:
        values = result.get("value" if series.is_counter else series.column, nothing)
    return values if values.dtype.kind == "f" and np.isfinite(values).any() else None


def _find_times(result: Mapping[str, Any], span: tuple[str, str | None]) -> tuple[Floats, Floats]:
    """Begin and end of each row, ns."""
    first, second = span
    if second == "span_ns":
        length = result.get("span_ns", np.zeros(len(result[first])))
        return result[first] - length, result[first]
    return result[first], result[second] if second is not None else result[first]


def _number_lines(result: Mapping[str, Any], rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """What each line is one of, and the line of each row; texts of several keys are joined."""
    parts = [result[name] for name in KEYS if name in result]
    if not parts:
        return np.zeros(1), np.zeros(rows, dtype=np.intp)
    if len(parts) == 1 and parts[0].dtype.kind == "f":
        keys, place = np.unique(parts[0], return_inverse=True)
        return keys, place
    texts = [" ".join(_write_key(item) for item in row) for row in zip(*parts, strict=True)]
    keys, place = np.unique(np.array(texts, dtype=str), return_inverse=True)
    return keys, place


def _write_key(key: Any) -> str:
    if isinstance(key, float):
        return f"{key:.0f}" if np.isfinite(key) else ""
    return "" if key is None else str(key)


def _arrange(x_ns: Floats, index: NDArray[np.intp], lines: int, values: Floats) -> tuple[Floats, Floats]:
    """Times in order, seconds, and a column for each line; rows without a time are left out."""
    known = np.isfinite(x_ns)
    if not known.all():
        x_ns, index, values = x_ns[known], index[known], values[known]
    if lines == 1:
        order = np.argsort(x_ns, kind="stable")
        return x_ns[order] / 1e9, values[order][:, np.newaxis]
    times, row = np.unique(x_ns, return_inverse=True)
    grid = np.full((len(times), lines), np.nan)
    grid[row, index] = values
    return times / 1e9, grid


def reduce_course(
    loaded: LoadedCourse, start_s: float | None = None, end_s: float | None = None, pixels: int = 800
) -> Course:
    """The part of a course between two times, with the values just outside it, for so many pixels."""
    x_s, values = loaded.x_s, loaded.values
    first_s, last_s = float(x_s[0]), max(loaded.end_s, float(x_s[-1]))
    begin_s = first_s if start_s is None else max(start_s, first_s)
    stop_s = last_s if end_s is None else min(end_s, last_s)
    low = max(int(np.searchsorted(x_s, begin_s, side="right")) - 1, 0)
    high = max(int(np.searchsorted(x_s, stop_s, side="left")) + 1, low + 1)
    x_s, values = x_s[low:high], values[low:high]
    count, budget = values.shape[1], VALUES_PER_PIXEL * pixels
    band_x_s, bands = np.empty(0), np.empty((0, len(BAND_RATIOS)))
    reduced = False
    lines, names = values, [_name_line(loaded, number) for number in range(min(count, LINES_MAX))]
    if count > LINES_MAX:
        budget //= 2
        parts = reduce_bands(x_s, values, max(budget // len(BAND_RATIOS), 1))
        band_x_s, bands, reduced = parts.x, parts.y, parts.bins > 0
        lines, names = np.empty((len(x_s), 0)), []
    if has_total := count > 1 and loaded.series.is_additive:
        total = np.where(np.isfinite(values).any(axis=1), np.nansum(values, axis=1), np.nan)
        lines = np.column_stack((total, lines))
        names = [f"all {count:,} {loaded.series.noun}s", *names]
    kept = reduce_extremes(x_s, lines, max(budget // (2 * max(lines.shape[1], 1)), 1))
    if not names:
        kept = reduce_extremes(x_s[:0], lines[:0], 1)
    lost = loaded.lost_s
    inside = np.empty(0) if lost is None else lost[(lost >= begin_s) & (lost <= stop_s)]
    return Course(
        series=loaded.series,
        first_s=first_s,
        last_s=last_s,
        start_s=begin_s,
        end_s=stop_s,
        x_s=kept.x,
        lines=tuple(
            CourseLine(name=name, values=kept.y[:, index], is_total=has_total and index == 0)
            for index, name in enumerate(names)
        ),
        band_x_s=band_x_s,
        bands=bands,
        count=count,
        samples=len(x_s),
        reduced=reduced or kept.bins > 0,
        is_step=loaded.series.is_additive and kept.bins == 0,
        lost_s=_thin(inside, begin_s, stop_s, pixels),
        lost=None if lost is None else int(inside.size),
    )


def _name_line(loaded: LoadedCourse, number: int) -> str:
    noun = loaded.series.noun
    if not noun:
        return loaded.series.group
    key = loaded.keys[number]
    return f"{noun} {_write_key(float(key))}" if loaded.keys.dtype.kind == "f" else str(key)


def _thin(times_s: Floats, begin_s: float, stop_s: float, pixels: int) -> Floats:
    """At most one time for each pixel."""
    if len(times_s) <= pixels or stop_s <= begin_s:
        return times_s
    columns = np.floor((times_s - begin_s) / (stop_s - begin_s) * pixels)
    return times_s[np.unique(columns, return_index=True)[1]]
