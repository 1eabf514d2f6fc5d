"""How each combination of streams and window stands against the most that its path carried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO, correct_holm
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.loss import Loss, pool_loss
from pathlab.analysis.estimators.payload import OVER_LINE_RATIO
from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.analysis.planning.cycles import (
    MINIMUM_CYCLES,
    POWER_RATIO,
    cycles_to_decide,
    difference_power,
    find_cycles,
)
from pathlab.analysis.verdicts.equivalence import MARGIN_RATIO, evaluate_ratio
from pathlab.analysis.verdicts.limits import Limit
from pathlab.analysis.verdicts.preference import Option
from pathlab.analysis.verdicts.sufficiency import SUFFICIENT_RATIO
from pathlab.study.answer import Spread, measure_spread
from pathlab.study.climbs import CellClimb
from pathlab.study.limits import CellLimit
from pathlab.study.selection import PATH_FLAGS, Rules, Sample, select
from pathlab.study.source import Condition, TrialTable

Floats = NDArray[np.float64]
OVER_LINE = "over-line-rate"
Levels = tuple[int, int | None]  # streams, window asked for (None: autotuned)
#: Trials under one of these say more of a host or of the lab than of the path.
DOUBTS = tuple(flag for flag in PATH_FLAGS if flag.endswith("-limited"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One combination: what it carried, what that cost, and whether it carries enough.

    Spreads are over the trials that tell of the path: complete, windows granted as asked, neither host nor
    lab at its limit; ``n`` of ``complete``. ``throughput`` is the interval of the median, bit/s, with
    serial correlation allowed for. ``share_ratio`` is the median over ``PathAnswer.reference_bits_per_s``.
    ``enough`` True: shown to carry enough, False: shown not to, None: undecided; ``more_cycles`` more would
    change that (None: not known). ``doubt``: why it cannot be recommended as a property of the path.
    ``over_line``: its median is above the link's payload rate, or half of its trials are flagged so; it is no
    reference, and ``share_ratio`` takes the payload rate for its median. ``climb``: whether round trips still
    rose at the end of its trials, looked at where it is recommended or the rival.
    """

    streams: int
    window_bytes: int | None
    n: int
    complete: int
    rate: Spread
    throughput: Interval
    drtt_ns: Spread
    loaded_loss: Loss
    unloaded_loss: Loss
    variability_ratio: Spread
    sender_cpu_s_per_gb: Spread
    receiver_cpu_s_per_gb: Spread
    effective_window_bytes: float | None
    limit: Limit | None
    limit_undecided: str | None
    doubt: str | None
    share_ratio: float | None = None
    enough: bool | None = None
    equivalent: bool | None = None
    more_cycles: int | None = None
    over_line: bool = False
    climb: CellClimb | None = None

    @property
    def levels(self) -> Levels:
        """Streams and window."""
        return self.streams, self.window_bytes

    @property
    def size_bytes(self) -> float | None:
        """Streams x window; of autotuned windows what they came to."""
        window = self.effective_window_bytes if self.window_bytes is None else self.window_bytes
        return None if window is None else self.streams * window

    @property
    def option(self) -> Option:
        """What it is preferred by."""
        return Option(
            drtt_ns=self.drtt_ns.median,
            drtt_interval=self.drtt_ns.interval,
            drtt_least_ns=self.drtt_ns.least,
            drtt_most_ns=self.drtt_ns.most,
            loss=self.loaded_loss,
            total_window_bytes=self.size_bytes,
            streams=self.streams,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of one condition with what their trials carried in each cycle."""

    condition: Condition
    sample: Sample
    standings: tuple[Standing, ...]
    by_cycle: Mapping[Levels, Mapping[int, float]]

    @property
    def delay_margin_ns(self) -> float:
        """Differences of dRTT up to this do not matter: the margin's share of the idle round trip."""
        idle = measure_spread(self.sample.get("unloaded_rtt_mean_ns")).median
        return 0.0 if idle is None else MARGIN_RATIO * idle


def read_cells(table: TrialTable, limits: Mapping[tuple[Condition, Levels], CellLimit]) -> tuple[Cells, ...]:
    """Every condition's cells, not yet held against each other; none without a complete trial."""
    every = {sample.condition: sample for sample in select(table, Rules(flags=(), needed=()))}
    found = []
    for sample in select(table, Rules(as_requested=True)):
        complete = every[sample.condition]
        doubted = np.logical_or.reduce([table.flagged(flag) for flag in DOUBTS])
        taken = {(streams, window): part for streams, window, part in sample.by_cell()}
        standings, rates = [], {}
        for streams, window, part in complete.by_cell():
            levels = (streams, window)
            some = taken.get(levels) or part.take(np.zeros(len(part), dtype=bool))
            limit = limits.get((sample.condition, levels))
            doubt = _find_doubt(part, some, doubted, limit)
            standings.append(_describe(levels, len(part), some, limit, doubt))
            rates[levels] = _rate_by_cycle(some)
        found.append(
            Cells(condition=sample.condition, sample=sample, standings=tuple(standings), by_cycle=rates)
        )
    return tuple(found)


def mark_over_line(cells: Cells, line_bits_per_s: float | None) -> Cells:
    """The cells with those marked that counted more than the link can carry of data."""
    if line_bits_per_s is None:
        return cells
    bar = line_bits_per_s * OVER_LINE_RATIO
    marked = (
        replace(one, over_line=one.over_line or (one.rate.median is not None and one.rate.median > bar))
        for one in cells.standings
    )
    return replace(cells, standings=tuple(marked))


def judge_standings(
    cells: Cells, best: Standing | None, capacity: Estimate | None, line_bits_per_s: float | None = None
) -> tuple[Standing, ...]:
    """Every cell held against the best one, and against the capacity (fitted or the link's) if there is one.

    ``best`` None: no cell serves as the reference. A cell above the link's payload rate stays undecided: what
    it counted is more than it carried, by how much is not known.

    Enough, where its own median has an interval: equivalent to the best cycle by cycle (two one-sided tests,
    Holm-corrected over the cells), or
    surely at 90 % of the capacity or more: the lower end of the median's interval against the upper end of
    the capacity's. Without a capacity, the interval of the ratio to the best within cycles is held against
    90 %. Not enough: surely below.
    """
    usable = [one for one in cells.standings if one.rate.median is not None]
    first = None if best is None else best.levels
    pairs = {one.levels: _pair(cells, one.levels, first) for one in usable}
    over = {one.levels for one in usable if one.over_line}
    tests = {
        levels: evaluate_ratio(ours, theirs)
        for levels, (ours, theirs) in pairs.items()
        if first is not None and levels != first and levels not in over
    }
    corrected = correct_holm([test.p_value for test in tests.values()])
    same = dict(zip(tests, corrected.adjusted_p_values, strict=True))
    reference = capacity.value if capacity is not None else None if best is None else best.rate.median
    judged = []
    for one in cells.standings:
        if one.rate.median is None or not reference:
            judged.append(one)
            continue
        p_value = same.get(one.levels)
        equivalent = None if p_value is None else p_value < ALPHA_RATIO
        ratios = _ratios(pairs[one.levels])
        enough = _is_enough(one, capacity, ratios, is_best=one.levels == first)
        if equivalent and one.throughput.decided:
            enough = True
        if one.over_line:
            enough = None
        carried = min(one.rate.median, line_bits_per_s or reference) if one.over_line else one.rate.median
        judged.append(
            replace(
                one,
                share_ratio=carried / reference,
                enough=enough,
                equivalent=True if one.levels == first else equivalent,
                more_cycles=None if enough is not None else _count_more(one, ratios, len(tests)),
            )
        )
    return tuple(judged)


def _is_enough(one: Standing, capacity: Estimate | None, ratios: Floats, *, is_best: bool) -> bool | None:
    if is_best:  # nothing measured carries more, so that its own interval is all that it needs
        return True if one.throughput.decided else None
    if capacity is not None and capacity.interval.low is not None and capacity.interval.high is not None:
        low, high = one.throughput.low, one.throughput.high
        bar_low = SUFFICIENT_RATIO * capacity.interval.low
        bar_high = SUFFICIENT_RATIO * capacity.interval.high
    else:
        found = ordered_median_interval(ratios)
        low, high, bar_low, bar_high = found.low, found.high, SUFFICIENT_RATIO, SUFFICIENT_RATIO
    if low is None or high is None:
        return None
    if low >= bar_high:
        return True
    return False if high < bar_low else None


def _count_more(one: Standing, ratios: Floats, tests: int) -> int | None:
    """Cycles beyond those measured that would probably decide; None where nothing can be said.

    ``tests``: so many cells are tested for equivalence, corrected together.
    """
    if one.n < MINIMUM_CYCLES:
        return MINIMUM_CYCLES - one.n
    logs = np.log(ratios)
    if logs.size < MINIMUM_CYCLES or np.ptp(logs) == 0:
        return None
    mean, spread = float(logs.mean() - np.log(SUFFICIENT_RATIO)), float(logs.std(ddof=1))
    if mean == 0 or spread == 0:
        return None
    needed = find_cycles(lambda cycles: difference_power(mean, spread, cycles, ALPHA_RATIO), POWER_RATIO)
    outlooks = [
        cycles_to_decide(logs, alpha_ratio=ALPHA_RATIO / max(tests, 1)),
        None if needed is None else max(1, needed - logs.size),
    ]
    return min((cycles for cycles in outlooks if cycles is not None), default=None)


def _find_doubt(
    complete: Sample, taken: Sample, doubted: NDArray[np.bool_], limit: CellLimit | None
) -> str | None:
    """Why the cell says nothing sure of the path; None where it does."""
    held = int(doubted[complete.places].sum())
    if held * 2 > len(complete):
        lab = int(complete.table.flagged("lab-limited")[complete.places].sum())
        return "the lab was at its limit" if lab * 2 >= held else "a host was at its limit"
    if limit is not None and limit.limit is Limit.HOST_CPU:
        return "a host was at its limit"
    if np.isnan(complete.rates_bits_per_s).all():
        return "no throughput of it is known"
    if len(taken) == 0:
        return "no trial of it had the windows and the congestion control that were asked for"
    return None


def _describe(
    levels: Levels, complete: int, part: Sample, limit: CellLimit | None, doubt: str | None
) -> Standing:
    spent, carried = part.cpu_s, part.get("received_total_bytes") / 1e9
    known, rate = np.where(carried > 0, carried, np.nan), measure_spread(part.rates_bits_per_s)
    return Standing(
        streams=levels[0],
        window_bytes=levels[1],
        n=len(part),
        complete=complete,
        rate=rate,
        throughput=rate.interval,
        drtt_ns=measure_spread(part.rise_ns),
        loaded_loss=pool_loss(part.get("loaded_sent"), part.get("loaded_received")),
        unloaded_loss=pool_loss(part.get("unloaded_sent"), part.get("unloaded_received")),
        variability_ratio=measure_spread(part.measure_variability()),
        sender_cpu_s_per_gb=measure_spread(spent["sender"] / known),
        receiver_cpu_s_per_gb=measure_spread(spent["receiver"] / known),
        effective_window_bytes=measure_spread(part.get("window_effective_bytes")).median,
        limit=None if limit is None else limit.limit,
        limit_undecided=None if limit is None or limit.undecided is None else str(limit.undecided),
        doubt=doubt,
        over_line=bool(len(part)) and 2 * int(part.table.flagged(OVER_LINE)[part.places].sum()) >= len(part),
    )


def _rate_by_cycle(part: Sample) -> dict[int, float]:
    """The rate in each cycle, the mean where a cycle has several trials."""
    cycles, rates = part.cycles.astype(int), part.rates_bits_per_s
    numbers, places = np.unique(cycles, return_inverse=True)
    if numbers.size == 0:
        return {}
    means = np.bincount(places, weights=rates) / np.bincount(places)
    return dict(zip(numbers.tolist(), means.tolist(), strict=True))


def _pair(cells: Cells, first: Levels, second: Levels | None) -> tuple[Floats, Floats]:
    ours, theirs = cells.by_cycle.get(first, {}), {} if second is None else cells.by_cycle.get(second, {})
    shared: Sequence[int] = sorted(ours.keys() & theirs.keys())
    return np.array([ours[cycle] for cycle in shared]), np.array([theirs[cycle] for cycle in shared])


def _ratios(pair: tuple[Floats, Floats]) -> Floats:
    ours, theirs = pair
    above = (ours > 0) & (theirs > 0)
    ratios: Floats = ours[above] / theirs[above]
    return ratios
