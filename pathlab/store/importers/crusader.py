"""crusader's JSON export: bytes at the receiving side of every phase, and pings throughout."""

from __future__ import annotations

from collections import Counter

from pathlab.store.flags import Flag
from pathlab.store.imported_trial import (
    ImportedTrial,
    Measurement,
    Row,
    build_interval,
    build_probe,
    format_utc_seconds,
    to_ns,
)
from pathlab.store.json_fields import Fields, GivenFile
from pathlab.store.steady import measure_steady

TITLE = "crusader's JSON export"
CLIENT, SERVER = "client", "server"


def read_trials(given: GivenFile) -> list[ImportedTrial] | None:
    """One trial per direction and phase, with the pings during it; None where the file is not crusader's.

    It names neither its hosts nor the time of day: the hosts are called client and server, the time is when
    the file was last written. Raises StoreError.
    """
    whole = given.match("stream_groups", "pings")
    if whole is None:
        return None
    started_utc = format_utc_seconds(given.document.modified_s, given.name)
    groups = [(group, _list_rows(group)) for group in whole.items("stream_groups")]
    loads = [min(row["start_ns"] for row in rows) for _, rows in groups if rows]
    if not loads:
        whole.fail("crusader measured nothing: no stream carried anything")
    probes = _list_probes(whole)
    idle = [probe for probe in probes if probe["sent_ns"] < min(loads)]
    return [
        _describe(whole, group, rows, started_utc, probes, idle).build() for group, rows in groups if rows
    ]


def _describe(
    whole: Fields, group: Fields, rows: list[Row], started_utc: str, probes: list[Row], idle: list[Row]
) -> Measurement:
    """One phase; times in ns since the file's ``start``."""
    download, both = bool(group.flag("download")), bool(group.flag("both"))
    config, overload = whole.sub("config"), bool(whole.flag("server_overload"))
    shares: Counter[int] = Counter()
    for row in rows:
        shares[row["stream"]] += row["bytes"]
    begin_ns, end_ns = min(row["start_ns"] for row in rows), max(row["end_ns"] for row in rows)
    stagger_ns, ping_ns = (
        _read_duration_ns(config, key) if key in config else None for key in ("stagger", "ping_interval")
    )
    return Measurement(
        program="crusader",
        version=(whole.text("generated_by") or "").removeprefix("Crusader").strip() or None,
        part=("both-" if both else "") + ("reverse" if download else "forward"),
        ends=(SERVER, CLIENT) if download else (CLIENT, SERVER),
        started_utc=started_utc,
        columns={
            "flags": (Flag.HOST_LIMITED,) if overload else (),
            "streams": len(group.items("streams")),
            "interval_ns": _read_duration_ns(config, "bandwidth_interval"),
            "warmup_ns": 0,
            "duration_ns": _read_duration_ns(config, "load_duration"),
            **measure_steady([*shares.values()], end_ns - begin_ns),
            "probe_method": "udp" if probes else None,
            "probe_stamps": "user" if probes else None,
        },
        series={
            "receiver_intervals": rows,
            "loaded_probes": [probe for probe in probes if begin_ns <= probe["sent_ns"] < end_ns],
            "unloaded_probes": idle,
        },
        settings={
            "direction": "both" if both else None,
            "stagger_ns": stagger_ns or None,
            "probe_interval_ns": ping_ns,
        },
        notes=whole.notes,
        keeps_time=True,
        details={"config": config.value, "started_from": "the file's time", "server_overload": overload},
    )


def _list_rows(group: Fields) -> list[Row]:
    """Differences of the counts, which go up from the first point of each stream."""
    rows: list[Row] = []
    for number, stream in enumerate(group.items("streams")):
        before: tuple[int, int] | None = None
        for index, point in enumerate(stream.items("data")):
            now = _read_duration_ns(point, "time"), point.count("bytes") or 0
            if before is not None:
                if now[0] <= before[0] or now[1] < before[1]:
                    point.fail(f"{point.place} goes back in time or in bytes")
                rows.append(build_interval(index - 1, number, (before[0], now[0]), now[1] - before[1]))
            before = now
    return sorted(rows, key=lambda row: (row["index"], row["stream"]))


def _list_probes(whole: Fields) -> list[Row]:
    probes = []
    for number, ping in enumerate(whole.items("pings")):
        latency = ping.sub("latency")
        rtt_ns = _read_duration_ns(latency, "total") if "total" in latency else None
        probe = build_probe(number, ping.count("index"), _read_duration_ns(ping, "sent"), rtt_ns)
        probes.append(
            {**probe, "send_delay_ns": _read_duration_ns(latency, "up") if "up" in latency else None}
        )
    return probes


def _read_duration_ns(fields: Fields, key: str) -> int:
    """A length of time as Rust writes it, ``{secs, nanos}``; plain numbers are seconds."""
    if key not in fields:
        fields.fail(f"{fields.place or 'the file'} has no '{key}'")
    if isinstance(fields.value[key], (int, float)):
        return to_ns(fields.number(key) or 0.0)
    length = fields.sub(key)
    return (length.count("secs") or 0) * 1_000_000_000 + (length.count("nanos") or 0)
