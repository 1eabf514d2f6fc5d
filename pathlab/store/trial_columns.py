"""Trials and settings of the plan as arrays: for studies of very many trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from pathlab.store.column_reader import OddValueError, stream_columns
from pathlab.store.records import PlanRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import PLAN, TRIAL, column_types
from pathlab.store.trial_table import TIMES

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSettings:
    """The settings of a plan: numbers of rows, and for each the place of its settings among the distinct."""

    rows: NDArray[np.int64]
    places: NDArray[np.intp]
    distinct: tuple[Mapping[str, Any], ...]


def find_last_trial(results: Results) -> int:
    """The highest number of a stored trial; 0 without any. Raises StoreError."""
    with results.reading() as connection:
        return int(connection.execute(sa.select(sa.func.max(TRIAL.c.trial_id))).scalar() or 0)


def count_plan_rows(results: Results) -> int:
    """The rows of the plan. Raises StoreError."""
    with results.reading() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(PLAN)).scalar_one())


def read_plan_settings(results: Results) -> StoredSettings:
    """The settings of every row of the plan, in its order. Raises StoreError where one is damaged."""
    places: dict[int, int] = {}
    distinct: list[Mapping[str, Any]] = []
    numbers: list[int] = []
    result: list[int] = []
    try:
        with results.reading() as connection:
            query = sa.select(PLAN).order_by(PLAN.c.row)
            for batch in stream_columns(connection, PlanRecord, query, ("row", "settings")):
                numbers.extend(batch["row"])
                for settings in batch["settings"]:
                    if id(settings) not in places:
                        places[id(settings)] = len(distinct)
                        distinct.append(settings)
                    result.append(places[id(settings)])
    except OddValueError:
        plan = results.plan()  # names the damaged row
        numbers, result = [row.row for row in plan], list(range(len(plan)))
        distinct = [row.settings for row in plan]
    return StoredSettings(
        rows=np.array(numbers, dtype=np.int64),
        places=np.array(result, dtype=np.intp),
        distinct=tuple(distinct),
    )


def read_trial_columns(results: Results, after: int = 0) -> pd.DataFrame:
    """The trials with a higher number than ``after``, in the order of their numbers, as ``Results.trials``.

    Numbers are floats (NaN: not measured), texts objects (None), flags tuples, ``started_utc`` a timestamp.
    Raises StoreError where a value is damaged.
    """
    import pandas as pd

    types = {"trial_id": int} | {name: item.base for name, item in column_types(TrialRecord).items()}
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in types}
    for batch in results.stream_trials(after=after):
        for name, base in types.items():
            parts[name].append(_build_array(batch[name], base))
    empty = {
        name: np.empty(0, np.float64 if base in (int, float) else object) for name, base in types.items()
    }
    arrays = {name: np.concatenate([empty[name], *part]) for name, part in parts.items()}
    index = pd.RangeIndex(len(arrays["trial_id"]))  # of each its own would have to be compared
    series = {name: pd.Series(array, index, array.dtype, copy=False) for name, array in arrays.items()}
    frame = pd.DataFrame(series, index, copy=False)
    for name in TIMES:
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601", errors="coerce")
    return frame


def _build_array(values: Sequence[Any], base: type) -> NDArray[Any]:
    if base in (int, float):
        return np.array(values, dtype=np.float64)
    return np.fromiter(values, dtype=object, count=len(values))  # np.array makes rows of tuples
