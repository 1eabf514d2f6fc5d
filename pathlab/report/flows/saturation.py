"""Saturation in streams: the models with their weights, their averaged curve, its band and residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from pathlab.analysis.estimators.interval import Interval, Undecided
from pathlab.analysis.fits.model_average import FitBand
from pathlab.analysis.fits.optimum import OptimalStreams
from pathlab.analysis.fits.saturation import MINIMUM_LEVELS, TOLD_APART_RATIO, FamilyFit, Saturation
from pathlab.quantities import DisplayUnit
from pathlab.report.base import quantities as of
from pathlab.report.base.answer_table import Row
from pathlab.report.base.answer_tables import defer_answer_table
from pathlab.report.base.blocks import Block
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import (
    Drawing,
    LazyBlock,
    LazyFold,
    draw_panel,
    format_suffix,
    lazy_plot,
    lazy_text,
)
from pathlab.report.base.phrases import (
    format_estimate,
    format_figure,
    format_in_brackets,
    format_interval,
    format_probability,
    format_reason,
    join_words,
)
from pathlab.report.base.points import draw_clouds, draw_rule, gather
from pathlab.report.base.quantities import choose_unit
from pathlab.report.base.shortfalls import FEW, find_shortfall
from pathlab.report.base.tables import build_table
from pathlab.report.flows.views import build_streams_axis
from pathlab.report.plots.model import Area, Axis, Curve, Layer, Panel, Rule
from pathlab.study.base.answer import Answer
from pathlab.study.base.cells import MeasuredCondition
from pathlab.table_columns import list_table_columns
from pathlab.units import NOT_MEASURED, format_rate, format_ratio, format_window

#: Points of a fitted curve and its bands.
CURVE_POINTS = 48
#: Most windows of all conditions together that have their own figures in the page.
OWN_FIGURES = 16
SATURATION = "Throughput by number of streams: averaged models of each window"
#: The curve where no single model fits best.
AVERAGE = "average of the models"
OPTIMUM = "Added delay per Mbit/s, by number of streams"


def list_saturation_blocks(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[LazyBlock]:
    """The models of every window of one condition."""
    windows = [window for window in condition.windows if len(condition.along(window)) >= MINIMUM_LEVELS]
    yield defer_answer_table(inputs, "saturation", condition)
    if windows:
        yield lazy_plot(condition, "saturation", SATURATION, plot_windows, inputs, condition)
        own = tuple(
            lazy_plot(
                condition,
                "saturation",
                f"Throughput by number of streams: window {format_window(window)}",
                plot_window,
                inputs,
                condition,
                window,
                suffix=format_suffix(format_window(window)),
                on_demand=sum(len(item.windows) for item in inputs.conditions) > OWN_FIGURES,
            )
            for window in windows
        )
        models = lazy_text(_build_models_table, inputs, condition)
        yield LazyFold(title=f"Every model and every window: {condition.name}", blocks=(models, *own))


def list_optimum_blocks(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[LazyBlock]:
    """The streams with the least cost of one condition."""
    if any(len(condition.along(window)) > 1 for window in condition.windows):
        lacks = partial(find_shortfall, inputs, "optimum", condition)
        yield defer_answer_table(inputs, "optimum", condition)
        yield lazy_plot(condition, "optimum", OPTIMUM, plot_optimum, inputs, condition, lacks=lacks)


def _leave_empty(answers: Sequence[Answer[Any]]) -> Drawing:
    """An empty figure with its reason."""
    result = [answer.result.undecided for answer in answers if answer.result.undecided is not None]
    reasons = join_words(list(dict.fromkeys(map(format_reason, result))))
    reason = f"undecided: {reasons or 'no usable trial'}"
    return Drawing(empty=reason)


def plot_windows(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """Every window's averaged models with the band for one new trial, and the cells' distance from them."""
    every = inputs.answers("saturation", condition)
    answers = [item for item in every if item.result.residuals is not None]
    if not answers:
        return _leave_empty(every)
    unit = choose_unit("bit/s", condition.sample.rates_bits_per_s)
    above: list[Layer] = []
    means: list[Layer] = []
    below: list[Layer] = [Rule(name="fitted", value=0.0)]
    for answer in answers:
        slot, name = inputs.slot(answer.window_bytes), format_window(answer.window_bytes)
        saturation: Saturation = answer.result
        line = f"window {name}: {_name_curve(saturation)}"
        above += _draw_fit(saturation, (line, line), slot, unit.size)
        below.append(_draw_residuals(saturation, line, slot))
        means.append(_draw_cells(saturation, line, slot, unit.size, fitted=False))
    sentences = tuple(_describe_saturation(answer) for answer in answers)
    return Drawing(sentences=sentences, panels=_build_panels(condition, unit, [*above, *means], below))


def plot_window(inputs: ReportInputs, condition: MeasuredCondition, window_bytes: int | None) -> Drawing:
    """One window: trials, the averaged models, their band and capacity, and the residuals."""
    answers = [item for item in inputs.answers("saturation", condition) if item.window_bytes == window_bytes]
    if not answers or answers[0].result.residuals is None:
        return _leave_empty(answers)
    answer = answers[0]
    saturation: Saturation = answer.result
    slot = inputs.slot(window_bytes)
    cells = condition.along(window_bytes)
    unit = choose_unit("bit/s", np.concatenate([cell.sample.rates_bits_per_s for cell in cells]))
    across = of.Quantity(label="Streams", take=lambda sample: sample.streams)
    cloud = gather("trials", slot, cells, (across, of.THROUGHPUT))
    drawn = draw_clouds([cloud], (1.0, unit.size), inputs.points)
    layers = _draw_fit(saturation, (_name_curve(saturation), "one new trial, 95 %"), slot, unit.size)
    layers += drawn.layers
    layers += draw_rule("fitted capacity", saturation.capacity.value, saturation.capacity.interval, unit.size)
    below = (Rule(name="fitted", value=0.0), _draw_residuals(saturation, "mean minus fit", slot))
    sentences = (_describe_saturation(answer), drawn.words)
    return Drawing(sentences=sentences, panels=_build_panels(condition, unit, layers, below))


def _build_panels(
    condition: MeasuredCondition, unit: DisplayUnit, above: Sequence[Layer], below: Sequence[Layer]
) -> tuple[Panel, Panel]:
    """Throughput with the models, and the residuals below it."""
    axis = build_streams_axis(condition.stream_counts)
    return (
        Panel(x=axis, y=Axis(label="Throughput", unit=unit.unit, from_zero=True), layers=tuple(above)),
        Panel(x=axis, y=Axis(label="Residual", unit="%"), layers=tuple(below)),
    )


def plot_optimum(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """DRTT per throughput against streams, a line for each window; the least is marked in the sentence."""
    layers: list[Layer] = []
    sentences = []
    answers = inputs.answers("optimum", condition)
    if not any(answer.result.candidates for answer in answers):
        return _leave_empty(answers)
    for answer in answers:
        streams: OptimalStreams = answer.result
        if not streams.candidates:
            continue
        name = format_window(answer.window_bytes)
        layers.append(
            Curve(
                name=f"window {name}",
                x=np.array(streams.candidates),
                y=np.array(streams.cost_ns_per_bit_per_s),  # ns per bit/s are ms per Mbit/s
                slot=inputs.slot(answer.window_bytes),
            )
        )
        least = (
            f"{streams.streams:g}"
            if streams.streams is not None
            else f"undecided ({format_reason(streams.undecided)})"
        )
        sentences.append(f"{name}: {least}{format_in_brackets(streams.interval, format_figure)}")
    x, y = build_streams_axis(condition.stream_counts), Axis(label="dRTT / throughput", unit="ms per Mbit/s")
    text = f"Streams with the least mean dRTT / mean throughput, window {'; '.join(sentences)}."
    return draw_panel(x, y, layers, text)


def _draw_fit(saturation: Saturation, names: tuple[str, str], slot: int, size: float) -> list[Layer]:
    """The curve fitted to the cells of one window, and the band for one new trial, with their ``names``.

    Where there are too few cycles for a band, the curve goes through its values at the cells. If the names
    are equal, the legend has one of them.
    """
    name, band_name = names
    band: FitBand | None = saturation.band
    if band is None:
        return [_draw_cells(saturation, name, slot, size, fitted=True)]
    chosen = np.unique(np.linspace(0, len(band.streams) - 1, CURVE_POINTS).round().astype(int))
    x = np.array(band.streams, dtype=np.float64)[chosen]
    fitted, low, high = (
        np.array(values, dtype=np.float64)[chosen] / size if values else np.full(chosen.size, np.nan)
        for values in (band.fitted_bits_per_s, band.trial_low_bits_per_s, band.trial_high_bits_per_s)
    )
    return [
        Area(name=band_name, x=x, low=low, high=high, slot=slot, legend=band_name != name),
        Curve(name=name, x=x, y=fitted, slot=slot, markers=False),
    ]


def _draw_residuals(saturation: Saturation, name: str, slot: int) -> Curve:
    residuals = saturation.residuals
    levels = residuals.cell_levels if residuals is not None else ()
    ratios = residuals.cell_ratio if residuals is not None else ()
    x = np.array([level[0] for level in levels], dtype=np.float64)
    return Curve(
        name=name, x=x, y=100 * np.array(ratios, dtype=np.float64), slot=slot, line=False, legend=False
    )


def _draw_cells(saturation: Saturation, name: str, slot: int, size: float, *, fitted: bool) -> Curve:
    """The curve at the cells of one window, or their means, which it was fitted to."""
    rests = saturation.residuals
    levels = rests.cell_levels if rests is not None else ()
    values = (rests.cell_fitted_bits_per_s if fitted else rests.cell_means_bits_per_s) if rests else ()
    return Curve(
        name=name,
        x=np.array([level[0] for level in levels], dtype=np.float64),
        y=np.array(values, dtype=np.float64) / size,
        slot=slot,
        line=fitted,
        markers=not fitted,
        legend=fitted,
    )


def _name_curve(saturation: Saturation) -> str:
    """What was drawn: the one model that fits clearly best, or the average."""
    weight = saturation.fits[0].weight_ratio if saturation.fits else None
    return str(saturation.best) if weight is not None and weight >= TOLD_APART_RATIO else AVERAGE


def _describe_saturation(answer: Answer[Any]) -> str:
    saturation: Saturation = answer.result
    head = f"Window {format_window(answer.window_bytes)}: {_name_curve(saturation)}"
    if saturation.fits:
        head += f" (best model {saturation.best}, weight {format_ratio(saturation.fits[0].weight_ratio)})"
    if saturation.rivals:
        head += f"; {join_words([str(rival) for rival in saturation.rivals])} fit about as well"
    if saturation.capacity.value is None:
        least = saturation.capacity.interval.low
        what = "undecided" if least is None else f"at least {format_rate(least)}"
        return f"{head}. Capacity {what}: {_explain_undecided(saturation.capacity.undecided)}."
    text = f"{head}. Capacity {format_estimate(saturation.capacity, format_rate)}"
    if saturation.n_90.undecided is Undecided.BEYOND_RANGE:
        return f"{text}; fewer streams than measured may reach 90 % of it."
    return f"{text}; streams for 90 % of it: {format_estimate(saturation.n_90, format_figure)}."


def _explain_undecided(reason: Undecided | None) -> str:
    """The reason why there is no capacity, and what would decide it."""
    if reason is Undecided.STILL_RISING:
        return "throughput may still rise with more streams; measure more streams or more cycles"
    if reason is Undecided.NO_FIT:
        return "no model fits; deviations are shown below"
    return format_reason(reason)


def _build_models_table(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[Block]:
    answers = inputs.answers("saturation", condition)
    columns = (
        "window",
        "model",
        "formula",
        "weight",
        "ΔAICc",
        "RMSE",
        "lack of fit p",
        "parameters",
        "undecided",
    )
    rows = [
        (format_window(answer.window_bytes), *_build_family_table(answer.result, fit))
        for answer in answers
        for fit in answer.result.fits
        if fit.undecided not in FEW
    ]
    if rows:
        yield build_table(
            f"saturation-models-{condition.number}",
            f"Models of saturation: {condition.name}",
            list_table_columns(columns, ("window", "model", "formula", "parameters", "undecided")),
            rows,
            note="Akaike weights. Parameters have a 95 % CI where one model has 90 % of the weight.",
        )


def _build_family_table(saturation: Saturation, fit: FamilyFit) -> Row:
    return (
        str(fit.family),
        fit.formula,
        _format_weight(fit.weight_ratio),
        format_figure(fit.aicc_difference),
        format_ratio(fit.rmse_ratio),
        format_probability(fit.lack_of_fit_p),
        _format_parameters(saturation, fit),
        format_reason(fit.undecided) if fit.undecided else "",
    )


def _format_end(interval: Interval) -> str:
    """The interval behind a parameter; nothing for too few trials, which is stated once of all."""
    few = interval.undecided is Undecided.TOO_FEW_SAMPLES
    return "" if few else f" ({format_interval(interval, format_figure)})"


def _format_weight(ratio: float | None) -> str:
    """A weight in percent; ``< 0.1 %`` for a smaller one."""
    return "< 0.1 %" if ratio is not None and ratio < 0.001 else format_ratio(ratio)


def _format_parameters(result: Saturation, fit: FamilyFit) -> str:
    if fit.family is result.best:
        return "; ".join(
            f"{item.name} = {format_figure(item.value)}{_format_end(item.interval)} {item.unit}".strip()
            for item in result.parameters
        )
    return (
        "; ".join(f"{name} = {format_figure(value)}" for name, value in fit.parameters.items())
        or NOT_MEASURED
    )
