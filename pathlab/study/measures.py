"""Every measure of a trial, once: key, unit, labels, how it is computed and compared, where it is shown.

Metrics of ``pathlab compare``, figures of a combination, columns of the explorer, quantities and tables of
the report, choices of the command line and docs/ANALYSES.md are queries of MEASURES. A measure that one
column of the store holds needs no computation; other columns of the store are listed with the words of their
names. The command line reads names from here, so whatever takes long to import is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pathlab.quantities import name_unit, resolve_unit

if TYPE_CHECKING:
    from pathlab.analysis.estimators.cells import Floats
    from pathlab.study.base.selection import Sample

    Reader = Callable[[Sample], Floats]

#: Of the margin: what a loss of probes or datagrams may differ by without mattering, half a point of 5 %.
LOSS_SHARE_RATIO = 0.1
#: Where the RTT is compared by default, differences below this do not matter, however short the path: a probe
#: waits for a sleeping core and the timers of both ends (50 us of slack each, prctl(2) PR_SET_TIMERSLACK).
RTT_MARGIN_NS = 100_000
LOSSLESS_COLUMN = "lossless_rate_bits_per_s"
#: Where a measure is used besides being a column of the explorer:
#:
#: - ``opening``: the explorer opens with the first that some trial has;
#: - ``main``: lists of the explorer begin with it;
#: - ``flows``, ``datagrams``, ``messages``: the explorer lists it of such a plan before its first trial;
#: - ``figures``: a figure of each combination (``CellFigures``), in data frames and JSON of ``analyze``;
#: - ``cells``: a column of the table of combinations that ``pathlab analyze`` prints;
#: - ``costs``: a column of the report's table of what combinations cost, with ``note``;
#: - ``pairs``: a cost of more streams against larger windows;
#: - ``distributions``: its distribution over all trials is fitted.
Use = Literal[
    "opening",
    "main",
    "flows",
    "datagrams",
    "messages",
    "figures",
    "cells",
    "costs",
    "pairs",
    "distributions",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure; ``key`` names its column; ``unit`` is the stored one, by default that of the key.

    ``label`` is for axes and lists, ``title`` for the middle of a sentence, ``short`` for an axis whose panel
    has the whole label, ``heading`` for a column of a table; each is the one before where it is empty.

    ``of_trial`` computes each trial's value, NaN where it was not measured; None: the column ``key`` of the
    store. ``of_lab`` needs the campaign's environment as well. ``of_combination`` is what
    combinations are compared by instead. ``above`` is what values that are not known
    are above. ``of_cell`` gives the figure of a combination where it is no spread over trials, under
    ``cell_key``; ``cell_path`` leads to what tables show of it.

    A measure with a ``name`` is a metric of ``pathlab compare``. What may be 0 or below has no ratio: it has
    ``bound``, from the trials before and the margin the difference in its unit that does not matter (None:
    not known). ``least_margin``: a difference that does not matter however small the values are, where the
    metric was not asked for by name. ``kept``: of trials that missed their offered rate it is not compared.
    """

    key: str
    label: str
    unit: str = ""
    title: str = ""
    short: str = ""
    heading: str = ""
    meaning: str = ""
    note: str = ""
    of_trial: Reader | None = None
    of_lab: Callable[[Sample, Mapping[str, Any]], Floats] | None = None
    of_combination: Reader | None = None
    above: Reader | None = None
    of_cell: Callable[[Sample], Any] | None = None
    cell_key: str = ""
    cell_path: str = ""
    name: str = ""
    higher_is_better: bool = False
    bound: Callable[[Sample, float], float | None] | None = None
    least_margin: float | None = None
    kept: bool = False
    uses: tuple[Use, ...] = ()

    def __post_init__(self) -> None:
        title = self.title or self.label
        texts = {
            "unit": self.unit or name_unit(self.key) or "",
            "title": title,
            "heading": self.heading or self.short or title,
            "cell_key": self.cell_key or self.key,
            "cell_path": self.cell_path or f"{self.key}.median",
        }
        for field, text in texts.items():
            object.__setattr__(self, field, text)

    @property
    def base_unit(self) -> str:
        """The unit without what is counted: ``1/s`` of messages per second."""
        unit = resolve_unit(self.unit)
        return unit.base or unit.name

    @property
    def is_derived(self) -> bool:
        """Whether it is computed, and no column of the store."""
        return self.of_trial is not None or self.of_lab is not None

    def read(self, sample: Sample) -> Floats:
        """Each trial's value in ``unit``; NaN where it was not measured."""
        return sample.get(self.key) if self.of_trial is None else self.of_trial(sample)

    def read_combination(self, sample: Sample) -> Floats:
        """The same where combinations are compared: Jain's index of a single stream is 1 there."""
        return self.read(sample) if self.of_combination is None else self.of_combination(sample)


