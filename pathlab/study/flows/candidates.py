"""Each combination of a condition as a candidate: what it carried and what that cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import IntervalBuilder, Undecided
from pathlab.analysis.estimators.loss import Loss, pool_loss
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.estimators.payload import OVER_LINE_RATIO
from pathlab.analysis.verdicts.limits import Limit
from pathlab.analysis.verdicts.preference import Option
from pathlab.analysis.verdicts.slow_hours import SlowHours
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Spread, measure_bounded_spread, measure_rates, measure_spread
from pathlab.study.base.cells import Cell, Levels, MeasuredCondition
from pathlab.study.base.selection import PATH_FLAGS, Sample
from pathlab.study.flows.climbs import CellClimb
from pathlab.study.flows.limits import CellLimit
from pathlab.study.flows.steadiness import CellSteadiness

#: Trials under one of these say more of a host or of the lab than of the path.
LIMIT_FLAGS = tuple(flag for flag in PATH_FLAGS if flag.endswith("-limited"))
OVERLOADED = "the emulation was overloaded"
NO_LOSS = pool_loss((), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One combination: what it carried, what that cost, and whether it carries enough.

    Spreads are over the usable trials: complete, windows granted as requested, neither a host nor the lab
    at its limit; ``n`` of ``complete``. ``provisional``: none is usable, so spreads and ``n`` are over those
    whose only flaw is that the lab was at its limit; they have no interval and nothing is tested with them.
    ``share_ratio`` is the median over
    ``Recommendation.reference_bits_per_s``. ``enough`` True: shown to carry enough, False: shown not to,
    None: undecided; ``more_cycles`` more would probably decide (None: not known). ``exclusion``: why it
    cannot be recommended as a property of the path. ``over_line``: its median is above the link's payload
    rate, or half of its trials are flagged so; it is no reference, and ``share_ratio`` takes the payload rate
    for its median. ``climb``: whether the RTT was still rising at the end of its trials, read where it is
    recommended or the rival. ``at_requested_rate``: the limit is the application because of the rate
    requested. ``steadiness``: whether its trials had one rate each. ``slow_hours``: those of the day at which
    it is slower, if any are shown.
    """

    streams: int
    window_bytes: int | None
    n: int
    complete: int
    throughput_bits_per_s: Spread
    drtt_ns: Spread
    loaded_loss: Loss
    unloaded_loss: Loss
    variability_ratio: Spread
    sender_cpu_s_per_gb: Spread
    receiver_cpu_s_per_gb: Spread
    effective_window_bytes: float | None
    limit: Limit | None
    limit_undecided: str | None
    exclusion: str | None
    share_ratio: float | None = None
    enough: bool | None = None
    equivalent: bool | None = None
    more_cycles: int | None = None
    over_line: bool = False
    climb: CellClimb | None = None
    at_requested_rate: bool = False
    provisional: bool = False
    steadiness: CellSteadiness | None = None
    slow_hours: SlowHours | None = None

    @property
    def has_one_rate(self) -> bool:
        """Whether its median is a rate to expect: of steady trials, about one level, at every hour."""
        disturbed = self.steadiness is not None and self.steadiness.disturbed
        return not (disturbed or self.throughput_bits_per_s.modes or self.slow_hours)

    @property
    def levels(self) -> Levels:
        """Streams and window."""
        return self.streams, self.window_bytes

    @property
    def median_bits_per_s(self) -> float | None:
        """The median of the throughput."""
        return self.throughput_bits_per_s.median

    @property
    def testable(self) -> bool:
        """Whether tests may take its trials: no provisional ones, nor those alongside them."""
        return self.throughput_bits_per_s.interval.undecided is not Undecided.PROVISIONAL

    @property
    def size_bytes(self) -> float | None:
        """Streams x window; None for autotuned windows, which may grow to any size."""
        return None if self.window_bytes is None else self.streams * self.window_bytes

    @property
    def cpu_s_per_gb(self) -> float | None:
        """CPU seconds of both ends per 10^9 bytes received, the sum of their medians."""
        sender, receiver = self.sender_cpu_s_per_gb.median, self.receiver_cpu_s_per_gb.median
        return None if sender is None or receiver is None else sender + receiver

    @property
    def option(self) -> Option:
        """What it is preferred by."""
        return Option(
            # Of late probes the least possible delay: enough to be beaten by, and never less than a rival's.
            drtt_ns=self.drtt_ns.above_ns if self.drtt_ns.median is None else self.drtt_ns.median,
            drtt_interval=self.drtt_ns.interval,
            drtt_least_ns=self.drtt_ns.least,
            drtt_most_ns=self.drtt_ns.most,
            loss=NO_LOSS if self.provisional else self.loaded_loss,
            total_window_bytes=self.size_bytes,
            streams=self.streams,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSet:
    """The candidates of one condition with what their trials carried in each cycle."""

    measured: MeasuredCondition
    candidates: tuple[Candidate, ...]
    by_cycle: Mapping[Levels, Mapping[int, float]]

    def drawn_tests(self, tests: int) -> int:
        """As ``Sample.drawn_tests``."""
        return self.measured.sample.drawn_tests(tests)

    @property
    def delay_margin_ns(self) -> float:
        """Differences of dRTT up to this do not matter: the margin's share of the idle round trip."""
        taken = self.measured.sample if len(self.measured.sample) else self.measured.lab_limited
        idle = measure_spread(taken.get("unloaded_rtt_mean_ns")).median
        return 0.0 if idle is None else MARGIN_RATIO * idle


@dataclass(frozen=True, slots=True, kw_only=True)
class CellVerdicts:
    """What was found of each cell of a condition from its trials' series and times."""

    limits: Mapping[Levels, CellLimit] = field(default_factory=dict)
    steadiness: Mapping[Levels, CellSteadiness] = field(default_factory=dict)
    slow_hours: Mapping[Levels, SlowHours] = field(default_factory=dict)


def build_candidates(measured: MeasuredCondition, verdicts: CellVerdicts) -> CandidateSet:
    """Every cell of a condition, not yet compared with the others; none without a complete trial."""
    limited = np.logical_or.reduce([measured.complete.table.flagged(flag) for flag in LIMIT_FLAGS])
    known = {(cell.streams, cell.window_bytes): cell for cell in measured.all_cells}
    candidates, rates = [], {}
    for streams, window, complete in measured.complete.by_cell():
        levels = (streams, window)
        cell, limit = replace(known[levels], complete=complete), verdicts.limits.get(levels)
        result = _describe(cell, limit, _find_exclusion(cell, limited, limit))
        hours, steadiness = verdicts.slow_hours.get(levels), verdicts.steadiness.get(levels)
        candidates.append(replace(result, slow_hours=hours, steadiness=steadiness))
        rates[levels] = _rate_by_cycle(cell.sample)
    return CandidateSet(measured=measured, candidates=tuple(candidates), by_cycle=rates)


def admit_overloaded(group: CandidateSet) -> CandidateSet:
    """The candidates with those that the lab's overload alone excluded; nothing can be tested with them."""
    admitted = (
        replace(
            candidate,
            exclusion=None,
            throughput_bits_per_s=_drop_interval(candidate.throughput_bits_per_s),
            drtt_ns=_drop_interval(candidate.drtt_ns),
        )
        if candidate.exclusion == OVERLOADED
        else candidate
        for candidate in group.candidates
    )
    return replace(group, candidates=tuple(admitted), by_cycle={})


def _drop_interval(spread: Spread) -> Spread:
    interval = spread.interval
    builder = IntervalBuilder(
        n=interval.n, method=interval.method, confidence_ratio=interval.confidence_ratio
    )
    return replace(spread, interval=builder.build_undecided(Undecided.PROVISIONAL))


def mark_over_line(group: CandidateSet, line_bits_per_s: float | None) -> CandidateSet:
    """The candidates with those marked that counted more than the link can carry of data."""
    if line_bits_per_s is None:
        return group
    bar = line_bits_per_s * OVER_LINE_RATIO
    marked = (
        replace(candidate, over_line=candidate.over_line or (candidate.median_bits_per_s or 0.0) > bar)
        for candidate in group.candidates
    )
    return replace(group, candidates=tuple(marked))


def _find_exclusion(cell: Cell, limited: NDArray[np.bool_], limit: CellLimit | None) -> str | None:
    """Why the cell says nothing about the path; None where it does."""
    complete = cell.unreplaced
    held = int(limited[complete.places].sum())
    if cell.is_provisional:
        return OVERLOADED
    if held * 2 > len(complete):
        lab = int(complete.table.flagged(Flag.LAB_LIMITED)[complete.places].sum())
        return OVERLOADED if lab * 2 >= held else "a host was at its limit"
    if limit is not None and limit.limit is Limit.HOST_CPU:
        return "a host was at its limit"
    if np.isnan(complete.rates_bits_per_s).all():
        return "no throughput is known"
    if len(cell.sample) == 0:
        return "no trial had the windows and the congestion control as requested"
    return None


def _describe(cell: Cell, limit: CellLimit | None, exclusion: str | None) -> Candidate:
    part = cell.shown
    spent, carried = part.cpu_s, part.get("received_total_bytes") / 1e9
    known = np.where(carried > 0, carried, np.nan)
    measure = _measure_provisional if cell.is_provisional else measure_spread
    rates = measure_rates(part.rates_bits_per_s)
    rise = measure_bounded_spread(part.rise_ns, part.rise_above_ns)
    return Candidate(
        streams=cell.streams,
        window_bytes=cell.window_bytes,
        n=len(part),
        complete=len(cell.unreplaced),
        throughput_bits_per_s=_drop_interval(rates) if cell.is_provisional else rates,
        drtt_ns=_drop_interval(rise) if cell.is_provisional else rise,
        loaded_loss=part.pool_loss(),
        unloaded_loss=part.pool_loss("unloaded"),
        variability_ratio=measure(part.measure_variability()),
        sender_cpu_s_per_gb=measure(spent["sender"] / known),
        receiver_cpu_s_per_gb=measure(spent["receiver"] / known),
        effective_window_bytes=measure_spread(part.get("window_effective_bytes")).median,
        limit=None if limit is None else limit.limit,
        limit_undecided=None if limit is None or limit.undecided is None else str(limit.undecided),
        exclusion=exclusion,
        at_requested_rate=limit is not None and limit.at_requested_rate,
        over_line=bool(len(part))
        and 2 * int(part.table.flagged(Flag.OVER_LINE_RATE)[part.places].sum()) >= len(part),
        provisional=cell.is_provisional,
    )


def _measure_provisional(values: Floats) -> Spread:
    return _drop_interval(measure_spread(values))


def _rate_by_cycle(part: Sample) -> dict[int, float]:
    """The rate in each cycle, the mean where a cycle has several trials."""
    cycles, rates = part.cycles.astype(int), part.rates_bits_per_s
    numbers, places = np.unique(cycles, return_inverse=True)
    if numbers.size == 0:
        return {}
    means = np.bincount(places, weights=rates) / np.bincount(places)
    return dict(zip(numbers.tolist(), means.tolist(), strict=True))
