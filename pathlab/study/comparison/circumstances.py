"""What differs between compared results besides what is compared: how, when and where trials ran."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pathlab.campaign.factors import find_default, format_level, name_levels
from pathlab.store.import_cycles import PAUSE_MAX_S
from pathlab.study.base.selection import Sample
from pathlab.study.base.trials import list_values
from pathlab.study.comparison.groups import CellSamples, ComparedCell, ComparedResults, list_trial_levels
from pathlab.units import format_rate, format_time

#: Drivers of interfaces that no cable leaves.
VIRTUAL_DRIVERS = frozenset(
    {"veth", "bridge", "ifb", "dummy", "tun", "macvlan", "ipvlan", "vxlan", "wireguard"}
)
#: Results that were measured as far apart may have met another path, as imported trials.
APART = datetime.timedelta(seconds=PAUSE_MAX_S)
HOURS_OF_DAY = 24
#: An earlier time is that of a machine without a clock.
FIRST_YEAR = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionDifference:
    """A fact of the trials that differs between two results and is no part of the combination."""

    label: str  # of the results that are compared with the first
    fact: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpan:
    """When the compared trials of one of the results started, by the controller's clock: first and last.

    ``hours``: of the day, UTC, in which one started.
    """

    label: str
    first: datetime.datetime
    last: datetime.datetime
    hours: frozenset[int]

    def overlaps(self, other: MeasuredSpan) -> bool:
        """Whether both were being measured at one time."""
        return self.first <= other.last and other.first <= self.last

    def is_far_from(self, other: MeasuredSpan) -> bool:
        """Whether the pause between the two is of hours."""
        return max(self.first - other.last, other.first - self.last) >= APART

    def shares_hours_with(self, other: MeasuredSpan) -> bool:
        """Whether some trials of both started at most about an hour of the day apart."""
        near = {(hour + step) % HOURS_OF_DAY for hour in self.hours for step in (-1, 0, 1)}
        return bool(near & other.hours)


def measure_span(label: str, group: CellSamples, cells: Iterable[ComparedCell]) -> MeasuredSpan | None:
    """The span of the trials of these combinations; None where no trial states its time."""
    texts = [text for cell in cells for text in _read(group[cell], "started_utc")]
    starts = pd.to_datetime(
        pd.Series(texts, dtype=object), utc=True, errors="coerce", format="ISO8601"
    ).dropna()
    starts = starts[starts.dt.year >= FIRST_YEAR]
    if starts.empty:
        return None
    first, last = (end.to_pydatetime() for end in (starts.min(), starts.max()))
    return MeasuredSpan(
        label=label, first=first, last=last, hours=frozenset(int(hour) for hour in starts.dt.hour)
    )


def list_differences(
    label: str,
    results: tuple[ComparedResults, ComparedResults],
    groups: tuple[CellSamples, CellSamples],
    ignored: Sequence[str],
) -> Iterator[ConditionDifference]:
    """What is not the same before and after in trials of the shared combinations, and at their hosts.

    ``ignored``: settings, by attribute, that the combinations were matched without.
    """
    cells = sorted(groups[0].keys() & groups[1].keys())
    facts = {**{_name(setting): _read_levels(setting) for setting in ignored}, **FACTS}
    for fact, read in facts.items():
        before, after = (
            tuple(sorted({text for cell in cells for text in read(group[cell])})) for group in groups
        )
        if before != after:
            yield ConditionDifference(label=label, fact=fact, before=before, after=after)
    yield from _compare_hosts(label, results, groups)


def _name(setting: str) -> str:
    """The key of the campaign file."""
    (key,) = name_levels({setting: None})
    return key


def _read(sample: Sample, name: str) -> list[Any]:
    (values,) = list_values(sample.table.frame.iloc[sample.places], (name,))
    return list(values)


def _read_levels(setting: str) -> Callable[[Sample], list[str]]:
    return lambda sample: [format_trial_level(setting, level) for level in list_trial_levels(sample, setting)]


def format_trial_level(setting: str, level: Any) -> str:
    """A level of a setting, by attribute, for reading; None: the setting's default."""
    return format_level(setting, find_default(setting) if level is None else level)


def _read_texts(name: str, render: Callable[[Any], str]) -> Callable[[Sample], list[str]]:
    return lambda sample: [render(value) for value in _read(sample, name)]