def _bound_loss(_before: Sample, margin_ratio: float) -> float:
    return margin_ratio * LOSS_SHARE_RATIO


def _bound_rise(before: Sample, margin_ratio: float) -> float | None:
    """The margin's share of the idle path's round trip, to which dRTT is added."""
    idle_ns = before.idle_rtt_ns
    return margin_ratio * idle_ns if idle_ns > 0 else None


def _read_missing(sample: Sample) -> Floats:
    from pathlab.study.base.message_values import measure_missing

    return measure_missing(sample)


def _read_cpu_per_message(sample: Sample) -> Floats:
    from pathlab.study.base.message_values import measure_cpu_per_message

    return measure_cpu_per_message(sample)


def _read_window_shares(sample: Sample, environment: Mapping[str, Any]) -> Floats:
    from pathlab.study.base.window_shares import measure_window_shares

    return measure_window_shares(sample, environment)


def _round_trip(quantile: str, *uses: Use, title: str = "", name: str = "") -> Measure:
    """A quantile of the round trips of messages."""

    def read(sample: Sample) -> Floats:
        from pathlab.study.base.message_values import read_round_trips_ns

        return read_round_trips_ns(sample, quantile)

    shown = quantile.replace("_", ".")
    return Measure(
        key=f"round_trip_{quantile}_ns",
        label=f"Round trip of messages, {shown}",
        title=title,
        meaning=f"{shown} of the round trips of all messages sent, those that never returned included",
        of_trial=read,
        name=name,
        kept=True,
        uses=uses,
    )


def _list_rtts(probes: str) -> tuple[Measure, ...]:
    """Figures of the RTT of the ``loaded`` or ``unloaded`` probes; the medians are declared apart."""
    mean = f"{probes}_rtt_mean_ns"
    return (
        Measure(key=f"{probes}_rtt_min_ns", label=f"RTT, minimum, {probes}", uses=("figures",)),
        Measure(
            key=mean,
            label=f"RTT, mean, {probes}",
            above=lambda sample: sample.get(f"{probes}_rtt_mean_above_ns"),
            uses=("figures",),
        ),
        Measure(
            key=f"{probes}_rtt_pooled_mean_ns",
            label=f"RTT, mean of all probes, {probes}",
            of_cell=lambda part: part.pool_rtt_mean(probes),
            uses=("figures",),
        ),
        Measure(key=f"{probes}_rtt_iqr_ns", label=f"RTT, IQR, {probes}", short="IQR", uses=("figures",)),
    )


