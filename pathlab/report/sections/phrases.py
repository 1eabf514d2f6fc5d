"""Pieces of sentences: a spread with its interval, what is undecided, how many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.study.answer import Spread
from pathlab.study.cells import MeasuredCondition
from pathlab.units import NOT_MEASURED

Spell = Callable[[float | None], str]


def say_interval(interval: Interval, spell: Spell) -> str:
    """``95 % interval 3 ms to 4 ms``, or why it is undecided."""
    if interval.low is None or interval.high is None:
        return f"interval undecided: {say_reason(interval.undecided)}"
    ends = say_range(spell(interval.low), spell(interval.high))
    return f"{interval.confidence_ratio * 100:g} % interval {ends}"


def say_range(low: str, high: str) -> str:
    """``3 to 4 ms``: the unit once, where both have the same."""
    number, _, unit = low.rpartition(" ")
    return f"{number if number and high.endswith(f' {unit}') else low} to {high}"


def say_spread(spread: Spread, spell: Spell) -> str:
    """The median with its interval and the number of trials where that is too small for one."""
    if spread.median is None:
        return "not measured"
    if spread.interval.decided:
        return f"{spell(spread.median)} ({say_interval(spread.interval, spell)})"
    return f"{spell(spread.median)} ({say_count(spread.n, 'trial')}: no interval)"


def say_estimate(estimate: Estimate, spell: Spell) -> str:
    """An estimate with its interval, or why there is none."""
    if estimate.value is None:
        return f"undecided ({say_reason(estimate.undecided)})"
    return f"{spell(estimate.value)} ({say_interval(estimate.interval, spell)})"


def say_reason(reason: object) -> str:
    """A stable reason in words."""
    return str(reason).replace("-", " ") if reason is not None else NOT_MEASURED


def say_count(number: int, noun: str) -> str:
    """``1 trial``, ``3 trials``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_words(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def say_left_out(condition: MeasuredCondition) -> str:
    """How many stored trials are in no median, by reason; empty for none."""
    counts = [f"{one.trials} × {one.reason}" for one in condition.sample.selection.excluded]
    return f"In no median: {', '.join(counts)}." if counts else ""


def say_undecided(spreads: Iterable[Spread], noun: str = "cell") -> str:
    """How many medians have no interval, and why; empty for none."""
    open_ones = [spread for spread in spreads if spread.n and not spread.interval.decided]
    if not open_ones:
        return ""
    most = max(spread.n for spread in open_ones)
    subject = f"The median of one {noun} has"
    if len(open_ones) > 1:
        subject = f"The medians of {len(open_ones)} {noun}s have"
    needed = median_interval_minimum()
    return f"{subject} no interval: at most {say_count(most, 'trial')} each, and 95 % needs {needed}."
