"""Which setup carries messages at a rate and a latency with the least CPU time; the front of rate and p99."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from pathlab.analysis.estimators.corrections import holm_levels
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.verdicts.two_samples import GroupShift, compare_groups
from pathlab.errors import UsageError
from pathlab.study.base.answer import Answer, Spread, measure_spread
from pathlab.study.base.message_values import measure_cpu_per_message, pool_missing, read_round_trips_ns
from pathlab.study.base.trials import TrialTable
from pathlab.study.messages.combination_names import choose_usual
from pathlab.study.messages.message_latency import list_rate_series
from pathlab.study.messages.message_setups import MessageLoad, MessageSetup, make_load_answer
from pathlab.units import format_bytes, format_exact_bytes


class Shortcoming(StrEnum):
    """Why a setup is not shown to meet the targets. The values are stable and machine-readable."""

    RATE_MISSED = "rate-missed"  # in more than half of the trials
    RATE_UNSURE = "rate-missed-at-times"
    TOO_SLOW = "p99-above-target"
    UNDECIDED = "p99-undecided"  # its interval holds the target, or there is none
    NOT_MEASURED = "p99-not-measured"
    NOT_OFFERED = "rate-not-offered"  # every offered rate is lower


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTarget:
    """What is wanted: so many messages of this size per second, 99 % of them back within ``p99_ns``."""

    rate_per_s: int
    size_bytes: int
    p99_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFigures:
    """What one load cost: ``missed`` of ``trials`` did not keep the rate, spreads are over the others.

    ``achieved_messages_per_s`` is over all trials. ``carried``: None where some trials missed the rate.
    The share ``missing_ratio`` of the messages never returned; p99 counts them as the slowest.
    """

    offered_messages_per_s: int
    trials: int
    missed: int
    achieved_messages_per_s: Spread
    missing_ratio: float | None
    p99_ns: Spread
    cpu_ns_per_message: Spread

    @property
    def carried(self) -> bool | None:
        """Whether the rate was kept: in every trial True, in less than half of them False."""
        if not self.trials:
            return None
        return True if not self.missed else None if 2 * self.missed <= self.trials else False

    def find_shortcoming(self, p99_ns: int) -> Shortcoming | None:
        """Why this load is not shown to keep the latency; None where its interval shows that it does."""
        if self.carried is False:
            return Shortcoming.RATE_MISSED
        median, interval = self.p99_ns.median, self.p99_ns.interval
        if median is None:
            return Shortcoming.NOT_MEASURED
        limits = interval.limits
        if median > p99_ns if limits is None else limits[0] > p99_ns:
            return Shortcoming.TOO_SLOW
        if self.carried is None:
            return Shortcoming.RATE_UNSURE
        return None if limits is not None and limits[1] <= p99_ns else Shortcoming.UNDECIDED

    def seems_to_keep(self, p99_ns: int) -> bool:
        """Whether it keeps rate and latency by medians."""
        median = self.p99_ns.median
        return self.carried is not False and median is not None and median <= p99_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCandidate:
    """One setup and the targets. ``judged`` decide: the load at the target's rate or the next above first.

    ``judged`` is empty where no offered rate is that high; ``top`` is the highest that was offered, and
    ``highest`` the highest that was carried.
    ``meets``: it is shown to meet them; ``seems``: by medians. ``cpu_ratio``: its CPU time per message over
    that of the recommended one; the interval is at the level of Holm's procedure over all compared setups.
    """

    setup: MessageSetup
    judged: tuple[LoadFigures, ...]
    highest: LoadFigures
    top: LoadFigures
    shortcoming: Shortcoming | None
    seems: bool
    cpu_ratio: float | None = None
    cpu_ratio_interval: Interval | None = None

    @property
    def meets(self) -> bool:
        """Whether it is shown to meet the targets."""
        return self.shortcoming is None

    @property
    def figures(self) -> LoadFigures:
        """The load that the targets are compared with; the highest where none had their rate."""
        return self.judged[0] if self.judged else self.highest


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageChoice:
    """What to use on one path for the targets, and all setups, the best first.

    ``recommended`` None: nothing meets them, ``nearest`` comes nearest. ``tentative``: it is chosen by
    medians. ``runner_up`` also meets them and needs the next least CPU time. Whether a setup meets the
    targets is not corrected for the number of setups; ratios of CPU time are.
    """

    path_source: str
    path_destination: str
    medium: str
    target: MessageTarget
    recommended: MessageCandidate | None
    runner_up: MessageCandidate | None
    nearest: MessageCandidate | None
    tentative: bool
    candidates: tuple[MessageCandidate, ...]

    @property
    def is_offered(self) -> bool:
        """Whether any setup was offered the target's rate at least, or missed a lower one."""
        return any(candidate.shortcoming is not Shortcoming.NOT_OFFERED for candidate in self.candidates)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontPoint:
    """One load on the front of its path and size: no other has as high a rate at less p99, by medians.

    ``compared``: how many setups have a load that could be on it. ``rivals``: loads off the front with at
    least this rate whose p99 is not shown to differ from this one's.
    """

    setup: MessageSetup
    message_bytes: int
    figures: LoadFigures
    compared: int = 1
    rivals: tuple[str, ...] = ()