#: Every measure in the order of lists.
MEASURES: tuple[Measure, ...] = (
    Measure(
        key="throughput_bits_per_s",
        label="Throughput",
        title="throughput",
        cell_path="throughput_bits_per_s",
        name="throughput",
        higher_is_better=True,
        uses=("opening", "main", "flows", "datagrams", "figures", "cells", "distributions"),
    ),
    Measure(
        key=LOSSLESS_COLUMN,
        label="Highest UDP rate within the loss limit",
        title="highest UDP rate with little loss",
        meaning="highest UDP rate with little loss that the search of this cycle found",
        name="lossless-rate",
        higher_is_better=True,
        uses=("opening", "main"),
    ),
    Measure(
        key="messages_per_s",
        label="Messages",
        title="message rate",
        name="messages",
        higher_is_better=True,
        uses=("opening", "main", "messages"),
    ),
    _round_trip(
        "median",
        *("opening", "main", "messages"),
        title="median of messages' round trips",
        name="round-trip-median",
    ),
    _round_trip(
        "p99", "main", "messages", title="99th percentile of messages' round trips", name="round-trip-p99"
    ),
    Measure(
        key="udp_received_packets_per_s",
        label="UDP received packets",
        title="UDP datagrams received per second",
        name="packets",
        higher_is_better=True,
        uses=("opening", "main", "datagrams"),
    ),
    Measure(
        key="udp_loss_ratio",
        label="Loss of datagrams",
        title="loss of UDP datagrams",
        meaning="UDP: datagrams lost of those sent in the steady window",
        of_trial=lambda sample: sample.measure_datagram_loss(),
        of_cell=lambda part: part.pool_datagram_loss(),
        cell_key="udp_loss",
        cell_path="udp_loss.loss_ratio",
        name="udp-loss",
        bound=_bound_loss,
        uses=("main", "datagrams", "figures"),
    ),
    Measure(
        key="drtt_ns",
        label="Added delay (dRTT)",
        title="dRTT",
        short="dRTT",
        meaning="RTT increase under load (dRTT): mean RTT of the loaded less that of the unloaded probes",
        of_trial=lambda sample: sample.rise_ns,
        above=lambda sample: sample.rise_above_ns,
        name="drtt",
        bound=_bound_rise,
        uses=("main", "flows", "figures", "cells", "pairs", "distributions"),
    ),
    Measure(
        key="drtt_median_ns",
        label="Added delay (dRTT of medians)",
        short="dRTT",
        meaning="RTT increase under load (dRTT): median RTT of the loaded less that of the unloaded probes",
        of_trial=lambda sample: sample.rise_median_ns,
        above=lambda sample: sample.rise_median_above_ns,
        uses=("main", "figures"),
    ),
    Measure(
        key="loaded_rtt_median_ns",
        label="RTT, median, loaded",
        title="median RTT under load",
        name="loaded-rtt",
        least_margin=RTT_MARGIN_NS,
        uses=("opening", "main", "flows"),
    ),
    Measure(
        key="unloaded_rtt_median_ns",
        label="RTT, median, unloaded",
        title="median RTT of the idle path",
        name="idle-rtt",
        uses=("opening", "main", "flows"),
    ),
    *_list_rtts("loaded"),
    *_list_rtts("unloaded"),
    Measure(
        key="loaded_variability_ratio",
        label="RV, loaded",
        short="RV",
        meaning="RV of the loaded probes: 1 - minimum / mean of their RTT",
        of_trial=lambda sample: sample.measure_variability("loaded"),
        uses=("figures", "cells", "pairs", "distributions"),
    ),
    Measure(
        key="unloaded_variability_ratio",
        label="RV, unloaded",
        short="RV",
        meaning="RV of the unloaded probes: 1 - minimum / mean of their RTT",
        of_trial=lambda sample: sample.measure_variability("unloaded"),
        uses=("figures",),
    ),
    Measure(
        key="loaded_loss_ratio",
        label="Loss, loaded",
        title="loss under load",
        short="Loss",
        heading="loss",
        meaning="loaded probes that were not answered in time, of those sent",
        of_trial=lambda sample: sample.measure_loss("loaded"),
        of_cell=lambda part: part.pool_loss("loaded"),
        cell_key="loaded_loss",
        cell_path="loaded_loss.loss_ratio",
        name="loss",
        bound=_bound_loss,
        uses=("main", "flows", "figures", "cells", "pairs"),
    ),
    Measure(
        key="unloaded_loss_ratio",
        label="Loss, unloaded",
        short="Loss",
        meaning="unloaded probes that were not answered in time, of those sent",
        of_trial=lambda sample: sample.measure_loss("unloaded"),
        of_cell=lambda part: part.pool_loss("unloaded"),
        cell_key="unloaded_loss",
        cell_path="unloaded_loss.loss_ratio",
        uses=("main", "figures"),
    ),
    Measure(key="window_granted_sender_bytes", label="Window granted, sender", uses=("figures",)),
    Measure(key="window_granted_receiver_bytes", label="Window granted, receiver", uses=("figures",)),
    Measure(key="window_effective_bytes", label="Effective window per stream", uses=("figures",)),
    Measure(key="window_in_flight_max_bytes", label="Largest amount in flight per stream", uses=("figures",)),
    Measure(
        key="retransmitted_ratio",
        label="Retransmitted share",
        meaning="bytes retransmitted of all bytes sent, retransmissions included, whole trial",
        of_trial=lambda sample: sample.measure_retransmitted(),
        uses=("main", "flows"),
    ),
    Measure(
        key="retransmitted_segments",
        label="Retransmitted segments",
        heading="retransmits",
        note="segments, median over trials",
        uses=("main", "figures", "costs"),
    ),
    Measure(
        key="window_bdp_ratio",
        label="Windows in use / BDP",
        unit="count",
        meaning="streams x effective window, of the bandwidth-delay product of the lab's narrowest link and "
        "the median RTT without load",
        of_lab=_read_window_shares,
        uses=("main",),
    ),
    Measure(
        key="fairness_jain",
        label="Jain's index",
        heading="Jain",
        meaning="Jain's index over the streams, 1 / streams to 1; none of a single stream",
        note="fairness over streams, median",
        of_trial=lambda sample: sample.fairness_ratio,
        of_combination=lambda sample: sample.get("fairness_jain"),
        higher_is_better=True,
        uses=("main", "flows", "figures", "costs", "pairs"),
    ),
    Measure(
        key="cpu_s_per_gb",
        label="CPU, both ends",
        title="CPU of both ends",
        heading="CPU-s/GB",
        meaning="CPU time of both ends' engines per 10^9 bytes received, whole trial",
        of_trial=lambda sample: sample.cpu_s_per_gb,
        name="cpu",
        uses=("main", "flows", "figures", "cells", "pairs"),
    ),
    Measure(
        key="sender_cpu_s_per_gb",
        label="CPU, sender",
        heading="CPU-s/GB sender",
        meaning="CPU time of the sending engine per 10^9 bytes received, whole trial",
        note="of the engine, median",
        of_trial=lambda sample: sample.measure_cpu_cost("sender"),
        uses=("main", "figures", "costs"),
    ),
    Measure(
        key="receiver_cpu_s_per_gb",
        label="CPU, receiver",
        heading="CPU-s/GB receiver",
        meaning="CPU time of the receiving engine per 10^9 bytes received, whole trial",
        note="of the engine, median",
        of_trial=lambda sample: sample.measure_cpu_cost("receiver"),
        uses=("main", "figures", "costs"),
    ),
    Measure(
        key="cpu_ns_per_message",
        label="CPU per message, both ends",
        title="CPU of both ends per message",
        meaning="CPU time of both ends per message of the steady window",
        of_trial=_read_cpu_per_message,
        name="cpu-message",
        uses=("main",),
    ),
    Measure(
        key="sender_busiest_core_ratio",
        label="Busiest core, sender",
        heading="busiest core sender",
        note="busy share, softirq included, median",
        uses=("flows", "figures", "costs"),
    ),
    Measure(
        key="receiver_busiest_core_ratio",
        label="Busiest core, receiver",
        heading="busiest core receiver",
        note="busy share, softirq included, median",
        uses=("flows", "figures", "costs"),
    ),
    Measure(key="retransmitted_steady_segments", label="Retransmitted steady segments", uses=("figures",)),
    Measure(key="udp_jitter_ns", label="Jitter of datagrams", uses=("figures",)),
    Measure(
        key="messages_missing_ratio",
        label="Missing messages",
        meaning="messages that never arrived, or never returned, of all messages",
        of_trial=_read_missing,
    ),
    *(_round_trip(quantile) for quantile in ("p90", "p99_9", "p99_99", "p99_999")),
    *(
        Measure(key=f"round_trip_{figure}_ns", label=f"Round trip of messages, {words}")
        for figure, words in (("min", "minimum"), ("mean", "mean"), ("max", "maximum"))
    ),
    Measure(key="throughput_reverse_bits_per_s", label="Throughput, reverse direction"),
    Measure(key="offered_messages_per_s", label="Messages offered"),
    Measure(key="round_trips", label="Round trips"),
    Measure(key="mss_bytes", label="Data in one segment (MSS)"),
)
MEASURES_BY_KEY: Mapping[str, Measure] = {measure.key: measure for measure in MEASURES}
#: The metrics of ``pathlab compare`` by their names.
METRICS: Mapping[str, Measure] = {measure.name: measure for measure in MEASURES if measure.name}


def list_measures(use: Use) -> tuple[Measure, ...]:
    """The measures with that use, in the order of lists."""
    return tuple(measure for measure in MEASURES if use in measure.uses)
