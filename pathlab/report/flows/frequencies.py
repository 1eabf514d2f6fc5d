"""Frequencies of throughput, dRTT and RV, with SLAC's fits and the distributions that fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from pathlab.analysis.fits.distributions import DistributionFit
from pathlab.report.base import quantities as of
from pathlab.report.base.answer_table import Row
from pathlab.report.base.blocks import Block
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import (
    Drawing,
    LazyBlock,
    LazyFold,
    lazy_plot,
    lazy_text,
)
from pathlab.report.base.phrases import format_ci, format_count, format_figure, format_interval, format_reason
from pathlab.report.base.quantities import Quantity
from pathlab.report.base.shortfalls import FEW, find_shortfall
from pathlab.report.base.tables import build_table
from pathlab.report.plots.model import Axis, Bars, Curve, Layer, Panel
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.flows.delay import QuantitySpread
from pathlab.table_columns import list_table_columns
from pathlab.units import format_r_squared

#: The quantities that are counted, by their names in answers: the figure's key, its title, the quantity.
COUNTED: dict[str, tuple[str, str, Quantity]] = {
    "throughput_bits_per_s": ("frequency-throughput", "Throughput: frequencies", of.THROUGHPUT),
    "drtt_ns": ("frequency-drtt", "dRTT: frequencies", of.RISE_MEAN),
    "loaded_variability_ratio": (
        "frequency-variability",
        "Rate variability: frequencies",
        of.RV_LOADED,
    ),
}
#: Parameters with the unit of the samples; all others are plain numbers.
WITH_UNIT = frozenset({"mean", "sd", "scale"})


def list_frequency_blocks(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[LazyBlock]:
    """The distributions of one condition: a figure for each quantity, the fits as a table."""
    drawn = [
        name for name, (_, _, quantity) in COUNTED.items() if np.any(quantity.take(condition.sample) > 0)
    ]
    lacks = partial(find_shortfall, inputs, "distributions", condition)
    for name in drawn:
        key, title, _ = COUNTED[name]
        yield lazy_plot(condition, key, title, plot_frequency, inputs, condition, name, lacks=lacks)
    if drawn:
        fits = lazy_text(_build_fits_table, inputs, condition)
        yield LazyFold(title=f"All fits with their parameters: {condition.name}", blocks=(fits,))


def plot_frequency(inputs: ReportInputs, condition: MeasuredCondition, name: str) -> Drawing:
    """Counts in 20 bins with the exponential fit; below it the cumulative shares with the logarithmic one."""
    spread: QuantitySpread = next(
        answer.result for answer in inputs.answers("distributions", condition) if answer.quantity == name
    )
    quantity = COUNTED[name][2]
    edges = np.array(spread.edges)
    unit = quantity.choose_unit(edges)
    edges = edges / unit.size
    middles, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    counts = np.array(spread.decline.counts, dtype=np.float64)
    above: list[Layer] = [Bars(name="trials", x=middles, height=counts, width=0.95 * width)]
    if spread.decline.scale is not None:
        fitted = np.array(spread.decline.fitted_counts)
        above.append(Curve(name="exponential fit", x=middles, y=fitted, slot=1, markers=False))
    shares = 100 * np.array(spread.climb.shares)
    ends = edges[1:]
    below: list[Layer] = [Curve(name="share of trials", x=ends, y=shares, slot=0)]
    if spread.climb.slope is not None:
        fitted = 100 * np.array(spread.climb.fitted_shares)
        fitted[(fitted < 0) | (fitted > 100)] = np.nan  # a logarithm has no bounds, shares have
        below.append(Curve(name="logarithmic fit", x=ends, y=fitted, slot=2, markers=False))
    across = Axis(label=quantity.label, unit=unit.unit, from_zero=True)
    return Drawing(
        sentences=(_describe_fits(spread, quantity),),
        panels=(
            Panel(x=across, y=Axis(label="Trials", from_zero=True), layers=tuple(above)),
            Panel(x=across, y=Axis(label="At or below", unit="%", from_zero=True), layers=tuple(below)),
        ),
    )


def _describe_fits(spread: QuantitySpread, quantity: Quantity) -> str:
    decline, climb = spread.decline, spread.climb
    sentences = [f"{format_count(spread.distributions.n, 'trial')} of all combinations."]
    if decline.scale is None:
        sentences.append(
            f"Exponential fit of the frequencies: undecided ({format_reason(decline.undecided)})."
        )
    else:
        word = "fall" if decline.scale > 0 else "rise"
        sentences.append(
            f"Frequencies {word} by a factor of e every {quantity.format(abs(decline.scale))} "
            f"({format_ci(decline.scale_interval, quantity.format)}; "
            f"R² = {format_r_squared(decline.r_squared_ratio)})."
        )
    if climb.slope is None:
        sentences.append(f"Logarithmic fit of the shares: undecided ({format_reason(climb.undecided)}).")
    else:
        sentences.append(
            f"Shares follow {format_figure(climb.slope)} ln x {climb.offset or 0.0:+.3g} "
            f"with R² = {format_r_squared(climb.r_squared_ratio)}."
        )
    if spread.distributions.fits and spread.distributions.fits[0].aic is not None:
        best = spread.distributions.fits[0]
        sentences.append(
            f"Best-fitting distribution: {best.distribution} "
            f"(KS distance {format_figure(best.ks_distance_ratio)})."
        )
    elif spread.distributions.undecided is not None:
        sentences.append(
            f"Best-fitting distribution: undecided ({format_reason(spread.distributions.undecided)})."
        )
    return " ".join(sentences)


def _build_fits_table(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[Block]:
    """Distributions and fits with all parameters and their intervals."""
    rows: list[Row] = []
    for answer in inputs.answers("distributions", condition):
        if answer.quantity not in COUNTED:
            continue
        quantity = COUNTED[answer.quantity or ""][2]
        spread: QuantitySpread = answer.result
        rows += [_build_distribution_table(quantity, fit) for fit in spread.distributions.fits]
        rows += list(_build_source_fits_table(quantity, spread))
    yield build_table(
        f"distribution-fits-{condition.number}",
        f"Distributions and their fits: {condition.name}",
        list_table_columns(
            ("quantity", "fit", "parameters", "ΔAIC", "KS or R²", "undecided"),
            words=("quantity", "parameters", "undecided"),
        ),
        rows,
        note="Distributions: maximum likelihood, smallest AIC first, KS distance. Fits to 20 bins: R².",
    )


def _build_distribution_table(quantity: Quantity, fit: DistributionFit) -> Row:
    parameters = []
    for name, value in fit.parameters.items():
        formatter: Callable[[float | None], str] = quantity.format if name in WITH_UNIT else format_figure
        parameters.append(f"{name} {formatter(value)} ({format_interval(fit.intervals[name], formatter)})")
    return (
        quantity.label,
        str(fit.distribution),
        "; ".join(parameters),
        format_figure(fit.aic_difference),
        format_figure(fit.ks_distance_ratio),
        format_reason(fit.undecided) if fit.undecided else "",
    )


def _build_source_fits_table(quantity: Quantity, spread: QuantitySpread) -> Iterator[Row]:
    decline, climb = spread.decline, spread.climb
    scale = (
        f"scale {quantity.format(decline.scale)} ({format_interval(decline.scale_interval, quantity.format)})"
    )
    if {decline.undecided, climb.undecided} <= FEW:
        return
    yield (
        quantity.label,
        "frequencies, exponential",
        scale if decline.scale is not None else "",
        "",
        format_r_squared(decline.r_squared_ratio),
        format_reason(decline.undecided) if decline.undecided else "",
    )
    slope = f"slope {format_figure(climb.slope)} ({format_interval(climb.slope_interval, format_figure)})"
    offset = f"offset {format_figure(climb.offset)} ({format_interval(climb.offset_interval, format_figure)})"
    yield (
        quantity.label,
        "shares, logarithmic",
        f"{slope}; {offset}" if climb.slope is not None else "",
        "",
        format_r_squared(climb.r_squared_ratio),
        format_reason(climb.undecided) if climb.undecided else "",
    )
