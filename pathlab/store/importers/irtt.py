"""irtt's JSON: every round trip, over a path that irtt itself leaves idle."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.store.flags import Flag
from pathlab.store.imported_trial import (
    UNKNOWN,
    ImportedTrial,
    Measurement,
    Row,
    build_probe,
    parse_utc,
)
from pathlab.store.json_fields import Fields, GivenFile
from pathlab.store.totals import SUM_RATIO

TITLE = "irtt"
_LOST = {"true", "true_up", "true_down"}
_CLOCKS = ("monotonic", "wall")


def read_trials(given: GivenFile) -> list[ImportedTrial] | None:
    """The one trial of a file, None where it is not irtt's. Raises StoreError."""
    whole = given.match("round_trips", "stats")
    if whole is None:
        return None
    config, stats = whole.sub("config"), whole.sub("stats")
    params = config.sub("params")
    started, interval_ns = stats.text("start_time"), params.count("interval")
    duration_ns = params.count("duration")
    if started is None or interval_ns is None or duration_ns is None:
        whole.fail("stats.start_time and config.params do not say when and how long irtt measured")
    rows = list(_list_probes(whole))
    if not rows:
        whole.fail("irtt measured nothing: round_trips is empty")
    notes = [*_check_counts(stats, rows)]
    ends = (_strip_port(config.text("local_address")), _strip_port(config.text("remote_address")))
    measurement = Measurement(
        program="irtt",
        version=whole.sub("version").text("irtt"),
        part="probes",
        ends=ends,
        started_utc=parse_utc(_cut_fraction(started), given.name),
        columns={
            "flags": (Flag.TOTALS_DIFFER,) if notes else (),
            "source_address": ends[0],
            "destination_address": ends[1],
            "streams": 0,
            "interval_ns": interval_ns,
            "warmup_ns": 0,
            "duration_ns": duration_ns,
            "probe_method": "udp",
            "probe_stamps": "user",
        },
        series={"unloaded_probes": rows},
        settings={
            "transport": "udp",
            "probe_interval_ns": interval_ns,
            "probe_bytes": params.count("length") or None,
            "dscp": params.count("dscp") or None,
        },
        details={"stats": stats.value, "params": params.value},
        notes=[*whole.notes, *notes],
        keeps_time=True,
    )
    return [measurement.build()]


def _list_probes(whole: Fields) -> Iterator[Row]:
    """Probes by their sending, on one clock; those that irtt did not stamp are left out."""
    trips = whole.items("round_trips")
    sends = [trip.sub("timestamps").sub("client").sub("send") for trip in trips]
    clock = next((clock for clock in _CLOCKS if any(clock in send for send in sends)), None)
    base_ns: int | None = None
    for number, (trip, send) in enumerate(zip(trips, sends, strict=True)):
        sent_ns = send.whole(clock) if clock else None
        if sent_ns is None:
            continue
        base_ns = sent_ns if base_ns is None else base_ns
        delay = trip.sub("delay")
        rtt_ns = None if _is_lost(trip) else delay.whole("rtt")
        probe = build_probe(number, trip.count("seqno"), sent_ns - base_ns, rtt_ns)
        delays = {"send_delay_ns": delay.whole("send"), "receive_delay_ns": delay.whole("receive")}
        yield {**probe, "rtt_ns": rtt_ns if rtt_ns is None or rtt_ns > 0 else None, **delays}


def _check_counts(stats: Fields, rows: list[Row]) -> Iterator[str]:
    """Contradictions between the counts of ``stats`` and the round trips: a note for each."""
    answered = sum(row["rtt_ns"] is not None for row in rows)
    for key, what, seen in (("packets_sent", "sent", len(rows)), ("packets_received", "answered", answered)):
        stated = stats.count(key)
        if stated is not None and abs(stated - seen) > max(1, SUM_RATIO * seen):
            yield f"{key} is {stated:,}, and {seen:,} round trips were {what}"


def _is_lost(trip: Fields) -> bool:
    """``lost`` is a text in most versions and a truth in others."""
    value = trip.value.get("lost")
    return value is True or (isinstance(value, str) and value in _LOST)


def _strip_port(address: str | None) -> str:
    if not address:
        return UNKNOWN
    host, colon, port = address.rpartition(":")
    return host.strip("[]") if colon and port.isdecimal() else address


def _cut_fraction(stamp: str) -> str:
    """Go writes nanoseconds, which Python's calendar does not read."""
    head, point, tail = stamp.partition(".")
    if not point:
        return stamp
    digits = len(tail) - len(tail.lstrip("0123456789"))
    return f"{head}.{tail[: min(digits, 6)]}{tail[digits:]}"
