"""The highest UDP rate with little loss: what the searches of a campaign found, over all cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import CONFIDENCE_RATIO, Interval, IntervalBuilder, Undecided
from pathlab.analysis.estimators.serial import MEDIAN_METHOD, ordered_median_interval
from pathlab.analysis.estimators.trial_loss import pool_trial_loss
from pathlab.analysis.planning.loss_search import (
    RateVerdict,
    SearchEnding,
    SearchRule,
    choose_counted,
    is_short,
)
from pathlab.campaign.cell import RATE_FACTOR
from pathlab.campaign.factor import Level
from pathlab.campaign.factors import format_levels
from pathlab.campaign.order import list_varied
from pathlab.store.flags import Flag, Status
from pathlab.store.records import PlanRecord
from pathlab.study.base.answer import Answer
from pathlab.study.base.selection import ExclusionCount, SampleSelection
from pathlab.study.base.trials import TrialTable, list_values
from pathlab.study.lossless.rate_searches import (
    NOT_ATTRIBUTED,
    RateSearch,
    SearchKey,
    describe_ending,
    find_rule,
    list_searches,
    read_rate,
    read_trial,
)
from pathlab.units import format_rate, format_ratio

#: Column, of a comparison, of the rate that a search found.
#: Why a trial of a search is in no loss.
SENDER_SHORT, NOT_COUNTED = "sender-short", "not-counted"
_COUNTS = (
    *("datagram_bytes", "udp_sent_packets", "udp_received_packets", "udp_lost_packets"),
    *("udp_lost_host_packets", "udp_lost_path_packets", "udp_refused_packets", "udp_reordered_packets"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrial:
    """What a search reads of a stored trial (``rate_searches.CountedTrial``), and what a reader wants."""

    plan_row: int
    status: str
    failed_stage: str | None
    flags: tuple[str, ...]
    udp_sent_packets_per_s: float | None
    datagram_bytes: int | None
    udp_sent_packets: int | None
    udp_received_packets: int | None
    udp_lost_packets: int | None
    udp_lost_host_packets: int | None
    udp_lost_path_packets: int | None
    udp_refused_packets: int | None
    udp_reordered_packets: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRate:
    """One rate over all cycles.

    ``loss_ratio`` and its interval are of all packets of the trials counted; the interval has the confidence
    of one look of a search (``SearchRule.confidence_ratio``). ``verdicts`` count those of the cycles.
    ``host_lost``, ``path_lost``, ``refused`` and ``reordered`` are packets of these trials; None: of some it
    is not known. ``short`` are trials in which the sender did not reach the rate.
    """

    rate_bits_per_s: int
    trials: int
    short: int
    not_counted: int
    sent: int
    lost: int
    loss_ratio: float | None
    interval_ratio: Interval
    host_lost: int | None
    path_lost: int | None
    refused: int | None
    reordered: int | None
    verdicts: tuple[tuple[RateVerdict, int], ...]

    @property
    def verdict(self) -> RateVerdict | None:
        """What most cycles found; None where none did."""
        return self.verdicts[0][0] if self.verdicts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSearch:
    """One search: how it ended (None: it did not), its confirmed rates, and the same as a sentence."""

    cycle: int
    ending: SearchEnding | None
    below_bits_per_s: int | None
    above_bits_per_s: int | None
    trials: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessRate:
    """The highest rate with a loss of at most ``limit_ratio`` of one combination on one path.

    ``ending`` is that of every finished search, None where they differ or none is finished. The rates are
    medians over the cycles that found one, or over all finished where none did, ``below`` the highest
    confirmed, ``above`` the lowest with too much loss; both are rounded to no rate that was not tried where
    there is one cycle. ``interval`` holds the rate: from the low end of the median of ``below`` to the high
    end of that of ``above``, allowing for serial correlation.
    It is undecided where a search did not find a rate. ``text`` is the answer as a sentence.
    """

    name: str
    limit_ratio: float
    searches: int
    finished: int
    found: int
    ending: SearchEnding | None
    below_bits_per_s: float | None
    above_bits_per_s: float | None
    interval: Interval
    rates: tuple[TriedRate, ...]
    cycles: tuple[CycleSearch, ...]
    text: str

    @property
    def undecided(self) -> Undecided | None:
        """Why there is no interval over the cycles."""
        return self.interval.undecided


def measure_lossless_rates(
    table: TrialTable, plan: Sequence[PlanRecord], model: Mapping[str, Any]
) -> Iterator[Answer[LosslessRate]]:
    """An answer for every combination and path that has a trial, in the order of the plan."""
    rule = find_rule(model)
    if rule is None:
        return
    trials = _read_trials(table)
    indices = {trial.plan_row: index for index, trial in enumerate(trials)}
    groups: dict[SearchKey, list[RateSearch]] = {}
    for search in list_searches(plan, trials, rule):
        key = SearchKey(-1, search.key.path_source, search.key.path_destination, search.key.settings)
        groups.setdefault(key, []).append(search)
    levels: list[Mapping[str, Level]] = [dict(key.settings) for key in groups]
    varied = list_varied(levels)
    latest = {trial.plan_row: trial for trial in trials}
    for key, searches in groups.items():
        own = [row for search in searches for row in search.rows if row.row in latest]
        if not own:
            continue
        condition = table.conditions[indices[own[0].row]].without(RATE_FACTOR)
        result = _summarize(_name(key, varied), searches, own, latest, rule)
        streams, window = (dict(key.settings).get(name) for name in ("streams", "window_bytes"))
        yield Answer(
            condition=condition,
            selection=_count_selection(result, [latest[row.row] for row in own]),
            result=result,
            streams=streams,
            window_bytes=window,
            autotuned=window is None,
        )


def read_found_rates(table: TrialTable, plan: Sequence[PlanRecord], model: Mapping[str, Any]) -> Floats:
    """For each trial the rate that its search found, at one usable trial of each search; NaN elsewhere."""
    result, rule = np.full(len(table), np.nan), find_rule(model)
    trials = _read_trials(table)
    places = {
        trial.plan_row: index
        for index, trial in enumerate(trials)
        if not {Flag.LAB_LIMITED, Flag.HOST_STALLED}.intersection(trial.flags)
    }
    for search in list_searches(plan, trials, rule) if rule is not None else ():
        usable = [places[row] for row in search.measured if row in places]
        if usable and search.state.ending == SearchEnding.FOUND:
            result[usable[-1]] = search.state.below_bits_per_s or np.nan
    return result


def _read_trials(table: TrialTable) -> list[StoredTrial]:
    """Every stored trial in the order of measurement."""
    names = ("plan_row", "status", "failed_stage", "flags", "udp_sent_packets_per_s", *_COUNTS)
    known = [name for name in names if name in table.frame]
    columns = dict(zip(known, list_values(table.frame, known), strict=True))
    trials = []
    for values in zip(*(columns.get(name, [None] * len(table)) for name in names), strict=True):
        row, status, stage, flags, per_s, *counts = values
        whole = [None if count is None else int(count) for count in counts]
        trials.append(
            StoredTrial(
                plan_row=int(row),
                status=str(status),
                failed_stage=stage,
                flags=tuple(flags) if flags is not None else (),
                udp_sent_packets_per_s=None if per_s is None else float(per_s),
                **dict(zip(_COUNTS, whole, strict=True)),
            )
        )
    return trials


def _name(key: SearchKey, varied: Sequence[str]) -> str:
    levels = format_levels({name: level for name, level in key.settings if name in varied})
    path = f"{key.path_source} to {key.path_destination}"
    return ", ".join([path, *(f"{name} {text}" for name, text in levels.items())])


def _summarize(
    name: str,
    searches: Sequence[RateSearch],
    rows: Sequence[PlanRecord],
    latest: Mapping[int, StoredTrial],
    rule: SearchRule,
) -> LosslessRate:
    cycles = tuple(
        CycleSearch(
            cycle=search.key.cycle,
            ending=search.state.ending,
            below_bits_per_s=search.state.below_bits_per_s,
            above_bits_per_s=search.state.above_bits_per_s,
            trials=search.state.trials,
            text=describe_ending(search.state, rule),
        )
        for search in searches
    )
    finished = [search.state for search in searches if search.is_finished]
    endings = {state.ending for state in finished}
    states = [state for state in finished if state.ending == SearchEnding.FOUND]
    ended = states or finished
    below = [state.below_bits_per_s for state in ended if state.below_bits_per_s is not None]
    above = [state.above_bits_per_s for state in ended if state.above_bits_per_s is not None]
    interval = _bound_rate(below, above, all_found=bool(finished) and len(states) == len(finished))
    middle = float(np.median(below)) if below else None
    return LosslessRate(
        name=name,
        limit_ratio=rule.loss_ratio,
        searches=len(searches),
        finished=len(finished),
        found=len(states),
        ending=endings.pop() if len(endings) == 1 else None,
        below_bits_per_s=middle,
        above_bits_per_s=float(np.median(above)) if above else None,
        interval=interval,
        rates=tuple(_list_rates(searches, rows, latest, rule)),
        cycles=cycles,
        text=_describe(cycles, interval, rule, sum(not state.is_attributed for state in states)),
    )


def _bound_rate(below: Sequence[int], above: Sequence[int], *, all_found: bool) -> Interval:
    """From the low end of the median of ``below`` to the high end of that of ``above``.

    Each end is one of a 95 % interval of a median over cycles, in their order.
    """
    builder = IntervalBuilder(n=len(below), method=MEDIAN_METHOD, confidence_ratio=CONFIDENCE_RATIO)
    if not all_found:
        return builder.build_undecided(Undecided.INCONCLUSIVE)
    low, high = ordered_median_interval(below), ordered_median_interval(above)
    reason = low.undecided or high.undecided
    if low.limits is None or high.limits is None:
        return builder.build_undecided(reason or Undecided.TOO_FEW_SAMPLES)
    return builder.build(low.limits[0], high.limits[1]).cut_at(min(below), max(above))


def _describe(
    cycles: Sequence[CycleSearch], interval: Interval, rule: SearchRule, not_attributed: int
) -> str:
    """The answer in one sentence without a full stop: of several cycles the median, else each text once.

    ``not_attributed``: cycles with a found rate above which the loss may be the receiving host's.
    """
    result = [cycle for cycle in cycles if cycle.ending == SearchEnding.FOUND]
    texts = Counter(cycle.text for cycle in cycles if cycle not in result or len(result) == 1)
    parts = []
    if len(result) > 1:
        of = f"{len(result)} cycles" if not texts else f"{len(result)} of {len(cycles)} cycles"
        low, high = format_rate(interval.low), format_rate(interval.high)
        head = "CI cut to" if interval.cut else "95 % CI"
        ends = f"; {head} {low} to {high}" if interval.decided else ""
        rate = float(
            np.median([item.below_bits_per_s for item in result if item.below_bits_per_s is not None])
        )
        parts = [f"loss ≤ {format_ratio(rule.loss_ratio)} up to {format_rate(rate)} (median of {of}{ends})"]
        parts += [f"{NOT_ATTRIBUTED} in {not_attributed} of them"] if not_attributed else []
    if len(cycles) == 1:
        return cycles[0].text
    parts += [f"{text} ({count} cycle{'' if count == 1 else 's'})" for text, count in texts.items()]
    return "; ".join(parts)


def _list_rates(
    searches: Sequence[RateSearch],
    rows: Sequence[PlanRecord],
    latest: Mapping[int, StoredTrial],
    rule: SearchRule,
) -> Iterator[TriedRate]:
    """Every rate tried, from the lowest."""
    tried: dict[int, list[StoredTrial]] = {}
    for row in rows:
        trial = latest[row.row]
        if trial.status == Status.COMPLETE:
            tried.setdefault(read_rate(row), []).append(trial)
    verdicts: dict[int, Counter[RateVerdict]] = {}
    for search in searches:
        for item in search.state.rates:
            if item.verdict is not None:
                verdicts.setdefault(item.rate_bits_per_s, Counter())[item.verdict] += 1
    for rate in sorted(tried):
        yield _measure_rate(rate, tried[rate], verdicts.get(rate, Counter()), rule)


def _measure_rate(
    rate: int, trials: Sequence[StoredTrial], verdicts: Counter[RateVerdict], rule: SearchRule
) -> TriedRate:
    read = [read_trial(trial, rate) for trial in trials]
    chosen = choose_counted(read, rule)
    counted = [
        trial for trial, item in zip(trials, read, strict=True) if any(item is other for other in chosen)
    ]
    pooled = pool_trial_loss(
        [trial.udp_sent_packets or 0 for trial in counted],
        [min(trial.udp_lost_packets or 0, trial.udp_sent_packets or 0) for trial in counted],
        burst_packets=rule.burst_packets,
        confidence_ratio=rule.confidence_ratio,  # that of the verdicts, which it agrees with
    )
    short = sum(item.usable and is_short(item, rule) for item in read)
    return TriedRate(
        rate_bits_per_s=rate,
        trials=len(counted),
        short=short,
        not_counted=len(trials) - len(counted) - short,
        sent=pooled.sent,
        lost=pooled.lost,
        loss_ratio=pooled.loss_ratio,
        interval_ratio=pooled.interval_ratio,
        host_lost=_sum([trial.udp_lost_host_packets for trial in counted]),
        path_lost=_sum([trial.udp_lost_path_packets for trial in counted]),
        refused=_sum([trial.udp_refused_packets for trial in trials]),
        reordered=_sum([trial.udp_reordered_packets for trial in counted]),
        verdicts=tuple(verdicts.most_common()),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    """None where there is none, or one is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _count_selection(result: LosslessRate, trials: Sequence[StoredTrial]) -> SampleSelection:
    reasons = {
        SENDER_SHORT: sum(rate.short for rate in result.rates),
        NOT_COUNTED: sum(rate.not_counted for rate in result.rates),
        "not-complete": sum(trial.status != Status.COMPLETE for trial in trials),
    }
    return SampleSelection(
        trials=len(trials),
        used=sum(rate.trials for rate in result.rates),
        excluded=tuple(ExclusionCount(reason=name, trials=count) for name, count in reasons.items() if count),
    )
