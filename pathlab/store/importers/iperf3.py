"""iperf3's JSON, 3.1 and later, of a client or a server, any direction; its framing: ``iperf3_framing``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import Any

from pathlab.errors import Stage, StoreError
from pathlab.store.flags import Flag, Phase, Status
from pathlab.store.imported_trial import (
    LEVEL_BOUNDS,
    UNKNOWN,
    ImportedTrial,
    Measurement,
    build_interval,
    format_utc_seconds,
    read_exported,
    split_tos,
    to_ns,
)
from pathlab.store.iperf3_framing import join_outputs
from pathlab.store.json_fields import Fields, GivenFile
from pathlab.store.steady import RECEIVER_INTERVALS, SENDER_INTERVALS, measure_fairness
from pathlab.store.totals import (
    INTERVALS_RATIO,
    LOSS_RATIO,
    RATE_RATIO,
    SUM_RATIO,
    add_up,
    differ,
    estimate_received,
)

TITLE = "iperf3"
#: Bytes that iperf3 hands to the kernel at once over TCP where nothing else is requested.
TCP_BLOCK_BYTES = 131_072
#: What iperf3 says where somebody ended it.
_INTERRUPT = re.compile(r"(interrupt - )?the (client|server) has terminated")
_SUMS = ("sum_sent", "sum_received", "sum")
_KEPT = ("title", "extra_data", "warning")
_START_KEPT = ("protocol", "blksize", "tos", "target_bitrate", "fqrate", "gso", "gro", "bytes", "blocks")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One output: the whole, its ``start`` and ``end``, and what follows from the options."""

    whole: Fields
    client: bool
    reverse: bool
    bidir: bool

    @property
    def start(self) -> Fields:
        return self.whole.sub("start")

    @property
    def end(self) -> Fields:
        return self.whole.sub("end")

    @property
    def test(self) -> Fields:
        return self.start.sub("test_start")

    @property
    def protocol(self) -> str:
        return (self.test.text("protocol") or "TCP").lower()

    @property
    def error(self) -> str | None:
        return self.whole.text("error")


@dataclass(slots=True, kw_only=True)
class _Totals:
    """What the end states of one direction, None where it does not.

    ``is_computed``: it has no total of what arrived; ``differences``: totals that contradict their parts.
    """

    received: list[int | None] = field(default_factory=list)
    sent: list[int | None] = field(default_factory=list)
    received_bytes: int | None = None
    sent_bytes: int | None = None
    seconds: float | None = None
    retransmits: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    is_computed: bool = False
    differences: list[str] = field(default_factory=list)


def read_trials(given: GivenFile) -> list[ImportedTrial] | None:
    """The trials of every test in a file, None where it is not iperf3's.

    A test that measured nothing is left out if others did. The second test's ``part`` is ``2-forward`` and so
    on. Raises StoreError where no test measured anything.
    """
    outputs = join_outputs(given.values)
    if outputs is None:
        return None
    # Of a file that was cut off, everything before is there: of the last test perhaps some intervals.
    trials: list[ImportedTrial] = []
    fault: StoreError | None = None
    for number, output in enumerate(outputs, start=1):
        try:
            result = read_output(output.value, given.name, repeated=output.repeated)
        except StoreError as error:
            fault = fault or error
            continue
        trials += (
            [replace(trial, part=f"{number}-{trial.part}") for trial in result] if number > 1 else result
        )
    if fault is not None and not trials:
        raise fault
    return trials


def read_output(value: Any, name: str, *, repeated: int = 0) -> list[ImportedTrial]:
    """The trials of one output: one, or two of a bidirectional test. Raises StoreError."""
    whole = Fields(value, name)
    run = _read_run(whole)
    if "test_start" not in run.start or "timestamp" not in run.start:
        said = f": {run.error}" if run.error else ""
        whole.fail(f"iperf3 measured nothing{said}")
    parts = ("forward", "reverse") if run.bidir else ("reverse" if run.reverse else "forward",)
    return [_build_trial(run, part, repeated) for part in parts]


