"""What limited each cell, by the trials that were classified; whether their warm-up was long enough."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.evidence import Evidence
from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading
from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.analysis.verdicts.limits import FlowVerdict, Limit, classify_limits
from pathlab.analysis.verdicts.warm_up import WarmUp, detect_warm_up
from pathlab.errors import StoreError, UsageError
from pathlab.store.trial_table import list_stored_values
from pathlab.study.base.answer import Answer, make_cell_answer
from pathlab.study.base.links import BottleneckLink, find_bottleneck
from pathlab.study.base.selection import VOID_FLAGS, Rules, Sample, choose_evenly, select
from pathlab.study.base.trials import StudySource, TrialTable, list_values
from pathlab.study.flows.readings import (
    LIMIT_SERIES,
    NO_RATES,
    RATE_SERIES,
    SENT_SERIES,
    FlowRates,
    TrialSeries,
    find_ceiling,
    read_flow,
    read_flow_rates,
)

#: Share of a cell's classified trials that must agree on a limit.
AGREEING_RATIO = 0.5
TRIALS_PER_CELL = 10
#: Series of so many trials are read in a few seconds.
TRIALS_IN_ALL = 1000
HIGHEST_SHARE_RATIO = 1.05
#: Probes that a program stamped, not the kernel.
USER_STAMPS = "user"
#: Settings of other programs that each stream keeps to.
STREAM_RATES = ("stream_target_bits_per_s", "stream_pacing_bits_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLimit:
    """The verdict on one trial."""

    trial_id: int
    verdict: FlowVerdict
    damaged: str | None = None  # why a stored series could not be read; it counts as not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCount:
    """The number of classified trials under one limit; None: undecided ones."""

    limit: Limit | None
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFigure:
    """One figure of evidence over the ``known`` trials that have it: ``met`` meet its threshold.

    ``median`` is that of all known ones, in the unit of the name.
    """

    name: str
    median: float
    met: int
    known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLimit:
    """The limit that most of a cell's classified trials share, all counts, and every trial's verdict.

    ``classified`` trials, evenly chosen over the cycles, of all that the selection counts.
    """

    classified: int
    limit: Limit | None
    counts: tuple[LimitCount, ...]
    evidence: tuple[EvidenceFigure, ...]
    trials: tuple[TrialLimit, ...]
    undecided: Undecided | None = None

    @property
    def at_requested_rate(self) -> bool:
        """Whether most of the trials under this limit came to the rate requested."""
        verdicts = [trial.verdict.flow for trial in self.trials if trial.verdict.flow.limit is self.limit]
        return 2 * sum(verdict.at_requested_rate for verdict in verdicts) > len(verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWarmUp:
    """What was detected in one trial; ``by_sender``: in what the sender counted."""

    trial_id: int
    warm_up: WarmUp
    by_sender: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CellWarmUp:
    """``sufficient`` where no decided trial of the cell says otherwise.

    ``checked`` trials are chosen as in ``CellLimit``.
    """

    checked: int
    sufficient: bool | None
    trials: tuple[TrialWarmUp, ...]
    undecided: Undecided | None = None

    @property
    def counted_by(self) -> str:
        """The end whose intervals were read."""
        return name_counting_end(sum(trial.by_sender for trial in self.trials), len(self.trials))


RateCache = dict[int, FlowRates]  # rates that were read, by number of the trial: none is read twice


def name_counting_end(by_sender: int, trials: int) -> str:
    """The end that counted the intervals of some trials."""
    return "sender" if by_sender == trials and trials else "both" if by_sender else "receiver"


def read_rates(source: StudySource, trial_id: int, streams: int, cache: RateCache) -> FlowRates:
    """What a trial carried in each record, read now if it was not before; ``NO_RATES`` of a damaged one."""
    if trial_id not in cache:
        try:
            series = TrialSeries(source, trial_id, RATE_SERIES)
            if series.carried is None:
                series = TrialSeries(source, trial_id, SENT_SERIES)
            cache[trial_id] = read_flow_rates(series, streams)
        except StoreError:
            cache[trial_id] = NO_RATES
    return cache[trial_id]


def classify_cell_limits(
    source: StudySource, table: TrialTable, trials_per_cell: int | None, cache: RateCache
) -> tuple[Answer[CellLimit], ...]:
    """The limit of every cell from its trials' series, by ``limits.classify_limits``.

    At most ``trials_per_cell`` trials are read, fewer where there are so many cells that it would be more
    than ``TRIALS_IN_ALL`` (None: all trials); host-limited ones are among them, lab-limited ones are not. The
    line's rate is passed where the lab set it, and not where it was fitted. The requested rate is the plan's
    pacing or the budget's cap, whichever is lower, or what the sender states.
    """
    hosts, cap = source.hosts(), find_rate_cap(source.campaign.model)
    cells = split_conditions(table, Rules(flags=VOID_FLAGS))
    most = share_out(trials_per_cell, len(cells))
    answers = []
    for sample, streams, window, part in cells:
        ends = sample.condition.flow_ends
        line = find_bottleneck(source.campaign.environment, sample)
        calibrations = [host.facts.get("calibration") for host in hosts if host.name in ends]
        ceiling = find_ceiling(calibrations, streams)
        result = []
        for trial_id, trial in _read_figures(part, most, cap).items():
            reading = replace(trial, ceiling_bits_per_s=ceiling)
            limit, rates = _classify_trial(
                source, trial_id, reading, line, reverse=sample.condition.is_reverse
            )
            cache[trial_id] = rates
            result.append(limit)
        answers.append(make_cell_answer(part, (streams, window), agree_on_limit(result)))
    return tuple(answers)


def evaluate_warm_ups(
    source: StudySource, table: TrialTable, trials_per_cell: int | None, cache: RateCache
) -> tuple[Answer[CellWarmUp], ...]:
    """Whether the configured warm-up of every cell was long enough, by ``warm_up.detect_warm_up``.

    As many trials are read as by ``classify_cell_limits``.
    """
    cells = split_conditions(table, Rules(flags=VOID_FLAGS))
    most = share_out(trials_per_cell, len(cells))
    answers = []
    for _, streams, window, part in cells:
        result = []
        for index in choose_trials(part, most):
            trial_id, configured = int(part.get("trial_id")[index]), part.get("warmup_ns")[index]
            rates = read_rates(source, trial_id, streams, cache)
            configured_ns = 0 if np.isnan(configured) else int(configured)
            warm_up = detect_warm_up(rates.counts, rates.lengths_ns, configured_ns)
            result.append(TrialWarmUp(trial_id=trial_id, warm_up=warm_up, by_sender=rates.by_sender))
        answers.append(make_cell_answer(part, (streams, window), _agree_on_warm_up(result)))
    return tuple(answers)


def split_conditions(table: TrialTable, rules: Rules) -> list[tuple[Sample, int, int | None, Sample]]:
    """Every cell of every condition: the condition's sample, streams, window and the cell's own sample."""
    return [(sample, *cell) for sample in select(table, rules) for cell in sample.by_cell()]


def share_out(trials_per_cell: int | None, cells: int) -> int | None:
    """How many trials of each cell are read; ``UsageError`` for what is no whole number from one on."""
    if trials_per_cell is None:
        return None
    (number, *others) = list_stored_values(trials_per_cell) or [None]
    if others or not isinstance(number, (int, float)) or number < 1 or number != int(number):
        raise UsageError(
            f"{trials_per_cell} trials per cell cannot be classified",
            hint="ask for 1 or more, or None for all",
        )
    return max(1, min(int(number), TRIALS_IN_ALL // max(cells, 1)))


def _classify_trial(
    source: StudySource, trial_id: int, trial: FlowReading, line: BottleneckLink | None, *, reverse: bool
) -> tuple[TrialLimit, FlowRates]:
    damaged = None
    try:
        series = TrialSeries(source, trial_id, LIMIT_SERIES)
    except StoreError as error:
        series, damaged = TrialSeries.empty(), str(error)
    verdict = classify_limits(read_flow(series, trial, line, reverse=reverse))
    limit = TrialLimit(trial_id=trial_id, verdict=verdict, damaged=damaged)
    return limit, read_flow_rates(series, len(trial.streams))


def choose_trials(part: Sample, most: int | None) -> list[int]:
    """Places of the trials to read, evenly over the cycles; None: of all."""
    order: list[int] = np.argsort(part.cycles, kind="stable").tolist()
    return order if most is None else choose_evenly(order, most)


def _read_figures(part: Sample, most: int | None, cap_bits_per_s: float | None) -> dict[int, FlowReading]:
    """What the rows of the chosen trials hold, by their numbers."""
    ids, streams, windows = part.get("trial_id"), part.streams, part.window_bytes
    rates, loaded = part.rates_bits_per_s, part.loaded_median_ns
    unloaded = part.get("unloaded_rtt_median_ns")
    standing = np.maximum(part.get("loaded_rtt_min_ns") - part.get("unloaded_rtt_min_ns"), 0.0)
    cores = part.get("sender_busiest_core_ratio"), part.get("receiver_busiest_core_ratio")
    stamps, congestion = list_values(
        part.table.frame.iloc[part.places], ("probe_stamps", "congestion_sender")
    )
    of_flow = part.condition.get("pacing_bits_per_s"), cap_bits_per_s
    of_stream = [part.condition.get(name) for name in STREAM_RATES]
    return {
        int(ids[at]): FlowReading(
            streams=(StreamReading(),) * int(streams[at]),
            throughput_bits_per_s=_known(rates[at]),
            window_requested_bytes=None if np.isnan(windows[at]) or windows[at] <= 0 else int(windows[at]),
            rtt_loaded_ns=_known(loaded[at]),
            rtt_unloaded_ns=_known(unloaded[at]),
            rtt_standing_ns=_known(standing[at]),
            hosts=tuple(HostLoad(busiest_core_ratio=_known_share(ratios[at])) for ratios in cores),
            requested_bits_per_s=_find_lowest(
                *of_flow, *(item * streams[at] for item in of_stream if isinstance(item, (int, float)))
            ),
            kernel_stamps=None if stamps[at] is None else stamps[at] != USER_STAMPS,
            congestion=None if congestion[at] is None else str(congestion[at]),
        )
        for at in choose_trials(part, most)
    }


def _find_lowest(*rates: Any) -> float | None:
    """The lowest rate of those that are one."""
    return min((float(rate) for rate in rates if isinstance(rate, (int, float)) and rate > 0), default=None)


def find_rate_cap(model: Mapping[str, Any]) -> float | None:
    """The rate that the campaign's budget lets no trial exceed, bit/s; None without one."""
    budget = model.get("budget")
    rate = budget.get("rate_bits_per_s") if isinstance(budget, Mapping) else None
    return float(rate) if isinstance(rate, (int, float)) and 0 < rate < math.inf else None


