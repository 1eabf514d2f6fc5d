"""UDP flows by combination: rates, loss and who lost, reordering, jitter, cost, and what GSO and GRO gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.trial_loss import TrialLoss
from pathlab.analysis.verdicts.paired_samples import compare_paired
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer, Spread, make_cell_answer, measure_rates, measure_spread
from pathlab.study.base.selection import Rules, Sample, select
from pathlab.study.base.trials import StudySource, TrialTable
from pathlab.study.datagrams.datagram_limit import DatagramReading, DatagramVerdict, classify_datagrams
from pathlab.study.datagrams.datagram_trial import (
    LossRuns,
    find_loss_runs,
    merge_histograms,
    pool_with_runs,
    read_histograms,
)
from pathlab.study.messages.batching import pair_cycles
from pathlab.study.messages.message_rates import read_level

OFFLOADS = ("gso", "gro")
SENT, RECEIVED, LOST = "udp_sent_packets", "udp_received_packets", "udp_lost_packets"
#: What offloads are compared in: figures of a trial, each with whether more is better.
OFFLOAD_METRICS: Mapping[str, str] = {
    "received": "udp_received_packets_per_s",
    "CPU/packet, sender": "sender_cpu_ns_per_packet",
    "CPU/packet, receiver": "receiver_cpu_ns_per_packet",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketCount:
    """The datagrams of all trials by their fate; None: no trial measured it.

    ``lost_unexplained``: lost where a counter of the receiving host was not read. The counts of lost ones
    are of the trials that counted both ends.
    """

    sent: int | None
    received: int | None
    lost: int | None
    lost_host: int | None
    lost_path: int | None
    lost_unexplained: int | None
    duplicate: int | None
    reordered: int | None
    n_reordered_3: int | None
    refused: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagramFigures:
    """The trials of one combination; spreads are those of trials, packets per second of all streams together.

    ``loss`` and ``reordered`` are pooled over the trials; their intervals allow for bursts and for a loss
    that changes from trial to trial (``estimators.trial_loss``). ``limit`` is that of the medians.
    ``provisional``: every trial was lab-limited.
    """

    datagram_bytes: int | None
    offered_packets_per_s: float | None
    sent_packets_per_s: Spread
    received_packets_per_s: Spread
    throughput_bits_per_s: Spread
    packets: PacketCount
    loss: TrialLoss
    loss_runs: LossRuns | None
    reordered: TrialLoss
    extent_max_packets: int | None
    late_time_max_ns: int | None
    jitter_ns: Spread
    pacing_error_median_ns: Spread
    pacing_error_p99_ns: Spread
    sender_cpu_ns_per_packet: Spread
    receiver_cpu_ns_per_packet: Spread
    limit: DatagramVerdict
    provisional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadGain:
    """One figure with an offload over the same without any: Hodges-Lehmann ratio of the cycles' pairs.

    ``offload`` is ``GSO``, ``GRO`` or ``GSO + GRO``; ``metric`` a name of ``OFFLOAD_METRICS``.
    """

    offload: str
    metric: str
    pairs: int
    ratio: float | None
    interval: Interval
    undecided: str | None


def select_datagrams(table: TrialTable, *apart: str) -> Iterator[tuple[int, int | None, Sample]]:
    """Streams, window and trials of every combination of UDP flows.

    A host that limits is part of the answer: its trials are kept. Lab-limited ones are taken where a
    combination has no others. Imported trials, of which the sender's rate is not known, are none of them.
    """
    rules = Rules(flags=(), needed=("udp_sent_packets_per_s",), apart=apart)
    for sample in select(table, rules):
        for streams, window, part in sample.by_cell() if sample.condition.is_udp else ():
            limited = find_lab_limited(part)
            kept = part if limited.all() else part.exclude(limited, Flag.LAB_LIMITED)
            yield streams, window, kept


def find_lab_limited(part: Sample) -> NDArray[np.bool_]:
    """Which of the trials say nothing for certain, as the lab was at its limit."""
    return part.table.flagged(Flag.LAB_LIMITED)[part.places]


def measure_datagram_flows(source: StudySource, table: TrialTable) -> tuple[Answer[DatagramFigures], ...]:
    """The figures of every combination. Raises StoreError for a damaged series."""
    return tuple(
        make_cell_answer(part, (streams, window), describe_datagrams(source, part))
        for streams, window, part in select_datagrams(table)
    )


def describe_datagrams(source: StudySource, part: Sample) -> DatagramFigures:
    """The figures of some trials together."""
    histograms = read_sample_histograms(source, part)
    runs = find_loss_runs(histograms)
    counts = _count_packets(part)
    offered = measure_spread(part.get("udp_offered_packets_per_s")).median
    sent_rates = measure_spread(part.get("udp_sent_packets_per_s"))
    return DatagramFigures(
        datagram_bytes=_find_one(part.get("datagram_bytes")),
        offered_packets_per_s=offered,
        sent_packets_per_s=sent_rates,
        received_packets_per_s=measure_spread(part.get("udp_received_packets_per_s")),
        throughput_bits_per_s=measure_rates(part.rates_bits_per_s),
        packets=counts,
        loss=_pool(part.get(SENT), part.get(LOST), runs),
        loss_runs=runs,
        reordered=_pool(part.get(RECEIVED), part.get("udp_reordered_packets"), None),
        extent_max_packets=_find_most(part.get("udp_reorder_extent_max_packets")),
        late_time_max_ns=_find_most(part.get("udp_late_time_max_ns")),
        jitter_ns=measure_spread(part.get("udp_jitter_ns")),
        pacing_error_median_ns=measure_spread(part.get("udp_pacing_error_median_ns")),
        pacing_error_p99_ns=measure_spread(part.get("udp_pacing_error_p99_ns")),
        sender_cpu_ns_per_packet=measure_spread(part.get("sender_cpu_ns_per_packet")),
        receiver_cpu_ns_per_packet=measure_spread(part.get("receiver_cpu_ns_per_packet")),
        limit=classify_datagrams(
            DatagramReading(
                offered_packets_per_s=offered,
                sent_packets_per_s=sent_rates.median,
                sent_packets=counts.sent,
                lost_packets=counts.lost,
                lost_host_packets=counts.lost_host,
                lost_path_packets=counts.lost_path,
                received_packets_per_s=measure_spread(part.get("udp_received_packets_per_s")).median,
                sender_core_ratio=measure_spread(part.get("sender_busiest_core_ratio")).median,
                receiver_core_ratio=measure_spread(part.get("receiver_busiest_core_ratio")).median,
                under_way_packets_per_s=measure_spread(
                    part.get("streams") * 1e9 / part.get("steady_ns")
                ).median,
            )
        ),
        provisional=bool(find_lab_limited(part).all()),
    )


def read_sample_histograms(source: StudySource, part: Sample) -> dict[str, Counter[tuple[int, int]]]:
    """The histograms of some trials, added, by metric: counts by the ends of their bins."""
    numbers = part.table.get("trial_id")[part.places]
    return merge_histograms(read_histograms(source, int(number)) for number in numbers)


def compare_offloads(table: TrialTable) -> tuple[Answer[OffloadGain], ...]:
    """Every combination with GSO, GRO or both alongside the one without, in pairs of a cycle."""
    answers = []
    for streams, window, every in select_datagrams(table, *OFFLOADS):
        if find_lab_limited(every).all():
            continue  # a ratio of two unsound figures decides nothing
        levels = _split_offloads(every)
        plain = levels.pop((False, False), None)
        if plain is None:
            continue
        for level, part in levels.items():
            name = " + ".join(word for word, on in zip(("GSO", "GRO"), level, strict=True) if on)
            for metric, column in OFFLOAD_METRICS.items():
                gain = _compare_offload(plain, part, name, metric, column)
                if gain.pairs:
                    answers.append(make_cell_answer(part, (streams, window), gain))
    return tuple(answers)


def _split_offloads(every: Sample) -> dict[tuple[bool, bool], Sample]:
    """The trials by GSO and GRO as requested; one that was not granted is that of another level."""
    conditions = [every.table.conditions[index] for index in every.places]
    levels = [
        tuple(
            bool(read_level(condition, name)) and not every.table.flagged(f"{name}-not-granted")[index]
            for name in OFFLOADS
        )
        for condition, index in zip(conditions, every.places, strict=True)
    ]
    result = {}
    for level in ((False, False), (True, False), (False, True), (True, True)):
        mask = np.array([item == level for item in levels], dtype=bool)
        if mask.any():
            result[level] = every.take(mask)
    return result


def _compare_offload(plain: Sample, part: Sample, name: str, metric: str, column: str) -> OffloadGain:
    before, after, _ = pair_cycles(plain, part, lambda sample: sample.get(column))
    change = compare_paired(before, after, drawn_tests=plain.drawn_tests(1))
    return OffloadGain(
        offload=name,
        metric=metric,
        pairs=int(before.size),
        ratio=change.ratio,
        interval=change.interval_ratio,
        undecided=change.undecided,
    )


def _count_packets(part: Sample) -> PacketCount:
    lost, host, path = (part.get(f"udp_lost{kind}_packets") for kind in ("", "_host", "_path"))
    unexplained = np.maximum(lost - np.nan_to_num(host) - np.nan_to_num(path), 0.0)
    return PacketCount(
        sent=_add(part.get(SENT)),
        received=_add(part.get(RECEIVED)),
        lost=_add(lost),
        lost_host=_add(host),
        lost_path=_add(path),
        lost_unexplained=_add(unexplained),
        duplicate=_add(part.get("udp_duplicate_packets")),
        reordered=_add(part.get("udp_reordered_packets")),
        n_reordered_3=_add(part.get("udp_n_reordered_3_packets")),
        refused=_add(part.get("udp_refused_packets")),
    )


def _pool(whole: Floats, counted: Floats, runs: LossRuns | None) -> TrialLoss:
    """Over the trials that have both counts; what cannot be is left out."""
    known = (whole > 0) & (counted >= 0) & (counted <= whole)
    return pool_with_runs(whole[known], counted[known], runs)


def _add(counts: Floats) -> int | None:
    return None if np.isnan(counts).all() else int(np.nansum(counts))


def _find_most(values: Floats) -> int | None:
    return None if np.isnan(values).all() else int(np.nanmax(values))


def _find_one(values: Floats) -> int | None:
    """The value that all trials share; None where they differ."""
    known = np.unique(values[~np.isnan(values)])
    return int(known[0]) if known.size == 1 else None


def list_metrics(answers: Sequence[Answer[OffloadGain]]) -> tuple[str, ...]:
    """The compared figures that the answers have, in order."""
    had = {answer.result.metric for answer in answers}
    return tuple(metric for metric in OFFLOAD_METRICS if metric in had)