def _read_run(whole: Fields) -> _Run:
    start = whole.sub("start")
    test = start.sub("test_start")
    return _Run(
        whole=whole,
        client="accepted_connection" not in start,
        reverse=bool(test.flag("reverse")),
        bidir=bool(test.flag("bidir")) or _has_both_ways(whole),
    )


def _has_both_ways(whole: Fields) -> bool:
    """3.7 to 3.12 do not name ``bidir`` at the start; 3.7 to 3.10 write each sum twice, under one name."""
    first = whole.items("intervals")[:1]
    named = any("sum_bidir_reverse" in row for row in first) or any(
        f"{key}_bidir_reverse" in whole.sub("end") for key in _SUMS
    )
    seen = {stream.flag("sender") for row in first for stream in row.items("streams")}
    ended = {_read_role(entry) for entry in whole.sub("end").items("streams")}
    return named or {True, False} <= seen or {True, False} <= ended


def _read_role(entry: Fields) -> bool | None:
    """Whether the end that wrote the file sends this stream; versions before 3.7 do not say."""
    known = (entry.sub(key).flag("sender") for key in ("sender", "receiver", "udp"))
    return next((role for role in known if role is not None), None)


def _build_trial(run: _Run, part: str, repeated: int) -> ImportedTrial:
    local_sends = run.client == (part == "forward")
    test, start = run.test, run.start
    rows = list(_list_rows(run, local_sends=local_sends))
    totals = _read_totals(run, part, rows, local_sends=local_sends)
    exported = read_exported(run.whole.sub("pathlab"))
    kind = SENDER_INTERVALS if local_sends else RECEIVER_INTERVALS
    if exported is not None:
        kind = exported.intervals_of or kind
    status, stage, failure = _read_status(run)
    counted, flags = _read_throughput(totals, run)
    ends = _read_ends(run, local_sends=local_sends)
    duration_s = test.number("duration") or 0.0
    measurement = Measurement(
        program="iperf3",
        version=(start.text("version") or "").removeprefix("iperf").strip() or None,
        part=part,
        ends=ends,
        started_utc=_read_started(start),
        columns={
            "status": status,
            "failed_stage": stage,
            "failure": failure,
            "flags": flags,
            "source_address": ends[0],
            "destination_address": ends[1],
            "streams": _count_streams(run, rows),
            **_read_windows(run, local_sends=local_sends),
            "congestion_sender": run.end.text("sender_tcp_congestion"),
            "congestion_receiver": run.end.text("receiver_tcp_congestion"),
            "mss_bytes": start.count("tcp_mss_default") or None,  # tcp_mss is what was requested
            "interval_ns": _read_interval_ns(test, rows, duration_s),
            "warmup_ns": to_ns(test.number("omit") or 0.0),
            "duration_ns": to_ns(duration_s),
            "steady_ns": to_ns(totals.seconds) if totals.seconds else None,
            "received_steady_bytes": totals.received_bytes,
            "throughput_bits_per_s": counted,
            "retransmitted_segments": None if exported else _count_retransmits(run, rows, totals),
            "retransmitted_steady_segments": totals.retransmits,
            "fairness_jain": measure_fairness(totals.received),
            **_read_datagrams(run, totals),
        },
        series={kind: rows},
        settings=_read_settings(run),
        details=_list_details(run, totals, repeated),
        notes=[*run.whole.notes, *totals.differences],
        exported=exported,
        keeps_time=True,
    )
    return measurement.build()


def _read_settings(run: _Run) -> dict[str, Any]:
    """Every setting that the file names and that is not as iperf3 has it by itself."""
    test, start = run.test, run.start
    size = test.count("blksize")
    return {
        "transport": None if run.protocol == "tcp" else run.protocol,
        "direction": "both" if run.bidir else None,
        "stream_target_bits_per_s": test.count("target_bitrate") or start.count("target_bitrate") or None,
        "stream_pacing_bits_per_s": test.count("fqrate") or start.count("fq_rate") or None,
        "mss_bytes": start.count("tcp_mss") or None,
        "write_bytes": None if run.protocol == "tcp" and size == TCP_BLOCK_BYTES else size,
        "transfer_bytes": test.count("bytes") or None,
        "transfer_blocks": test.count("blocks") or None,
        "gso": test.flag("gso") or None,
        "gro": test.flag("gro") or None,
        **split_tos(test, "tos"),
    }


