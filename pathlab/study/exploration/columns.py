"""What is known of a trial as one column: its name, unit, role and kind, and which columns there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from pathlab.campaign.factors import FACTORS
from pathlab.quantities import DisplayUnit, name_unit
from pathlab.store.records import TrialRecord
from pathlab.store.schema import column_types
from pathlab.study.exploration.column_labels import (
    NOT_MEASURED,
    NOT_SET,
    find_label,
    find_shown_unit,
)
from pathlab.study.measures import MEASURES_BY_KEY

Role = Literal["identity", "factor", "condition", "measured"]
Kind = Literal["number", "category", "flags", "time"]

#: What says which trial it is, in the order of lists.
IDENTITY = (
    *("results", "trial", "started_utc", "status", "failed_stage", "failure", "flags", "cycle", "path"),
)
#: Hosts' names, which differ where a campaign has several paths.
HOSTS = ("path_source", "path_destination")
#: Settings that a trial's own column states as well, so that results whose plan lacks them have a level.
STATED_BY_TRIALS: Mapping[str, str] = {
    "streams": "streams",
    "window_bytes": "window_requested_bytes",
    "congestion": "congestion_requested",
    "duration_ns": "duration_ns",
    "warmup_ns": "warmup_ns",
    "datagram_bytes": "datagram_bytes",
}
#: Those that are factors of every campaign; the others are conditions where no plan names them.
ALWAYS_FACTORS = ("streams", "window_bytes", "congestion")
#: Setting of a plan's row that is no factor.
CONTROL = "control"
#: Meanings of columns that no record of the store describes, or whose values are shown otherwise.
MEANINGS: Mapping[str, str] = {
    "results": "which of the open results the trial is of",
    "trial": "number of the trial in its results",
    "cycle": "pass over all combinations, counted from 1",
    "path": "hosts that the path begins and ends at",
    "flags": "what to know before reading the figures of the trial",
    "control": "whether the trial repeats one combination to show drift; such trials are in no median",
    "medium": "a lab, a real path, or another program's results",
    "kernel": "release of the hosts' kernel, of both ends where they differ",
    "cpu_model": "CPU of the hosts, of both ends where they differ",
}
#: Numeric columns of a trial that were chosen rather than measured.
_CHOSEN = ("attempt", "interval_ns", "warmup_ns", "duration_ns", "datagram_bytes")
#: Columns of a trial that are shown under another name, or belong to the details of one trial.
_HIDDEN = frozenset(
    {
        *("plan_row", "window_requested_bytes", "congestion_requested", "adapter_settings", "steady_ns"),
        *("engine_sha256", "capture_sender_sha256", "capture_receiver_sha256"),
        *(*IDENTITY, *HOSTS),
    }
)
#: Missing levels that say nothing.
UNKNOWN = (NOT_SET, NOT_MEASURED, "none")
#: From this ratio of the largest to the least value on, a logarithmic axis is suggested.
LOG_RATIO = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredColumn:
    """One column of the trials of some results.

    ``unit`` is that of the numbers, for readers ("" for none). ``kind``: ``number`` and ``time`` (seconds
    since 1970 in UTC) have numbers, ``category`` levels, ``flags`` any number of flags for each trial.
    ``log_suggested``: the values are above 0 and differ by a factor of 30 or more. ``level_count`` is the
    number of levels of a factor, identity or condition, those of the plan that were not measured yet and
    what it leaves to the system included; 0: not counted. ``missing_label`` says what it means that a trial
    has no value.
    """

    name: str
    label: str
    unit: str
    role: Role
    kind: Kind
    log_suggested: bool
    meaning: str
    level_count: int = 0
    missing_label: str = NOT_MEASURED

    @property
    def is_numeric(self) -> bool:
        """Whether it has numbers."""
        return self.kind in ("number", "time")

    @property
    def has_levels(self) -> bool:
        """Whether trials are counted by its levels: a factor, a condition, a category, flags."""
        if self.kind == "time" or self.name == "trial":
            return False
        return self.kind != "number" or self.role != "measured"


class LevelledColumn(Protocol):
    """What tells whether a missing level is one."""

    @property
    def role(self) -> str: ...
    @property
    def missing_label(self) -> str: ...


def leaves_to_system(column: LevelledColumn) -> bool:
    """Whether a missing level is one of a factor, such as ``auto``."""
    return column.role == "factor" and column.missing_label not in UNKNOWN


def list_stored_measures() -> tuple[str, ...]:
    """The numeric columns of the store that were measured, in its order."""
    types = column_types(TrialRecord)
    return tuple(
        name
        for name, item in types.items()
        if item.base in (int, float) and name not in _HIDDEN and not is_condition(name) and name != "streams"
    )


def list_stored_conditions() -> tuple[str, ...]:
    """The columns of the store that say under which conditions a trial was measured, in its order."""
    return tuple(name for name in column_types(TrialRecord) if name not in _HIDDEN and is_condition(name))


def is_condition(name: str) -> bool:
    """Whether a stored column is a condition: a text, or a number that was chosen."""
    item = column_types(TrialRecord)[name]
    return item.base is str or name in _CHOSEN


def describe_column(
    name: str,
    role: Role,
    kind: Kind,
    *,
    levels: int = 0,
    log_suggested: bool = False,
    unset: str | None = None,
) -> ExploredColumn:
    """A column with the label, the unit and the meaning that its name has in the store or among factors."""
    missing = unset or (NOT_SET if role in ("factor", "condition") else NOT_MEASURED)
    return ExploredColumn(
        name=name,
        label=find_label(name),
        unit=find_scale(name).unit if kind == "number" else "",
        role=role,
        kind=kind,
        log_suggested=log_suggested,
        meaning=_find_meaning(name, role),
        level_count=levels,
        missing_label="none" if name in ("failed_stage", "failure", "flags") else missing,
    )


def find_scale(name: str) -> DisplayUnit:
    """The unit in which a column of numbers is shown, and how much of its stored unit that is."""
    measure = MEASURES_BY_KEY.get(name)
    if measure is not None and measure.is_derived:
        return find_shown_unit(name, measure.unit)
    stored = column_types(TrialRecord).get(name)
    return find_shown_unit(name, stored.unit if stored is not None else name_unit(name))


def _find_meaning(name: str, role: Role) -> str:
    if name in MEANINGS:
        return MEANINGS[name]
    if role == "factor" and name in FACTORS:
        return FACTORS[name].description.replace("`", "")
    if name in MEASURES_BY_KEY and MEASURES_BY_KEY[name].meaning:
        return MEASURES_BY_KEY[name].meaning
    stored = column_types(TrialRecord).get(name)
    return "" if stored is None else stored.meaning
