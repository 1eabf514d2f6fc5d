"""The rows that an answer of each analysis is told by, as texts with units."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.fits.breakpoints import Breakpoint
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.analysis.verdicts.equivalence import MARGIN_RATIO, list_flags
from pathlab.study.answer import Answer, Spread
from pathlab.units import (
    NOT_MEASURED,
    format_beside,
    format_bytes,
    format_r_squared,
    format_rate,
    format_ratio,
    format_time,
)

_CELL = re.compile(r"\b(\d+) x (\d+)\b")
Row = tuple[str, ...]
Format = Callable[[float | None], str]
#: What a distribution is of, by its name in answers: in short, and how its figures are written.
QUANTITIES: dict[str | None, tuple[str, Format]] = {
    "throughput_bits_per_s": ("throughput", format_rate),
    "drtt_ns": ("dRTT", format_time),
    "loaded_variability_ratio": ("RV, loaded", format_ratio),
}


def format_interval(interval: Interval, spell: Format) -> str:
    """``low–high``, ``-low to high`` where that begins below 0, or why there is none."""
    if interval.low is None or interval.high is None:
        return str(interval.undecided or NOT_MEASURED)
    word = " to " if interval.low < 0 else "–"
    return f"{spell(interval.low)}{word}{spell(interval.high)}"


def format_figure(value: float | None) -> str:
    """A bare number with three significant digits."""
    return NOT_MEASURED if value is None else f"{value:.3g}"


def format_factor(value: float | None) -> str:
    """A ratio with three significant digits, or as many as keep it on its side of 1 and of the margin."""
    return NOT_MEASURED if value is None else format_beside(value, list_flags(MARGIN_RATIO))


def _part(answer: Answer[Any]) -> str:
    """The part of the condition that an answer speaks of."""
    window = "auto" if answer.autotuned else None
    if answer.window_bytes is not None:
        window = format_bytes(answer.window_bytes)
    if answer.streams is not None:
        return f"{answer.streams} × {window}"
    if answer.quantity is not None:
        return spell_cells(answer.quantity)
    return window if window is not None else "all"


def spell_cells(text: str) -> str:
    """Cells that an analysis names, ``4 x 65536``, as people write them: ``4 × 64 KiB``."""
    return _CELL.sub(lambda found: f"{found[1]} × {format_bytes(int(found[2]))}", text).replace(" x ", " × ")


def _estimate(estimate: Estimate, spell: Format) -> str:
    if estimate.value is None:
        return str(estimate.undecided or NOT_MEASURED)
    return f"{spell(estimate.value)} ({format_interval(estimate.interval, spell)})"


def _spread(spread: Spread, spell: Format) -> str:
    return f"{spell(spread.median)} ({format_interval(spread.interval, spell)})"


def _why(result: Any) -> str:
    return str(result.undecided) if result.undecided is not None else ""


def tell_cells(answer: Answer[Any]) -> Sequence[Row]:
    """Spreads of a cell."""
    found = answer.result
    return [
        (
            _part(answer),
            str(answer.selection.used),
            _spread(found.throughput_bits_per_s, format_rate),
            format_time(found.drtt_ns.median),
            format_ratio(found.loaded_variability_ratio.median),
            format_ratio(found.loaded_loss.loss_ratio),
            format_figure(found.cpu_s_per_gb.median),
        )
    ]


def tell_pairs(answer: Answer[Any]) -> Sequence[Row]:
    """Two cells of equal product."""
    found, compared = answer.result, answer.result.comparison
    return [
        (
            f"{found.many_streams} × {format_bytes(found.many_window_bytes)} : "
            f"{found.large_streams} × {format_bytes(found.large_window_bytes)}",
            str(compared.pairs),
            format_figure(compared.ratio),
            format_interval(compared.ratio_interval, format_factor),
            format_figure(compared.p_value),
            compared.words,
        )
    ]


def tell_saturation(answer: Answer[Any]) -> Sequence[Row]:
    """The family of one window."""
    found = answer.result
    winner = found.winner or (f"{found.best}?" if found.best else NOT_MEASURED)
    weight = found.fits[0].weight_ratio if found.fits else None
    return [
        (
            _part(answer),
            str(found.n),
            str(winner),
            format_ratio(weight),
            _estimate(found.capacity, format_rate),
            _estimate(found.n_90, format_figure),
            _why(found),
        )
    ]


def tell_surface(answer: Answer[Any]) -> Sequence[Row]:
    """The surface of a condition."""
    found = answer.result
    return [
        (
            str(found.n),
            _estimate(found.capacity, format_rate),
            _estimate(found.effective_rtt, format_time),
            _estimate(found.sharpness, format_figure),
            format_figure(found.lack_of_fit_p),
            _why(found),
        )
    ]


def tell_optimum(answer: Answer[Any]) -> Sequence[Row]:
    """The least cost of one window."""
    found = answer.result
    interval = format_interval(found.interval, format_figure)
    return [(_part(answer), str(found.n), format_figure(found.streams), interval, _why(found))]


def tell_limits(answer: Answer[Any]) -> Sequence[Row]:
    """The limit of a cell."""
    found = answer.result
    counts = ", ".join(f"{one.limit or 'undecided'} {one.trials}" for one in found.counts)
    return [(_part(answer), str(found.limit or NOT_MEASURED), f"{found.judged}", counts, _why(found))]


def tell_warm_up(answer: Answer[Any]) -> Sequence[Row]:
    """The warm-up of a cell."""
    found = answer.result
    word = {True: "yes", False: "no", None: NOT_MEASURED}[found.sufficient]
    return [(_part(answer), word, str(found.judged), _why(found))]


def tell_tcp(answer: Answer[Any]) -> Sequence[Row]:
    """RFC 6349 of a cell."""
    found = answer.result
    return [
        (
            _part(answer),
            f"{format_rate(found.bottleneck_bits_per_s)} ({found.bottleneck or NOT_MEASURED})",
            format_bytes(None if found.capacity is None else found.capacity.bdp_bytes),
            _spread(found.transfer_time_ratio, format_figure),
            format_figure(found.efficiency_percent.median),
            format_figure(found.buffer_delay_percent.median),
            _why(found),
        )
    ]


def tell_cpu(answer: Answer[Any]) -> Sequence[Row]:
    """The CPU line of one end."""
    found, line, origin = answer.result, answer.result.with_intercept, answer.result.through_origin
    return [
        (
            _part(answer),
            str(found.n),
            format_figure(line.slope_percent_per_gbit_s),
            format_interval(line.slope_interval_percent_per_gbit_s, format_figure),
            format_r_squared(line.r_squared_ratio),
            format_figure(origin.slope_percent_per_gbit_s),
            format_figure(found.cpu_s_per_gb),
            _why(found),
        )
    ]


def tell_duration(answer: Answer[Any]) -> Sequence[Row]:
    """The change over durations."""
    found = answer.result
    interval = format_interval(found.interval_ratio, format_ratio)
    word = {True: "yes", False: "not shown", None: NOT_MEASURED}[found.equivalent]
    return [(_part(answer), str(found.n), format_ratio(found.change_ratio), interval, word, _why(found))]


def _climb(found: Breakpoint) -> str:
    """Where the line turns upwards; one that turns the other way is said to."""
    before, after = found.slope_before.value, found.slope_after.value
    text = _estimate(found.breakpoint, format_rate)
    return f"flatter from {text}" if before is not None and after is not None and after < before else text


def tell_effect(answer: Answer[Any]) -> Sequence[Row]:
    """Where delay climbs."""
    found = answer.result
    return [
        (
            str(found.n),
            _climb(found.drtt),
            _climb(found.variability),
            format_r_squared(found.r_squared_ratio),
            format_figure(found.spearman_ratio),
            format_ratio(found.steady_share_ratio),
        )
    ]


def tell_distribution(answer: Answer[Any]) -> Sequence[Row]:
    """The laws of one quantity."""
    found = answer.result
    best = found.laws.fits[0] if found.laws.fits else None
    name, spell = QUANTITIES.get(answer.quantity, (_part(answer), format_figure))
    return [
        (
            name,
            str(found.laws.n),
            str(best.distribution) if best else NOT_MEASURED,
            format_figure(best.ks_distance_ratio if best else None),
            spell(found.decline.scale),
            format_figure(found.climb.slope),
            _why(found.laws),
        )
    ]


def tell_serial(answer: Answer[Any]) -> Sequence[Row]:
    """Serial correlation of a cell."""
    found = answer.result
    first = found.autocorrelation.lag_ratios
    return [
        (
            _part(answer),
            str(found.size.n),
            format_figure(first[0] if first else None),
            format_figure(found.size.effective),
            f"{format_rate(found.median.estimate)} ({format_interval(found.median.interval, format_rate)})",
            _why(found.size),
        )
    ]


def tell_drift(answer: Answer[Any]) -> Sequence[Row]:
    """Drift of a condition."""
    found = answer.result
    return [
        (
            str(found.verdict),
            str(found.n),
            format_ratio(found.change.change_ratio),
            format_interval(found.change.interval_ratio, format_ratio),
            format_figure(found.trend_p_value),
            format_figure(found.step_p_value),
            _why(found),
        )
    ]


def tell_outliers(answer: Answer[Any]) -> Sequence[Row]:
    """Outliers of a cell."""
    found = answer.result
    named = ", ".join(map(str, found.trial_ids)) or "none"
    if found.outliers.undecided is not None:
        named = NOT_MEASURED
    return [(_part(answer), str(found.outliers.n), named, found.outliers.rule, _why(found.outliers))]


def tell_plan(answer: Answer[Any]) -> Sequence[Row]:
    """Cycles that a pair needs."""
    found = answer.result
    cycles = NOT_MEASURED if found.cycles is None else str(found.cycles)
    interval = format_interval(found.interval, format_figure)
    return [(_part(answer), cycles, interval, format_figure(found.spread), _why(found))]


def tell_precision(answer: Answer[Any]) -> Sequence[Row]:
    """Whether the cells are known well enough."""
    found = answer.result
    widest = found.cells[0] if found.cells else None
    return [
        (
            str(found.reason),
            str(found.cycles),
            spell_cells(widest.name) if widest else NOT_MEASURED,
            format_ratio(widest.half_width_ratio if widest else None),
        )
    ]


def tell_message(answer: Answer[Any]) -> Sequence[Row]:
    """The cost of a message in one cell."""
    return [(_part(answer), *describe_message_cost(answer.result))]


def describe_message_cost(found: Any) -> Row:
    """Cost of a message, rate of the bytes and half size of one fit, each with its interval."""
    return (
        str(found.n),
        f"{format_time(found.message_ns)} ({format_interval(found.message_interval_ns, format_time)})",
        f"{format_rate(found.rate_bits_per_s)} "
        f"({format_interval(found.rate_interval_bits_per_s, format_rate)})",
        f"{format_bytes(found.half_size_bytes)} "
        f"({format_interval(found.half_size_interval_bytes, format_bytes)})",
        _why(found),
    )


def tell_fairness(answer: Answer[Any]) -> Sequence[Row]:
    """Fairness of a cell."""
    found = answer.result
    return [(_part(answer), str(found.jain_ratio.n), _spread(found.jain_ratio, format_figure), _why(found))]