def _count_streams(run: _Run, rows: Sequence[Mapping[str, Any]]) -> int:
    """As requested; what is no number of streams is left out, and those of the intervals are counted."""
    stated, seen = run.test.count("num_streams"), len({row["stream"] for row in rows})
    if stated and stated <= LEVEL_BOUNDS["streams"][1]:
        return stated
    if stated:
        run.whole.notes.append(f"num_streams {stated} is impossible and was left out")
    return seen or 1


def _count_retransmits(run: _Run, rows: Sequence[Mapping[str, Any]], totals: _Totals) -> int | None:
    """Those of the whole trial: iperf3's own total leaves out the omitted seconds, its intervals do not."""
    if not run.test.number("omit"):
        return totals.retransmits
    last = {row["stream"]: row["total_retrans_segments"] for row in rows}
    omitted = any(row["phase"] == Phase.WARMUP for row in rows)
    return sum(last.values()) if omitted and None not in last.values() else None


def _read_datagrams(run: _Run, totals: _Totals) -> dict[str, Any]:
    """Datagrams sent and lost, and jitter, in the steady window; None where the receiver was not heard."""
    details = totals.details
    sent, lost, jitter_ms = details.get("sent_packets"), details.get("lost_packets"), details.get("jitter_ms")
    if run.protocol != "udp" or not sent or lost is None:
        return {}
    if not 0 <= lost <= sent:
        run.whole.notes.append(f"{lost:,.0f} of {sent:,.0f} datagrams lost is impossible and was left out")
        return {}
    jitter_ns = None if jitter_ms is None else jitter_ms * 1e6
    return {"udp_sent_packets": int(sent), "udp_lost_packets": int(lost), "udp_jitter_ns": jitter_ns}


def _read_windows(run: _Run, *, local_sends: bool) -> dict[str, int | None]:
    """The socket buffer requested, and what the end that wrote the file was granted; None: autotuning."""
    start = run.start
    requested = run.test.count("sock_bufsize") or start.count("sock_bufsize") or None
    return {
        "window_requested_bytes": requested,
        "window_granted_sender_bytes": start.count("sndbuf_actual") if requested and local_sends else None,
        "window_granted_receiver_bytes": start.count("rcvbuf_actual")
        if requested and not local_sends
        else None,
    }


def _read_status(run: _Run) -> tuple[str, str | None, str | None]:
    if run.error:
        interrupted = _INTERRUPT.match(run.error) is not None
        status = Status.INTERRUPTED if interrupted else Status.FAILED
        return status, Stage.CONTROLLER if interrupted else Stage.ENGINE, f"iperf3: {run.error}"
    if not run.end.items("streams"):
        return Status.INTERRUPTED, Stage.CONTROLLER, "the file ends before iperf3's summary"
    return Status.COMPLETE, None, None


def _read_ends(run: _Run, *, local_sends: bool) -> tuple[str, str]:
    connected = run.start.items("connected")
    first = connected[0] if connected else Fields({}, run.whole.name)
    local = first.text("local_host") or UNKNOWN
    remote = first.text("remote_host") or run.start.sub("connecting_to").text("host") or UNKNOWN
    return (local, remote) if local_sends else (remote, local)


def _read_started(start: Fields) -> str:
    stamp = start.sub("timestamp")
    millis, seconds = stamp.number("timemillisecs"), stamp.number("timesecs")
    if millis is None and seconds is None:
        start.fail("start.timestamp does not say when the test began")
    return format_utc_seconds(millis / 1e3 if millis is not None else float(seconds or 0), start.name)


def _read_interval_ns(test: Fields, rows: Sequence[dict[str, Any]], duration_s: float) -> int:
    stated = test.number("interval")
    if stated:
        return to_ns(stated)
    lengths_ns = [int(row["end_ns"] - row["start_ns"]) for row in rows]  # one that was late is longer
    return median_low(lengths_ns) if lengths_ns else to_ns(duration_s)


