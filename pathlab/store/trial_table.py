"""Trials and series as data frames; the values by which callers name trials (Python's, numpy's, pandas')."""

from __future__ import annotations

import array
import datetime
import difflib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlalchemy as sa

from pathlab.errors import UsageError
from pathlab.store.column_reader import ColumnBatch
from pathlab.store.records import TrialRecord
from pathlab.store.schema import TRIAL, column_types
from pathlab.store.usable import USABLE, list_usable, parse_flags, serialize_flags

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

#: Times among a trial's columns; the file holds them as ISO 8601 text, a frame as timestamps.
TIMES = ("started_utc",)
FLAGS = "flags"


def parse_trial_id(value: Any) -> int:
    """One trial's number as Python's integer; numpy's and pandas' integers and whole floats count.

    Raises UsageError for anything else, several numbers included.
    """
    numbers = list_stored_values(value)
    number = numbers[0] if len(numbers) == 1 else None
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        shown = " ".join(str(value).split())
        raise UsageError(
            f"{shown[:60]!r} is not the number of one trial",
            hint="give a trial_id, such as results.trials().trial_id[0]",
        )
    return number


def list_stored_values(value: Any) -> list[Any]:
    """One value or several (list, range, set, array, Series, Index) as Python's own; missing ones as None."""
    several = isinstance(value, (list, tuple, set, frozenset, range))
    if not several and hasattr(value, "tolist"):
        value = value.tolist()  # arrays, Series and numpy's single values
        several = isinstance(value, list)
    return [_to_python(item) for item in (value if several else (value,))]


def build_trial_frame(batches: Iterable[ColumnBatch]) -> pd.DataFrame:
    """Trials with a typed column for each field; a time that is none is missing (NaT).

    ``flags`` is a text, as ``serialize_flags`` writes it; ``usable`` is added.
    ``batches``: all columns in the table's order, so many rows at a time that their Python objects are no
    burden; a frame holds a value in nine bytes, a row in some sixty.
    """
    import pandas as pd

    types = {"trial_id": int} | {name: item.base for name, item in column_types(TrialRecord).items()}
    texts: dict[tuple[str, ...], str] = {}  # one object for all trials with the same flags
    parts: dict[str, list[Any]] = {name: [] for name in (*types, USABLE)}
    for batch in batches:
        for name, base in types.items():
            values = batch[name]
            if name == FLAGS:
                values = [texts.setdefault(flags, serialize_flags(flags)) for flags in values]
            parts[name].append(_split_missing(values, base) if base in (int, float) else values)
        parts[USABLE].append(list_usable(batch))
    columns = {name: _join(parts[name], str if name == FLAGS else base) for name, base in types.items()}
    columns[USABLE] = pd.Series(list(itertools.chain(*parts[USABLE])), dtype="bool")
    for name in TIMES:
        columns[name] = pd.to_datetime(columns[name], utc=True, format="ISO8601", errors="coerce")
    return pd.DataFrame(columns)


def _split_missing(values: Sequence[Any], base: type) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers with 0 for missing ones, and which are missing."""
    import numpy as np

    code = "q" if base is int else "d"
    kind = np.int64 if base is int else np.float64
    try:  # refuses every other type, and is many times as fast as what follows
        return np.frombuffer(array.array(code, values), dtype=kind), np.zeros(len(values), dtype=bool)
    except TypeError:
        missing = [value is None for value in values]
    if all(missing):
        return np.zeros(len(values), dtype=kind), np.ones(len(values), dtype=bool)
    known = array.array(code, [0 if value is None else value for value in values])
    return np.frombuffer(known, dtype=kind), np.array(missing, dtype=bool)


def _join(parts: Sequence[Any], base: type) -> pd.Series[Any]:
    import numpy as np
    import pandas as pd

    if base not in (int, float):
        values = list(itertools.chain(*parts))
        return pd.Series(values, dtype="string" if base is str else object)
    kind, masked = (
        (np.int64, pd.arrays.IntegerArray) if base is int else (np.float64, pd.arrays.FloatingArray)
    )
    numbers = np.concatenate([np.empty(0, dtype=kind), *(part[0] for part in parts)])
    return pd.Series(masked(numbers, np.concatenate([np.empty(0, dtype=bool), *(part[1] for part in parts)])))


def build_series_frame(table: pa.Table) -> pd.DataFrame:
    """A series with nullable columns, so that a lost probe stays missing."""
    import pandas as pd

    kinds: dict[Any, Any] = {
        pa.int64(): pd.Int64Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
    }
    frame: pd.DataFrame = table.to_pandas(types_mapper=kinds.get)
    return frame


def select_trials_where(where: Mapping[str, Any]) -> sa.Select[Any]:
    """The query of the trials that ``where`` names by columns of the table. Raises UsageError for others.

    ``flags``, times and ``usable`` are left to ``build_filter``: the file holds texts, and no ``usable``.
    """
    query = sa.select(TRIAL).order_by(TRIAL.c.trial_id)
    for name, value in where.items():
        if name == USABLE:
            continue
        column = TRIAL.c.get(name)
        if column is None:
            nearest = difflib.get_close_matches(name, TRIAL.c.keys(), n=1)
            meant = f"; did you mean '{nearest[0]}'?" if nearest else ""
            raise UsageError(f"trials have no column '{name}'{meant}", hint="trials().columns lists them")
        if name != FLAGS and name not in TIMES:
            values = list_stored_values(value)
            known = column.in_([item for item in values if item is not None])
            query = query.where(sa.or_(known, column.is_(None)) if None in values else known)
    return query


def build_filter(where: Mapping[str, Any]) -> Callable[[ColumnBatch], list[bool]] | None:
    """Which rows of ``select_trials_where`` have the flags and times that ``where`` asks for; None: all."""
    tests: list[Callable[[ColumnBatch], Iterable[bool]]] = []
    if FLAGS in where:
        flags = set(_list_flags(where[FLAGS]))
        tests.append(lambda batch: (bool(flags & set(result or (None,))) for result in batch[FLAGS]))
    if USABLE in where:
        usable = set(list_stored_values(where[USABLE]))
        tests.append(lambda batch: (result in usable for result in list_usable(batch)))
    for name in TIMES:
        if name in where:
            times = {_read_time(value) for value in list_stored_values(where[name])}
            tests.append(partial(_list_at_times, name, times))
    if not tests:
        return None
    return lambda batch: [all(result) for result in zip(*(test(batch) for test in tests), strict=True)]


def _list_at_times(name: str, times: set[Any], batch: ColumnBatch) -> Iterator[bool]:
    return (_read_time(value) in times for value in batch[name])


def format_exact_utc(value: Any) -> str:
    """A time of a frame as the file holds it; text stays as it is, a missing time is empty."""
    if _is_missing(value):
        return ""
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime.datetime) else str(value)


def _list_flags(value: Any) -> Iterator[str | None]:
    """Flags by name; of a frame's column the flags of every row, None for a row without any."""
    for item in list_stored_values(value):
        named = parse_flags(item) if isinstance(item, str) else item
        if isinstance(named, (list, tuple)):
            yield from named or (None,)
        else:
            yield named


def _to_python(value: Any) -> Any:
    """numpy's and pandas' values as Python's own, as SQLite takes no other."""
    if hasattr(value, "item"):
        value = value.item()
    return None if _is_missing(value) else value


def _is_missing(value: Any) -> bool:
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return missing or (isinstance(value, float) and math.isnan(value))


def _read_time(value: Any) -> Any:
    """A time as a moment, UTC where it does not say; what is none stays as it is."""
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    return value