#: What may differ between results without keeping them from being compared, and has to be said then.
FACTS: Mapping[str, Callable[[Sample], list[str]]] = {
    "steady window": _read_texts(
        "duration_ns", lambda duration_ns: format_time(duration_ns) if duration_ns else "by amount"
    ),
    "warm-up": _read_texts("warmup_ns", format_time),
    "measured over": lambda sample: [sample.table.conditions[index].medium for index in sample.places],
    "probes": _read_texts("probe_method", lambda method: method or "none"),
    "congestion control in use": _read_texts("congestion_sender", lambda name: name or "not read"),
    "engine": _read_texts("engine_version", lambda version: version or "not stated"),
}


def _compare_hosts(
    label: str, results: tuple[ComparedResults, ComparedResults], groups: tuple[CellSamples, CellSamples]
) -> Iterator[ConditionDifference]:
    """Kernel, CPU, interfaces and offloads that differ between the hosts before and after.

    Hosts are held against those of their name, or, where the names differ, all against all. What one side
    does not state is no difference.
    """
    before, after = (
        {name: result.host_facts[name] for name in _name_hosts(group, groups) if name in result.host_facts}
        for result, group in zip(results, groups, strict=True)
    )
    if before.keys() == after.keys():
        sides = [(f" of {name}", [before[name]], [after[name]]) for name in sorted(before)]
    else:
        sides = [("", list(before.values()), list(after.values()))]
    result: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for whose, *pair in sides:
        for fact, read in HOST_FACTS.items():
            was, is_now = ({text for facts in side for text in read(facts)} for side in pair)
            if was and is_now and was != is_now:
                if fact == "offloads" and was - is_now and is_now - was:
                    was, is_now = was - is_now, is_now - was  # those that differ
                result.setdefault((fact, tuple(sorted(was)), tuple(sorted(is_now))), []).append(whose)
    for (fact, first, second), owners in result.items():  # hosts of one machine differ in the same
        name = fact + (owners[0] if len(owners) == 1 else "")
        yield ConditionDifference(label=label, fact=name, before=first, after=second)


def _name_hosts(group: CellSamples, groups: tuple[CellSamples, CellSamples]) -> list[str]:
    """The hosts that sent or received what is compared."""
    cells = groups[0].keys() & groups[1].keys()
    conditions = [group[cell].condition for cell in cells]
    return sorted(
        {end for condition in conditions for end in (condition.path_source, condition.path_destination)}
    )


def _get(facts: Any, *keys: str) -> Any:
    """A nested fact; None where the host did not state it."""
    for key in keys:
        facts = facts.get(key) if isinstance(facts, dict) else None
    return facts


def _read_kernel(facts: Any) -> Iterator[str]:
    release = _get(facts, "kernel", "release")
    if isinstance(release, str):
        yield release


def _read_cpu(facts: Any) -> Iterator[str]:
    model, cores = _get(facts, "cpu", "model"), _get(facts, "cpu", "usable")
    if isinstance(model, str):
        yield f"{model}, {cores} usable" if isinstance(cores, int) else model


def _list_nics(facts: Any) -> list[dict[str, Any]]:
    """The interfaces that are up, without those of virtual networks where the host has others."""
    nics = _get(facts, "nics")
    known = (
        {}
        if not isinstance(nics, dict)
        else {name: nic for name, nic in nics.items() if isinstance(nic, dict)}
    )
    up = [nic for name, nic in known.items() if name != "lo" and nic.get("state") == "up"]
    return [nic for nic in up if str(nic.get("driver")) not in VIRTUAL_DRIVERS] or up


def _read_nics(facts: Any) -> Iterator[str]:
    for nic in _list_nics(facts):
        speed, mtu_bytes = nic.get("speed_bits_per_s"), nic.get("mtu_bytes")
        parts = (
            nic.get("driver") or "unknown driver",
            format_rate(speed) if isinstance(speed, int) else None,
            f"MTU {mtu_bytes}" if isinstance(mtu_bytes, int) else None,
        )
        yield " ".join(str(part) for part in parts if part)


def _read_offloads(facts: Any) -> Iterator[str]:
    for nic in _list_nics(facts):
        offloads = nic.get("offloads")
        if isinstance(offloads, dict):
            yield from (f"{name} {'on' if on else 'off'}" for name, on in offloads.items() if on is not None)


#: Facts of a host that bear on what it carries, each as texts.
HOST_FACTS: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "kernel": _read_kernel,
    "CPU": _read_cpu,
    "NIC": _read_nics,
    "offloads": _read_offloads,
}
