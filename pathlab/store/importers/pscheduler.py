"""pScheduler's throughput and RTT results, with the tool's own output where ``diags`` still holds it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from pathlab.errors import StoreError
from pathlab.store.flags import Flag, Phase
from pathlab.store.imported_trial import (
    UNKNOWN,
    ImportedTrial,
    Measurement,
    build_interval,
    build_probe,
    parse_utc,
    split_tos,
    to_ns,
)
from pathlab.store.importers.iperf3 import read_output
from pathlab.store.iperf3_framing import is_output
from pathlab.store.json_fields import Fields, GivenFile, parse_json
from pathlab.store.steady import measure_fairness
from pathlab.store.totals import INTERVALS_RATIO, LOSS_RATIO, RATE_RATIO, SUM_RATIO, add_up, differ

TITLE = "pScheduler"
_PROGRAM = "pscheduler"
_RESULTS = ("result", "result-merged", "merged-result")
_DURATION = re.compile(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?")


def read_trials(given: GivenFile) -> list[ImportedTrial] | None:
    """The trials of one run, or of its bare result; None where the file is not pScheduler's.

    Raises StoreError, also for a kind of test that is not read.
    """
    run = given.match()
    key = next((key for key in _RESULTS if run and isinstance(run.value.get(key), dict)), None)
    bare = run is not None and "succeeded" in run.value and {"summary", "roundtrips", "diags"} & {*run.value}
    if run is None or not (bare or (key and "test" in run.value)):
        return None
    result = run.sub(key) if key else run
    kind = run.sub("test").text("type")
    if kind not in (None, "throughput", "rtt"):
        run.fail(f"it holds a pScheduler test of type '{kind}'; throughput and rtt are read")
    whole = _read_diags(run, result, given.name)
    if whole:
        return whole
    if result.flag("succeeded") is False:
        run.fail(f"pScheduler measured nothing: {result.text('error') or 'the run did not succeed'}")
    started = run.sub("schedule").text("start") or run.text("start-time")
    if started is None:
        run.fail("schedule.start does not say when the run began, nor does any tool's output in diags")
    spec, tool = run.sub("test").sub("spec"), run.sub("tool").text("name") or "an unnamed tool"
    kept = {name: result.value[name] for name in ("mtu", "requested-tcp-window-size") if name in result}
    if kind == "rtt" or "roundtrips" in result:
        part, measured = "probes", _read_rtt(run, result, spec)
    elif "summary" in result:
        part, measured = "forward", _read_throughput(result, spec)
    else:
        run.fail("it has neither a summary nor round trips")
    notes = measured.pop("notes", [])
    measurement = Measurement(
        program=_PROGRAM,
        tool=f"{_PROGRAM}: {tool}",
        part=part,
        ends=_read_ends(run, spec),
        started_utc=parse_utc(started, given.name),
        details={"tool": tool, "spec": spec.value, "result": kept},
        notes=[*run.notes, *notes],
        keeps_time=tool == "iperf3",
        **measured,
    )
    return [measurement.build()]


def _read_ends(run: Fields, spec: Fields) -> tuple[str, str]:
    names = run.value.get("participants") or []
    known = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    source = spec.text("source") or (known[0] if known else None) or UNKNOWN
    destination = spec.text("dest") or (known[1] if len(known) > 1 else None) or UNKNOWN
    return (destination, source) if spec.flag("reverse") else (source, destination)


def _read_diags(run: Fields, result: Fields, name: str) -> list[ImportedTrial]:
    """iperf3's whole output where it survives: it has CPU, both ends, every interval. The client's first."""
    texts = [text for text in (result.text("diags"), run.text("diags")) if text]
    outputs = [output for text in texts for output in _find_outputs(text, name)]
    outputs.sort(key=lambda output: "accepted_connection" in output["start"] if "start" in output else True)
    for output in outputs:
        if "error" in output or "test_start" not in output.get("start", {}):
            continue
        spec = run.sub("test").sub("spec").value
        return [
            dataclasses.replace(
                trial,
                program=_PROGRAM,
                program_version=None,
                details={
                    **trial.details,
                    "tool": f"iperf3 {trial.program_version or ''}".strip(),
                    "spec": spec,
                },
            )
            for trial in read_output(output, name)
        ]
    return []


def _find_outputs(text: str, name: str) -> list[dict[str, Any]]:
    try:
        values = parse_json(text, name).values
    except StoreError:
        return []
    return [value for value, _ in values if is_output(value)]


def _read_throughput(result: Fields, spec: Fields) -> dict[str, Any]:
    """From the rows that pScheduler kept; ``tcp-window-size`` is cwnd.

    A rate that the sum lacks is that of the streams together, else the mean of the intervals.
    """
    summary = result.sub("summary")
    total, streams = summary.sub("summary"), summary.items("streams")
    rows = _list_rows(result)
    steady = [row for row in rows if row["phase"] == Phase.STEADY]
    seconds = (total.amount("end") or 0.0) - (total.amount("start") or 0.0)
    if seconds <= 0 and steady:
        seconds = (max(row["end_ns"] for row in steady) - min(row["start_ns"] for row in steady)) / 1e9
    received, sent = total.amount("receiver-throughput-bits"), total.amount("throughput-bits")
    added = add_up([stream.amount("throughput-bits") for stream in streams])
    counted = sum(row["bytes"] for row in steady) * 8 / seconds if steady and seconds > 0 else None
    notes: list[str] = []
    for what, parts, ratio in (("streams", added, SUM_RATIO), ("intervals", counted, INTERVALS_RATIO)):
        if differ(sent, parts, ratio):
            notes.append(f"the total is {sent:,.0f} bit/s, that of the {what} {parts:,.0f}")
    if not _is_count_or_rate(total, seconds):
        notes.append("throughput-bytes of the total is neither throughput-bits / 8 nor that in its time")
    flags = (Flag.TOTALS_DIFFER,) if notes else ()
    parts_rate = added if added is not None else counted
    rate = next((item for item in (received, sent, parts_rate) if item is not None), None)
    if received is None and rate is not None:
        flags = (Flag.SENDER_COUNTED, *((Flag.TOTAL_COMPUTED,) if sent is None else ()), *flags)
    omit_ns, retransmits = _read_duration_ns(spec, "omit"), total.count("retransmits")
    columns = {
        "flags": flags,
        "streams": spec.count("parallel") or len(streams) or 1,
        "window_requested_bytes": result.count("requested-tcp-window-size")
        or spec.count("window-size")
        or None,
        "congestion_requested": spec.text("congestion"),
        "mss_bytes": result.count("mss") or None,
        "interval_ns": _read_duration_ns(spec, "interval")
        or (rows[0]["end_ns"] - rows[0]["start_ns"] if rows else 0),
        "warmup_ns": omit_ns,
        "duration_ns": _read_duration_ns(spec, "duration") or to_ns(seconds),
        "steady_ns": to_ns(seconds) if seconds > 0 else None,
        "throughput_bits_per_s": rate,
        "retransmitted_segments": None if omit_ns else retransmits,
        "retransmitted_steady_segments": retransmits,
        **_read_datagrams(spec, summary),
        "fairness_jain": measure_fairness([_rate(stream) for stream in streams]),
    }
    series = {"sender_intervals": rows}
    return {"columns": columns, "series": series, "settings": _read_settings(spec), "notes": notes}


def _read_datagrams(spec: Fields, summary: Fields) -> dict[str, Any]:
    """Datagrams sent and lost, and jitter, over all streams: a sum may be the sender's, without loss."""
    parts = summary.items("streams") or [summary.sub("summary")]
    sent, lost = ([part.count(key) for part in parts] for key in ("sent", "lost"))
    known = [(out, gone) for out, gone in zip(sent, lost, strict=True) if out and gone is not None]
    if not spec.flag("udp") or len(known) < len(parts) or any(gone > out for out, gone in known):
        return {}
    jitters = [part.number("jitter") for part in parts]
    measured = [jitter_ms for jitter_ms in jitters if jitter_ms is not None and jitter_ms >= 0]
    whole = len(measured) == len(parts)
    return {
        "udp_sent_packets": sum(out for out, _ in known),
        "udp_lost_packets": sum(gone for _, gone in known),
        "udp_jitter_ns": sum(measured) / len(measured) * 1e6 if whole else None,
    }


