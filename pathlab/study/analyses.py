"""Every analysis as a method of results: ``pathlab.open(...)`` and any other source of trials."""

from __future__ import annotations

from collections.abc import Iterable

from pathlab.analysis.estimators.trend import ChangeBound
from pathlab.analysis.fits.cpu_cost import CpuCost
from pathlab.analysis.fits.optimum import OptimalStreams
from pathlab.analysis.fits.saturation import Saturation
from pathlab.analysis.fits.surface import Surface
from pathlab.analysis.planning.cycles import CyclePlan
from pathlab.analysis.planning.stopping import StopDecision, StopRule
from pathlab.analysis.verdicts.drift import Drift
from pathlab.store.results import Results
from pathlab.study.base.answer import Answer, Answers, StudyOptions
from pathlab.study.base.registry import UNDECIDED, AnswerColumn, analysis
from pathlab.study.base.trials import Condition, StudySource
from pathlab.study.comparison.level_analyses import LevelAnalyses
from pathlab.study.comparison.references import ReferenceOverlay, compare_with_reference
from pathlab.study.datagrams.datagram_analyses import DatagramAnalyses
from pathlab.study.flows import costs, order, throughput
from pathlab.study.flows.delay import QuantitySpread, ThroughputEffect, describe_distributions, find_effects
from pathlab.study.flows.limits import (
    TRIALS_PER_CELL,
    CellLimit,
    CellWarmUp,
    RateCache,
    classify_cell_limits,
    evaluate_warm_ups,
)
from pathlab.study.flows.recommendation import (
    LIMIT_TRIALS,
    Recommendation,
    RecommendationBasis,
    recommend_combinations,
)
from pathlab.study.flows.steadiness import CellSteadiness, find_steadiness
from pathlab.study.lossless.lossless_analyses import LosslessAnalyses
from pathlab.study.measures import list_measures
from pathlab.study.messages.latency_analyses import LatencyAnalyses
from pathlab.study.messages.message_analyses import MessageAnalyses
from pathlab.study.multipath.multipath_analyses import MultipathAnalyses
from pathlab.study.runs.progress import RunCounts, count_trials
from pathlab.study.technologies.technology_analyses import TechnologyAnalyses

#: Difference that ``planning`` asks for by default: one of a pair is 5 % larger.
DIFFERENCE_RATIO = 0.05


N, INTERVAL = AnswerColumn("n", "n"), AnswerColumn("95 % CI", "interval")
CELL_AND_TRIALS = (AnswerColumn("combination", "part"), N)
WINDOW_AND_TRIALS = (AnswerColumn("window", "part"), N)
_NO_CHANGE = {True: "yes", False: "not shown", None: None}


def _name_recommended(answer: Answer[Recommendation]) -> str:
    item = answer.result.recommended
    if item is None:
        return "none"
    return f"{item.streams} x {'auto' if item.window_bytes is None else item.window_bytes}"


