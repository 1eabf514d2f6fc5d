"""Contradictions between the keys of a campaign file.

The checks read the file's raw tables, so that they also work where another key is malformed; the model
reports what is malformed itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pathlab.campaign.design_checks import check_design
from pathlab.campaign.host_model import KNOWN_LOCAL
from pathlab.campaign.lab_checks import check_lab
from pathlab.campaign.levels import list_levels
from pathlab.campaign.source_text import (
    Finding,
    format_choice,
    list_path_hosts,
    read_names,
    read_quantity,
    read_rows,
    read_table,
)
from pathlab.errors import UsageError
from pathlab.host_names import LOCAL
from pathlab.units import parse_time_ns

PLAN_ROWS_MAX = 1_000_000


def find_contradictions(data: Mapping[str, Any]) -> list[Finding]:
    """Return every contradiction as (key, what is wrong; expected …), in the order of the file's tables."""
    checks = (_check_hosts, _check_paths, check_design, _check_trial, check_lab, _check_plan_size)
    return [finding for check in checks for finding in check(data)]


def _lab_hosts(data: Mapping[str, Any]) -> list[str]:
    return read_names(read_table(data, "lab"), "hosts")


def _check_hosts(data: Mapping[str, Any]) -> Iterator[Finding]:
    lab_hosts = _lab_hosts(data)
    for name in read_table(data, "hosts"):
        if name == LOCAL:
            yield ("hosts", name), KNOWN_LOCAL
        elif name in lab_hosts:
            yield ("hosts", name), f"'{name}' is already a host of the lab; expected each name once"
    for index, name in enumerate(lab_hosts):
        if name == LOCAL:
            yield ("lab", "hosts", index), "'local' is this machine itself; expected another name"


def _check_paths(data: Mapping[str, Any]) -> Iterator[Finding]:
    lab_hosts = _lab_hosts(data)
    known = list(dict.fromkeys([LOCAL, *read_table(data, "hosts"), *lab_hosts]))
    seen: list[tuple[Any, ...]] = []
    for index, path in read_rows(data, "paths"):
        named = list_path_hosts(path)
        unknown = False
        for key, name in named:
            if isinstance(name, str) and name not in known:
                unknown = True
                what = f"host '{name}' is not known{format_choice(name, known)}"
                yield ("paths", index, *key), what
        ends = [name for _, name in named]
        if unknown or not all(isinstance(end, str) for end in ends):
            continue
        yield from _check_sinks(index, path, ends)
        identity = (*ends, path.get("source_address"), path.get("destination_address"))
        if identity in seen:
            yield (
                ("paths", index),
                f"the path from '{ends[0]}' to '{ends[1]}' is listed twice; expected each once",
            )
        seen.append(identity)
        yield from _check_lab_path(data, index, path, lab_hosts)


def _check_sinks(index: int, path: Mapping[str, Any], ends: list[str]) -> Iterator[Finding]:
    """``ends`` are source, destination and sinks."""
    for number, name in enumerate(ends[2:]):
        if name in ends[: 2 + number]:
            what = f"'{name}' is already an end of this path"
            yield ("paths", index, "sinks", number), f"{what}; expected further hosts, each once"
    for key in ("source_address", "destination_address", "addresses"):
        if len(ends) > 2 and path.get(key) is not None:
            what = "with sinks the system chooses the addresses"
            yield ("paths", index, key), f"{what}; expected no {key}, or no sinks"


def _check_lab_path(
    data: Mapping[str, Any], index: int, path: Mapping[str, Any], lab_hosts: list[str]
) -> Iterator[Finding]:
    (_, source), *targets = list_path_hosts(path)
    if not any(name in lab_hosts for name in (source, *(target for _, target in targets))):
        return
    for end in ("source_address", "destination_address"):
        if path.get(end) is not None:
            yield ("paths", index, end), "the lab gives its hosts their addresses; expected no address here"
    for key, target in targets:
        if (source in lab_hosts) != (target in lab_hosts):
            what = f"only one of '{source}' and '{target}' is in the lab"
            yield ("paths", index), f"{what}; expected both ends in the lab, or neither"
        elif source == target:
            what = f"the path leads from '{source}' to itself and crosses no link"
            yield ("paths", index, *key), f"{what}; expected another host of the lab"
        elif _links_are_sound(data, lab_hosts) and target not in _reachable(source, data):
            what = f"no link leads from '{source}' to '{target}'"
            yield ("paths", index), f"{what}; expected a link, or a chain of links, in lab.links"


def _links_are_sound(data: Mapping[str, Any], lab_hosts: list[str]) -> bool:
    """Whether every link joins nodes of the lab: else it is the link that has to be fixed first."""
    nodes = [*lab_hosts, *read_names(read_table(data, "lab"), "routers")]
    pairs = [row.get("between") for _, row in read_rows(read_table(data, "lab"), "links")]
    return all(isinstance(pair, list) and all(end in nodes for end in pair) for pair in pairs)


def _reachable(start: str, data: Mapping[str, Any]) -> set[str]:
    reached = {start}
    pairs = [row.get("between") for _, row in read_rows(read_table(data, "lab"), "links")]
    joined = [set(pair) for pair in pairs if isinstance(pair, list) and all(isinstance(e, str) for e in pair)]
    for _ in joined:  # each pass reaches at least one more host, or none is left
        for pair in joined:
            if reached & pair:
                reached |= pair
    return reached


def _check_trial(data: Mapping[str, Any]) -> Iterator[Finding]:
    trial, factors = read_table(data, "trial"), read_table(data, "factors")
    interval = trial.get("interval", "100ms")
    interval_ns = read_quantity(parse_time_ns, interval)
    try:
        durations = list_levels("duration", factors.get("duration", trial.get("duration", "10s")))
    except UsageError:
        return  # malformed: the model says so
    for duration in durations:
        duration_ns = read_quantity(parse_time_ns, duration)
        if interval_ns is not None and duration_ns is not None and interval_ns > duration_ns:
            what = f"'{interval}' is longer than the duration '{duration}'"
            yield ("trial", "interval"), f"{what}; expected an interval that fits into it"
            return


def _check_plan_size(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Counts what can be counted before constraints; the rest is checked when the plan is made."""
    combinations = _count_combinations(data)
    if data.get("where") or data.get("design") == "fraction":
        if combinations > PLAN_ROWS_MAX:
            what = f"there are {combinations} combinations to choose from"
            yield ("factors",), f"{what}; expected at most {PLAN_ROWS_MAX}"
        return
    key = "cycles_max" if "until" in data else "cycles"
    cycles = data.get(key, 1)
    rows = cycles if isinstance(cycles, int) else 1
    rows *= max(1, len(list(read_rows(data, "paths")))) * combinations
    if rows > PLAN_ROWS_MAX:
        yield (key,), f"the plan would have {rows} trials; expected at most {PLAN_ROWS_MAX}"


def _count_combinations(data: Mapping[str, Any]) -> int:
    """How many combinations a design takes them from; 1 where that is not known."""
    design, points = data.get("design", "full"), data.get("points")
    if design == "explicit":
        return max(1, len(list(read_rows(data, "rows"))))
    if design == "lhs":
        return points if isinstance(points, int) else 1
    combinations = 1
    for key, levels in read_table(data, "factors").items():
        try:
            combinations *= max(1, len(list_levels(key, levels)))
        except UsageError:
            return 1  # malformed: the model says so
    return combinations
