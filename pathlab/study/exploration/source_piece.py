"""Trials of one of the results as arrays by column: what was stored, planned and derived."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.campaign.factors import FACTORS, format_level
from pathlab.store.records import HostRecord, PlanRecord
from pathlab.study.analyses import Analyses
from pathlab.study.base.cells import MEDIA
from pathlab.study.base.selection import SURVEY_RULES, Sample, collect_sample, find_reasons
from pathlab.study.base.trials import TrialTable, is_searching
from pathlab.study.exploration.columns import (
    CONTROL,
    STATED_BY_TRIALS,
    list_stored_conditions,
    list_stored_measures,
)
from pathlab.study.exploration.number_text import format_exact_number
from pathlab.study.lossless.lossless_rate import read_found_rates
from pathlab.study.measures import LOSSLESS_COLUMN, MEASURES

#: Why trials are not counted that are repeated to show drift.
CONTROL_REASON = "control"
ARROW = " → "


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A code for each trial, -1 where it has no level, and the levels by their codes."""

    codes: NDArray[np.int32]
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePiece:
    """Trials in the order of rows; arrays of equal length.

    ``sources`` are the places of their results. ``numbers`` are in the units of the store (times of start in
    seconds), NaN where a trial has none. ``reasons``: why each trial is not counted, no level where it is.
    """

    sources: NDArray[np.int32]
    numbers: Mapping[str, Floats]
    categories: Mapping[str, Category]
    flags: Mapping[str, NDArray[np.bool_]]
    reasons: Category
    _levels: dict[str, frozenset[Any]] = field(default_factory=dict)  # by column, once asked for
    _extents: dict[str, tuple[float, float] | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many trials."""
        return len(self.sources)

    def get_numbers(self, name: str) -> Floats:
        """A column of numbers; NaN where these trials have no such column."""
        return self.numbers[name] if name in self.numbers else np.full(self.size, np.nan)

    def get_category(self, name: str) -> Category:
        """A column of levels, of numbers as texts; no level where these trials have no such column."""
        if name in self.categories:
            return self.categories[name]
        if name in self.numbers:
            values = self.numbers[name].tolist()
            return encode_values([None if value != value else format_exact_number(value) for value in values])
        return Category(codes=np.full(self.size, -1, dtype=np.int32), levels=())

    def find_levels(self, name: str) -> frozenset[Any]:
        """The distinct levels or numbers that trials have in a column; none where there is no such column."""
        if name not in self._levels:
            result: Iterable[Any] = ()
            if name in self.numbers:
                result = np.unique(_drop_missing(self.numbers[name])).tolist()
            elif name in self.categories:
                part = self.categories[name]
                result = (part.levels[code] for code in np.unique(part.codes[part.codes >= 0]))
            self._levels[name] = frozenset(result)
        return self._levels[name]

    def find_extent(self, name: str) -> tuple[float, float] | None:
        """The least and the greatest number of a column; None where no trial has one."""
        if name not in self._extents:
            known = _drop_missing(self.numbers.get(name, np.empty(0)))
            self._extents[name] = (float(known.min()), float(known.max())) if known.size else None
        return self._extents[name]

    def pick(self, index: int) -> SourcePiece:
        """The trial at a place, alone."""
        item = slice(index, index + 1)
        return SourcePiece(
            sources=self.sources[item],
            numbers={name: values[item] for name, values in self.numbers.items()},
            categories={
                name: Category(codes=known.codes[item], levels=known.levels)
                for name, known in self.categories.items()
            },
            flags={name: marked[item] for name, marked in self.flags.items()},
            reasons=Category(codes=self.reasons.codes[item], levels=self.reasons.levels),
        )


@dataclass(kw_only=True)
class PlannedSettings:
    """The settings of a plan: for each number of a row the place of its settings among the distinct ones."""

    places: dict[int, int] = field(default_factory=dict)
    distinct: list[Mapping[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, plan: Iterable[PlanRecord]) -> PlannedSettings:
        """The settings of these rows."""
        result, known = cls(), {}
        for row in plan:
            key = json.dumps(row.settings, sort_keys=True, default=str)
            if key not in known:
                known[key] = len(result.distinct)
                result.distinct.append(row.settings)
            result.places[row.row] = known[key]
        return result

    def list_settings(self, rows: Iterable[int]) -> dict[int, Mapping[str, Any]]:
        """The settings of each of these rows that the plan has."""
        return {row: self.distinct[self.places[row]] for row in rows if row in self.places}

    @property
    def names(self) -> tuple[str, ...]:
        """Every setting that a row names: factors in their order, then the others by name."""
        named = {name for settings in self.distinct for name in settings}
        order = {name: index for index, name in enumerate(FACTORS)}
        return tuple(sorted(named, key=lambda name: (order.get(name, len(order)), name)))

    def list_levels(self, name: str) -> list[Any]:
        """The distinct levels that rows name, None where one leaves it to the system."""
        levels = {json.dumps(item[name], default=str): item[name] for item in self.distinct if name in item}
        return list(levels.values())

    def is_numeric(self, name: str) -> bool:
        """Whether a setting's levels are numbers."""
        known = [level for level in self.list_levels(name) if level is not None]
        numeric = all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in known)
        factor = FACTORS.get(name)
        return numeric and (bool(known) or (factor is not None and factor.unit is not None))


