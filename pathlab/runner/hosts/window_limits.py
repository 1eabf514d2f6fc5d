"""Windows that a host's kernel will not grant, and the sysctl that limits them, before the first packet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.engines.spec import BOTH, REVERSE
from pathlab.host_names import LOCAL
from pathlab.store.records import HostRecord
from pathlab.units import format_bytes

SEND_LIMIT, RECEIVE_LIMIT = "wmem_max", "rmem_max"
SYSCTLS = Path("/proc/sys/net/core")


def find_short_windows(rows: Iterable[PlanRow], hosts: Iterable[HostRecord]) -> list[str]:
    """One line for each known limit of a host below the largest window that a row requests there.

    A request beyond the limit is granted up to it, without an error, so that the trials are only marked.
    """
    facts = {record.name: record.facts.get("buffers") or {} for record in hosts}
    largest: dict[tuple[str, str], int] = {}
    for row in rows:
        for host, limit, window_bytes in _needs(row):
            key = (host, limit)
            largest[key] = max(largest.get(key, 0), window_bytes)
    return list(_describe(largest, facts))


def record_own_limits(campaign: Campaign) -> list[HostRecord]:
    """What is known of the buffers of each host of a campaign that is this machine, before anything runs."""
    own = {LOCAL, *(campaign.lab.hosts if campaign.lab else ())}
    own |= {name for name, host in campaign.hosts.items() if host.transport == LOCAL}
    limits = {f"{name}_bytes": _read_limit(SYSCTLS / name) for name in (SEND_LIMIT, RECEIVE_LIMIT)}
    facts = {"buffers": limits}
    return [HostRecord(name=name, recorded_utc="", facts=facts) for name in sorted(own)]


def _read_limit(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None  # not known: another kernel, or a namespace that hides it


def _needs(row: PlanRow) -> Iterator[tuple[str, str, int]]:
    """Host, limit and window in bytes of both ends of a row, as far as windows are requested."""
    cell = row.cell
    ends = (row.path.source, row.path.source if cell.is_on_one_host else row.path.destination)
    sender, receiver = ends[::-1] if cell.direction == REVERSE else ends
    requested = [
        (sender, SEND_LIMIT, cell.window_sender_bytes),
        (receiver, RECEIVE_LIMIT, cell.window_receiver_bytes),
    ]
    if cell.direction == BOTH:
        requested += [
            (receiver, SEND_LIMIT, cell.window_receiver_bytes),
            (sender, RECEIVE_LIMIT, cell.window_sender_bytes),
        ]
    requested += [(sink, RECEIVE_LIMIT, cell.window_receiver_bytes) for sink in row.path.sinks]
    yield from ((host, limit, size) for host, limit, size in requested if size is not None)


def _describe(
    largest: Mapping[tuple[str, str], int], facts: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """The limits, those of equal hosts on one line."""
    short: dict[tuple[str, int, int], list[str]] = {}
    for (host, limit), window_bytes in sorted(largest.items()):
        allowed = facts.get(host, {}).get(f"{limit}_bytes")
        if allowed is not None and allowed < window_bytes:
            short.setdefault((limit, allowed, window_bytes), []).append(host)
    for (limit, allowed, window_bytes), hosts in short.items():
        grant = f"{hosts[0]} grants" if len(hosts) == 1 else f"{', '.join(hosts)} grant"
        most, wanted = format_bytes(allowed), format_bytes(window_bytes)
        yield (
            f"{grant} windows up to {most}, the plan requests {wanted}; these trials get the flag "
            f"window-short. fix: sysctl -w net.core.{limit}={window_bytes}"
        )