def _read_settings(spec: Fields) -> dict[str, Any]:
    """Every setting of the test that is not as its tool has it by itself."""
    marks = split_tos(spec, "ip-tos")
    return {
        "transport": "udp" if spec.flag("udp") else None,
        "stream_target_bits_per_s": spec.count("bandwidth") or None,
        "stream_pacing_bits_per_s": spec.count("fq-rate") or None,
        "mss_bytes": spec.count("mss") or None,
        "write_bytes": spec.count("buffer-length") or None,
        "dscp": spec.count("dscp") or marks["dscp"],
        "ecn": marks["ecn"],
    }


def _rate(stream: Fields) -> int | None:
    rate = stream.amount("throughput-bits")
    return None if rate is None else round(rate)


def _list_rows(result: Fields) -> list[dict[str, Any]]:
    """Rows of the series, streams by their ``stream-id``: tools do not list them in one order."""
    rows = []
    order: dict[Any, int] = {}
    for index, interval in enumerate(result.items("intervals")):
        for at, stream in enumerate(interval.items("streams")):
            start, end = stream.amount("start"), stream.amount("end")
            if start is None or end is None or end < start:
                continue
            count = _count_bytes(stream, end - start)
            if count is None:
                continue
            name = stream.value.get("stream-id")
            number = order.setdefault(name if isinstance(name, (str, int)) else f"place {at}", len(order))
            phase = Phase.WARMUP if stream.flag("omitted") else Phase.STEADY
            row = build_interval(index, number, (to_ns(start), to_ns(end)), count, phase)
            measured = {"rtt_us": stream.count("rtt"), "snd_cwnd_bytes": stream.count("tcp-window-size")}
            rows.append({**row, **measured})
    return sorted(rows, key=lambda row: (row["index"], row["stream"]))


