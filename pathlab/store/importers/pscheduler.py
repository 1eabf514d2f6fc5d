"""pScheduler's throughput and RTT results, with the tool's own output where ``diags`` still holds it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from pathlab.store.flags import Flag
from pathlab.store.importers.document import Fields
from pathlab.store.importers.iperf3 import import_iperf3
from pathlab.store.importers.iperf3_text import find_outputs
from pathlab.store.importers.measured import (
    Ends,
    ImportedTrial,
    build_record,
    build_settings,
    build_table,
    measure_fairness,
    parse_utc,
    split_tos,
    to_ns,
)
from pathlab.store.records import TrialRecord
from pathlab.store.steady import measure_probes

PROGRAM = "pscheduler"
_RESULTS = ("result", "result-merged", "merged-result")
_DURATION = re.compile(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")


def is_output(value: Any) -> bool:
    """Whether a JSON value is a run of pScheduler, or its bare result."""
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), dict) for key in _RESULTS) and "test" in value:
        return True
    return "succeeded" in value and any(key in value for key in ("summary", "roundtrips", "diags"))


def import_pscheduler(value: Any, name: str) -> list[ImportedTrial]:
    """The trials of one run. Raises StoreError, also for a kind of test that is not read."""
    run = Fields(value, name)
    key = next((key for key in _RESULTS if key in run), None)
    result = run.sub(key) if key else run
    kind = run.sub("test").text("type")
    if kind not in (None, "throughput", "rtt"):
        run.refuse(f"it holds a pScheduler test of type '{kind}'; throughput and rtt are read")
    whole = _read_diags(run, result, name)
    if whole:
        return whole
    if result.flag("succeeded") is False:
        run.refuse(f"pScheduler measured nothing: {result.text('error') or 'the run did not succeed'}")
    started = run.sub("schedule").text("start") or run.text("start-time")
    if started is None:
        run.refuse("schedule.start does not say when the run began, nor does any tool's output in diags")
    at = _Place(run=run, result=result, started_utc=parse_utc(started, name))
    if kind == "rtt" or "roundtrips" in result:
        return [_build_rtt(at)]
    if "summary" not in result:
        run.refuse("it holds neither a summary nor round trips")
    return [_build_throughput(at)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A run, its result and when it began."""

    run: Fields
    result: Fields
    started_utc: str

    @property
    def spec(self) -> Fields:
        return self.run.sub("test").sub("spec")

    @property
    def ends(self) -> Ends:
        names = self.run.value.get("participants") or []
        known = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        source = self.spec.text("source") or (known[0] if known else None) or "unknown"
        destination = self.spec.text("dest") or (known[1] if len(known) > 1 else None) or "unknown"
        if self.spec.flag("reverse"):
            source, destination = destination, source
        return Ends(source=source, destination=destination)

    @property
    def tool(self) -> str:
        return self.run.sub("tool").text("name") or "an unnamed tool"

    def shown(self) -> dict[str, Any]:
        """What no column holds."""
        kept = {
            key: self.result.value[key] for key in ("mtu", "requested-tcp-window-size") if key in self.result
        }
        return {"tool": self.tool, "spec": self.spec.value, "result": kept}


def _read_diags(run: Fields, result: Fields, name: str) -> list[ImportedTrial]:
    """iperf3's whole output where it survives: it has CPU, both ends, every interval. The client's first."""
    texts = [text for text in (result.text("diags"), run.text("diags")) if text]
    outputs = [output for text in texts for output in find_outputs(text)]
    outputs.sort(key=lambda output: "accepted_connection" in output["start"] if "start" in output else True)
    for output in outputs:
        if "error" in output or "test_start" not in output.get("start", {}):
            continue
        trials = import_iperf3(output, name)
        spec = run.sub("test").sub("spec")
        return [
            dataclasses.replace(
                trial,
                program=PROGRAM,
                program_version=None,
                details={
                    **trial.details,
                    "tool": f"iperf3 {trial.program_version or ''}".strip(),
                    "spec": spec.value,
                },
            )
            for trial in trials
        ]
    return []


