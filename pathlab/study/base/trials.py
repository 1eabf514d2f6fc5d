"""What a study reads: the interface of a results file, and its trials with the plan's settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.store.flags import Flag
from pathlab.store.records import CampaignRecord, HostRecord, JournalRecord, PlanRecord, TrialRecord
from pathlab.store.usable import parse_flags
from pathlab.units import LARGEST

if TYPE_CHECKING:
    import pandas as pd

#: Settings that name a cell; every other one is a condition that is kept apart.
CELL_SETTINGS = ("streams", "window_bytes")
#: Linux reports twice what it granted, for its own bookkeeping.
LINUX_WINDOW_FACTOR = 2
LEAST = 1e-30
#: Medium of trials between hosts of a lab.
LAB = Flag.LAB


def join_ends(source: str, destination: str, direction: str | None) -> str:
    """A path by its ends, with the arrow of the data: ``a → b``; ``a ← b`` against the path."""
    return f"{source} {'←' if direction == 'reverse' else '→'} {destination}"


class StudySource(Protocol):
    """The part of ``pathlab.store.results.Results`` that a study needs."""

    @property
    def campaign(self) -> CampaignRecord: ...

    def plan(self) -> Sequence[PlanRecord]: ...

    def hosts(self) -> Sequence[HostRecord]: ...

    def journal(self) -> Sequence[JournalRecord]: ...

    def trials(self) -> pd.DataFrame: ...

    def record(self, trial_id: int) -> TrialRecord: ...

    def series_kinds(self, trial_id: int) -> Sequence[str]: ...

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]: ...

    def series(self, trial_id: int, kind: str) -> pd.DataFrame: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A path and everything that was held or varied besides streams and window.

    ``medium`` is ``lab``, ``loopback-fallback``, ``imported`` or ``hosts``: trials of different media are
    never pooled.
    ``settings`` are the plan's, by name, with ``congestion`` as it was requested (as it was used where none
    was) and ``duration_ns``; a value is text, number, truth value or None.
    """

    path_source: str
    path_destination: str
    medium: str
    settings: tuple[tuple[str, Any], ...]

    def get(self, name: str) -> Any:
        """The setting of that name; None where it was not set."""
        return dict(self.settings).get(name)

    @property
    def is_udp(self) -> bool:
        """Whether the traffic is datagrams, which have neither a window nor a congestion control."""
        return bool(self.get("transport") == "udp")

    @property
    def is_of_messages(self) -> bool:
        """Whether messages of one size were carried: how many depends on hosts rather than on windows."""
        return self.get("message_bytes") is not None

    @property
    def flow_ends(self) -> tuple[str, str]:
        """The hosts that send and receive what is counted: turned where the data goes against the path."""
        ends = self.path_source, self.path_destination
        return (ends[1], ends[0]) if self.is_reverse else ends

    @property
    def is_reverse(self) -> bool:
        """Whether the data goes against the path."""
        return bool(self.get("direction") == "reverse")

    @property
    def path(self) -> str:
        """``a → b``, with the arrow of the data that is counted."""
        return join_ends(self.path_source, self.path_destination, self.get("direction"))

    def without(self, *names: str) -> Condition:
        """The same condition, whatever these settings were."""
        kept = tuple((key, value) for key, value in self.settings if key not in names)
        return replace(self, settings=kept)


class TrialTable:
    """All trials as arrays in the order of their numbers, each column read from the frame once.

    ``conditions`` has one for each trial, ``distinct_conditions`` each of them once, in the order of trials,
    and ``condition_numbers`` its place there for each trial. ``order_drawn``: the plan drew the order of each
    cycle at random, so that comparisons within cycles rest on that draw.
    """

    def __init__(
        self, frame: pd.DataFrame, conditions: Sequence[Condition], *, order_drawn: bool = False
    ) -> None:
        self.frame = frame
        self.order_drawn = order_drawn
        self.conditions = tuple(conditions)
        known: dict[int, Condition] = {
            id(condition): condition for condition in self.conditions
        }  # shared by many trials
        distinct: dict[Condition, int] = {}
        numbers = {key: distinct.setdefault(item, len(distinct)) for key, item in known.items()}
        self.distinct_conditions = tuple(distinct)
        self.condition_numbers: NDArray[np.int64] = np.array(
            [numbers[id(condition)] for condition in self.conditions], dtype=np.int64
        )
        self.statuses: NDArray[np.str_] = frame["status"].to_numpy(dtype=object).astype(str)
        self._columns: dict[str, Floats] = {}
        sets, flag_places = _encode_flags(frame)
        self.flags = {  # which trials bear each, by its name
            name: np.array([name in marks for marks in sets], dtype=bool)[flag_places]
            for name in sorted({name for marks in sets for name in marks})
        }
        (versions,) = list_values(frame, ("engine_version",))
        places = {version: number for number, version in enumerate(dict.fromkeys(versions))}
        self.versions: NDArray[np.int64] = np.array(
            [-1 if version is None else places[version] for version in versions], dtype=np.int64
        )  # -1: not known

    def __len__(self) -> int:
        return len(self.frame)

    def get(self, name: str) -> Floats:
        """A column of the store as floats; NaN where it was not measured."""
        if name not in self._columns:
            self._columns[name] = column(self.frame, name)
        return self._columns[name]

    def flagged(self, name: str) -> NDArray[np.bool_]:
        """Which trials bear a flag."""
        result = self.flags.get(name)
        return np.zeros(len(self), dtype=bool) if result is None else result


def read_study_trials(source: StudySource, plan: Sequence[PlanRecord] | None = None) -> TrialTable:
    """Read every trial, in order of its number, with the condition that it was measured under.

    ``plan``: the source's, where it was read already.
    """
    frame = source.trials().sort_values("trial_id", kind="stable").reset_index(drop=True)
    return build_trial_table(
        frame,
        {row.row: row.settings for row in (source.plan() if plan is None else plan)},
        order_drawn=is_order_drawn(source.campaign.model),
    )


