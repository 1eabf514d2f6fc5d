"""Pieces of sentences: a spread with its interval, what is undecided, how many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pathlab.analysis.estimators.interval import Interval, Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO, list_thresholds
from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.analysis.verdicts.two_samples import MINIMUM_TRIALS
from pathlab.quantities import UNITS, Format, find_format
from pathlab.study.base.answer import Spread
from pathlab.units import NOT_MEASURED, format_beside, format_r_squared, format_time

#: What is said of a trial in which a program did not run.
STALLED_TEXT = (
    "Limited by: undecided. A program of the trial was stopped or starved, so these figures do not describe "
    "the path. Measure again."
)


def format_figure(value: float | None) -> str:
    """A bare number with three significant digits."""
    return NOT_MEASURED if value is None else f"{value:.3g}"


def format_factor(value: float | None) -> str:
    """A ratio with three significant digits, or as many as keep it on its side of 1 and of the margin."""
    return NOT_MEASURED if value is None else format_beside(value, list_thresholds(MARGIN_RATIO))


def format_probability(value: float | None) -> str:
    """A p-value in a table: ``0.007``, ``< 0.001``."""
    if value is None:
        return NOT_MEASURED
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


#: How a figure is written, by its unit; one of another unit as a bare number.
FORMATS: Mapping[str, Format] = {
    **{name: unit.format for name, unit in UNITS.items() if unit.format is not None},
    "factor": format_factor,
    "R²": format_r_squared,
    "p": format_probability,
}


def choose_format(name: str) -> Format:
    """The format of a figure by the unit that its name ends with, such as ``drtt_ns``."""
    return find_format(name) or format_figure


def format_ci(interval: Interval, formatter: Format) -> str:
    """``95 % CI 3–4 ms``, ``CI cut to 3–4 ms``, ``95 % CI from 3 ms, ...``, or why there is none."""
    ends = format_interval(interval, formatter)
    if interval.low is None:
        return f"no confidence interval: {ends}"
    if interval.cut:
        return CUT_WORDS + ends.removesuffix(CUT_MARK)
    return f"{interval.confidence_ratio * 100:g} % CI {ends}"


def format_range(low: str, high: str) -> str:
    """``3–4 ms``: the unit once, where both have the same; ``-3 to 4 ms`` from below 0."""
    if low == high:
        return low
    number, _, unit = low.rpartition(" ")
    first = number if number and high.endswith(f" {unit}") else low
    return f"{first}{' to ' if low.startswith('-') else '–'}{high}"


def format_interval(interval: Interval, formatter: Format) -> str:
    """``3–4 ms``, ``3–3 ms`` where both ends read alike, or why there is no interval.

    ``3–4 ms†`` is cut: ``CUT_NOTE`` explains it, once. ``from 3 ms, not bounded above``: it has no upper end.
    """
    if interval.low is None:
        return format_reason(interval.undecided)
    if interval.high is None:
        return f"from {formatter(interval.low)}, not bounded above by these data"
    low, high = formatter(interval.low), formatter(interval.high)
    mark = CUT_MARK if interval.cut else ""
    if low == high:  # a single number in brackets would not read as an interval
        return f"{low.partition(' ')[0]}{' to ' if low.startswith('-') else '–'}{high}{mark}"
    return format_range(low, high) + mark


#: Behind a cut interval in a table, and what that is, said once where one is shown.
CUT_MARK, CUT_WORDS = "†", "CI cut to "
CUT_NOTE = (
    f"cut ({CUT_MARK}): a 95 % CI would reach beyond every measured value, so it ends at their range and its "
    "level is not known"
)


def note_cut(intervals: Iterable[Interval]) -> str:
    """``CUT_NOTE`` where one of these intervals is cut, else nothing."""
    return CUT_NOTE if any(interval.cut for interval in intervals) else ""


def explain_cut(intervals: Iterable[Interval]) -> str:
    """``note_cut`` as a sentence."""
    return explain_cut_texts([note_cut(intervals)])


def explain_cut_texts(texts: Iterable[str]) -> str:
    """``CUT_NOTE`` as a sentence where one of these texts has a cut interval, else nothing."""
    cut = any(CUT_MARK in text or CUT_WORDS in text for text in texts)
    return f"{CUT_NOTE[0].upper()}{CUT_NOTE[1:]}." if cut else ""


def format_spread(spread: Spread, formatter: Format) -> str:
    """The median with its interval, or the number of trials where that is too small for one."""
    if spread.median is None:
        return "not measured"
    if spread.interval.decided:
        return f"{formatter(spread.median)} ({format_ci(spread.interval, formatter)})"
    return f"{formatter(spread.median)} ({format_count(spread.n, 'trial')})"


def format_estimate(estimate: Estimate, formatter: Format) -> str:
    """An estimate with its interval, or why there is none."""
    if estimate.value is None and estimate.interval.low is not None:
        return f"at least {formatter(estimate.interval.low)} ({format_reason(estimate.undecided)})"
    if estimate.value is None:
        return f"undecided ({format_reason(estimate.undecided)})"
    return formatter(estimate.value) + format_in_brackets(estimate.interval, formatter)


def format_in_brackets(interval: Interval, formatter: Format) -> str:
    """`` (95 % CI 3–4 ms)`` behind a value; nothing for too few trials, which is stated once of all."""
    few = interval.undecided is Undecided.TOO_FEW_SAMPLES
    return "" if few else f" ({format_ci(interval, formatter)})"


def format_p_value(value: float) -> str:
    """``p = 0.007``, ``p < 0.001``."""
    text = format_probability(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def format_reason(reason: object) -> str:
    """A stable reason in words."""
    return str(reason).replace("-", " ") if reason is not None else NOT_MEASURED


def format_caveat(n: int, noun: str = "cycle", *, needed: int = MINIMUM_TRIALS, of: str = "") -> str:
    """`` (3 cycles, 6 needed)``, `` (no interval: 3 cycles, 6 needed)`` behind a value from too few of them.

    ``of``: what is missing for that reason.
    """
    return f" ({f'{of}: ' if of else ''}{format_few(n, noun, needed=needed)})"


def format_few(n: int, noun: str = "cycle", *, needed: int = MINIMUM_TRIALS) -> str:
    """``3 cycles, 6 needed``."""
    return f"{format_count(n, noun)}, {needed} needed"


def format_count(number: int, noun: str) -> str:
    """``1 trial``, ``3 trials``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_words(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def format_few_trials(spreads: Iterable[Spread], noun: str = "combination") -> str:
    """The number of medians without an interval and the trials that one needs, and what a cut one is.

    Empty where all medians have intervals that are not cut.
    """
    every = list(spreads)
    few = [spread.n for spread in every if spread.n and not spread.interval.decided]
    cut = explain_cut(spread.interval for spread in every)
    if not few:
        return cut
    text = (
        f"No confidence interval for {format_count(len(few), noun)}: at most "
        f"{format_count(max(few), 'trial')} each, {median_interval_minimum()} needed."
    )
    return f"{text} {cut}".strip()


def format_bounded_time(value_ns: float | None, above_ns: float | None) -> str:
    """A time, or that it is above another one: ``above 1 s``."""
    known = value_ns is not None or above_ns is None
    return format_time(value_ns) if known else f"above {format_time(above_ns)}"