def _build_throughput(at: _Place) -> ImportedTrial:
    """From the rows that pScheduler kept: ``throughput-bytes`` counts bytes, ``tcp-window-size`` is cwnd."""
    summary, spec = at.result.sub("summary"), at.spec
    total, streams = summary.sub("summary"), summary.items("streams")
    rows = _list_rows(at.result)
    seconds = (total.number("end") or 0.0) - (total.number("start") or 0.0)
    counted = total.number("receiver-throughput-bits")
    rate = total.number("throughput-bits") if counted is None else counted
    record = build_record(
        at.ends,
        started_utc=at.started_utc,
        program=f"{PROGRAM}: {at.tool}",
        flags=(Flag.SENDER_COUNTED,) if counted is None and rate is not None else (),
        streams=spec.count("parallel") or len(streams) or 1,
        window_requested_bytes=at.result.count("requested-tcp-window-size")
        or spec.count("window-size")
        or None,
        congestion_requested=spec.text("congestion"),
        mss_bytes=at.result.count("mss") or None,
        interval_ns=_read_duration_ns(spec, "interval")
        or (rows[0]["end_ns"] - rows[0]["start_ns"] if rows else 0),
        warmup_ns=_read_duration_ns(spec, "omit"),
        duration_ns=_read_duration_ns(spec, "duration") or to_ns(seconds),
        steady_ns=to_ns(seconds) if seconds > 0 else None,
        throughput_bits_per_s=rate,
        retransmitted_segments=None if _read_duration_ns(spec, "omit") else total.count("retransmits"),
        retransmitted_steady_segments=total.count("retransmits"),
        **_read_datagrams(spec, summary),
        fairness_jain=measure_fairness([_rate(stream) for stream in streams]),
    )
    table = build_table(rows, "intervals")
    return ImportedTrial(
        program=PROGRAM,
        program_version=None,
        part="forward",
        record=record,
        settings=_list_settings(spec, record),
        series={} if table is None else {"sender_intervals": table},
        details=at.shown(),
    )


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


def _list_settings(spec: Fields, record: TrialRecord) -> dict[str, Any]:
    """Every setting of the test that is not as its tool has it by itself."""
    marks = split_tos(spec.count("ip-tos"))
    return build_settings(
        record,
        transport="udp" if spec.flag("udp") else None,
        stream_target_bits_per_s=spec.count("bandwidth") or None,
        stream_pacing_bits_per_s=spec.count("fq-rate") or None,
        mss_bytes=spec.count("mss") or None,
        message_bytes=spec.count("buffer-length") or None,
        dscp=spec.count("dscp") or marks["dscp"],
        ecn=marks["ecn"],
    )


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
            rows.append(
                {
                    "index": index,
                    "phase": "warmup" if stream.flag("omitted") else "steady",
                    "start_ns": to_ns(start),
                    "end_ns": to_ns(end),
                    "stream": number,
                    "bytes": round(count),
                    "rtt_us": stream.count("rtt"),
                    "snd_cwnd_bytes": stream.count("tcp-window-size"),
                }
            )
    return rows


def _build_rtt(at: _Place) -> ImportedTrial:
    spec = at.spec
    interval_ns = _read_duration_ns(spec, "interval") or 1_000_000_000
    probes: list[dict[str, Any]] = []
    for number, trip in enumerate(at.result.items("roundtrips")):
        length = trip.text("rtt")
        sequence = trip.count("seq")
        probes.append(
            {
                "sequence": number if sequence is None else sequence,
                "intended_ns": None,
                "sent_ns": None,
                "rtt_ns": None if length is None else parse_duration_ns(length, at.run),
                "stamps": None if length is None else "user",
            }
        )
    if not probes:
        at.run.refuse("roundtrips is empty: pScheduler measured nothing")
    record = build_record(
        at.ends,
        started_utc=at.started_utc,
        program=f"{PROGRAM}: {at.tool}",
        streams=0,
        interval_ns=interval_ns,
        warmup_ns=0,
        duration_ns=interval_ns * len(probes),
        probe_method="icmp",
        probe_stamps="user",
        **measure_probes([row["rtt_ns"] for row in probes], "unloaded"),
    )
    table = build_table(probes, "probes")
    return ImportedTrial(
        program=PROGRAM,
        program_version=None,
        part="probes",
        record=record,
        settings=build_settings(record),
        series={} if table is None else {"unloaded_probes": table},
        details=at.shown(),
    )


def _read_duration_ns(spec: Fields, key: str) -> int:
    """A length that pScheduler asked for, 0 where it did not; ``omit`` may be a number of seconds."""
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