def _read_throughput(totals: _Totals, run: _Run) -> tuple[float | None, tuple[str, ...]]:
    flags = (Flag.TOTALS_DIFFER,) if totals.differences else ()
    if run.error or not totals.seconds:
        return None, flags
    if totals.received_bytes is not None:
        computed = (Flag.TOTAL_COMPUTED,) if totals.is_computed else ()
        return totals.received_bytes * 8 / totals.seconds, (*computed, *flags)
    if totals.sent_bytes is not None:
        return totals.sent_bytes * 8 / totals.seconds, (Flag.SENDER_COUNTED, *flags)
    return None, flags


def _read_totals(run: _Run, part: str, rows: Sequence[Mapping[str, Any]], *, local_sends: bool) -> _Totals:
    """Sums of the end, of this direction; what the far end did not report stays None.

    A sum that the file lacks is computed from the streams, or from the intervals of the end that wrote it.
    """
    way = "_bidir_reverse" if run.bidir and part == "reverse" else ""
    totals = _Totals()
    sent, received, single = (_choose_sum(run, key, way, local_sends=local_sends) for key in _SUMS)
    totals.received_bytes, totals.sent_bytes = received.count("bytes"), sent.count("bytes")
    totals.seconds = next((s for item in (received, sent, single) if (s := item.amount("seconds"))), None)
    totals.retransmits = sent.count("retransmits")
    entries = [
        entry
        for entry in run.end.items("streams")
        if not run.bidir or _read_role(entry) in (None, local_sends)
    ]
    if totals.sent_bytes is None and (local_sends or run.protocol == "udp"):
        totals.sent_bytes = single.count("bytes")
    for entry in entries:
        totals.sent.append(_read_stream(entry, "sender").count("bytes"))
        totals.received.append(entry.sub("receiver").count("bytes"))
    far_end_unknown = run.error is not None or not run.client
    if far_end_unknown and local_sends:
        totals.received_bytes, totals.received = totals.received_bytes or None, []
    if far_end_unknown and not local_sends:
        totals.sent_bytes, totals.retransmits = totals.sent_bytes or None, totals.retransmits or None
        totals.sent = []
    if not (far_end_unknown and local_sends):
        totals.details = _read_loss(received, single, sent, entries)
    _check_totals(run, totals, (sent, received, single), rows, local_sends=local_sends)
    _fill_totals(run, totals, rows, entries, local_sends=local_sends)
    return totals


def _choose_sum(run: _Run, key: str, way: str, *, local_sends: bool) -> Fields:
    """One sum of a direction, empty where the file has none.

    3.7 to 3.10 write the sums of both directions under one name, and a program that read such a file may have
    kept the last one alone: whose it is, its ``sender`` says.
    """
    end = run.end
    if not run.bidir:
        return end.sub(key)
    if f"{key}_bidir_reverse" in end:
        return end.sub(f"{key}{way}")
    result = end.every(key)
    ours = [item for item in result if item.flag("sender") == local_sends]
    return ours[-1] if ours else Fields({}, run.whole.name)


def _read_stream(entry: Fields, end: str) -> Fields:
    """One end's totals of a stream; of UDP, older versions have the sender's alone."""
    return entry.sub(end) if end in entry else entry.sub("udp")


def _read_loss(received: Fields, single: Fields, sent: Fields, entries: Sequence[Fields]) -> dict[str, Any]:
    """Jitter, and datagrams lost and sent: of the sums, else of the streams."""
    datagrams = received if "lost_packets" in received else single
    result = {
        key: datagrams.amount(key) if key == "jitter_ms" else datagrams.number(key)
        for key in ("jitter_ms", "lost_packets", "packets")
        if key in datagrams
    }
    if "lost_packets" in datagrams:
        result["sent_packets"] = sent.number("packets") or datagrams.number("packets")
        return result
    streams = [_read_stream(entry, "receiver") for entry in entries]
    lost, packets = (add_up([stream.count(key) for stream in streams]) for key in ("lost_packets", "packets"))
    if lost is None or packets is None:
        return result
    jitters = [jitter for stream in streams if (jitter := stream.amount("jitter_ms")) is not None]
    mean = {"jitter_ms": sum(jitters) / len(jitters)} if len(jitters) == len(streams) else {}
    return {**mean, "lost_packets": lost, "packets": packets, "sent_packets": packets}


