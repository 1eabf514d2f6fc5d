"""What is stored of the links under a trial: their members, what each carried, and whether a bond changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pathlab.engines.base import Record, first
from pathlab.runner.trial.failover import LinkFailure
from pathlab.store.flags import Phase

_COUNTS = ("tx_bytes", "tx_packets", "rx_bytes", "rx_packets", "tx_dropped", "rx_dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLink:
    """A member link at one host: its interface and what was read of it before the trial."""

    host: str
    interface: str
    link: int | None = None  # of the lab
    rate_bits_per_s: int | None = None
    gso_max_segments: int | None = None
    gro: bool | None = None
    state: str | None = None  # in a bond of the kernel


@dataclass(slots=True, kw_only=True)
class BondReading:
    """The links between the two hosts of a trial. ``stated``: by factor and host, what is in force there."""

    members: tuple[MemberLink, ...] = ()
    stated: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    changed: bool = False  # a bond was another one after the trial than before it
    failure: LinkFailure | None = None

    def list_interfaces(self, host: str) -> list[str]:
        """The members of a host."""
        return [member.interface for member in self.members if member.host == host]


def count_members(
    reading: BondReading, end: str, host: str, records: Sequence[Record], samples: Sequence[Record]
) -> Iterator[Record]:
    """One row for each member of an end: its counters over the spans that lie in the steady window."""
    start, result = first(records, "start"), first(records, "result")
    steady = (result or {}).get("phases", {}).get(Phase.STEADY)
    if start is None or not steady:
        return
    origin_ns = start["monotonic_ns"]
    inside = [
        sample
        for sample in samples
        if sample["time_ns"] - sample["span_ns"] >= origin_ns + steady["start_ns"]
        and sample["time_ns"] <= origin_ns + steady["end_ns"]
    ]
    for member in reading.members:
        if member.host != host:
            continue
        rows = [
            (sample["span_ns"], row)
            for sample in inside
            for row in sample.get("nics") or ()
            if row["interface"] == member.interface
        ]
        yield {
            "end": end,
            "member": member.interface,
            "link": member.link,
            **{name: _add_up([row[name] for _, row in rows]) for name in _COUNTS},
            "covered_ns": sum(span_ns for span_ns, _ in rows),
            "rate_bits_per_s": member.rate_bits_per_s,
            "gso_max_segments": member.gso_max_segments,
            "gro": None if member.gro is None else int(member.gro),
            "state": member.state,
        }


def _add_up(values: Sequence[int | None]) -> int | None:
    """The sum; None without a reading, or where one is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def choose_bond(bonds: Mapping[str, Any] | None, address: str) -> str | None:
    """The bond that has an address; else the only one; None where there is none, or it is not clear which."""
    named = [name for name, bond in (bonds or {}).items() if bond.get("address") == address]
    if named:
        return named[0]
    return next(iter(bonds)) if bonds and len(bonds) == 1 else None


def describe_bond(name: str, bond: Mapping[str, Any]) -> str:
    """A bond in few words, as the settings of a trial state it."""
    policy = f" {bond['hash_policy']}" if bond.get("hash_policy") else ""
    return f"{name}: {bond['mode']}{policy}, {', '.join(bond['members']) or 'no member'}"
