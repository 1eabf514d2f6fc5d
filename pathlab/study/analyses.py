"""Every analysis as a method of results: ``pathlab.open(...)`` and any other source of trials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from pathlab.analysis.estimators.trend import ChangeBound
from pathlab.analysis.fits.cpu_cost import CpuCost
from pathlab.analysis.fits.message_cost import MessageCost
from pathlab.analysis.fits.optimum import OptimalStreams
from pathlab.analysis.fits.saturation import Saturation
from pathlab.analysis.fits.surface import Surface
from pathlab.analysis.planning.cycles import CyclePlan
from pathlab.analysis.planning.stopping import StopDecision, StopRule
from pathlab.analysis.verdicts.drift import Drift
from pathlab.store.results import Results
from pathlab.study.answer import Answers, StudyOptions, make_generator
from pathlab.study.cells import MeasuredCondition, list_conditions
from pathlab.study.costs import (
    CellFigures,
    FairnessFigures,
    TcpFigures,
    describe_cells,
    describe_fairness,
    evaluate_transfers,
    fit_cpu_costs,
    fit_message_costs,
)
from pathlab.study.delay import QuantitySpread, ThroughputEffect, describe_distributions, find_effects
from pathlab.study.limits import (
    TRIALS_PER_CELL,
    CellLimit,
    CellWarmUp,
    RateCache,
    classify_cell_limits,
    evaluate_warm_ups,
)
from pathlab.study.order import (
    NamedOutliers,
    SerialFigures,
    describe_series,
    evaluate_precision,
    find_drifts,
    find_outliers,
)
from pathlab.study.recommendation import Recommendation, recommend_combinations
from pathlab.study.references import ReferenceOverlay, lay_beside
from pathlab.study.throughput import (
    StreamsVsWindows,
    bound_durations,
    compare_streams_and_windows,
    find_optima,
    fit_saturations,
    fit_surfaces,
    plan_comparisons,
)
from pathlab.study.trials import Condition, StudySource, TrialTable, read_trials

Kept = TypeVar("Kept")
#: Difference that ``planning`` asks for unless told otherwise: one of a pair is 5 % larger.
DIFFERENCE_RATIO = 0.05


class Analyses(ABC):
    """The analyses of METHOD section 4 over stored trials.

    Each returns ``Answers``, a tuple of ``Answer`` that ``to_frame()`` makes a data frame of: one per
    condition (a path, and all settings besides streams and window), per window or per cell, in the order in
    which they were first measured. Failed, interrupted, host-limited and lab-limited trials, and those with
    another congestion control than requested, are excluded as each analysis says, and counted in the answer's
    selection; loopback fallbacks, labs, imported trials and real hosts are never pooled. Too little data
    is an answer that is undecided and says why; no method raises for it; a cell of which no trial counts has
    no answer. Random draws come from the campaign's seed, so that the same results give the same answers.
    Reading again is needed for trials stored later: ``reread``.
    """

    study_options = StudyOptions()
    _table: TrialTable | None = None
    _known: dict[Any, Any] | None = None  # what several analyses or readers rest on, by name and arguments

    @property
    @abstractmethod
    def study_source(self) -> StudySource:
        """What trials and series are read from."""

    def reread(self) -> None:
        """Forget the trials read so far, so that the next analysis sees those stored since."""
        self._table, self._known = None, None

    def study_table(self) -> TrialTable:
        """All trials with their conditions, read once."""
        if self._table is None:
            self._table = read_trials(self.study_source)
        return self._table

    def conditions(self) -> tuple[MeasuredCondition, ...]:
        """Every condition with its trials by cell, in the order of first measurement; control rows apart."""
        environment = self.study_source.campaign.environment
        return self._once("conditions", lambda: list_conditions(self.study_table(), environment))

    def recommend(self) -> Answers[Recommendation]:
        """The streams and the window to use under each condition, what that costs and how sure it is.

        At most ``recommendation.TRIALS_PER_CELL`` trials of each cell are read for what limited it.
        """
        return self._once("recommendation", lambda: Answers(recommend_combinations(self)))

    def cells(self) -> Answers[CellFigures]:
        """Spreads of throughput, dRTT, RV, loss, retransmissions and CPU-s/GB of every cell."""
        return Answers(describe_cells(self.study_table()))

    def streams_vs_windows(self) -> Answers[StreamsVsWindows]:
        """Every two cells of equal streams x window compared in pairs within a cycle, with their costs."""
        return self._once(
            "streams_vs_windows", lambda: Answers(compare_streams_and_windows(self.study_table()))
        )

    def saturation(self) -> Answers[Saturation]:
        """The saturation families over streams, for each window."""
        rng = make_generator(self._seed(), "saturation")
        return Answers(fit_saturations(self.study_table(), rng, self.study_options))

    def optimum(self) -> Answers[OptimalStreams]:
        """The streams with the least dRTT / throughput, for each window."""
        return Answers(find_optima(self.study_table(), make_generator(self._seed(), "optimum")))

    def surface(self) -> Answers[Surface]:
        """Throughput over streams and windows, T = min(N W / RTT, C) in its smooth form."""

        def fit() -> Answers[Surface]:
            rng = make_generator(self._seed(), "surface")
            return Answers(fit_surfaces(self.study_table(), rng, self.study_options))

        return self._once("surface", fit)

    def limits(self, trials_per_cell: int | None = TRIALS_PER_CELL) -> Answers[CellLimit]:
        """What limited each cell, by at most so many of its trials' series and 1,000 in all (None: all)."""

        def judge() -> Answers[CellLimit]:
            found = classify_cell_limits(
                self.study_source, self.study_table(), trials_per_cell, self._get_rates()
            )
            return Answers(found)

        return self._once(("limits", trials_per_cell), judge)

    def warm_up(self, trials_per_cell: int | None = TRIALS_PER_CELL) -> Answers[CellWarmUp]:
        """Whether each cell's warm-up was long enough; ``trials_per_cell`` as for ``limits``."""
        return Answers(
            evaluate_warm_ups(self.study_source, self.study_table(), trials_per_cell, self._get_rates())
        )

    def rfc6349(self) -> Answers[TcpFigures]:
        """The figures of RFC 6349 of each cell, against the lab's link or the surface's capacity."""
        capacities: dict[Condition, float] = {
            answer.condition: answer.result.capacity.value
            for answer in self.surface()
            if answer.result.capacity.value is not None and answer.result.capacity.interval.decided
        }
        return Answers(
            evaluate_transfers(self.study_table(), self.study_source.campaign.environment, capacities)
        )

    def fairness(self) -> Answers[FairnessFigures]:
        """Jain's index of each cell of several streams."""
        return Answers(describe_fairness(self.study_table()))

    def cpu_cost(self) -> Answers[CpuCost]:
        """CPU % against throughput, user, kernel and total, of sender and receiver; CPU-s per GB."""
        return Answers(fit_cpu_costs(self.study_table()))

    def message_cost(self) -> Answers[MessageCost]:
        """The cost of a message and of a byte in each cell, where the plan varies ``message_bytes``."""
        return Answers(fit_message_costs(self.study_table()))

    def against_reference(self, name: str, column: str | None = None) -> Answers[ReferenceOverlay]:
        """Own throughput beside a published table's, by its levels: ``pathlab reference list`` names them.

        ``column`` alone, or every column. Raises ``UsageError`` for one that there is not.
        """
        return Answers(lay_beside(self.study_table(), name, column))

    def duration(self) -> Answers[ChangeBound]:
        """By how much each cell's throughput changes over the trials' durations."""
        return Answers(bound_durations(self.study_table()))

    def breakpoint(self) -> Answers[ThroughputEffect]:
        """Where dRTT and RV climb over throughput, and how they agree."""
        return Answers(find_effects(self.study_table(), make_generator(self._seed(), "breakpoint")))

    def distributions(self) -> Answers[QuantitySpread]:
        """The distributions of throughput, dRTT and RV, with SLAC's fits."""
        return Answers(
            describe_distributions(self.study_table(), make_generator(self._seed(), "distributions"))
        )

    def serial(self) -> Answers[SerialFigures]:
        """Serial correlation and effective sample size of each cell."""
        return Answers(describe_series(self.study_table()))

    def drift(self) -> Answers[Drift]:
        """Whether the path changed over the campaign, every cell being its own control."""
        return self._once("drift", lambda: Answers(find_drifts(self.study_table())))

    def outliers(self) -> Answers[NamedOutliers]:
        """Outliers of each cell by number of the trial; none of them is dropped anywhere."""
        return Answers(find_outliers(self.study_table()))

    def planning(self, difference_ratio: float = DIFFERENCE_RATIO) -> Answers[CyclePlan]:
        """Cycles needed to see such a difference between two cells of equal streams x window."""
        return Answers(plan_comparisons(self.study_table(), difference_ratio))

    def precision(self, rule: StopRule | None = None) -> Answers[StopDecision]:
        """Whether the cells' medians are known as well as the rule asks (default: within 5 %)."""
        return Answers(evaluate_precision(self.study_table(), rule or StopRule()))

    def _get_rates(self) -> RateCache:
        return self._once("rates", RateCache)

    def _once(self, key: Any, compute: Callable[[], Kept]) -> Kept:
        """What ``compute`` returned the first time since trials were read."""
        if self._known is None:
            self._known = {}
        if key not in self._known:
            self._known[key] = compute()
        found: Kept = self._known[key]
        return found

    def _seed(self) -> int:
        seed = self.study_options.seed
        return self.study_source.campaign.seed if seed is None else seed


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
    """A results file with its analyses: what ``pathlab.open`` returns."""

    @property
    def study_source(self) -> StudySource:
        """The file itself."""
        return self
