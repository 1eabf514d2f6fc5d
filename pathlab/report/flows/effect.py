"""dRTT and RV against throughput: their knees, and how well they agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.breakpoints import Breakpoint
from pathlab.quantities import DisplayUnit
from pathlab.report.base import quantities as of
from pathlab.report.base.answer_tables import list_answer_tables
from pathlab.report.base.blocks import Block, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import (
    Drawing,
    LazyBlock,
    LazyFold,
    LazySection,
    draw_panel,
    lazy_plot,
    lazy_text,
)
from pathlab.report.base.phrases import (
    format_count,
    format_estimate,
    format_figure,
    format_p_value,
    format_reason,
    format_spread,
)
from pathlab.report.base.points import draw_clouds, draw_rule, gather_windows
from pathlab.report.base.quantities import Quantity, reaches_zero
from pathlab.report.base.shortfalls import find_shortfall
from pathlab.report.base.tables import build_table
from pathlab.report.flows.frequencies import list_frequency_blocks
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Rule
from pathlab.report.plots.style import INK_SLOT
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.flows.delay import (
    STEADY_VARIABILITY_RATIO,
    ThroughputEffect,
    VariabilityFigures,
    describe_variability,
)
from pathlab.table_columns import list_table_columns
from pathlab.units import format_r_squared, format_rate, format_ratio

#: Fewest trials for a line or a distribution.
LEAST_TRIALS = 5
EFFECT = "RTT increase under load (dRTT) and rate variability (RV), by throughput"
AGREEMENT = "Rate variability (RV) against dRTT"
VARIABILITY = "Rate variability (RV) with and without load"
STEADY = format_ratio(STEADY_VARIABILITY_RATIO)


def plot_effect(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """DRTT, loaded and unloaded RV against throughput, with the lines that meet at the breakpoint."""
    effect = _find_effect(inputs, condition)
    rows = (
        (of.RISE_MEAN, effect.drtt if effect is not None else None),
        (of.RV_LOADED, effect.variability if effect is not None else None),
        (of.RV_UNLOADED, None),
    )
    unit = of.THROUGHPUT.choose_unit(condition.sample.rates_bits_per_s)
    near = reaches_zero(condition.sample.rates_bits_per_s)
    panels: list[Panel] = []
    sentences: list[str] = []
    for quantity, broken in rows:
        values = quantity.take(condition.sample)
        if np.isnan(values).all():
            sentences.append(f"{quantity.label}: not measured.")
            continue
        size = quantity.choose_unit(values)
        clouds = gather_windows(inputs, condition, (of.THROUGHPUT, quantity))
        drawn = draw_clouds(clouds, (unit.size, size.size), inputs.points // 2)
        layers: list[Layer] = [replace(layer, legend=not panels) for layer in drawn.layers]
        if broken is not None:
            layers += _draw_lines(broken, (unit, size))
            sentences.append(_describe_climb(quantity, broken))
        if quantity is of.RISE_MEAN:
            sentences.insert(0, drawn.words)
        panels.append(
            Panel(
                x=Axis(label="Throughput", unit=unit.unit, from_zero=near),
                y=Axis(label=quantity.short, unit=size.unit),
                layers=tuple(layers),
                title=quantity.label,
            )
        )
    return Drawing(
        sentences=tuple(sentences),
        panels=tuple(panels),
        empty="no round trips were measured",
    )


def plot_agreement(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """Loaded RV against dRTT with the straight line through them, and how well they agree."""
    effect = _find_effect(inputs, condition)
    rise, variability = of.RISE_MEAN.take(condition.sample), of.RV_LOADED.take(condition.sample)
    both = ~np.isnan(rise) & ~np.isnan(variability)
    if not both.any():
        reason = "dRTT and RV were not both measured"
        return Drawing(sentences=(f"{reason}.",), empty=reason)
    unit, size = of.RISE_MEAN.choose_unit(rise), of.RV_LOADED.choose_unit(variability)
    clouds = gather_windows(inputs, condition, (of.RISE_MEAN, of.RV_LOADED))
    drawn = draw_clouds(clouds, (unit.size, size.size), inputs.points)
    layers: list[Layer] = [replace(layer, legend=True) for layer in drawn.layers]
    if effect is not None and effect.r_squared_ratio is not None:
        layers.append(_draw_corners("straight line", effect.agreement_line, (unit, size)))
    x, y = Axis(label="Added delay (dRTT)", unit=unit.unit), Axis(label="RV, loaded", unit=size.unit)
    return draw_panel(x, y, layers, _describe_agreement(effect), drawn.words)


def plot_variability(condition: MeasuredCondition) -> Drawing:
    """The cumulative distributions of loaded and unloaded RV over all trials."""
    layers: list[Layer] = []
    sentences = []
    for slot, quantity in enumerate((of.RV_LOADED, of.RV_UNLOADED)):
        values = np.sort(_known(quantity, condition))
        if not values.size:
            sentences.append(f"{quantity.label}: not measured.")
            continue
        shares = np.arange(1, values.size + 1) / values.size
        chosen = np.unique(np.linspace(0, values.size - 1, 100).round().astype(int))
        layers.append(
            Curve(
                name=quantity.label,
                x=100 * values[chosen],
                y=100 * shares[chosen],
                slot=slot,
                markers=False,
                step=True,
            )
        )
        result = describe_variability(quantity.take(condition.sample))
        sentences.append(f"{quantity.label}: median {format_spread(result.spread, format_ratio)}.")
        sentences.append(f"{_describe_steady(result)}.")
    layers.append(Rule(name=f"RV of {STEADY}", value=100 * STEADY_VARIABILITY_RATIO, vertical=True))
    x = Axis(label="Rate variability", unit="%", from_zero=True)
    return draw_panel(x, Axis(label="Trials at or below it", unit="%", from_zero=True), layers, *sentences)


def _find_effect(inputs: ReportInputs, condition: MeasuredCondition) -> ThroughputEffect | None:
    answers = inputs.answers("breakpoint", condition)
    return answers[0].result if answers else None


def _known(quantity: Quantity, condition: MeasuredCondition) -> Floats:
    values = quantity.take(condition.sample)
    return values[~np.isnan(values)]


def _draw_lines(result: Breakpoint, axes: tuple[DisplayUnit, DisplayUnit]) -> list[Layer]:
    """The two lines that meet at the breakpoint, with its place, or the one line where no break was shown."""
    if not result.corners:
        return []
    place = result.breakpoint
    line = _draw_corners("one line" if place.value is None else "two lines", result.corners, axes)
    return [line, *draw_rule("breakpoint", place.value, place.interval, axes[0].size, vertical=True)]


def _draw_corners(
    name: str, corners: Sequence[tuple[float, float]], axes: tuple[DisplayUnit, DisplayUnit]
) -> Curve:
    """A fitted line through its corners."""
    x, y = np.array(corners).T
    return Curve(name=name, x=x / axes[0].size, y=y / axes[1].size, slot=INK_SLOT, markers=False)


def _describe_climb(quantity: Quantity, result: Breakpoint) -> str:
    if result.breakpoint.value is None:
        return f"{quantity.label}: {_explain(result)}."
    steeper = (result.slope_after.value or 0) > (result.slope_before.value or 0)
    p = "" if result.break_p is None else f", {format_p_value(result.break_p)}"
    where = format_estimate(result.breakpoint, format_rate)
    return f"{quantity.label} rises {'faster' if steeper else 'more slowly'} above {where}{p}."


def _explain(result: Breakpoint) -> str:
    """The reason why no knee of the delay curve was located."""
    if result.undecided is Undecided.TOO_FEW_SAMPLES:
        return "too few trials to locate the knee of the curve"
    return f"no knee of the curve located ({format_reason(result.undecided)})"


def _describe_agreement(effect: ThroughputEffect | None) -> str:
    if effect is None or effect.r_squared_ratio is None:
        reason = format_reason(effect.undecided) if effect is not None else "not measured"
        return f"Agreement of dRTT and RV: undecided ({reason})."
    return (
        f"dRTT and RV of {format_count(effect.n, 'trial')}: "
        f"R² = {format_r_squared(effect.r_squared_ratio)}; "
        f"rank correlation (Spearman) {format_figure(effect.spearman_ratio)}."
    )


def _describe_steady(figures: VariabilityFigures) -> str:
    share, trials = format_ratio(figures.steady_share_ratio), format_count(figures.spread.n, "trial")
    return f"{share} of {trials} have RV ≤ {STEADY}"


def _build_variability_table(inputs: ReportInputs) -> Iterator[Block]:
    """Loaded and unloaded RV side by side for every condition."""
    rows = []
    for condition in inputs.conditions:
        for quantity in (of.RV_LOADED, of.RV_UNLOADED):
            result = describe_variability(quantity.take(condition.sample))
            if not result.spread.n:
                continue
            rows.append(
                (
                    condition.name,
                    quantity.label.removeprefix("RV, "),
                    str(result.spread.n),
                    format_ratio(result.mean_ratio),
                    format_spread(result.spread, format_ratio),
                    format_ratio(result.spread.quartile_range),
                    format_ratio(result.spread.most),
                    format_ratio(result.steady_share_ratio),
                )
            )
    if rows:
        columns = ("path", "probes", "n", "mean", "median", "IQR", "max", f"trials with RV ≤ {STEADY}")
        yield build_table("variability-table", VARIABILITY, list_table_columns(columns), rows)


def _is_shown(condition: MeasuredCondition) -> bool:
    return len(condition.cells) > 1 and _known(of.RISE_MEAN, condition).size >= LEAST_TRIALS


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    conditions = list(filter(_is_shown, inputs.conditions))
    for condition in conditions:
        lacks = partial(find_shortfall, inputs, "breakpoint", condition)
        yield lazy_plot(condition, "delay-throughput", EFFECT, plot_effect, inputs, condition, lacks=lacks)
        yield lazy_plot(condition, "variability-drtt", AGREEMENT, plot_agreement, inputs, condition)
    yield from list_answer_tables(inputs, "breakpoint")
    shares = [
        lazy_plot(condition, "variability-cdf", VARIABILITY, plot_variability, condition)
        for condition in conditions
    ]
    yield LazyFold(title=VARIABILITY, blocks=(lazy_text(_build_variability_table, inputs), *shares))
    for condition in conditions:
        frequencies = tuple(list_frequency_blocks(inputs, condition))
        yield LazyFold(title=f"Frequencies and distributions: {condition.name}", blocks=frequencies)


def _find_gap(inputs: ReportInputs) -> str | None:
    if any(map(_is_shown, inputs.conditions)):
        return None
    if any(_known(of.RISE_MEAN, condition).size for condition in inputs.conditions):
        return f"it needs two combinations and {LEAST_TRIALS} trials with loaded and idle RTT on one path"
    return "no trial has both loaded and idle RTT"


SECTION = LazySection(
    key="throughput-effect",
    title="RTT against throughput",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.COST,
    choose_setting=lambda _: "factors.streams=[1,2,4,8]",
)
