"""Contradictions between the keys of a campaign file.

The checks read the file's raw tables, so that they still speak when another key is malformed; whatever is
malformed itself is left to the model.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pathlab.errors import UsageError
from pathlab.units import parse_bytes, parse_time_ns

Key = tuple[str | int, ...]
Finding = tuple[Key, str]

LOCAL = "local"
PLAN_ROWS_MAX = 1_000_000


def find_contradictions(data: Mapping[str, Any]) -> list[Finding]:
    """Return every contradiction as (key, what is wrong; expected …), in the order of the file's tables."""
    findings: list[Finding] = []
    for check in (_check_hosts, _check_paths, _check_factors, _check_trial, _check_links, _check_plan_size):
        findings += check(data)
    return findings


def suggest_name(wrong: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known name, or an empty text."""
    nearest = difflib.get_close_matches(wrong, list(known), n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def list_names(names: Iterable[str]) -> str:
    """Return the names quoted and joined by commas."""
    return ", ".join(f"'{name}'" for name in names)


def _table(data: Any, key: str) -> Mapping[str, Any]:
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _rows(data: Any, key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    value = data.get(key) if isinstance(data, Mapping) else None
    for index, row in enumerate(value if isinstance(value, Sequence) and not isinstance(value, str) else ()):
        if isinstance(row, Mapping):
            yield index, row


def _lab_hosts(data: Mapping[str, Any]) -> list[str]:
    names = _table(data, "lab").get("hosts")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _read(parse: Callable[[Any], int], value: Any) -> int | None:
    try:
        return parse(value)
    except UsageError:
        return None


def _check_hosts(data: Mapping[str, Any]) -> Iterator[Finding]:
    lab_hosts = _lab_hosts(data)
    for name in _table(data, "hosts"):
        if name == LOCAL:
            yield (
                ("hosts", name),
                "'local' is this machine and always known; expected another name, or no table",
            )
        elif name in lab_hosts:
            yield ("hosts", name), f"'{name}' is already a host of the lab; expected each name once"
    for index, name in enumerate(lab_hosts):
        if name == LOCAL:
            yield ("lab", "hosts", index), "'local' is this machine itself; expected another name"
        elif name in lab_hosts[:index]:
            yield ("lab", "hosts", index), f"'{name}' stands twice; expected each name once"


def _check_paths(data: Mapping[str, Any]) -> Iterator[Finding]:
    lab_hosts = _lab_hosts(data)
    known = list(dict.fromkeys([LOCAL, *_table(data, "hosts"), *lab_hosts]))
    seen: list[tuple[Any, ...]] = []
    for index, path in _rows(data, "paths"):
        ends = [path.get("source"), path.get("destination")]
        unknown = False
        for key, name in zip(("source", "destination"), ends, strict=True):
            if isinstance(name, str) and name not in known:
                unknown = True
                what = f"host '{name}' is not known{suggest_name(name, known)}"
                yield ("paths", index, key), f"{what}; expected one of {list_names(known)}"
        if unknown or not all(isinstance(end, str) for end in ends):
            continue
        identity = (*ends, path.get("source_address"), path.get("destination_address"))
        if identity in seen:
            yield (
                ("paths", index),
                f"the path from '{ends[0]}' to '{ends[1]}' stands twice; expected each once",
            )
        seen.append(identity)
        yield from _check_lab_path(data, index, path, lab_hosts)


def _check_lab_path(
    data: Mapping[str, Any], index: int, path: Mapping[str, Any], lab_hosts: list[str]
) -> Iterator[Finding]:
    source, destination = path["source"], path["destination"]
    inside = [end in lab_hosts for end in (source, destination)]
    if not any(inside):
        return
    for key in ("source_address", "destination_address"):
        if path.get(key) is not None:
            yield ("paths", index, key), "the lab gives its hosts their addresses; expected no address here"
    if not all(inside):
        what = f"nothing joins '{source}' and '{destination}': only one of them is in the lab"
        yield ("paths", index), f"{what}; expected both ends in the lab, or neither"
    elif source == destination:
        what = f"the path leads from '{source}' to itself and crosses no link"
        yield ("paths", index, "destination"), f"{what}; expected another host of the lab"
    elif _links_are_sound(data, lab_hosts) and destination not in _reachable(source, data):
        what = f"no link leads from '{source}' to '{destination}'"
        yield ("paths", index), f"{what}; expected a link, or a chain of links, in lab.links"


def _links_are_sound(data: Mapping[str, Any], lab_hosts: list[str]) -> bool:
    """Whether every link joins hosts of the lab: else it is the link that has to be mended first."""
    pairs = [row.get("between") for _, row in _rows(_table(data, "lab"), "links")]
    return all(isinstance(pair, list) and all(end in lab_hosts for end in pair) for pair in pairs)


def _reachable(start: str, data: Mapping[str, Any]) -> set[str]:
    reached = {start}
    pairs = [row.get("between") for _, row in _rows(_table(data, "lab"), "links")]
    joined = [set(pair) for pair in pairs if isinstance(pair, list) and all(isinstance(e, str) for e in pair)]
    for _ in joined:  # each pass reaches at least one more host, or none is left
        for pair in joined:
            if reached & pair:
                reached |= pair
    return reached


def _check_factors(data: Mapping[str, Any]) -> Iterator[Finding]:
    for name, levels in _table(data, "factors").items():
        if not isinstance(levels, list):
            continue
        seen: dict[Any, Any] = {}
        for index, level in enumerate(levels):
            parsed = _read(parse_bytes, level) if name == "window" else None
            value = str(level) if parsed is None else parsed
            if value in seen:
                as_well = f" ('{seen[value]}' is the same)" if seen[value] != level else ""
                yield (
                    ("factors", name, index),
                    f"level '{level}' stands twice{as_well}; expected each level once",
                )
            seen.setdefault(value, level)


def _check_trial(data: Mapping[str, Any]) -> Iterator[Finding]:
    trial = _table(data, "trial")
    interval_ns = _read(parse_time_ns, trial.get("interval", "100ms"))
    duration_ns = _read(parse_time_ns, trial.get("duration", "10s"))
    if interval_ns is not None and duration_ns is not None and interval_ns > duration_ns:
        interval, duration = trial.get("interval", "100ms"), trial.get("duration", "10s")
        what = f"'{interval}' is longer than the duration '{duration}'"
        yield ("trial", "interval"), f"{what}; expected an interval that fits into it"


def _check_links(data: Mapping[str, Any]) -> Iterator[Finding]:
    lab_hosts = _lab_hosts(data)
    seen: list[set[str]] = []
    for index, link in _rows(_table(data, "lab"), "links"):
        queue_bytes = _read(parse_bytes, link.get("queue"))
        mtu = link.get("mtu", 1500)
        if queue_bytes is not None and isinstance(mtu, int) and queue_bytes < mtu:
            what = f"'{link['queue']}' holds not one packet of {mtu} bytes"
            yield ("lab", "links", index, "queue"), f"{what}; expected a queue of at least one packet (mtu)"
        ends = link.get("between")
        if not isinstance(ends, list) or len(ends) != 2 or not all(isinstance(end, str) for end in ends):
            continue
        for name in ends:
            if name not in lab_hosts:
                what = f"'{name}' is not a host of the lab{suggest_name(name, lab_hosts)}"
                yield ("lab", "links", index, "between"), f"{what}; expected two of {list_names(lab_hosts)}"
        if ends[0] == ends[1]:
            what = f"the link joins '{ends[0]}' with itself; expected two different hosts"
            yield ("lab", "links", index, "between"), what
        elif set(ends) in seen:
            what = f"'{ends[0]}' and '{ends[1]}' are already joined; expected one link for each pair"
            yield ("lab", "links", index, "between"), what
        seen.append(set(ends))


def _check_plan_size(data: Mapping[str, Any]) -> Iterator[Finding]:
    cycles = data.get("cycles", 1)
    rows = cycles if isinstance(cycles, int) else 1
    rows *= max(1, len(list(_rows(data, "paths"))))
    for levels in _table(data, "factors").values():
        rows *= max(1, len(levels)) if isinstance(levels, list) else 1
    if rows > PLAN_ROWS_MAX:
        yield ("cycles",), f"the plan would have {rows} trials; expected at most {PLAN_ROWS_MAX}"