def is_order_drawn(model: Mapping[str, Any]) -> bool:
    """Whether a campaign drew the order of every cycle at random, each order being as likely.

    Not so in a search, whose trials depend on those before, nor where orders are balanced over hours.
    """
    drawn = model.get("order") == "random" and model.get("block", "cycle") == "cycle"
    return drawn and not model.get("search")


def is_searching(model: Mapping[str, Any]) -> bool:
    """Whether a stored campaign searches for the lossless rate."""
    return isinstance(model.get("search"), Mapping)


def build_trial_table(
    frame: pd.DataFrame, planned: Mapping[int, Mapping[str, Any]], *, order_drawn: bool = False
) -> TrialTable:
    """The trials of a frame, in its order, with the settings of their rows of the plan."""
    (rows,) = list_values(frame, ("plan_row",))
    result = [planned.get(row) for row in rows]
    sets, flag_places = _encode_flags(frame)
    names = ("path_source", "path_destination", "congestion_requested", "congestion_sender", "duration_ns")
    groups, first = _group_equal(
        [
            np.array([id(item) for item in result], dtype=np.int64),
            flag_places,
            *(frame[name] for name in names),
        ]
    )
    values = zip(*list_values(frame.iloc[first], names), strict=True)
    settings: dict[int, tuple[tuple[str, Any], ...]] = {}  # trials of one row of the plan share theirs
    keys = []
    for row, (source_name, destination, requested, used, duration_ns) in zip(first, values, strict=True):
        item = result[row]
        if id(item) not in settings:
            settings[id(item)] = () if item is None else _conditions_of(item)
        medium = find_medium(sets[flag_places[row]])
        keys.append((settings[id(item)], source_name, destination, requested, used, duration_ns, medium))
    defaults: dict[Any, Any] = {}  # what the kernel's default proved to be, for trials that failed before
    for *place, _, used, _, _ in keys:
        if used is not None:
            defaults.setdefault(tuple(place), used)
    known: dict[Any, Condition] = {}
    conditions = []
    for *place, requested, used, duration_ns, medium in keys:
        key = (*place, requested, used or defaults.get(tuple(place)), duration_ns, medium)
        if key not in known:
            known[key] = _build_condition(*key)
        conditions.append(known[key])
    return TrialTable(frame, [conditions[group] for group in groups], order_drawn=order_drawn)


def _group_equal(columns: Sequence[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A number for each row that rows share where all columns are equal, and the first row of each group.

    Groups are numbered in the order of their first rows.
    """
    import pandas as pd

    groups = np.zeros(len(columns[0]), dtype=np.int64)
    for values in columns:
        codes, distinct = pd.factorize(values, use_na_sentinel=True)
        groups, _ = pd.factorize(groups * (len(distinct) + 1) + codes + 1)
    return groups, np.unique(groups, return_index=True)[1]


def list_values(frame: pd.DataFrame, names: Sequence[str]) -> list[list[Any]]:
    """The values of each of these columns; None where one was not measured."""
    return [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in names]


def column(frame: pd.DataFrame, name: str) -> Floats:
    """A column as floats, NaN where it has no possible value or does not exist."""
    if name not in frame:
        return np.full(len(frame), np.nan)
    return keep_possible(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))


def keep_possible(values: Floats) -> Floats:
    """The values, NaN where one is beyond what the store's integers hold: no figure of a trial is.

    What is too small for any instrument to distinguish from 0 is 0.
    """
    known = np.where(np.abs(values) <= LARGEST, values, np.nan)
    return np.where(np.abs(known) < LEAST, 0.0, known)


def _conditions_of(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (name, value if isinstance(value, (str, int, float, type(None))) else json.dumps(value, default=str))
        for name, value in sorted(settings.items())
        if name not in CELL_SETTINGS
    )


def _build_condition(
    settings: tuple[tuple[str, Any], ...],
    source: Any,
    destination: Any,
    *rest: Any,
) -> Condition:
    requested, used, duration_ns, medium = rest
    every = dict(settings)
    every["congestion"] = requested if requested is not None else used
    every["duration_ns"] = int(duration_ns) if duration_ns else None  # 0: a test of an amount
    return Condition(
        path_source=str(source),
        path_destination=str(destination),
        medium=medium,
        settings=tuple(sorted(every.items())),
    )


def find_medium(flags: Any) -> str:
    """What a trial was measured over, by its flags."""
    marks = flags if isinstance(flags, frozenset) else _list_flags(flags)
    for medium in (Flag.IMPORTED, Flag.LOOPBACK_FALLBACK, LAB):
        if medium in marks:
            return medium
    return "hosts"


def _encode_flags(frame: pd.DataFrame) -> tuple[list[frozenset[str]], NDArray[np.intp]]:
    """The distinct sets of flags, and for each trial the place of its own."""
    places: dict[frozenset[str], int] = {}
    known: dict[int, int] = {}  # by the object that holds the flags: many trials may share one
    column = frame["flags"].tolist()
    result = np.empty(len(column), dtype=np.intp)
    for row, marks in enumerate(column):
        place = known.get(id(marks))
        if place is None:
            place = known[id(marks)] = places.setdefault(_list_flags(marks), len(places))
        result[row] = place
    return list(places), result


def _list_flags(flags: Any) -> frozenset[str]:
    """A trial's flags; none where the cell holds neither a text nor a list."""
    if isinstance(flags, str):
        return frozenset(parse_flags(flags))
    return frozenset(flags) if isinstance(flags, (list, tuple)) or hasattr(flags, "tolist") else frozenset()
