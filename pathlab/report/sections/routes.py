"""A path hop by hop: route, MTU, capacity and latency, as ``pathlab path`` and surveys of campaigns found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.report.answer_table import Row
from pathlab.report.blocks import Block
from pathlab.report.inputs import ReportInputs
from pathlab.report.names import format_utc
from pathlab.report.phrases import format_count, format_range, format_reason
from pathlab.report.plots.model import Axis, Curve, Panel, Plot, Points, Scale
from pathlab.report.sections.answer_tables import write_paragraph
from pathlab.report.sections.lazy import (
    Drawing,
    LazyBlock,
    LazySection,
    lazy_plot,
    lazy_text,
)
from pathlab.report.sections.quantities import choose_unit
from pathlab.report.tables import build_table
from pathlab.units import NOT_MEASURED, format_bytes, format_r_squared, format_rate, format_ratio, format_time

#: Kinds of the journal's entries: a survey, and what it found to differ from the one before.
SURVEY, CHANGE = "path", "path-changed"
COLUMNS = (
    *("hop", "address", "RTT min", "RTT median", "Loss"),
    *("capacity", "95 % CI", "R²", "latency", "undecided"),
)
#: Hops of so many are named along the axis by their addresses; of a file that shows the path alone, of more.
NAMED_HOPS, NAMED_HOPS_ALONE = 3, 6
TITLE = "Capacity and latency along the path"
#: Times to a hop, by their names in the document.
TRIPS = {
    "rtt_min_ns": "RTT, minimum",
    "rtt_median_ns": "RTT, median",
    "latency_to_hop_ns": "one-way latency to here",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """A path that was surveyed: ``document`` is what ``pathlab path --json`` writes."""

    number: int
    name: str
    surveyed_utc: str
    document: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What its figure says besides its subject."""
        return f"{self.name} · {format_utc(self.surveyed_utc)[:10]}"

    @property
    def route(self) -> Mapping[str, Any]:
        """The first route that reached the target, else the first."""
        routes: Sequence[Mapping[str, Any]] = self.document.get("routes") or [{}]
        return next((route for route in routes if route.get("reached")), routes[0])

    @property
    def hops(self) -> Sequence[Mapping[str, Any]]:
        """The hops of the route."""
        return self.route.get("hops") or ()

    @property
    def estimates(self) -> Mapping[int, Mapping[str, Any]]:
        """The estimates of capacity, with the latency up to the hop, by their hop."""
        found = (self.document.get("capacity") or {}).get("hops") or ()
        return {one["hop"]: {**one, **(one.get("estimate") or {})} for one in found}

    def read(self, name: str, size: float) -> np.ndarray:
        """One figure of every hop, divided by ``size``; NaN where there is none."""
        hops = [{**self.estimates.get(hop["hop"], {}), **hop} for hop in self.hops]
        return np.array([_number(hop.get(name)) for hop in hops]) / size


def _list_surveys(inputs: ReportInputs) -> list[Survey]:
    found: list[Survey] = []
    for entry in inputs.source.journal():
        document = entry.facts.get("report") if entry.kind == SURVEY else None
        if isinstance(document, Mapping) and document.get("routes"):
            ends = f"{document.get('source')} → {entry.facts.get('destination') or document.get('target')}"
            name = f"{ends}, {entry.facts.get('when') or 'surveyed'} the trials"
            found.append(
                Survey(number=len(found) + 1, name=name, surveyed_utc=entry.recorded_utc, document=document)
            )
    return found


def plot_path(document: Mapping[str, Any]) -> Plot:
    """The figure of one path: ``document`` is what ``pathlab path --json`` writes."""
    target, address = document["target"], document["address"]
    shown = target if target == address else f"{target} ({address})"
    name = f"{document['source']} → {shown}"
    survey = Survey(number=1, name=name, surveyed_utc=document["started_utc"], document=document)
    return lazy_plot(survey, "path", TITLE, plot_survey, survey, NAMED_HOPS_ALONE).build()


