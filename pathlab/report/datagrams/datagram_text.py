"""A UDP flow in words: what was sent, received and lost, in what order it came, and what limited it."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.trial_loss import TrialLoss
from pathlab.report.base.phrases import STALLED_TEXT, format_count
from pathlab.store.records import TrialRecord
from pathlab.study.datagrams.datagram_limit import LOSS_RATIO, DatagramLimit, DatagramVerdict
from pathlab.study.datagrams.datagram_trial import LossRuns
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_rate, format_ratio, format_time

#: What limits a flow of datagrams, for readers.
LIMITS = {
    DatagramLimit.OFFERED_RATE: "the offered rate",
    DatagramLimit.SENDING_HOST: "the sending host",
    DatagramLimit.PATH: "the path",
    DatagramLimit.RECEIVING_HOST: "the receiving host",
}
LOSS_BOUND = format_ratio(LOSS_RATIO)
#: What a limit's own figure says; the share fills the gap.
_REASONS = {
    DatagramLimit.SENDING_HOST: ("unsent_ratio", "it did not send {} of the offered datagrams"),
    DatagramLimit.PATH: ("lost_path_ratio", "it lost {} of the datagrams"),
    DatagramLimit.RECEIVING_HOST: ("lost_host_ratio", "it lost {} of the datagrams"),
}
_CORES = {
    DatagramLimit.SENDING_HOST: "sender_core_ratio",
    DatagramLimit.RECEIVING_HOST: "receiver_core_ratio",
}
#: From this loss on the path carries no datagram of this size.
SILENT_RATIO = 0.99


def is_of_datagrams(record: TrialRecord) -> bool:
    """Whether a trial is a UDP flow that PathLab measured; imported ones lack most figures."""
    return record.datagram_bytes is not None or record.udp_sent_packets_per_s is not None


def list_datagram_facts(
    record: TrialRecord, loss: TrialLoss | None, runs: LossRuns | None
) -> Iterator[tuple[str, str]]:
    """The facts of a UDP flow, each with its label."""
    yield ("Sent", _describe_sending(record))
    packets = format_packet_rate(record.udp_received_packets_per_s)
    received = f"{format_rate(record.throughput_bits_per_s)} ({packets})"
    yield ("Received", f"{received}, by the receiver's count, over {format_time(record.steady_ns)}")
    yield ("Loss", describe_loss(record, loss))
    attribution = describe_attribution(
        record.udp_lost_packets, record.udp_lost_host_packets, record.udp_lost_path_packets
    )
    if attribution:
        yield ("  lost by", attribution)
    if runs is not None:
        mean = f"{runs.mean_packets:.3g}"
        yield (
            "  runs",
            f"{format_count(runs.runs, 'run')}; mean {mean}, longest {runs.longest_packets} in a row",
        )
    yield ("Duplicates", _count(record.udp_duplicate_packets))
    yield ("Reordering", describe_reordering(record))
    yield ("Jitter", f"{format_time(record.udp_jitter_ns)} (RFC 3550)")
    if record.udp_pacing_error_median_ns is not None:
        errors = {
            "median": record.udp_pacing_error_median_ns,
            "p99": record.udp_pacing_error_p99_ns,
            "max": record.udp_pacing_error_max_ns,
        }
        texts = ", ".join(f"{name} {format_time(value)}" for name, value in errors.items())
        yield ("Pacing error", f"{texts} late")
    if record.udp_refused_packets:
        yield ("Refused", f"{record.udp_refused_packets} by the sender's kernel (not part of those sent)")
    if record.udp_foreign_packets:
        yield ("Foreign", f"{format_count(record.udp_foreign_packets, 'datagram')} of others; not counted")
    costs = record.sender_cpu_ns_per_packet, record.receiver_cpu_ns_per_packet
    yield ("CPU per packet", f"sender {format_time(costs[0])}, receiver {format_time(costs[1])}")


def _describe_sending(record: TrialRecord) -> str:
    sent_per_s, size = record.udp_sent_packets_per_s, record.datagram_bytes
    rate = None if sent_per_s is None or size is None else sent_per_s * size * 8
    offered = record.udp_offered_packets_per_s
    asked = "as fast as possible" if offered is None else f"offered {format_packet_rate(offered)}"
    return f"{format_rate(rate)} ({format_packet_rate(sent_per_s)} of {format_bytes(size)}; {asked})"


def format_packet_rate(per_s: float | None) -> str:
    """``8.49 k packets/s``."""
    if per_s is None:
        return NOT_MEASURED
    number = format_frequency(per_s).removesuffix("/s").rstrip()
    return f"{number} packets/s"


def describe_loss(record: TrialRecord, loss: TrialLoss | None) -> str:
    """``0.93 % (790 of 84 900; 95 % CI 0.8–1.1 %)``."""
    sent, lost = record.udp_sent_packets, record.udp_lost_packets
    if not sent or lost is None:
        return "not measured"
    counts = f"{format_ratio(lost / sent)} ({lost:,} of {sent:,}"
    interval = None if loss is None else loss.interval_ratio
    if interval is None or interval.low is None or interval.high is None:
        return f"{counts}; too few for a confidence interval)"
    if not lost:
        return f"{counts}; 95 % CI up to {format_ratio(interval.high)})"
    return f"{counts}; 95 % CI {format_ratio(interval.low)} to {format_ratio(interval.high)})"


def describe_attribution(lost: int | None, host: int | None, path: int | None) -> str:
    """Who lost the datagrams; what no counter explains is said, and empty where nothing was lost."""
    if not lost:
        return ""
    known = {"the receiving host": host, "the path": path}
    texts = [f"{name} {count:,}" for name, count in known.items() if count is not None]
    unexplained = lost - (host or 0) - (path or 0)
    if unexplained > 0:
        texts.append(f"not known {unexplained:,} (a counter of the receiving host is not known)")
    return ", ".join(texts)


def describe_reordering(record: TrialRecord) -> str:
    """``0.05 % (42 of 84,110); largest extent 5, latest 1.2 ms, 3-reordered 3``."""
    reordered, received = record.udp_reordered_packets, record.udp_received_packets
    if reordered is None or not received:
        return "not measured"
    text = f"{format_ratio(reordered / received)} ({reordered:,} of {received:,})"
    if not reordered:
        return text
    extent, late_ns = record.udp_reorder_extent_max_packets, record.udp_late_time_max_ns
    third = record.udp_n_reordered_3_packets
    return (
        f"{text}; largest extent {NOT_MEASURED if extent is None else f'{extent:,} packets'}, "
        f"late by up to {format_time(late_ns)}; 3-reordered {_count(third)}"
    )


def _count(number: int | None) -> str:
    return NOT_MEASURED if number is None else f"{number:,}"


def format_datagram_limit(verdict: DatagramVerdict) -> str:
    """``Limited by: the path (it lost 0.9 % of the datagrams)``, or why it is undecided."""
    if verdict.undecided is Undecided.NO_SAMPLES:
        return (
            "Limited by: undecided (no datagram was sent in the steady window). "
            "Measure for longer or at a higher rate."
        )
    if verdict.undecided is Undecided.STALLED:
        return STALLED_TEXT
    if verdict.undecided is Undecided.CONFLICTING_EVIDENCE:
        return (
            "Limited by: undecided (less arrived in the receiver's window than was sent and not lost). "
            "The rest came later: a queue of the path, or a receiver that was late. Measure at a lower rate."
        )
    if verdict.limit is None:
        return (
            "Limited by: undecided (not known where datagrams were lost). "
            "The agent of the receiving host must be able to read its counters (pathlab doctor); "
            "drops of a socket are known only without GRO."
        )
    text = f"Limited by: {LIMITS[verdict.limit]}"
    reason = describe_limit_reason(verdict, verdict.limit)
    if reason:
        text += f" ({reason})"
    if verdict.limit is DatagramLimit.PATH and (verdict.find("lost_path_ratio") or 0.0) >= SILENT_RATIO:
        text += "; `pathlab path` shows whether the path drops large packets silently (MTU)"
    for index in verdict.beside:
        text += f"; alongside it {LIMITS[index]}: {describe_limit_reason(verdict, index)}"
    return text


def describe_limit_reason(verdict: DatagramVerdict, limit: DatagramLimit) -> str:
    """The figure that speaks for a place, and a busy core of its host."""
    name, text = _REASONS.get(limit, ("", ""))
    share = verdict.find(name)
    if limit is DatagramLimit.OFFERED_RATE:
        return f"it was sent, and less than {LOSS_BOUND} was lost"
    words = [text.format(format_ratio(share))] if share else []
    if limit is DatagramLimit.SENDING_HOST and not share:
        words = ["it sent as fast as it could"]
    core = next((item for item in verdict.evidence if item.name == _CORES.get(limit)), None)
    if core is not None and core.met:
        words.append(f"its busiest core was {format_ratio(core.value)} busy")
    return ", ".join(words)