def _fill_totals(
    run: _Run,
    totals: _Totals,
    rows: Sequence[Mapping[str, Any]],
    entries: Sequence[Fields],
    *,
    local_sends: bool,
) -> None:
    """Compute what the file has no sum of. A test that failed keeps what it states."""
    if run.error:
        return
    steady = [row for row in rows if row["phase"] == Phase.STEADY]
    counted = sum(row["bytes"] for row in steady) if steady else None
    if totals.seconds is None and run.end.items("streams"):
        lengths = (
            _read_stream(entry, end).amount("seconds") for entry in entries for end in ("receiver", "sender")
        )
        totals.seconds = max((length for length in lengths if length), default=None)
        if totals.seconds is None and steady:
            span_ns = max(row["end_ns"] for row in steady) - min(row["start_ns"] for row in steady)
            totals.seconds = span_ns / 1e9 or None
    if totals.retransmits is None and local_sends:
        totals.retransmits = add_up([entry.sub("sender").count("retransmits") for entry in entries])
    if totals.sent_bytes is None:
        totals.sent_bytes = add_up(totals.sent)
        if totals.sent_bytes is None and local_sends:
            totals.sent_bytes = counted
    if totals.received_bytes is None:
        totals.received_bytes = add_up(totals.received)
        if totals.received_bytes is None and not local_sends:
            totals.received_bytes = counted
        if totals.received_bytes is None and run.protocol == "udp":
            lost, packets = totals.details.get("lost_packets"), totals.details.get("packets")
            totals.received_bytes = estimate_received(totals.sent_bytes, lost, packets)
        totals.is_computed = totals.received_bytes is not None


def _check_totals(
    run: _Run,
    totals: _Totals,
    sums: tuple[Fields, Fields, Fields],
    rows: Sequence[Mapping[str, Any]],
    *,
    local_sends: bool,
) -> None:
    """Note every total that contradicts its parts; those of a test that failed are partial."""
    if run.error or not run.end.items("streams"):
        return
    result = totals.differences
    for what, whole, parts in (
        ("received", totals.received_bytes, totals.received),
        ("sent", totals.sent_bytes, totals.sent),
    ):
        added = add_up(parts)
        if differ(whole, added, SUM_RATIO):
            result.append(f"the total of bytes {what} is {whole:,}, that of the streams {added:,}")
    for item in sums:
        count, seconds, rate = item.count("bytes"), item.amount("seconds"), item.amount("bits_per_second")
        if count is not None and seconds and differ(count * 8 / seconds, rate, RATE_RATIO):
            result.append(f"{item.place} has {count:,} bytes in {seconds:g} s, and {rate:,.0f} bit/s")
    local_bytes = totals.sent_bytes if local_sends else totals.received_bytes
    steady = [row for row in rows if row["phase"] == Phase.STEADY]
    spans_ns = Counter[int]()
    for row in steady:
        spans_ns[row["stream"]] += row["end_ns"] - row["start_ns"]
    length_ns = max(spans_ns.values(), default=0)
    covered = totals.seconds and not differ(length_ns / 1e9, totals.seconds, RATE_RATIO)
    counted = sum(row["bytes"] for row in steady)
    if covered and differ(local_bytes, counted, INTERVALS_RATIO):
        result.append(f"the total is {local_bytes:,} bytes, that of the intervals {counted:,}")
    lost, packets = totals.details.get("lost_packets"), totals.details.get("packets")
    arrived = estimate_received(totals.sent_bytes, lost, packets) if run.protocol == "udp" else None
    if arrived is None or totals.received_bytes is None or not totals.sent_bytes:
        return
    if abs(arrived - totals.received_bytes) > LOSS_RATIO * totals.sent_bytes:
        result.append(
            f"{totals.received_bytes:,} of {totals.sent_bytes:,} bytes arrived, and {lost:,.0f} of "
            f"{packets:,.0f} datagrams were lost"
        )