def choose_setups(table: TrialTable, target: MessageTarget) -> tuple[MessageChoice, ...]:
    """The choice of every path. UsageError where no trial has messages of that size at an offered rate.

    Notes
    -----
    A setup meets the targets where, at the lowest offered rate that is not below the target's, every trial
    kept the rate and the interval of the median p99 ends at or below the target. Where that rate is not the
    target's, the next lower one has to keep the latency too, since batching may delay less traffic more.
    Sizes and rates are not extrapolated. Of these the one with the least CPU time per message of both ends is
    recommended, by medians; a ratio of CPU time is ``two_samples.compare_groups``, corrected by Holm over all
    setups that meet the targets.
    """
    check_size(target.size_bytes, list_measured_sizes(table))
    paths: dict[tuple[str, str, str], list[tuple[MessageCandidate, MessageLoad]]] = {}
    for (setup, size), loads in _list_alternatives(table):
        if size == target.size_bytes:
            paths.setdefault(setup.path, []).append(_evaluate(setup, loads, target))
    return tuple(_choose(path, result, target) for path, result in paths.items())


def _list_alternatives(
    table: TrialTable,
) -> Iterator[tuple[tuple[MessageSetup, int], Sequence[MessageLoad]]]:
    """The loads of each setup and size but those of another build or recording alongside the usual one."""
    every = list(list_rate_series(table))
    usual = set(choose_usual(dict.fromkeys(setup for (setup, _), _ in every)))
    yield from (item for item in every if item[0][0] in usual)


#: What to do where nothing was measured that a choice could be made of.
MEASURE_FIRST = "measure round trips at several offered rates: pathlab run relay-latency"


def list_measured_sizes(table: TrialTable) -> tuple[int, ...]:
    """The sizes of messages with replies at an offered rate, ascending."""
    return tuple(sorted({size for (_, size), _ in list_rate_series(table)}))


def check_size(size_bytes: int, measured: Sequence[int]) -> None:
    """Raise UsageError unless messages of that size were measured."""
    if size_bytes not in measured:
        known = ", ".join(map(format_exact_bytes, measured))
        raise UsageError(
            f"messages of {format_bytes(size_bytes)} were not measured; sizes are not extrapolated",
            hint=f"name a measured size: {known}" if measured else MEASURE_FIRST,
        )


def describe_figures(load: MessageLoad) -> LoadFigures:
    """The figures of one load at an offered rate."""
    both = (load.kept, load.missed)
    achieved = [part.get("messages_per_s") for part in both]
    return LoadFigures(
        offered_messages_per_s=load.offered_messages_per_s or 0,
        trials=sum(map(len, both)),
        missed=len(load.missed),
        achieved_messages_per_s=measure_spread(np.concatenate(achieved)),
        missing_ratio=pool_missing(load.kept),
        p99_ns=measure_spread(read_round_trips_ns(load.kept, "p99")),
        cpu_ns_per_message=measure_spread(measure_cpu_per_message(load.kept)),
    )


def _evaluate(
    setup: MessageSetup, loads: Sequence[MessageLoad], target: MessageTarget
) -> tuple[MessageCandidate, MessageLoad]:
    figures = [describe_figures(load) for load in loads]
    above = [
        index for index, figure in enumerate(figures) if figure.offered_messages_per_s >= target.rate_per_s
    ]
    if not above:
        reason = Shortcoming.RATE_MISSED if figures[-1].carried is False else Shortcoming.NOT_OFFERED
        off = MessageCandidate(
            setup=setup,
            judged=(),
            highest=_find_highest(figures),
            top=figures[-1],
            shortcoming=reason,
            seems=False,
        )
        return off, loads[-1]
    first = above[0]
    judged = [figures[first]]
    if first and figures[first].offered_messages_per_s > target.rate_per_s:
        judged.append(figures[first - 1])
    result = [item for load in judged if (item := load.find_shortcoming(target.p99_ns)) is not None]
    candidate = MessageCandidate(
        setup=setup,
        judged=tuple(judged),
        highest=_find_highest(figures),
        top=figures[-1],
        shortcoming=result[0] if result else None,
        seems=all(item.seems_to_keep(target.p99_ns) for item in judged),
    )
    return candidate, loads[first]


def _find_highest(figures: Sequence[LoadFigures]) -> LoadFigures:
    carried = [figure for figure in figures if figure.carried is not False]
    return (carried or figures[:1])[-1]


