"""A view as text: the part behind ``#`` of the explorer's address and the argument of ``pathlab view``.

``key=value&key=value``, each value percent-encoded. In a level, commas, percent signs, brackets, quotes and
exclamation marks are percent-encoded before that; ``()`` is the missing level, ``""`` the empty text.
``x``, ``y`` and ``colour`` are always written, so that a link shows the same when more trials are stored.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from pathlab.errors import UsageError
from pathlab.study.exploration.columns import ExploredColumn
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.number_text import (
    format_exact_number,
    format_instant,
    parse_exact_number,
    parse_instant,
)
from pathlab.study.exploration.view import (
    CHANGES,
    COUNTS,
    MEASURES_MOST,
    RANGES,
    SCALES,
    STATISTICS,
    SWITCH,
    Filter,
    LevelFilter,
    RangeFilter,
    View,
    complete_view,
)

NONE, MISSING, EMPTY, WHERE = "none", "()", '""', "where."
RANGE_MARK = ".."
#: Letters of a text that messages show, and names that the nearest one is looked for among.
SHOWN_LETTERS, SUGGESTED_AMONG = 80, 2_000
_UNENCODED = "-_.!~*'(),:"
_ESCAPED = re.compile(r"[%,!()\"]")
_MALFORMED = re.compile("%(?![0-9A-Fa-f]{2})")
_PERCENTILE = re.compile("p[1-9][0-9]?")
_SERIES = re.compile(r"[a-z0-9_]{1,64}\.[a-z0-9_]{1,64}")
_CHOICES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "range": ("range", RANGES),
    "scale-x": ("scale_x", SCALES),
    "scale-y": ("scale_y", SCALES),
    "count": ("count", COUNTS),
    "against": ("against", CHANGES),
}
_LIMITS = {f"{end}-{axis}": f"{end}_{axis}" for end in ("min", "max") for axis in "xy"}
_TEXTS = {key: key for key in ("overlay", "text", "trial", "series", "baseline")}
KEYS = ("x", "y", "colour", "facet", "stat", "dots", *_CHOICES, *_LIMITS, *_TEXTS)


def parse_view(text: str, results: ExploredResults) -> View:
    """The view that a text names, with the default of these results for what it leaves out.

    Raises UsageError for the first unknown key, column, level or number, with the nearest one that there is.
    """
    view, mistakes = read_view(text, results)
    if mistakes:
        raise mistakes[0]
    return view


def read_view(text: str, results: ExploredResults) -> tuple[View, tuple[UsageError, ...]]:
    """The view of the parts of a text that can be read, the default for the others, and every mistake."""
    reader = _ViewReader(results)
    mistakes = []
    parts = [part for part in text.removeprefix("#").split("&") if part]
    steps: list[Callable[[], None]] = [functools.partial(reader.read_part, part) for part in parts]
    for step in (*steps, reader.check_whole):
        try:
            step()
        except UsageError as mistake:
            mistakes.append(mistake)
    return reader.build(), tuple(mistakes)


def format_view(view: View) -> str:
    """The text of a view, which ``parse_view`` reads back."""
    plain = View()
    parts = [] if view.x is None else [("x", _encode(view.x))]
    parts += [("y", ",".join(map(_encode, view.y)))] if view.y else []
    parts.append(("colour", _encode(view.colour or NONE)))
    values: Mapping[str, Any] = {
        "facet": view.facet,
        "stat": view.statistic if view.statistic != plain.statistic else None,
        "range": view.range if view.range != plain.range else None,
        "scale-x": view.scale_x,
        "scale-y": view.scale_y,
        "min-x": view.min_x,
        "max-x": view.max_x,
        "min-y": view.min_y,
        "max-y": view.max_y,
        "dots": None if view.dots else SWITCH[1],
        "count": view.count if view.count != plain.count else None,
        "baseline": view.baseline,
        "against": view.against if view.against != plain.against else None,
        "overlay": view.overlay,
    }
    for key, value in values.items():
        if value is not None:
            parts.append((key, _encode(value if isinstance(value, str) else format_exact_number(value))))
    parts += [(WHERE + name, _format_filter(name, view.where[name])) for name in sorted(view.where)]
    for key, text in (("text", view.text or None), ("trial", view.trial), ("series", view.series)):
        if text is not None:
            parts.append((key, _encode(text)))
    return "&".join(f"{key}={value}" for key, value in parts)


def escape_level(level: str | float | None) -> str:
    """A level as a view's text has it, before the value is encoded."""
    if level is None:
        return MISSING
    if isinstance(level, str):
        return _ESCAPED.sub(lambda result: f"%{ord(result[0]):02X}", level) or EMPTY
    return format_exact_number(level)


