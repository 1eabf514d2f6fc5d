"""What results are compared in: how trials' values are read, which way is good, and the noise floor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.verdicts.two_samples import measure_halves_distance, split_halves
from pathlab.store.flags import Flag
from pathlab.study.comparison.groups import CellSamples
from pathlab.study.lossless_rate import LOSSLESS_COLUMN
from pathlab.study.message_latency import measure_cpu_per_message
from pathlab.study.message_loss import read_round_trips_ns
from pathlab.study.selection import Sample
from pathlab.study.trials import Condition

#: Of the margin: what a loss of probes or datagrams may differ by without mattering, half a point of 5 %.
LOSS_SHARE_RATIO = 0.1
#: Where the RTT is compared by default, differences below this do not matter, however short the path: a probe
#: waits for a sleeping core and the timers of both ends (50 us of slack each, prctl(2) PR_SET_TIMERSLACK).
RTT_MARGIN_NS = 100_000
#: From so many halves on, the noise floor is their 95th percentile; below, the largest.
MANY_HALVES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMetric:
    """A metric: its name, how trials' values are read (NaN: not measured), and which way is good.

    What may be 0 or below has no ratio. Such a metric has ``bound``: from the trials before and the margin,
    the difference in its own unit that does not matter (None: not known); its rows are differences.
    ``least_margin``: a difference, in the metric's unit, that does not matter however small the values are,
    where the metric was not asked for by name.
    """

    name: str
    title: str
    unit: str
    read: Callable[[Sample], Floats]
    higher_is_better: bool = False
    bound: Callable[[Sample, float], float | None] | None = None
    least_margin: float | None = None

    def read_known(self, sample: Sample) -> Floats:
        """The values that were measured, in the order of measurement."""
        values = self.read(sample)
        return values[~np.isnan(values)]


def _bound_loss(_before: Sample, margin_ratio: float) -> float:
    return margin_ratio * LOSS_SHARE_RATIO


def _bound_rise(before: Sample, margin_ratio: float) -> float | None:
    """The margin's share of the idle path's round trip, to which dRTT is added."""
    idle = before.get("unloaded_rtt_mean_ns")
    median = float(np.nanmedian(idle)) if not np.isnan(idle).all() else 0.0
    return margin_ratio * median if median > 0 else None


def _read_round_trips(sample: Sample, name: str = "p99") -> Floats:
    """A quantile of trials that kept their rate: of the others it is not that of the offered rate."""
    missed = sample.table.flagged(Flag.RATE_MISSED)[sample.places]
    return np.where(missed, np.nan, read_round_trips_ns(sample, name))


METRICS: Mapping[str, ComparedMetric] = {
    metric.name: metric
    for metric in (
        ComparedMetric(
            name="throughput",
            title="throughput",
            unit="bit/s",
            read=lambda sample: sample.rates_bits_per_s,
            higher_is_better=True,
        ),
        ComparedMetric(
            name="loaded-rtt",
            title="median RTT under load",
            unit="ns",
            read=lambda sample: sample.get("loaded_rtt_median_ns"),
            least_margin=RTT_MARGIN_NS,
        ),
        ComparedMetric(
            name="idle-rtt",
            title="median RTT of the idle path",
            unit="ns",
            read=lambda sample: sample.get("unloaded_rtt_median_ns"),
        ),
        ComparedMetric(
            name="cpu", title="CPU of both ends", unit="s/GB", read=lambda sample: sample.cpu_s_per_gb
        ),
        ComparedMetric(
            name="drtt", title="dRTT", unit="ns", read=lambda sample: sample.rise_ns, bound=_bound_rise
        ),
        ComparedMetric(
            name="loss",
            title="loss under load",
            unit="ratio",
            read=lambda sample: sample.measure_loss(),
            bound=_bound_loss,
        ),
        ComparedMetric(
            name="packets",
            title="UDP datagrams received per second",
            unit="1/s",
            read=lambda sample: sample.get("udp_received_packets_per_s"),
            higher_is_better=True,
        ),
        ComparedMetric(
            name="udp-loss",
            title="loss of UDP datagrams",
            unit="ratio",
            read=lambda sample: sample.measure_datagram_loss(),
            bound=_bound_loss,
        ),
        ComparedMetric(
            name="lossless-rate",
            title="highest UDP rate with little loss",
            unit="bit/s",
            read=lambda sample: sample.get(LOSSLESS_COLUMN),
            higher_is_better=True,
        ),
        ComparedMetric(
            name="messages",
            title="message rate",
            unit="1/s",
            read=lambda sample: sample.get("messages_per_s"),
            higher_is_better=True,
        ),
        ComparedMetric(
            name="round-trip-median",
            title="median of messages' round trips",
            unit="ns",
            read=lambda sample: _read_round_trips(sample, "median"),
        ),
        ComparedMetric(
            name="round-trip-p99",
            title="99th percentile of messages' round trips",
            unit="ns",
            read=_read_round_trips,
        ),
        ComparedMetric(
            name="cpu-message",
            title="CPU of both ends per message",
            unit="ns",
            read=measure_cpu_per_message,
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenMetrics:
    """What is compared, of messages, of streams of bytes, and where all flows are of UDP."""

    messages: tuple[str, ...] = ("messages", "round-trip-p99", "cpu-message")
    streams: tuple[str, ...] = ("throughput", "loaded-rtt")
    datagrams: tuple[str, ...] = ("packets", "udp-loss")


def choose_metrics(conditions: Iterable[Condition], chosen: ChosenMetrics) -> tuple[str, ...]:
    """What is compared of trials of these conditions; an offered rate is the same on both sides."""
    every = set(conditions)
    if not any(one.is_of_messages for one in every):
        return chosen.datagrams if every and all(one.is_udp for one in every) else chosen.streams
    offered = any(one.get("message_rate_per_s") is not None for one in every)
    return tuple(name for name in chosen.messages if not (offered and name == "messages"))


def find_noise(
    samples: Sequence[CellSamples], again: CellSamples | None, metric: ComparedMetric
) -> float | None:
    """How far results without any change differ, over all combinations; None: not known.

    From another run of the first results (``again``), else from the halves of both. A factor; of a metric
    that may be 0 a difference in its unit.
    """
    differ, halve = (_differ, split_halves) if metric.bound is None else (_lie_apart, measure_halves_distance)
    if again is None:
        found = [halve(metric.read_known(sample)) for side in samples for sample in side.values()]
    else:
        found = [
            differ(metric.read_known(samples[0][cell]), metric.read_known(sample))
            for cell, sample in again.items()
            if cell in samples[0]
        ]
    return choose_floor(found)


def choose_floor(differences: Iterable[float | None]) -> float | None:
    """The noise floor from differences without any change: the largest, of many the 95th percentile."""
    known = [noise for noise in differences if noise is not None]
    if not known:
        return None
    return float(np.quantile(known, 0.95)) if len(known) >= MANY_HALVES else max(known)


def _differ(before: Floats, after: Floats) -> float | None:
    """By what factor, at least 1, two medians differ; None where one is not known or not above 0."""
    if not before.size or not after.size or min(before.min(), after.min()) <= 0:
        return None
    ratio = float(np.median(after)) / float(np.median(before))
    return max(ratio, 1 / ratio)


def _lie_apart(before: Floats, after: Floats) -> float | None:
    """How far two medians lie apart."""
    return abs(float(np.median(after)) - float(np.median(before))) if before.size and after.size else None