def _choose(
    path: tuple[str, str, str],
    result: Sequence[tuple[MessageCandidate, MessageLoad]],
    target: MessageTarget,
) -> MessageChoice:
    shown = [item for item in result if item[0].meets]
    pool = sorted(shown or [item for item in result if item[0].seems], key=lambda item: _rank(item[0]))
    rest = [item for item, _ in result if all(item is not other for other, _ in pool)]
    rest.sort(key=lambda item: _measure_distance(item, target))
    kept = _compare_cpu(pool)
    return MessageChoice(
        path_source=path[0],
        path_destination=path[1],
        medium=path[2],
        target=target,
        recommended=kept[0] if kept else None,
        runner_up=kept[1] if len(kept) > 1 else None,
        nearest=None if kept else rest[0],
        tentative=bool(kept) and not shown,
        candidates=(*kept, *rest),
    )


def _rank(candidate: MessageCandidate) -> tuple[bool, float, float]:
    """Least CPU time first, then least p99; those without CPU time last."""
    spent, p99 = candidate.figures.cpu_ns_per_message.median, candidate.figures.p99_ns.median
    return spent is None, spent or 0.0, p99 or 0.0


def _measure_distance(candidate: MessageCandidate, target: MessageTarget) -> tuple[int, float, float]:
    """How far a setup is from the targets: by p99 where it carried the rate, else by the rate carried."""
    p99 = candidate.figures.p99_ns.median
    if candidate.judged and candidate.figures.carried is not False and p99 is not None:
        return 0, p99 / target.p99_ns, 0.0
    achieved = candidate.highest.achieved_messages_per_s.median
    return 1, target.rate_per_s / achieved if achieved else float("inf"), p99 or 0.0


def _compare_cpu(pool: Sequence[tuple[MessageCandidate, MessageLoad]]) -> tuple[MessageCandidate, ...]:
    """The candidates with their CPU time over that of the first."""
    if not pool:
        return ()
    spent = [measure_cpu_per_message(load.kept) for _, load in pool]
    spent = [values[values > 0] for values in spent]
    shifts = [compare_groups(spent[0], values) for values in spent[1:]]
    levels = holm_levels([item.p_value for item in shifts])
    others = (
        _add_ratio(candidate, shift.at(1 - level))
        for (candidate, _), shift, level in zip(pool[1:], shifts, levels, strict=True)
    )
    return (pool[0][0], *others)


def _add_ratio(candidate: MessageCandidate, shift: GroupShift) -> MessageCandidate:
    return replace(candidate, cpu_ratio=shift.ratio, cpu_ratio_interval=shift.interval_ratio)


def find_fronts(table: TrialTable) -> tuple[Answer[FrontPoint], ...]:
    """The loads of every path and size that no other beats in rate and p99, by ascending rate.

    Loads whose rate a trial missed are left out, and other builds or recordings next to the usual one. Pareto
    front by medians; what intervals do not decide is named in ``rivals``.
    """
    groups: dict[tuple[tuple[str, str, str], int], list[Answer[FrontPoint]]] = {}
    for (setup, size), loads in _list_alternatives(table):
        for load in loads:
            figures = describe_figures(load)
            if figures.carried and figures.p99_ns.median is not None:
                point = FrontPoint(setup=setup, message_bytes=size, figures=figures)
                groups.setdefault((setup.path, size), []).append(make_load_answer(load, point))
    return tuple(point for points in groups.values() for point in _find_front(points))


def _find_front(points: Sequence[Answer[FrontPoint]]) -> Iterator[Answer[FrontPoint]]:
    best = float("inf")
    front: list[Answer[FrontPoint]] = []
    for point in sorted(points, key=lambda item: _order(item.result)):
        p99 = point.result.figures.p99_ns.median or 0.0
        if p99 < best:
            best = p99
            front.append(point)
    places = {id(item) for item in front}
    others = [point.result for point in points if id(point) not in places]
    compared = len({point.result.setup for point in points})
    for point in reversed(front):
        names = (other.setup.name for other in others if _is_rival(point.result, other))
        result = replace(point.result, compared=compared, rivals=tuple(dict.fromkeys(names)))
        yield replace(point, result=result)


def _order(point: FrontPoint) -> tuple[int, float]:
    return -point.figures.offered_messages_per_s, point.figures.p99_ns.median or 0.0


def _is_rival(point: FrontPoint, other: FrontPoint) -> bool:
    """Whether another load has this rate at least, and a p99 whose interval overlaps this one's."""
    ours, theirs = point.figures.p99_ns.interval, other.figures.p99_ns.interval
    if ours.limits is None or theirs.limits is None or point.setup == other.setup:
        return False
    same = other.figures.offered_messages_per_s >= point.figures.offered_messages_per_s
    return same and not ours.lies_below(theirs)