def _list_rows(run: _Run, *, local_sends: bool) -> Iterator[dict[str, Any]]:
    """Rows of the series: times that go on over the end of ``omit``, where iperf3 begins anew.

    Intervals without a number of bytes are left out with a note.
    """
    unknown = 0
    order: dict[int, int] = {}
    repeats: dict[int, int] = {}
    base_s = before_s = 0.0
    for index, interval in enumerate(run.whole.items("intervals")):
        streams = [s for s in interval.items("streams") if not run.bidir or s.flag("sender") == local_sends]
        starts = [s.number("start") or 0.0 for s in streams]
        stops = [s.number("end") or 0.0 for s in streams]
        if not streams:
            continue
        if _began_before_reset(streams[0]):
            # It began before iperf3 set its clock back, which then tells how long before, without a sign.
            base_s = before_s + min(starts)
            starts = [-start_s for start_s in starts]
        elif base_s + min(starts) < before_s - (max(stops) - min(starts)) / 2:
            base_s = before_s - min(starts)
        before_s = base_s + max(stops)
        for stream, start_s, end_s in zip(streams, starts, stops, strict=True):
            socket = stream.whole("socket") or 0
            number = order.setdefault(socket, len(order))
            again = stream.count("retransmits")
            if again is not None:
                repeats[number] = repeats.get(number, 0) + again
            phase = Phase.WARMUP if stream.flag("omitted") else Phase.STEADY
            times_ns = max(0, to_ns(base_s + start_s)), to_ns(base_s + end_s)
            carried_bytes = stream.count("bytes")
            if carried_bytes is None:
                unknown += 1
                continue
            yield {
                **build_interval(index, number, times_ns, carried_bytes, phase),
                **_read_tcp_info(stream),
                "total_retrans_segments": repeats.get(number),
            }
    if unknown:
        run.whole.notes.append(f"{unknown} intervals of streams have no number of bytes and were left out")


def _began_before_reset(stream: Fields) -> bool:
    """Whether an interval's length is the sum of its two times, not their difference."""
    start, end, length = (stream.number(key) or 0.0 for key in ("start", "end", "seconds"))
    return start > 0 and length > 0 and abs(length - end - start) < abs(length - end + start)


def _read_tcp_info(stream: Fields) -> dict[str, int | None]:
    jitter_ms = stream.amount("jitter_ms")
    return {
        "snd_cwnd_bytes": stream.count("snd_cwnd"),
        "snd_wnd_bytes": stream.count("snd_wnd"),
        "rtt_us": stream.count("rtt"),
        "rttvar_us": stream.count("rttvar"),
        "pmtu_bytes": stream.count("pmtu"),
        "reordering_segments": stream.count("reorder"),
        "packets": stream.count("packets"),
        "lost_packets": stream.count("lost_packets"),
        "jitter_ns": None if jitter_ms is None else round(jitter_ms * 1e6),
    }


def _list_details(run: _Run, totals: _Totals, repeated: int) -> dict[str, Any]:
    """What no column holds: CPU shares, smoothed RTTs of the kernel, datagrams, options."""
    details: dict[str, Any] = {key: run.whole.value[key] for key in _KEPT if key in run.whole}
    details["options"] = {key: run.test.value[key] for key in _START_KEPT if key in run.test}
    details["role"] = "client" if run.client else "server"
    if "cpu_utilization_percent" in run.end:
        details["cpu_utilization_percent"] = run.end.sub("cpu_utilization_percent").value
    if totals.details:
        details["datagrams"] = totals.details
    smoothed = [
        {key: entry.sub("sender").number(key) for key in ("min_rtt", "mean_rtt", "max_rtt")}
        for entry in run.end.items("streams")
        if "mean_rtt" in entry.sub("sender")
    ]
    if smoothed:
        details["kernel_rtt_us"] = smoothed
    if repeated:
        details["repeated_keys"] = repeated
    return details