class Analyses(
    TechnologyAnalyses,
    MultipathAnalyses,
    MessageAnalyses,
    LosslessAnalyses,
    LevelAnalyses,
    LatencyAnalyses,
    DatagramAnalyses,
):
    """The analyses of METHOD section 4 over stored trials.

    Each returns ``Answers``, a tuple of ``Answer`` that ``to_frame()`` makes a data frame of: one per
    condition (a path, and all settings besides streams and window), per window or per cell, in the order of
    first measurement. Failed, interrupted, host-limited and lab-limited trials, and those with another
    congestion control than requested, are excluded as each analysis says and counted in the answer's
    selection; loopback fallbacks, labs, imported trials and real hosts are never pooled. Trials of messages
    have the analyses of messages, and none of streams, windows and paths. Too little data gives an undecided
    answer with the reason, never an error; a cell without a usable trial has no answer.
    Draws come from the campaign's seed. ``reread`` is needed for trials stored later.
    """

    _counts: RunCounts | None = None
    _rates: RateCache | None = None

    def reread(self) -> None:
        """Forget the trials read so far, so that the next analysis sees those stored since."""
        super().reread()
        self._counts = self._rates = None

    def count_trials(self) -> RunCounts:
        """How much of the plan was measured, counted once."""
        if self._counts is None:
            self._counts = count_trials(self.study_plan(), self.study_source.journal(), self.study_table())
        return self._counts

    def rate_cache(self) -> RateCache:
        """Rates of trials whose series were read."""
        if self._rates is None:
            self._rates = {}
        return self._rates

    @analysis(
        "Recommendation",
        AnswerColumn("recommended", _name_recommended),
        AnswerColumn("throughput", "recommended.throughput_bits_per_s"),
        AnswerColumn("dRTT", "recommended.drtt_ns.median"),
        AnswerColumn("loss", "recommended.loaded_loss.loss_ratio"),
        AnswerColumn("limited by", "recommended.limit", wraps=True),
        AnswerColumn("confidence", "confidence"),
        AnswerColumn("none, because", "reason", wraps=True),
        per="condition",
        name="recommendation",
    )
    def recommend(self) -> Iterable[Answer[Recommendation]]:
        """The streams and the window to use, what to expect and what it costs, and with what confidence.

        The terminal and the report show this same answer. What limited a combination is read from at most
        three of its trials.
        """
        basis = RecommendationBasis(
            source=self.study_source,
            conditions=self.conditions(),
            limits=self.limits(LIMIT_TRIALS),
            steadiness=self.steadiness(),
            rate_levels=self.rate_levels(),
            surface=self.surface(),
            drift=self.drift(),
            streams_vs_windows=self.streams_vs_windows(),
        )
        return recommend_combinations(basis)

    @analysis(
        "Combinations",
        AnswerColumn("combination", "part"),
        AnswerColumn("n", "selection.used"),
        *(
            AnswerColumn(measure.heading, measure.cell_path, measure.unit or None)
            for measure in list_measures("cells")
        ),
    )
    def cells(self) -> Iterable[Answer[costs.CellFigures]]:
        """Spreads of throughput, dRTT, RTT and RV, loss, windows, retransmissions, Jain's index, CPU-s/GB.

        dRTT is that of averages and of medians, RTT has minimum, mean and inter-quartile range; of UDP there
        are the loss of datagrams and their jitter.
        """
        return costs.describe_cells(self.study_table())

    @analysis(
        "More streams against larger windows",
        AnswerColumn("streams : windows", "name"),
        AnswerColumn("pairs", "comparison.pairs"),
        AnswerColumn("ratio", "comparison.ratio", ""),
        AnswerColumn("95 % CI", "comparison.ratio_interval", "factor"),
        AnswerColumn("p (corrected)", "comparison.p_value", unit="p"),
        AnswerColumn("verdict", "comparison.words", wraps=True),
        per="pair",
    )
    def streams_vs_windows(self) -> Iterable[Answer[throughput.StreamsVsWindows]]:
        """Combinations of equal streams × window, compared in pairs within a cycle: ratio, verdict, costs.

        p-values and verdicts are corrected over all pairs of a condition: by permutations within cycles where
        the plan drew their order, else (intervals too) by Holm. With the cycles that would decide, and the
        costs side by side.
        """
        return throughput.compare_streams_and_windows(self.study_table())

    @analysis(
        "Saturation in streams",
        *WINDOW_AND_TRIALS,
        AnswerColumn("model", "leading_model", wraps=True),
        AnswerColumn("weight", "fits.0.weight_ratio"),
        AnswerColumn("capacity", "capacity", "bit/s"),
        AnswerColumn("streams for 90 %", "n_90"),
        UNDECIDED,
        per="window",
        draws=2,
    )
    def saturation(self) -> Iterable[Answer[Saturation]]:
        """Seven models of throughput over streams; capacity and streams for 90 % of it, averaged."""
        return throughput.fit_saturations(
            self.study_table(), self._generator("saturation"), self.study_options
        )

    @analysis(
        "Least dRTT / throughput",
        *WINDOW_AND_TRIALS,
        AnswerColumn("streams", "streams"),
        INTERVAL,
        UNDECIDED,
        per="window",
        draws=4,
    )
    def optimum(self) -> Iterable[Answer[OptimalStreams]]:
        """The streams with the least dRTT / throughput."""
        return throughput.find_optima(self.study_table(), self._generator("optimum"))

    @analysis(
        "Response surface",
        N,
        AnswerColumn("capacity", "capacity", "bit/s"),
        AnswerColumn("effective RTT", "effective_rtt", "ns"),
        AnswerColumn("sharpness", "sharpness"),
        AnswerColumn("lack of fit p", "lack_of_fit_p", unit="p"),
        UNDECIDED,
        per="condition",
        draws=3,
    )
    def surface(self) -> Iterable[Answer[Surface]]:
        """Throughput over streams and windows, T = min(N·W/RTT, C), smoothed: capacity, effective RTT."""
        return throughput.fit_surfaces(
            self.study_table(), self._generator("surface"), self.study_options, self.saturation()
        )

    @analysis(
        "Limits",
        AnswerColumn("combination", "part"),
        AnswerColumn("limit", "limit", wraps=True),
        AnswerColumn("trials", "classified", wraps=True),
        AnswerColumn("trials by limit", "counts", wraps=True),
        UNDECIDED,
    )
    def limits(self, trials_per_cell: int | None = TRIALS_PER_CELL) -> Iterable[Answer[CellLimit]]:
        """What limited the flow and its streams: a window, losses, the path's capacity or rate limit, a
        queue on the return path, an application or a host's CPU.

        Each limit comes with its evidence. Reads the series of at most ``trials_per_cell`` trials per
        combination and 1,000 in all (None: all).
        """
        return classify_cell_limits(self.study_source, self.study_table(), trials_per_cell, self.rate_cache())

    @analysis(
        "Warm-up",
        AnswerColumn("combination", "part"),
        AnswerColumn("enough", "sufficient", wraps=True),
        AnswerColumn("trials", "checked", wraps=True),
        AnswerColumn("counted by", "counted_by"),
        UNDECIDED,
    )
    def warm_up(self, trials_per_cell: int | None = TRIALS_PER_CELL) -> Iterable[Answer[CellWarmUp]]:
        """Whether the configured warm-up was long enough (MSER-5); ``trials_per_cell`` as for ``limits``."""
        return evaluate_warm_ups(self.study_source, self.study_table(), trials_per_cell, self.rate_cache())

    @analysis(
        "RFC 6349",
        AnswerColumn("combination", "part"),
        AnswerColumn("bottleneck", "bottleneck_bits_per_s", detail="bottleneck", wraps=True),
        AnswerColumn("BDP", "capacity.bdp_bytes"),
        AnswerColumn("time ratio", "transfer_time_ratio", ""),
        AnswerColumn("efficiency %", "efficiency_percent.median"),
        AnswerColumn("buffer delay %", "buffer_delay_percent.median"),
        UNDECIDED,
    )
    def rfc6349(self) -> Iterable[Answer[costs.TcpFigures]]:
        """Bandwidth-delay product, transfer time, TCP efficiency and buffer delay of RFC 6349.

        Against the lab's link, else the capacity that ``surface`` fitted.
        """
        capacities: dict[Condition, float] = {
            answer.condition: answer.result.capacity.value
            for answer in self.surface()
            if answer.result.capacity.value is not None and answer.result.capacity.interval.decided
        }
        return costs.evaluate_transfers(
            self.study_table(), self.study_source.campaign.environment, capacities
        )

    @analysis(
        "Fairness (Jain)",
        AnswerColumn("combination", "part"),
        AnswerColumn("n", "jain_ratio.n", ""),
        AnswerColumn("index", "jain_ratio", ""),
        UNDECIDED,
        per="combination of several streams",
    )
    def fairness(self) -> Iterable[Answer[costs.FairnessFigures]]:
        """Jain's index over the streams."""
        return costs.describe_fairness(self.study_table())

    @analysis(
        "CPU % (one core is 100) against Gbit/s",
        AnswerColumn("end", "part"),
        N,
        AnswerColumn("slope", "with_intercept.slope_percent_per_gbit_s"),
        AnswerColumn("95 % CI", "with_intercept.slope_interval_percent_per_gbit_s"),
        AnswerColumn("R²", "with_intercept.r_squared_ratio", "R²"),
        AnswerColumn("through 0", "through_origin.slope_percent_per_gbit_s"),
        AnswerColumn("CPU-s/GB", "cpu_s_per_gb"),
        UNDECIDED,
        per="end and user/kernel/total",
    )
    def cpu_cost(self) -> Iterable[Answer[CpuCost]]:
        """CPU % against Gbit/s with and without intercept; CPU-s/GB."""
        return costs.fit_cpu_costs(self.study_table())

    @analysis(
        "Throughput over duration",
        *CELL_AND_TRIALS,
        AnswerColumn("change", "change_ratio"),
        AnswerColumn("95 % CI", "interval_ratio"),
        AnswerColumn("equivalent", lambda answer: _NO_CHANGE[answer.result.equivalent]),
        UNDECIDED,
    )
    def duration(self) -> Iterable[Answer[ChangeBound]]:
        """By how much throughput changes over the trials' durations, and the bound of that change."""
        return throughput.bound_durations(self.study_table())

    @analysis(
        "Knee of the delay curve",
        N,
        AnswerColumn("dRTT knee", "drtt", "bit/s"),
        AnswerColumn("RV knee", "variability", "bit/s"),
        AnswerColumn("R²", "r_squared_ratio", "R²"),
        AnswerColumn("Spearman", "spearman_ratio", ""),
        AnswerColumn("RV ≤ 10 %", "loaded_variability.steady_share_ratio"),
        per="condition",
        draws=5,
    )
    def breakpoint(self) -> Iterable[Answer[ThroughputEffect]]:
        """Knees of dRTT and RV over throughput; R² and Spearman between them; share of RV ≤ 10 %."""
        return find_effects(self.study_table(), self._generator("breakpoint"))

    @analysis(
        "Distributions",
        AnswerColumn("quantity", "part"),
        AnswerColumn("n", "distributions.n"),
        AnswerColumn("distribution", "distributions.fits.0.distribution", wraps=True),
        AnswerColumn("KS", "distributions.fits.0.ks_distance_ratio", ""),
        AnswerColumn("decline scale", "decline.scale", "quantity"),
        AnswerColumn("climb slope", "climb.slope"),
        AnswerColumn("undecided", "distributions.undecided", wraps=True),
        per="throughput, dRTT, RV",
        draws=6,
    )
    def distributions(self) -> Iterable[Answer[QuantitySpread]]:
        """Exponential, log-normal, normal and Weibull; SLAC's exponential and logarithmic fits."""
        return describe_distributions(self.study_table(), self._generator("distributions"))

    @analysis(
        "Serial correlation",
        AnswerColumn("combination", "part"),
        AnswerColumn("n", "size.n"),
        AnswerColumn("lag 1", "autocorrelation.lag_ratios.0", ""),
        AnswerColumn("effective n", "size.effective"),
        AnswerColumn("median", "median.estimate", "bit/s", "median.interval"),
        AnswerColumn("undecided", "size.undecided", wraps=True),
    )
    def serial(self) -> Iterable[Answer[order.SerialFigures]]:
        """Autocorrelation, the effective sample size that intervals assume, the median's interval."""
        return order.describe_series(self.study_table())

    @analysis(
        "Drift",
        AnswerColumn("verdict", "verdict", wraps=True),
        N,
        AnswerColumn("change", "change.change_ratio"),
        AnswerColumn("95 % CI", "change.interval_ratio"),
        AnswerColumn("trend p", "trend_p_value", unit="p"),
        AnswerColumn("step p", "step_p_value", unit="p"),
        UNDECIDED,
        per="condition",
    )
    def drift(self) -> Iterable[Answer[Drift]]:
        """Whether the path changed over the campaign: by control rows, and by combinations' own medians."""
        return order.find_drifts(self.study_table())

    @analysis(
        "Outliers (kept)",
        AnswerColumn("combination", "part"),
        AnswerColumn("n", "outliers.n"),
        AnswerColumn("trials", "known_trial_ids", wraps=True),
        AnswerColumn("rule", "outliers.rule", wraps=True),
        AnswerColumn("undecided", "outliers.undecided", wraps=True),
    )
    def outliers(self) -> Iterable[Answer[order.NamedOutliers]]:
        """Trials beyond the fences, by number; none is dropped. Each of several levels has its fences."""
        return order.find_outliers(self.study_table())

    @analysis(
        "Levels of throughput",
        *CELL_AND_TRIALS,
        AnswerColumn("levels", "modes"),
        AnswerColumn("spells", "spells"),
        AnswerColumn("slow hours (UTC)", "slow_hours"),
        UNDECIDED,
        draws=8,
    )
    def rate_levels(self) -> Iterable[Answer[order.RateLevels]]:
        """Several levels instead of one (dip test), and hours of the day (UTC) at which the rate is low."""
        return order.find_rate_levels(self.study_table(), self._generator("rate_levels"))

    @analysis(
        "Steadiness",
        AnswerColumn("combination", "part"),
        AnswerColumn("trials", "checked", wraps=True),
        AnswerColumn("not steady", "unsteady"),
        AnswerColumn("with outages", "silent"),
        AnswerColumn("example", "example"),
        AnswerColumn("counted by", "counted_by"),
        UNDECIDED,
    )
    def steadiness(self, trials_per_cell: int | None = TRIALS_PER_CELL) -> Iterable[Answer[CellSteadiness]]:
        """Whether a trial has one rate: bursts, changes, seconds without a byte; trials as for ``limits``."""
        return find_steadiness(self.study_source, self.study_table(), trials_per_cell, self.rate_cache())

    @analysis(
        "Cycles needed to detect a difference of 5 %",
        AnswerColumn("streams against windows", "part"),
        AnswerColumn("cycles", "cycles"),
        INTERVAL,
        AnswerColumn("spread", "spread"),
        UNDECIDED,
        per="pair",
    )
    def planning(self, difference_ratio: float = DIFFERENCE_RATIO) -> Iterable[Answer[CyclePlan]]:
        """Cycles needed to detect such a difference between two combinations of equal streams × window."""
        return throughput.plan_comparisons(self.study_table(), difference_ratio)

    @analysis(
        "Precision",
        AnswerColumn("medians within ±5 %", "reason", wraps=True),
        AnswerColumn("cycles", "cycles"),
        AnswerColumn("widest", "cells.0.name", wraps=True),
        AnswerColumn("half width", "cells.0.half_width_ratio"),
        per="condition",
    )
    def precision(self, rule: StopRule | None = None) -> Iterable[Answer[StopDecision]]:
        """Whether every combination's median is known as well as the rule asks (default: within ±5 %)."""
        return order.evaluate_precision(self.study_table(), rule or StopRule())

    def against_reference(self, name: str, column: str | None = None) -> Answers[ReferenceOverlay]:
        """Own throughput alongside a published table's, by its levels: ``pathlab reference list`` names them.

        ``column`` alone, or every column. Raises ``UsageError`` for one that there is not.
        """
        return Answers(compare_with_reference(self.study_table(), name, column))


class Study(Analyses):
    """The analyses over any source of trials, such as results in memory."""

    def __init__(self, source: StudySource, options: StudyOptions | None = None) -> None:
        self._source = source
        self.study_options = options or StudyOptions()

    @property
    def study_source(self) -> StudySource:
        """The source that was given."""
        return self._source


class StudiedResults(Results, Analyses):
    """A results file with its analyses."""

    @property
    def study_source(self) -> StudySource:
        """The file itself."""
        return self
