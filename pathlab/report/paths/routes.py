"""A path hop by hop: route, MTU, capacity and latency, as ``pathlab path`` and surveys of campaigns found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.report.base.answer_table import Row
from pathlab.report.base.answer_tables import write_paragraph
from pathlab.report.base.blocks import Block, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import (
    Drawing,
    LazyBlock,
    LazySection,
    lazy_plot,
    lazy_text,
)
from pathlab.report.base.phrases import format_count, format_range, format_reason
from pathlab.report.base.quantities import choose_unit
from pathlab.report.base.tables import build_table
from pathlab.report.plots.model import Axis, Curve, Panel, Plot, Scale
from pathlab.study.paths.surveys import CHANGE, SURVEY, Survey, list_surveys
from pathlab.table_columns import list_table_columns
from pathlab.units import NOT_MEASURED, format_bytes, format_r_squared, format_rate, format_ratio, format_time

COLUMNS = list_table_columns(
    (
        *("hop", "address", "RTT min", "RTT median", "Loss"),
        *("capacity", "95 % CI", "R²", "latency", "undecided"),
    ),
    words=("hop", "undecided"),
)
#: Most hops that are named along the axis by their addresses: in a report, and in a file of the path alone.
NAMED_HOPS, NAMED_HOPS_ALONE = 3, 6
LABELLED_HOPS = 7  # of which the rates have room alongside each other
TITLE = "Capacity and latency along the path"
#: Times to a hop, by their names in the document.
TRIPS = {
    "rtt_min_ns": "RTT, minimum",
    "rtt_median_ns": "RTT, median",
    "latency_to_hop_ns": "one-way latency to here",
}


def plot_path(document: Mapping[str, Any]) -> Plot:
    """The figure of one path: ``document`` is what ``pathlab path --json`` writes."""
    target, address = document["target"], document["address"]
    shown = target if target == address else f"{target} ({address})"
    name = f"{document['source']} → {shown}"
    survey = Survey(number=1, name=name, surveyed_utc=document["started_utc"], document=document)
    plot = lazy_plot(survey, "path", TITLE, plot_survey, survey, NAMED_HOPS_ALONE).build()
    if len(survey.hops) <= NAMED_HOPS_ALONE:
        return plot
    hops = ", ".join(f"{hop['hop']}:\u00a0{_format_address(hop)}" for hop in survey.hops)
    return replace(plot, condition=f"{plot.condition} · {hops}")


def plot_survey(survey: Survey, named_hops: int = NAMED_HOPS) -> Drawing:
    """Capacity of each hop with its interval or lower bound; the round trips and the latency to it."""
    numbers = np.array([float(hop["hop"]) for hop in survey.hops])
    rows = [survey.read_capacity(int(number)) for number in numbers]
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    bounds = np.where(np.isnan(table[:, 0]), survey.read("at_least_bits_per_s", 1.0), np.nan)
    unit = choose_unit("bit/s", np.concatenate((table[:, 0], bounds)))
    rated = numbers[~np.isnan(table[:, 0]) | ~np.isnan(bounds)].tolist()
    labelled = _choose_labelled(rated, survey.find_narrowest())
    capacity = Curve(
        name="capacity",
        x=numbers,
        y=table[:, 0] / unit.size,
        low=table[:, 1] / unit.size,
        high=table[:, 2] / unit.size,
        line=False,
        filled=True,
        texts=_write_rates(numbers, table[:, 0], labelled),
    )
    bound = Curve(
        name="at least (undecided)",
        x=numbers,
        y=bounds / unit.size,
        slot=4,
        line=False,
        texts=tuple(f"≥ {text}" if text else "" for text in _write_rates(numbers, bounds, labelled)),
    )
    trips = [
        Curve(name=name, x=numbers, y=survey.read(key, 1e6), slot=slot)
        for slot, (key, name) in enumerate(TRIPS.items(), start=1)
    ]
    shown = [trip for trip in trips if np.isfinite(trip.y).any()]
    named = len(survey.hops) <= named_hops
    labels = tuple(
        f"{hop['hop']}: {_format_address(hop)}" if named else str(hop["hop"]) for hop in survey.hops
    )
    axis = Axis(label="Hop", ticks=tuple(numbers.tolist()), tick_labels=labels)
    panels = [Panel(x=axis, y=Axis(label="Time", unit="ms", from_zero=True), layers=tuple(shown))]
    layers = [item for item in (capacity, bound) if np.isfinite(item.y).any()]
    if layers:
        scale = Axis(label="Capacity", unit=unit.unit, scale=Scale.LOG10)
        panels.insert(0, Panel(x=axis, y=scale, layers=tuple(layers)))
    return Drawing(
        sentences=(_describe_survey(survey),),
        panels=tuple(panels),
    )


def _choose_labelled(hops: Sequence[float], narrowest: int | None) -> set[float]:
    """The hops whose rates are written: the narrowest, then all those with room alongside the others."""
    chosen: set[float] = set()
    for hop in sorted(hops, key=lambda hop: hop != narrowest):
        if all(abs(hop - other) >= len(hops) / LABELLED_HOPS for other in chosen):
            chosen.add(hop)
    return chosen


def _write_rates(hops: Floats, rates: Floats, labelled: Collection[float]) -> tuple[str, ...]:
    known = ~np.isnan(rates)
    return tuple(
        format_rate(rate) if there and hop in labelled else ""
        for hop, rate, there in zip(hops.tolist(), rates.tolist(), known.tolist(), strict=True)
    )


def _format_address(hop: Mapping[str, Any]) -> str:
    return "/".join(hop.get("addresses") or ()) or "no answer"


def _describe_survey(survey: Survey) -> str:
    mtu = (survey.document.get("mtu") or {}).get("mtu_bytes")
    text = format_count(len(survey.hops), "hop")
    if not survey.route.get("reached"):
        text += ", destination not reached"
    text += f"; MTU {format_bytes(mtu)}" if mtu is not None else "; MTU not found"
    narrowest = survey.find_narrowest()
    if narrowest is None:
        return f"{text}; no hop's capacity was estimated."
    capacity, low, high = map(format_rate, survey.read_capacity(narrowest))
    ends = format_range(low, high)
    return f"{text}; narrowest estimated hop: {narrowest} with {capacity} (95 % CI {ends})."


def _build_survey_table(survey: Survey) -> Iterator[Block]:
    yield build_table(
        f"path-table-{survey.number}",
        f"Hops: {survey.name}",
        COLUMNS,
        [_build_hop_table(hop, survey) for hop in survey.hops],
    )


def _build_hop_table(hop: Mapping[str, Any], survey: Survey) -> Row:
    estimate = survey.estimates.get(hop["hop"], {})
    capacity, low, high = survey.read_capacity(hop["hop"])
    known = not np.isnan([low, high]).any()
    return (
        str(hop["hop"]),
        _format_address(hop),
        format_time(hop.get("rtt_min_ns")),
        format_time(hop.get("rtt_median_ns")),
        format_ratio((hop.get("loss") or {}).get("loss_ratio")),
        format_rate(capacity),
        format_range(format_rate(low), format_rate(high)) if known else NOT_MEASURED,
        format_r_squared(estimate.get("r_squared")),
        format_time(estimate.get("latency_ns")),
        format_reason(estimate["undecided"]) if estimate.get("undecided") else "",
    )


def _build_changes_table(inputs: ReportInputs) -> Iterator[Block]:
    """Changes between the surveys; that there are none, where both were made."""
    surveys = [entry for entry in inputs.source.journal() if entry.kind in (SURVEY, CHANGE)]
    changes = [entry.text for entry in surveys if entry.kind == CHANGE]
    if changes:
        yield from write_paragraph(f"Changed during the campaign: {'; '.join(changes)}.")
    elif {"before", "after"} <= {entry.facts.get("when") for entry in surveys}:
        yield from write_paragraph("The surveys before the first and after the last trial agree.")


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield lazy_text(_build_changes_table, inputs)
    for survey in list_surveys(inputs.source.journal()):
        if len(survey.hops) > 1:
            yield lazy_plot(survey, "path", TITLE, plot_survey, survey)
        if survey.hops:
            yield lazy_text(_build_survey_table, survey)


def _find_gap(inputs: ReportInputs) -> str | None:
    return None if list_surveys(inputs.source.journal()) else "it needs a survey of the path"


SECTION = LazySection(
    key="path",
    title="Route and capacity of the paths",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.BOTTLENECK,
    choose_setting=lambda _: "survey=before",
)