def format_setting_level(name: str, level: Any) -> str:
    """A level of a setting that is no number, as readers see it."""
    if level is None or isinstance(level, bool):
        return format_level(name, level)
    return level if isinstance(level, str) else json.dumps(level, default=str)


def encode_values(values: Sequence[Any] | NDArray[Any]) -> Category:
    """Codes of texts; None and NaN have none. Levels stand in the order in which they came."""
    codes, levels = pd.factorize(np.asarray(values, dtype=object), use_na_sentinel=True)  # pd.NA as well
    return Category(codes=codes.astype(np.int32), levels=tuple(str(level) for level in levels))


def read_piece(
    source: int, study: Analyses, table: TrialTable, settings: PlannedSettings, first: int = 0
) -> SourcePiece:
    """The trials of a table from place ``first`` on."""
    indices = np.arange(first, len(table), dtype=np.int64)
    builder = _PieceBuilder(study, table, settings, indices)
    return SourcePiece(
        sources=np.full(len(indices), source, dtype=np.int32),
        numbers=builder.numbers,
        categories=builder.categories,
        flags={name: marked[indices] for name, marked in table.flags.items() if marked[indices].any()},
        reasons=builder.find_reasons(),
    )


class _PieceBuilder:
    """Columns of some trials of a table, by name."""

    def __init__(
        self, study: Analyses, table: TrialTable, settings: PlannedSettings, indices: NDArray[np.int64]
    ) -> None:
        self.table, self.settings, self.places = table, settings, indices
        self.numbers: dict[str, Floats] = {}
        self.categories: dict[str, Category] = {}
        if indices.size:
            self._add_identity()
            self._add_settings()
            self._add_conditions(study.study_source.hosts())
            self._add_measures(study)

    def find_reasons(self) -> Category:
        """Why trials are not counted: for every figure alike, and the repeated ones."""
        if not self.places.size:
            return Category(codes=np.empty(0, dtype=np.int32), levels=())
        reasons = find_reasons(self.table, SURVEY_RULES)[self.places].astype(object)
        control = self.categories.get(CONTROL)
        if control is not None:
            repeated = np.isin(
                control.codes, [control.levels.index(level) for level in control.levels if level == "yes"]
            )
            reasons[repeated & (reasons == "")] = CONTROL_REASON
        return encode_values([reason or None for reason in reasons])

    def _read_numbers(self, name: str) -> Floats:
        return self.table.get(name)[self.places]

    def _read_texts(self, name: str) -> Category:
        frame = self.table.frame
        if name not in frame:
            return Category(codes=np.full(self.places.size, -1, dtype=np.int32), levels=())
        return encode_values(frame[name].iloc[self.places].astype(object).to_numpy())

    def _add_identity(self) -> None:
        self.numbers["trial"] = self._read_numbers("trial_id")
        self.numbers["cycle"] = self._read_numbers("cycle") + 1
        self.numbers["started_utc"] = read_times(self.table.frame["started_utc"].iloc[self.places])
        for name in ("status", "failed_stage", "failure", "path_source", "path_destination"):
            self.categories[name] = self._read_texts(name)
        self.categories["path"] = _join(
            self.categories["path_source"], self.categories["path_destination"], lambda a, b: f"{a}{ARROW}{b}"
        )
        media = np.array([condition.medium for condition in self.table.conditions], dtype=object)[self.places]
        values = encode_values(media)
        self.categories["medium"] = Category(
            codes=values.codes, levels=tuple(MEDIA.get(level, level) for level in values.levels)
        )

    def _add_settings(self) -> None:
        rows = self._read_numbers("plan_row")
        known = self.settings.places
        chosen = np.array([known.get(int(row), -1) if row == row else -1 for row in rows], dtype=np.int64)
        for name in self.settings.names:
            levels = [item.get(name) for item in self.settings.distinct]
            if self.settings.is_numeric(name):
                values = np.array([np.nan if level is None else float(level) for level in levels] + [np.nan])
                self.numbers[name] = values[chosen]
            else:
                named = [
                    format_setting_level(name, item[name]) if name in item else None
                    for item in self.settings.distinct
                ]
                distinct = encode_values([*named, None])
                self.categories[name] = Category(codes=distinct.codes[chosen], levels=distinct.levels)
        for name, column in STATED_BY_TRIALS.items():
            self._complete_setting(name, column)

    def _complete_setting(self, name: str, column: str) -> None:
        """What the plan does not name, as the trial states it."""
        if name == "congestion":
            self.categories.setdefault(name, self._read_texts(column))
        if name in self.categories:
            return
        stated, result = self._read_numbers(column), self.numbers.get(name)
        if result is None or name == "streams":
            self.numbers[name] = stated
        elif name != "window_bytes":  # where a plan leaves the window to the kernel, so do its trials
            self.numbers[name] = np.where(np.isnan(result), stated, result)

    def _add_conditions(self, hosts: Sequence[HostRecord]) -> None:
        for name in list_stored_conditions():
            if name in self.numbers or name in self.categories:
                continue
            numeric = name in self.table.frame and pd.api.types.is_numeric_dtype(self.table.frame[name].dtype)
            if numeric:
                self.numbers[name] = self._read_numbers(name)
            else:
                self.categories[name] = self._read_texts(name)
        for name, keys in (("kernel", ("kernel", "release")), ("cpu_model", ("cpu", "model"))):
            ends = [
                _read_facts(self.categories[end], self.numbers["started_utc"], hosts, keys)
                for end in ("path_source", "path_destination")
            ]
            self.categories[name] = _join(ends[0], ends[1], lambda a, b: a if a == b else f"{a}{ARROW}{b}")

    def _add_measures(self, study: Analyses) -> None:
        for name in list_stored_measures():
            if name not in self.numbers and name in self.table.frame:
                self.numbers[name] = self._read_numbers(name)
        sample = self._collect()
        campaign = study.study_source.campaign
        for measure in MEASURES:
            if measure.of_lab is not None:
                self.numbers[measure.key] = keep_finite(measure.of_lab(sample, campaign.environment))
            elif measure.of_trial is not None:
                self.numbers[measure.key] = keep_finite(measure.of_trial(sample))
        if is_searching(campaign.model):
            rates = read_found_rates(self.table, study.study_plan(), campaign.model)
            self.numbers[LOSSLESS_COLUMN] = rates[self.places]

    def _collect(self) -> Sample:
        return collect_sample(self.table, self.places)