def _known(value: float) -> float | None:
    return float(value) if value >= 0 else None


def _known_share(value: float) -> float | None:
    """A share of one core; more than one, rounding allowed, is none."""
    return _known(value) if value <= HIGHEST_SHARE_RATIO else None


def agree_on_limit(result: Sequence[TrialLimit]) -> CellLimit:
    """The limit that more than half of these trials share."""
    limits = [trial.verdict.flow.limit for trial in result]
    counts = Counter(limits)
    ordered = sorted(counts, key=lambda limit: (-counts[limit], str(limit)))
    named = [limit for limit in ordered if limit is not None]
    agreed = named[0] if named and counts[named[0]] > AGREEING_RATIO * len(result) else None
    return CellLimit(
        classified=len(result),
        limit=agreed,
        counts=tuple(LimitCount(limit=limit, trials=counts[limit]) for limit in ordered),
        evidence=tuple(_summarise_evidence(result)),
        trials=tuple(result),
        undecided=None if agreed is not None else _why(result, named),
    )


def _summarise_evidence(limits: Sequence[TrialLimit]) -> Iterator[EvidenceFigure]:
    """Every measured figure of these trials' flows, in the order of first mention."""
    figures: dict[str, list[Evidence]] = {}
    for trial in limits:
        for item in trial.verdict.flow.evidence:
            if item.value is not None:
                figures.setdefault(item.name, []).append(item)
    for name, known in figures.items():
        middle = median(item.value for item in known if item.value is not None)
        met = sum(bool(item.met) for item in known)
        yield EvidenceFigure(name=name, median=middle, met=met, known=len(known))


def _why(limits: Sequence[TrialLimit], named: list[Limit]) -> Undecided:
    if not limits:
        return Undecided.NO_SAMPLES
    if len(named) > 1:
        return Undecided.CONFLICTING_EVIDENCE
    reasons = Counter(trial.verdict.flow.undecided for trial in limits)
    reason = max(reasons, key=lambda item: reasons[item] if item is not None else 0)
    return reason or Undecided.CONFLICTING_EVIDENCE


def _agree_on_warm_up(warm_ups: list[TrialWarmUp]) -> CellWarmUp:
    decided = [trial.warm_up.sufficient for trial in warm_ups if trial.warm_up.sufficient is not None]
    reason = None
    if not decided:
        reason = warm_ups[0].warm_up.undecided if warm_ups else Undecided.NO_SAMPLES
    return CellWarmUp(
        checked=len(warm_ups),
        sufficient=all(decided) if decided else None,
        trials=tuple(warm_ups),
        undecided=reason,
    )
