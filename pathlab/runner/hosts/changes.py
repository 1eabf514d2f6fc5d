"""What changed on the hosts between two runs of one campaign: trials before and after may not be alike."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pathlab import __version__
from pathlab.discover.route import Route
from pathlab.runner.journal import RESUMED, STARTED
from pathlab.store.records import HostRecord, JournalRecord
from pathlab.store.results import Results

#: Facts (agents/probes) on which a measurement depends and that do not move by themselves; () means all.
WATCHED: Mapping[str, tuple[str, ...]] = {
    "kernel": ("release", "build", "machine"),
    "cpu": ("model", "logical", "usable"),
    "clock": ("current",),
    "buffers": (),
    "tcp": (),
}

#: Programs by their fact in the journal, in words.
PROGRAMS: Mapping[str, str] = {
    "program_version": "PathLab",
    "engine_sha256": "the engine",
    "against_sha256": "the engine to compare with",
}


def describe_programs(engine: Path | None, against: Path | None = None) -> dict[str, str | None]:
    """The versions that a run begins with, as the journal keeps them; engines by the hashes of files."""
    engines = {"engine_sha256": engine, "against_sha256": against}
    digests = {
        name: None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in engines.items()
    }
    return {"program_version": __version__, **digests}


def find_changes(
    before: Iterable[HostRecord],
    now: Iterable[HostRecord],
    entries: Iterable[JournalRecord],
    programs: Mapping[str, str | None],
) -> list[str]:
    """One line for each watched fact that differs from the latest one stored of the same host.

    ``entries`` is the journal of the runs before, ``programs`` what this one begins with. What either side
    does not know is no change.
    """
    earlier = {record.name: record.facts for record in before}  # the latest of each name
    result = []
    for record in now:
        for name, old, new in _differences(earlier.get(record.name, {}), record.facts):
            result.append(f"{record.name}: {name} was {old}, is {new}")
    starts = [entry.facts for entry in entries if entry.kind in (STARTED, RESUMED)]
    if starts:
        for key, word in PROGRAMS.items():
            old, new = starts[-1].get(key), programs.get(key)
            if None not in (old, new) and old != new:
                result.append(f"{word} was {str(old)[:12]}, is {str(new)[:12]}")
    return result


def read_last_routes(results: Results) -> dict[tuple[str, str], tuple[str | None, ...]]:
    """Addresses by hop of the route that was last stored of each path."""
    routes: dict[tuple[str, str], tuple[str | None, ...]] = {}
    records, kinds = results.records_by_id(), results.all_series_kinds()
    latest = {
        (record.path_source, record.path_destination): number
        for number, record in records.items()
        if "route" in kinds.get(number, ())
    }
    for path, number in sorted(latest.items()):
        rows = results.series_table(number, "route").to_pylist()
        routes[path] = tuple({row["hop"]: row["address"] for row in rows}.values())
    return routes


def is_other_route(stored: tuple[str | None, ...], route: Route) -> bool:
    """Whether a hop that answered both times answered from another address."""
    now = [set(addresses) for addresses in route.flows[0].hops]
    return any(
        old is not None and addresses and old not in addresses
        for old, addresses in zip(stored, now, strict=False)
    )


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for part, names in WATCHED.items():
        before, after = old.get(part) or {}, new.get(part) or {}
        for name in names or sorted(set(before) & set(after)):
            values = before.get(name), after.get(name)
            if None not in values and values[0] != values[1]:
                yield f"{part}.{name}", *values
