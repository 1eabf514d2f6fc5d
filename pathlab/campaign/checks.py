"""Contradictions between the keys of a campaign file.

The checks read the file's raw tables, so that they also work where another key is malformed; the model
reports what is malformed itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pathlab.campaign.design_checks import check_design
from pathlab.campaign.host_model import KNOWN_LOCAL
from pathlab.campaign.lab_checks import check_lab, find_lab_fault
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


def find_contradictions(data: Mapping[str, Any]) -> list[Finding]:
    """Return every contradiction as (key, what is wrong; expected …), in the order of the file's tables."""
    checks = (_check_hosts, _check_paths, check_design, _check_trial, check_lab)
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
        if source == target:
            what = f"the path leads from '{source}' to itself and crosses no link"
            yield ("paths", index, *key), f"{what}; expected another host of the lab"
        elif fault := find_lab_fault(source, target, lab_hosts, _list_link_ends(data, lab_hosts)):
            yield ("paths", index), fault


def _list_link_ends(data: Mapping[str, Any], lab_hosts: list[str]) -> list[list[str]] | None:
    """What each link joins; None where one does not join nodes of the lab, which has to be fixed first."""
    nodes = [*lab_hosts, *read_names(read_table(data, "lab"), "routers")]
    pairs = [row.get("between") for _, row in read_rows(read_table(data, "lab"), "links")]
    sound = [pair for pair in pairs if isinstance(pair, list) and all(end in nodes for end in pair)]
    return sound if len(sound) == len(pairs) else None


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
