"""pScheduler's throughput and RTT results, with the tool's own output where ``diags`` still holds it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

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
from pathlab.store.iperf3_framing import find_outputs
from pathlab.store.json_fields import Fields, GivenFile
from pathlab.store.steady import measure_fairness

TITLE = "pScheduler"
_PROGRAM = "pscheduler"
_RESULTS = ("result", "result-merged", "merged-result")
_DURATION = re.compile(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")


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
        run.refuse(f"it holds a pScheduler test of type '{kind}'; throughput and rtt are read")
    whole = _read_diags(run, result, given.name)
    if whole:
        return whole
    if result.flag("succeeded") is False:
        run.refuse(f"pScheduler measured nothing: {result.text('error') or 'the run did not succeed'}")
    started = run.sub("schedule").text("start") or run.text("start-time")
    if started is None:
        run.refuse("schedule.start does not say when the run began, nor does any tool's output in diags")
    spec, tool = run.sub("test").sub("spec"), run.sub("tool").text("name") or "an unnamed tool"
    kept = {name: result.value[name] for name in ("mtu", "requested-tcp-window-size") if name in result}
    if kind == "rtt" or "roundtrips" in result:
        part, measured = "probes", _read_rtt(run, result, spec)
    elif "summary" in result:
        part, measured = "forward", _read_throughput(result, spec)
    else:
        run.refuse("it holds neither a summary nor round trips")
    measurement = Measurement(
        program=_PROGRAM,
        tool=f"{_PROGRAM}: {tool}",
        part=part,
        ends=_read_ends(run, spec),
        started_utc=parse_utc(started, given.name),
        details={"tool": tool, "spec": spec.value, "result": kept},
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
    outputs = [output for text in texts for output in find_outputs(text)]
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


def _read_throughput(result: Fields, spec: Fields) -> dict[str, Any]:
    """From the rows that pScheduler kept: ``throughput-bytes`` counts bytes, ``tcp-window-size`` is cwnd."""
    summary = result.sub("summary")
    total, streams = summary.sub("summary"), summary.items("streams")
    rows = _list_rows(result)
    seconds = (total.number("end") or 0.0) - (total.number("start") or 0.0)
    counted = total.number("receiver-throughput-bits")
    rate = total.number("throughput-bits") if counted is None else counted
    omit_ns, retransmits = _read_duration_ns(spec, "omit"), total.count("retransmits")
    columns = {
        "flags": (Flag.SENDER_COUNTED,) if counted is None and rate is not None else (),
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
    return {"columns": columns, "series": {"sender_intervals": rows}, "settings": _read_settings(spec)}


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
    marks = split_tos(spec.count("ip-tos"))
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
    rate = stream.number("throughput-bits")
    return None if rate is None else round(rate)


def _list_rows(result: Fields) -> list[dict[str, Any]]:
    rows = []
    for index, interval in enumerate(result.items("intervals")):
        for number, stream in enumerate(interval.items("streams")):
            start, end, count = (
                stream.number("start"),
                stream.number("end"),
                stream.number("throughput-bytes"),
            )
            if start is None or end is None or count is None:
                continue
            phase = Phase.WARMUP if stream.flag("omitted") else Phase.STEADY
            row = build_interval(index, number, (to_ns(start), to_ns(end)), round(count), phase)
            measured = {"rtt_us": stream.count("rtt"), "snd_cwnd_bytes": stream.count("tcp-window-size")}
            rows.append({**row, **measured})
    return rows


def _read_rtt(run: Fields, result: Fields, spec: Fields) -> dict[str, Any]:
    interval_ns = _read_duration_ns(spec, "interval") or 1_000_000_000
    probes = []
    for number, trip in enumerate(result.items("roundtrips")):
        length = trip.text("rtt")
        rtt_ns = None if length is None else parse_duration_ns(length, run)
        probes.append(build_probe(number, trip.count("seq"), None, rtt_ns))
    if not probes:
        run.refuse("roundtrips is empty: pScheduler measured nothing")
    columns = {
        "streams": 0,
        "interval_ns": interval_ns,
        "warmup_ns": 0,
        "duration_ns": interval_ns * len(probes),
        "probe_method": "icmp",
        "probe_stamps": "user",
    }
    return {"columns": columns, "series": {"unloaded_probes": probes}}


def _read_duration_ns(spec: Fields, key: str) -> int:
    """A length that the test requests, 0 where it did not; ``omit`` may be a number of seconds."""
    value = spec.value.get(key)
    if isinstance(value, (int, float)):
        return to_ns(spec.number(key) or 0.0)
    text = spec.text(key)
    return parse_duration_ns(text, spec) if text else 0


def parse_duration_ns(text: str, fields: Fields) -> int:
    """An ISO 8601 duration of at most days as nanoseconds. Raises StoreError."""
    found = _DURATION.fullmatch(text)
    if not found or not any(found.groups()):
        fields.refuse(f"'{text[:40]}' is not a duration such as PT20S")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return to_ns(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