def _count_bytes(stream: Fields, seconds: float) -> int | None:
    """Bytes of an interval: ``throughput-bytes`` is a count from iperf3, and a rate per second from others.

    ``throughput-bits`` is a rate from all tools; nuttcp's has nothing else.
    """
    rate, count = stream.amount("throughput-bits"), stream.amount("throughput-bytes")
    if rate is None:
        return None if count is None else round(count)
    if count is not None and not differ(rate * seconds / 8, count, RATE_RATIO):
        return round(count)
    if not _is_count_or_rate(stream, seconds):
        stream.notes.append(f"{stream.place}: throughput-bytes contradicts throughput-bits, which was read")
    return round(rate * seconds / 8)


def _is_count_or_rate(row: Fields, seconds: float) -> bool:
    """Whether ``throughput-bytes`` of a row can be explained by its ``throughput-bits``."""
    rate, count = row.amount("throughput-bits"), row.amount("throughput-bytes")
    return not differ(rate and rate * seconds / 8, count, RATE_RATIO) or not differ(
        rate and rate / 8, count, RATE_RATIO
    )


def _read_rtt(run: Fields, result: Fields, spec: Fields) -> dict[str, Any]:
    interval_ns = _read_duration_ns(spec, "interval") or 1_000_000_000
    probes = []
    for number, trip in enumerate(result.items("roundtrips")):
        length = trip.text("rtt")
        rtt_ns = None if length is None else parse_duration_ns(length, run)
        probes.append(build_probe(number, trip.count("seq"), None, rtt_ns))
    if not probes:
        run.fail("roundtrips is empty: pScheduler measured nothing")
    lost, stated = sum(probe["rtt_ns"] is None for probe in probes), result.amount("loss")
    notes: list[str] = []
    if stated is not None and abs(lost / len(probes) - stated) > LOSS_RATIO:
        notes.append(f"loss is {stated:g}, and {lost} of {len(probes)} round trips were lost")
    columns = {
        "flags": (Flag.TOTALS_DIFFER,) if notes else (),
        "streams": 0,
        "interval_ns": interval_ns,
        "warmup_ns": 0,
        "duration_ns": interval_ns * len(probes),
        "probe_method": "icmp",
        "probe_stamps": "user",
    }
    return {"columns": columns, "series": {"unloaded_probes": probes}, "notes": notes}


def _read_duration_ns(spec: Fields, key: str) -> int:
    """A length that the test requests, 0 where it did not; ``omit`` may be a number of seconds."""
    value = spec.value.get(key)
    if isinstance(value, (int, float)):
        return to_ns(spec.number(key) or 0.0)
    text = spec.text(key)
    return parse_duration_ns(text, spec) if text else 0


def parse_duration_ns(text: str, fields: Fields) -> int:
    """An ISO 8601 duration of at most days as nanoseconds. Raises StoreError."""
    match = _DURATION.fullmatch(text)
    if not match or not any(match.groups()):
        fields.fail(f"'{text[:40]}' is not a duration such as PT20S")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return to_ns(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