def plot_survey(survey: Survey, named_hops: int = NAMED_HOPS) -> Drawing:
    """Capacity of each hop with its interval or lower bound; the round trips and the latency to it."""
    numbers = np.array([float(hop["hop"]) for hop in survey.hops])
    rows = [_list_capacity(survey.estimates.get(int(number), {})) for number in numbers]
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    bounds = np.where(np.isnan(table[:, 0]), survey.read("at_least_bits_per_s", 1.0), np.nan)
    unit = choose_unit("bit/s", np.concatenate((table[:, 0], bounds)))
    capacity = Curve(
        name="capacity",
        x=numbers,
        y=table[:, 0] / unit.size,
        low=table[:, 1] / unit.size,
        high=table[:, 2] / unit.size,
        line=False,
    )
    bound = Points(name="at least (undecided)", x=numbers, y=bounds / unit.size, slot=4, hollow=True)
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
    layers = [one for one in (capacity, bound) if np.isfinite(one.y).any()]
    if layers:
        scale = Axis(label="Capacity", unit=unit.unit, scale=Scale.LOG10)
        panels.insert(0, Panel(x=axis, y=scale, layers=tuple(layers)))
    return Drawing(
        sentences=(_describe_survey(survey, table[:, 0]),),
        panels=tuple(panels),
    )


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else np.nan


def _list_capacity(estimate: Mapping[str, Any]) -> tuple[float, float, float]:
    interval = estimate.get("capacity_interval") or {}
    values = (estimate.get("capacity_bits_per_s"), interval.get("low"), interval.get("high"))
    return _number(values[0]), _number(values[1]), _number(values[2])


def _format_address(hop: Mapping[str, Any]) -> str:
    return "/".join(hop.get("addresses") or ()) or "no answer"


def _describe_survey(survey: Survey, capacities: np.ndarray) -> str:
    mtu = (survey.document.get("mtu") or {}).get("mtu_bytes")
    text = format_count(len(survey.hops), "hop")
    if not survey.route.get("reached"):
        text += ", destination not reached"
    text += f"; MTU {format_bytes(mtu)}" if mtu is not None else "; MTU not found"
    if not np.isfinite(capacities).any():
        return f"{text}; no hop's capacity was estimated."
    least = int(np.nanargmin(capacities))
    _, low, high = _list_capacity(survey.estimates[int(survey.hops[least]["hop"])])
    ends = format_range(format_rate(low), format_rate(high))
    return (
        f"{text}; narrowest estimated hop: {survey.hops[least]['hop']} with "
        f"{format_rate(float(capacities[least]))} (95 % CI {ends})."
    )


def _tabulate_survey(survey: Survey) -> Iterator[Block]:
    yield build_table(
        f"path-table-{survey.number}",
        f"Hops: {survey.name}",
        COLUMNS,
        [_tabulate_hop(hop, survey) for hop in survey.hops],
    )


def _tabulate_hop(hop: Mapping[str, Any], survey: Survey) -> Row:
    estimate = survey.estimates.get(hop["hop"], {})
    capacity, low, high = _list_capacity(estimate)
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


def _tabulate_changes(inputs: ReportInputs) -> Iterator[Block]:
    """What the surveys found to have changed; that nothing did, where both were made."""
    surveys = [entry for entry in inputs.source.journal() if entry.kind in (SURVEY, CHANGE)]
    changes = [entry.text for entry in surveys if entry.kind == CHANGE]
    if changes:
        yield from write_paragraph(f"Changed during the campaign: {'; '.join(changes)}.")
    elif {"before", "after"} <= {entry.facts.get("when") for entry in surveys}:
        yield from write_paragraph("The surveys before the first and after the last trial agree.")


def _outline(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield lazy_text(_tabulate_changes, inputs)
    for survey in _list_surveys(inputs):
        if len(survey.hops) > 1:
            yield lazy_plot(survey, "path", TITLE, plot_survey, survey)
        if survey.hops:
            yield lazy_text(_tabulate_survey, survey)


def _find_gap(inputs: ReportInputs) -> str | None:
    return None if _list_surveys(inputs) else "the campaign surveyed no path (key 'survey')"


SECTION = LazySection(
    key="path", title="Route and capacity of the paths", find_gap=_find_gap, outline=_outline
)
