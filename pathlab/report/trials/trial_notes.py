"""Remarks on a single trial: its direction, autotuned windows, the RTT that is used, a negative dRTT."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.analysis.verdicts.flow_evidence import QUEUE_RISE_LEAST_NS
from pathlab.report.base.phrases import STALLED_TEXT, format_count
from pathlab.report.datagrams.datagram_text import format_datagram_limit, is_of_datagrams
from pathlab.report.trials.limit_text import format_limit
from pathlab.store.flags import Flag
from pathlab.store.records import TrialRecord
from pathlab.study.datagrams.datagram_limit import classify_datagrams, read_datagrams
from pathlab.study.flows.streams import measure_drtt
from pathlab.study.flows.trial_limit import SingleLimit
from pathlab.units import format_frequency, format_rate, format_time, format_volume

#: From this factor on, the probes' RTT and the one that TCP smooths disagree.
DISAGREEING_FACTOR = 3.0


def list_remarks(record: TrialRecord, limit: SingleLimit, direction: str) -> Iterator[str]:
    """Sentences on one trial; its limit is the last one."""
    first, second = record.path_source, record.path_destination
    if direction == "reverse":
        yield f"Direction: reverse, from {second} (the second host) to {first}."
    elif direction == "both":
        there, back = record.throughput_bits_per_s, record.throughput_reverse_bits_per_s
        both = "" if there is None or back is None else f", {format_rate(there + back)} together"
        yield (
            f"Both directions at once: {format_rate(there)} from {first} to {second}, "
            f"{format_rate(back)} back{both}. The other figures are of the first."
        )
    if Flag.FAR_END_BY_HAND in record.flags:
        yield "The far engine was started by hand: CPU, sockets and kernel of that host were not observed."
    if is_of_datagrams(record):
        yield from _describe_dips(record)
        yield from _describe_late_probes(record)
        yield format_datagram_limit(classify_datagrams(read_datagrams(record)))
        return
    if not record.window_requested_bytes:
        yield from _describe_growth(limit)
    yield from _describe_rtts(record, limit)
    if Flag.HOST_STALLED in record.flags:
        yield STALLED_TEXT
        return
    offered = record.offered_messages_per_s
    if offered is not None and Flag.RATE_MISSED in record.flags:
        yield f"The offered rate of {format_frequency(offered)} was missed by more than 1 %."
    elif offered is not None:
        yield f"Limited by: the offered rate of {format_frequency(offered)}."
        return
    yield format_limit(limit)


def _describe_growth(limit: SingleLimit) -> Iterator[str]:
    sizes = {"receiver's window": limit.offered_bytes, "congestion window": limit.congestion_bytes}
    texts = [f"{name} {format_volume(size)}" for name, size in sizes.items() if size is not None]
    if texts:
        yield f"Autotuning: a stream's windows grew to {', '.join(texts)}."


def _describe_rtts(record: TrialRecord, limit: SingleLimit) -> Iterator[str]:
    """The RTT that is used where probes and TCP disagree, and why an RTT increase is negative."""
    probes_ns, tcp_ns = record.loaded_rtt_median_ns, limit.smoothed_rtt_ns
    if probes_ns and tcp_ns and not 1 / DISAGREEING_FACTOR < tcp_ns / probes_ns < DISAGREEING_FACTOR:
        (least_ns, first), (most_ns, second) = sorted(((probes_ns, "probes"), (tcp_ns, "TCP")))
        factor = most_ns / least_ns
        yield (
            f"RTT under load: {format_time(least_ns)} by {first}, {format_time(most_ns)} by {second}, "
            f"{factor:.{int(factor < 10)}f} times as long. dRTT and effective window use the probes; "
            "TCP's smoothed RTT includes the delays of both ends."
        )
    yield from _describe_dips(record)
    yield from _describe_late_probes(record)


def _describe_late_probes(record: TrialRecord) -> Iterator[str]:
    """Probes that are no loss, although nobody knows their RTT."""
    late, above_ns = record.loaded_late, record.loaded_rtt_median_above_ns
    if late:
        rtt = "" if above_ns is None else f" The RTT under load is above {format_time(above_ns)}."
        yield (
            f"{format_count(late, 'probe')} of {record.loaded_sent} under load had no answer when the trial "
            f"ended; too early to call them lost.{rtt}"
        )


def _describe_dips(record: TrialRecord) -> Iterator[str]:
    """Why an RTT increase is negative."""
    increase_ns = measure_drtt(record)
    if increase_ns is None or increase_ns >= 0:
        return
    if is_noise(increase_ns):
        yield "dRTT is below 0: no queue grew, and an idle CPU wakes more slowly for a probe than a busy one."
    else:
        yield "dRTT is below 0: the unloaded probes were slower; other traffic used the path after the trial."


def is_noise(increase_ns: float) -> bool:
    """Whether a negative RTT increase is no more than what hosts add to a probe."""
    return increase_ns > -QUEUE_RISE_LEAST_NS


def format_increase(increase_ns: float | None, above_ns: float | None) -> str:
    """``dRTT +12.8 ms`` on one line; below 0 with the reason; empty where it was not measured."""
    if increase_ns is None:
        return "" if above_ns is None else f"dRTT above {format_time(above_ns)}"
    if increase_ns >= 0:
        return f"dRTT +{format_time(increase_ns)}"
    reason = "no queue" if is_noise(increase_ns) else "the unloaded probes were slower"
    return f"dRTT {format_time(increase_ns)} ({reason})"
