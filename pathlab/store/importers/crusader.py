"""crusader's JSON export: bytes at the receiving side of every phase, and pings throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pathlab.store.flags import Flag
from pathlab.store.importers.document import Document, Fields
from pathlab.store.importers.measured import (
    Ends,
    ImportedTrial,
    build_record,
    build_settings,
    build_table,
    measure_fairness,
    spell_utc,
    to_ns,
)
from pathlab.store.steady import measure_probes

PROGRAM = "crusader"
CLIENT, SERVER = "client", "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What all phases of a file share; times in ns since the file's ``start``."""

    whole: Fields
    version: str | None
    started_utc: str
    probes: tuple[dict[str, Any], ...]
    first_load_ns: int


def is_output(value: Any) -> bool:
    """Whether a JSON value has the shape of crusader's export."""
    return isinstance(value, dict) and "stream_groups" in value and "pings" in value


def import_crusader(value: Any, document: Document) -> list[ImportedTrial]:
    """One trial per direction and phase, with the pings during it. Raises StoreError.

    The file tells neither its hosts nor the time of day: the hosts are called client and server, the time is
    when the file was last written.
    """
    whole = Fields(value, document.name)
    groups = whole.items("stream_groups")
    rows = [_list_rows(group) for group in groups]
    loads = [min((row["start_ns"] for row in one), default=None) for one in rows]
    known = [begin_ns for begin_ns in loads if begin_ns is not None]
    if not known:
        whole.refuse("crusader measured nothing: no stream carried anything")
    at = _Place(
        whole=whole,
        version=(whole.text("generated_by") or "").removeprefix("Crusader").strip() or None,
        started_utc=spell_utc(document.modified_s, document.name),
        probes=tuple(_list_probes(whole)),
        first_load_ns=min(known),
    )
    return [_build_trial(at, group, one) for group, one in zip(groups, rows, strict=True) if one]


def _build_trial(at: _Place, group: Fields, rows: list[dict[str, Any]]) -> ImportedTrial:
    download, both = bool(group.flag("download")), bool(group.flag("both"))
    config = at.whole.sub("config")
    shares = _sum_streams(rows)
    begin_ns, end_ns = min(row["start_ns"] for row in rows), max(row["end_ns"] for row in rows)
    during = [probe for probe in at.probes if begin_ns <= probe["sent_ns"] < end_ns]
    idle = [probe for probe in at.probes if probe["sent_ns"] < at.first_load_ns]
    ends = Ends(source=SERVER, destination=CLIENT) if download else Ends(source=CLIENT, destination=SERVER)
    length_ns = end_ns - begin_ns
    overload = bool(at.whole.flag("server_overload"))
    record = build_record(
        ends,
        started_utc=at.started_utc,
        program=f"{PROGRAM} {at.version}" if at.version else PROGRAM,
        flags=(Flag.HOST_LIMITED,) if overload else (),
        streams=len(group.items("streams")),
        interval_ns=_read_duration_ns(config, "bandwidth_interval"),
        warmup_ns=0,
        duration_ns=_read_duration_ns(config, "load_duration"),
        steady_ns=length_ns,
        received_steady_bytes=sum(shares),
        throughput_bits_per_s=sum(shares) * 8e9 / length_ns if length_ns > 0 else None,
        fairness_jain=measure_fairness(shares),
        probe_method="udp" if at.probes else None,
        probe_stamps="user" if at.probes else None,
        **measure_probes([row["rtt_ns"] for row in during], "loaded"),
        **measure_probes([row["rtt_ns"] for row in idle], "unloaded"),
    )
    tables = {
        "receiver_intervals": build_table(rows, "intervals"),
        "loaded_probes": build_table(during, "probes"),
        "unloaded_probes": build_table(idle, "probes"),
    }
    part = ("both-" if both else "") + ("reverse" if download else "forward")
    return ImportedTrial(
        program=PROGRAM,
        program_version=at.version,
        part=part,
        record=record,
        settings=build_settings(
            record,
            direction="both" if both else None,
            stagger_ns=(_read_duration_ns(config, "stagger") if "stagger" in config else 0) or None,
            probe_interval_ns=_read_duration_ns(config, "ping_interval")
            if "ping_interval" in config
            else None,
        ),
        series={kind: table for kind, table in tables.items() if table is not None},
        details={"config": config.value, "started_from": "the file's time", "server_overload": overload},
    )


def _list_rows(group: Fields) -> list[dict[str, Any]]:
    """Differences of the counts, which go up from the first point of each stream."""
    rows: list[dict[str, Any]] = []
    for number, stream in enumerate(group.items("streams")):
        before: tuple[int, int] | None = None
        for index, point in enumerate(stream.items("data")):
            now = _read_duration_ns(point, "time"), point.count("bytes") or 0
            if before is not None:
                if now[0] <= before[0] or now[1] < before[1]:
                    point.refuse(f"{point.place} goes back in time or in bytes")
                rows.append(
                    {
                        "index": index - 1,
                        "phase": "steady",
                        "start_ns": before[0],
                        "end_ns": now[0],
                        "stream": number,
                        "bytes": now[1] - before[1],
                    }
                )
            before = now
    return sorted(rows, key=lambda row: (row["index"], row["stream"]))


def _sum_streams(rows: Sequence[dict[str, Any]]) -> list[int]:
    shares: dict[int, int] = {}
    for row in rows:
        shares[row["stream"]] = shares.get(row["stream"], 0) + row["bytes"]
    return list(shares.values())


def _list_probes(whole: Fields) -> list[dict[str, Any]]:
    probes = []
    for number, ping in enumerate(whole.items("pings")):
        latency = ping.sub("latency")
        rtt_ns = _read_duration_ns(latency, "total") if "total" in latency else None
        sequence = ping.count("index")
        probes.append(
            {
                "sequence": number if sequence is None else sequence,
                "intended_ns": None,
                "sent_ns": _read_duration_ns(ping, "sent"),
                "rtt_ns": rtt_ns,
                "stamps": None if rtt_ns is None else "user",
                "send_delay_ns": _read_duration_ns(latency, "up") if "up" in latency else None,
            }
        )
    return probes


def _read_duration_ns(fields: Fields, key: str) -> int:
    """A length of time as Rust writes it, ``{secs, nanos}``; plain numbers are seconds."""
    if key not in fields:
        fields.refuse(f"{fields.place or 'the file'} has no '{key}'")
    if isinstance(fields.value[key], (int, float)):
        return to_ns(fields.number(key) or 0.0)
    length = fields.sub(key)
    return (length.count("secs") or 0) * 1_000_000_000 + (length.count("nanos") or 0)