def _format_filter(name: str, result: Filter) -> str:
    if isinstance(result, LevelFilter):
        return "!" * result.excluded + ",".join(_encode(escape_level(level)) for level in result.levels)
    write = format_instant if name.endswith("_utc") else format_exact_number
    ends = ("" if item is None else write(item) for item in (result.low, result.high))
    return RANGE_MARK.join(ends)


def _encode(value: str) -> str:
    return quote(value, safe=_UNENCODED)


def _decode(value: str) -> str:
    if _MALFORMED.search(value):
        raise UsageError(
            f"'{_clip(value)}' has a percent sign that encodes no character", hint="write % as %25"
        )
    try:
        decoded = unquote(value, errors="strict")
        decoded.encode()
    except UnicodeError as error:
        shown = value.encode(errors="replace").decode()
        raise UsageError(f"'{_clip(shown)}' is not UTF-8", hint="copy the whole address again") from error
    return decoded


def _suggest(name: str, known: Iterable[str]) -> str:
    """The nearest of the first names; looking through a million of them would take minutes."""
    few = itertools.islice(known, SUGGESTED_AMONG) if len(name) <= SHOWN_LETTERS else ()
    nearest = difflib.get_close_matches(name, list(few), n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def _clip(text: str) -> str:
    """The beginning of a text that is too long for a message."""
    return text if len(text) <= SHOWN_LETTERS else f"{text[: SHOWN_LETTERS - 1]}…"


class _ViewReader:
    """A view that is read part by part; every method raises UsageError for what cannot be read."""

    def __init__(self, results: ExploredResults) -> None:
        self.results = results
        self.found: dict[str, Any] = {}
        self.where: dict[str, Filter] = {}
        self.seen: set[str] = set()
        self.levels: dict[str, Mapping[str | float, None]] = {}  # of columns with a filter by levels

    def read_part(self, part: str) -> None:
        """Read ``key=value``."""
        written, mark, value = part.partition("=")
        key = _decode(written)
        if not mark:
            raise UsageError(
                f"'{_clip(key)}' has no value", hint=f"write {key}=VALUE; parts are joined by '&'"
            )
        if key not in KEYS and not key.startswith(WHERE):
            raise UsageError(
                f"a view has no key '{_clip(key)}'{_suggest(key, KEYS)}",
                hint=f"keys: {', '.join(KEYS)}, where.COLUMN",
            )
        if key in self.seen:
            raise UsageError(f"'{_clip(key)}' is given twice", hint="give it once; levels are joined by ','")
        self.seen.add(key)
        if key.startswith(WHERE):
            self._read_filter(self._find_column(key.removeprefix(WHERE)), value)
        else:
            self._read_value(key, _decode(value))

    def check_whole(self) -> None:
        """Check the baseline, which is a level of the colour."""
        baseline = self.found.get("baseline")
        if baseline is None:
            return
        colour = self.build_plain().colour
        if colour is None:
            del self.found["baseline"]
            raise UsageError(
                f"the baseline '{_clip(baseline)}' needs a colour", hint="give colour=COLUMN as well"
            )
        levels = [show_level(level) for level in (*self.results.levels(colour), None)]
        if baseline not in levels:
            del self.found["baseline"]
            raise UsageError(
                f"the baseline '{_clip(baseline)}' is not a level of '{colour}'{_suggest(baseline, levels)}",
                hint=_list_some("levels", levels),
            )

    def build_plain(self) -> View:
        """The view without its filters."""
        return complete_view(View(**self.found), self.results, frozenset(self.found))

    def build(self) -> View:
        """The view that was read."""
        return replace(self.build_plain(), where=self.where)

    def _read_value(self, key: str, value: str) -> None:
        if key in ("x", "colour", "facet"):
            self.found[key] = self._read_column(key, value)
        elif key == "y":
            self.found[key] = self._read_measures(value)
        elif key == "stat":
            if value not in STATISTICS and _PERCENTILE.fullmatch(value) is None:
                raise _describe_unknown_value(key, value, (*STATISTICS, "p1 to p99"))
            self.found["statistic"] = value
        elif key == "dots":
            if value not in SWITCH:
                raise _describe_unknown_value(key, value, SWITCH)
            self.found[key] = value == SWITCH[0]
        elif key in _CHOICES:
            name, choices = _CHOICES[key]
            if value not in choices:
                raise _describe_unknown_value(key, value, choices)
            self.found[name] = value
        elif key in _LIMITS:
            number = parse_exact_number(value)
            if number is None:
                raise UsageError(
                    f"{key}: '{_clip(value)}' is not a number", hint="give a number such as 0.5 or 2e3"
                )
            self.found[_LIMITS[key]] = number
        elif key == "trial" and len(value) > SHOWN_LETTERS:
            raise UsageError(f"'{_clip(value)}' names no trial", hint="give results and number, such as A:12")
        elif key == "trial":
            self.found[key] = self.results.name_trial(self.results.find_row(value))
        elif key == "series" and _SERIES.fullmatch(value) is None:
            raise UsageError(
                f"'{_clip(value)}' names no series", hint="give KIND.COLUMN, such as sender_tcp.rtt_us"
            )
        elif value:
            self.found[key] = value

    def _find_column(self, name: str) -> ExploredColumn:
        if name not in self.results:
            names = [column.name for column in self.results.columns]
            raise UsageError(
                f"there is no column '{_clip(name)}'{_suggest(name, names)}",
                hint=_list_some("columns", names),
            )
        return self.results.column(name)

    def _read_column(self, key: str, value: str) -> str | None:
        if value == NONE and key != "x":
            return None
        column = self._find_column(value)
        if column.kind == "flags" or (column.kind == "time" and key != "x"):
            raise UsageError(
                f"{key}: column '{_clip(value)}' cannot be used here", hint="give a factor, for example"
            )
        return value

    def _read_measures(self, value: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(value.split(",")))
        if len(names) > MEASURES_MOST:
            raise UsageError(f"y: {len(names)} columns; at most {MEASURES_MOST}", hint="leave some out")
        for name in names:
            if self._find_column(name).kind != "number":
                raise UsageError(f"y: column '{_clip(name)}' has no numbers", hint="give a measured column")
        return names

    def _read_filter(self, column: ExploredColumn, value: str) -> None:
        decoded = _decode(value)
        if column.is_numeric and RANGE_MARK in decoded:
            self.where[column.name] = self._read_range(column, decoded)
            return
        excluded = decoded.startswith("!")
        parts = decoded[excluded:].split(",") if decoded[excluded:] else []
        levels = dict.fromkeys(self._read_level(column, part) for part in parts)
        self.where[column.name] = LevelFilter(levels=tuple(levels), excluded=excluded)

    def _read_range(self, column: ExploredColumn, value: str) -> RangeFilter:
        low, high = value.split(RANGE_MARK, 1)
        parse = parse_instant if column.kind == "time" else parse_exact_number
        ends = [parse(text) if text else None for text in (low, high)]
        for text, end in zip((low, high), ends, strict=True):
            if text and end is None:
                expected = "a time such as 2026-11-21T05:03:05Z" if column.kind == "time" else "a number"
                raise UsageError(
                    f"where.{column.name}: '{_clip(text)}' is not {expected}", hint="write LOW..HIGH"
                )
        first, last = ends
        if first is not None and last is not None and first > last:
            raise UsageError(
                f"where.{column.name}: '{_clip(value)}' ends below its start", hint="write LOW..HIGH"
            )
        return RangeFilter(low=first, high=last)

    def _read_level(self, column: ExploredColumn, part: str) -> str | float | None:
        if part == MISSING:
            return None
        text = "" if part == EMPTY else _decode(part)
        if column.name not in self.levels:
            known = self.results.flags if column.kind == "flags" else self.results.levels(column.name)
            self.levels[column.name] = dict.fromkeys(known)
        level: str | float | None = parse_exact_number(text) if column.is_numeric else text
        if level is None or level not in self.levels[column.name]:
            names = [show_level(item) for item in self.levels[column.name]]
            raise UsageError(
                f"'{column.name}' has no level '{_clip(text)}'{_suggest(text, names)}",
                hint=_list_some("levels", names),
            )
        return level


def show_level(level: str | float | None) -> str:
    """A level as the baseline is named: its text, ``()`` for the missing one."""
    if level is None:
        return MISSING
    return level if isinstance(level, str) else format_exact_number(level)


def _describe_unknown_value(key: str, value: str, choices: tuple[str, ...]) -> UsageError:
    return UsageError(
        f"{key}: unknown '{_clip(value)}'{_suggest(value, choices)}", hint=f"give {', '.join(choices)}"
    )


def _list_some(kind: str, names: list[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{kind}: {', '.join(map(_clip, names[:most])) or 'none'}{more}"