def _drop_missing(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def keep_finite(values: Floats) -> Floats:
    """The values, NaN where one is not finite."""
    return np.where(np.isfinite(values), values, np.nan)


def read_times(column: pd.Series) -> Floats:
    """Times of a frame as seconds since 1970, NaN for one that is none; a time without zone is UTC."""
    stamps = pd.to_datetime(column, utc=True, format="ISO8601", errors="coerce")
    micros = stamps.astype("datetime64[us, UTC]").to_numpy(dtype="datetime64[us]").astype(np.int64)
    seconds: Floats = micros / 1e6  # as parse_instant does, so that a limit includes its own moment
    return np.where(stamps.isna(), np.nan, seconds)


def _join(first: Category, second: Category, name: Callable[[str, str], str]) -> Category:
    """A category of each pair of levels; none where one of both is missing."""
    width = len(second.levels) + 1
    pairs = np.where(
        (first.codes >= 0) & (second.codes >= 0), first.codes.astype(np.int64) * width + second.codes, -1
    )
    distinct, codes = np.unique(pairs, return_inverse=True)
    names = [
        None if item < 0 else name(first.levels[item // width], second.levels[item % width])
        for item in distinct
    ]
    values = encode_values(names)
    return Category(codes=values.codes[codes.ravel()], levels=values.levels)


def _read_facts(
    ends: Category, started: Floats, hosts: Sequence[HostRecord], keys: tuple[str, str]
) -> Category:
    """A fact of the host of each trial: as stated last before it started, else as stated first."""
    result = np.full(ends.codes.size, None, dtype=object)
    for code, host in enumerate(ends.levels):
        stated = [
            (time, value)
            for record in hosts
            if record.name == host and (value := _follow(record.facts, keys)) is not None
            for time in read_times(pd.Series([record.recorded_utc], dtype=object))
        ]
        if not stated:
            continue
        stated.sort(key=lambda item: (item[0] == item[0], item[0]))
        times = np.array([time for time, _ in stated])
        mask = ends.codes == code
        last = np.searchsorted(times, np.nan_to_num(started[mask], nan=np.inf), side="right") - 1
        result[mask] = np.array([value for _, value in stated], dtype=object)[np.clip(last, 0, None)]
    return encode_values(result)


def _follow(facts: Any, keys: tuple[str, str]) -> str | None:
    part = facts.get(keys[0]) if isinstance(facts, Mapping) else None
    value = part.get(keys[1]) if isinstance(part, Mapping) else None
    return value if isinstance(value, str) and value else None
