"""Answers as data frames, one row each, and in one line for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pathlab.campaign.factors import format_levels
from pathlab.quantities import drop_unit, find_format
from pathlab.units import format_bytes

if TYPE_CHECKING:
    import pandas as pd

    from pathlab.study.base.selection import ExclusionCount, SampleSelection
    from pathlab.study.base.trials import Condition

#: Figures of a result that its line names, and the length at which the line ends.
LINE_FIGURES, LINE_CHARACTERS = 4, 160
#: Fields that hold the figure of a nested result, the first that there is.
_FIGURES = ("median", "value", "loss_ratio", "low")
_TYPES: Mapping[type, str] = {bool: "boolean", int: "Int64", float: "Float64", str: "string"}


class FramedAnswer(Protocol):
    """What a row shows of a ``pathlab.study.base.answer.Answer``."""

    @property
    def condition(self) -> Condition: ...
    @property
    def selection(self) -> SampleSelection: ...
    @property
    def streams(self) -> int | None: ...
    @property
    def window_bytes(self) -> int | None: ...
    @property
    def autotuned(self) -> bool: ...
    @property
    def quantity(self) -> str | None: ...
    @property
    def result(self) -> Any: ...


def build_frame(answers: Sequence[FramedAnswer]) -> pd.DataFrame:
    """One row for each answer; a column bears the path by which its value is reached in the answer.

    ``condition.path_source``, ``condition.settings.congestion``, ``streams``, ``selection.used``,
    ``result.throughput_bits_per_s.median`` and so on; settings and result fields that an answer does not have
    are missing there. Columns have nullable types; lists within a result stay tuples in one cell.
    """
    import pandas as pd

    rows = [dict(_list_cells(answer)) for answer in answers]
    names = list(dict.fromkeys(name for row in rows for name in row))
    # A part that some answers do not have is shown by its own columns, which are missing there.
    parts = {name[:index] for name in names for index, sign in enumerate(name) if sign == "."}
    kept = [name for name in names if name not in parts]
    return pd.DataFrame({name: _build_column([row.get(name) for row in rows]) for name in kept})


def format_answer(answer: FramedAnswer) -> str:
    """One answer in one line: condition, part, trials, and the first figures of its result."""
    part = [] if answer.streams is None else [f"{answer.streams} stream{'s' * (answer.streams != 1)}"]
    if answer.window_bytes is not None or answer.autotuned:
        window = "auto" if answer.window_bytes is None else format_bytes(answer.window_bytes)
        part.append(f"window {window}")
    if answer.quantity is not None:
        part.append(answer.quantity)
    used = answer.selection.used
    texts = [_format_condition(answer.condition), ", ".join(part), f"{used} trial{'s' * (used != 1)}"]
    figures = ", ".join(_list_figures(answer.result)) or type(answer.result).__name__
    line = f"{' | '.join(text for text in texts if text)}: {figures}"
    return line if len(line) <= LINE_CHARACTERS else f"{line[: LINE_CHARACTERS - 1]}…"


def _list_cells(answer: FramedAnswer) -> Iterator[tuple[str, Any]]:
    condition = answer.condition
    for name in ("path_source", "path_destination", "medium"):
        yield f"condition.{name}", getattr(condition, name)
    for name, level in condition.settings:
        yield f"condition.settings.{name}", level
    for name in ("streams", "window_bytes", "autotuned", "quantity"):
        yield name, getattr(answer, name)
    yield "selection.trials", answer.selection.trials
    yield "selection.used", answer.selection.used
    yield "selection.excluded", _join_counts(answer.selection.excluded)
    yield "selection.warnings", _join_counts(answer.selection.warnings)
    yield from _flatten("result", answer.result)


def _flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if is_dataclass(value):
        for field in fields(value):
            if field.repr:  # not what tests work on
                yield from _flatten(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, Enum):
        yield name, value.value
    elif isinstance(value, np.generic):
        yield name, value.item()
    else:
        yield name, value


def _build_column(values: list[Any]) -> pd.Series:
    import pandas as pd

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        kinds = {float}
    chosen = _TYPES.get(next(iter(kinds)), "object") if len(kinds) == 1 else "object"
    return pd.Series(values, dtype=chosen)


def _join_counts(counts: Sequence[ExclusionCount]) -> str:
    return "; ".join(f"{count.reason} {count.trials}" for count in counts)


def _format_condition(condition: Condition) -> str:
    levels = format_levels({name: level for name, level in condition.settings if level is not None})
    settings = [f"{key} {text}" for key, text in levels.items()]
    return f"{condition.path} ({', '.join([condition.medium, *settings])})"


def _list_figures(result: Any) -> list[str]:
    """The first figures of a result that are known; the reason where it is undecided."""
    if not is_dataclass(result):
        return []
    value = []
    for field in fields(result):
        figure = _find_figure(getattr(result, field.name))
        if figure is not None and field.name != "undecided":
            value.append(_format_figure(field.name, figure))
    undecided = getattr(result, "undecided", None)
    return [f"undecided ({undecided.value})", *value][:LINE_FIGURES] if undecided else value[:LINE_FIGURES]


def _find_figure(value: Any) -> float | str | None:
    if is_dataclass(value):
        return next(
            (figure for name in _FIGURES if (figure := _find_figure(getattr(value, name, None))) is not None),
            None,
        )
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, (int, float, str)) else None


def _format_figure(name: str, figure: float | str) -> str:
    if isinstance(figure, str):
        return f"{name} {figure}"
    formatter = find_format(name)
    return f"{drop_unit(name)} {formatter(float(figure))}" if formatter else f"{name} {figure:.4g}"
