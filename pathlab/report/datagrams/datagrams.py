"""UDP flows: what arrived, who lost the rest, in what order it came, what it cost, GSO and GRO."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pathlab.report.base.answer_table import format_subject
from pathlab.report.base.answer_tables import build_answer_table, format_note
from pathlab.report.base.blocks import Block, Bullets, Paragraph
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyPlot, LazySection, lazy_text
from pathlab.report.base.summary import group_answer
from pathlab.report.base.topic import Topic
from pathlab.report.datagrams.datagram_answers import (
    NamedFlow,
    describe_flows,
    describe_limits,
    format_loss_ratio,
    has_flows,
    is_search,
    list_flows,
)
from pathlab.report.datagrams.datagram_table import build_flows_table
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Points, Scale, build_row_axis
from pathlab.study.base.registry import ANALYSES
from pathlab.study.base.selection import choose_evenly
from pathlab.study.datagrams.datagram_trial import LOSS_RUNS, Bins
from pathlab.study.datagrams.datagrams import read_sample_histograms, select_datagrams

#: Rows of the figure of losses, and curves of one figure of order.
ROWS_MAX, CURVES_MAX = 24, 6
PERCENT = 100.0
TABLES = ("datagrams", "datagram_cost", "offloads")
EXPLANATION = (
    "Lost by the host: datagrams that the receiving host's counters explain (full socket buffers, backlog, "
    "NIC ring), never more than were lost. Lost by the path: the others, where every counter was read."
)
NamedBins = tuple[str, dict[str, Bins]]
_PARTS = (
    ("lost in all", "lost"),
    ("by the receiving host", "lost_host"),
    ("by the path", "lost_path"),
)


def list_opening_datagrams(inputs: ReportInputs) -> Iterator[LazyPlot]:
    """What is seen first: the loss of every combination, by who lost it; nothing of a search's steps."""
    flows = () if is_search(inputs.study) else list_flows(inputs.study)
    for number, path in enumerate(dict.fromkeys(flow.path for flow in flows), 1):
        chosen = choose_evenly([flow for flow in flows if flow.path == path], ROWS_MAX)
        yield LazyPlot(
            name=f"datagram-loss-{number}",
            title="Loss of UDP datagrams",
            condition=path,
            draw=partial(draw_losses, chosen),
        )


def draw_losses(flows: Sequence[NamedFlow]) -> Drawing:
    """The share lost of each combination with its interval, and the parts of host and path."""
    axis = build_row_axis("Combination", [flow.name or flow.path for flow in flows])
    heights = np.array(axis.ticks)
    losses = [flow.figures.loss for flow in flows]
    ends = [[loss.interval_ratio.low, loss.interval_ratio.high, None] for loss in losses]
    layers: list[Layer] = [
        Curve(
            name="95 % CI",
            x=PERCENT * np.array(ends, dtype=np.float64).ravel(),
            y=np.repeat(heights, 3),
            markers=False,
            solid=True,
            legend=False,
        )
    ]
    for slot, (name, key) in enumerate(_PARTS):
        shares = [_share(flow, key) for flow in flows]
        if not np.isnan(shares).all():
            texts = [f"{name} {share:.3g} %" for share in shares]
            if key == "lost":
                texts = [format_loss_ratio(flow.figures.loss) for flow in flows]
            hover = tuple(
                f"{flow.name or flow.path}: {text}" for flow, text in zip(flows, texts, strict=True)
            )
            layers.append(
                Points(name=name, x=np.array(shares), y=heights, slot=slot, hollow=slot > 0, hover=hover)
            )
    return Drawing(
        sentences=("Share of the sent datagrams; line: 95 % CI of the whole loss.",),
        panels=(Panel(x=Axis(label="Lost", unit="%", from_zero=True), y=axis, layers=tuple(layers)),),
    )


def _share(flow: NamedFlow, key: str) -> float:
    count: int | None = getattr(flow.figures.packets, key)
    sent = flow.figures.packets.sent
    return float("nan") if count is None or not sent else PERCENT * count / sent


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    flows = list_flows(inputs.study)
    yield lazy_text(_state, flows)
    yield lazy_text(_build_table, inputs, flows, "datagrams")
    yield from _list_order_blocks(inputs, flows)
    for name in TABLES[1:]:
        yield lazy_text(_build_table, inputs, flows, name)


def _state(flows: Sequence[NamedFlow]) -> Iterator[Block]:
    yield Paragraph(text=EXPLANATION, note=True)
    yield Bullets(items=tuple(describe_limits(flows)))


def _list_order_blocks(inputs: ReportInputs, flows: Sequence[NamedFlow]) -> Iterator[LazyPlot]:
    """Figures of loss runs and order, of some combinations of each path; none where nothing was kept."""
    kept = {
        (part.condition, streams, window): read_sample_histograms(inputs.source, part)
        for streams, window, part in select_datagrams(inputs.study.study_table())
    }
    for number, path in enumerate(dict.fromkeys(flow.path for flow in flows), 1):
        result = []
        for flow in (flow for flow in flows if flow.path == path):
            window = None if flow.answer.autotuned else flow.answer.window_bytes
            histograms = kept.get((flow.answer.condition, flow.answer.streams or 1, window))
            if histograms and (histograms.get(LOSS_RUNS) or histograms.get("reorder_extents")):
                result.append((flow.name or flow.path, histograms))
        chosen = choose_evenly(result, CURVES_MAX) if result else []
        for key, title, draw in (
            ("datagram-runs", "Runs of lost datagrams and reordering extents", draw_runs),
            ("reorder-density", "Reorder density (RFC 5236)", draw_density),
        ):
            if chosen:
                yield LazyPlot(
                    name=f"{key}-{number}", title=title, condition=path, draw=partial(draw, chosen)
                )


def draw_runs(binses: Sequence[NamedBins]) -> Drawing:
    """How many loss runs and reordering extents have at least each length."""
    panels = []
    for metric, title, noun in (
        (LOSS_RUNS, "Lost in a row", "Runs"),
        ("reorder_extents", "Reordering extent (RFC 4737)", "Datagrams"),
    ):
        layers = [
            _draw_survival(slot, name, histograms[metric])
            for slot, (name, histograms) in enumerate(binses)
            if histograms.get(metric)
        ]
        if layers:
            x = Axis(label="Length or extent, at least", unit="packets", scale=Scale.LOG10)
            y = Axis(label=noun, scale=Scale.LOG10)
            panels.append(Panel(x=x, y=y, layers=tuple(layers), title=title))
    return Drawing(panels=tuple(panels), empty="nothing was lost or reordered")


def draw_density(binses: Sequence[NamedBins]) -> Drawing:
    """The share of datagrams by how many places they were early or late."""
    layers = [
        _draw_density(slot, name, histograms["reorder_density"])
        for slot, (name, histograms) in enumerate(binses)
        if _is_displaced(histograms.get("reorder_density"))
    ]
    x = Axis(label="Displacement: early below 0, late above", unit="packets")
    y = Axis(label="Datagrams", unit="%", scale=Scale.LOG10)
    panels = (Panel(x=x, y=y, layers=tuple(layers)),) if layers else ()
    return Drawing(
        sentences=("Share of the datagrams that arrived; on a path without reordering all are at 0.",),
        panels=panels,
        empty="no datagram was displaced",
    )


def _draw_survival(slot: int, name: str, bins: Bins) -> Curve:
    """How many values are at least as large as the low end of each bin."""
    lows = sorted(bins)
    counts = np.array([bins[item] for item in lows], dtype=np.float64)
    above = np.cumsum(counts[::-1])[::-1]
    return Curve(name=name, x=np.array([max(low, 1) for low, _ in lows]), y=above, slot=slot, step=False)


def _draw_density(slot: int, name: str, bins: Counter[tuple[int, int]]) -> Curve:
    values = sorted(bins)
    total = sum(bins.values())
    shares = np.array([PERCENT * bins[value] / total for value in values])
    return Curve(name=name, x=np.array([low for low, _ in values], dtype=np.float64), y=shares, slot=slot)


def _is_displaced(bins: Bins | None) -> bool:
    return bins is not None and any(count for (low, _), count in bins.items() if low)


def _build_table(inputs: ReportInputs, flows: Sequence[NamedFlow], name: str) -> Iterator[Block]:
    """The rows of ``pathlab analyze``, each with the combination's name; nothing without any."""
    entry = ANALYSES[name]
    answers = inputs.answers(name)
    if not answers:
        return
    names = {
        (flow.answer.condition, flow.answer.streams, flow.answer.window_bytes): flow.name or flow.path
        for flow in flows
    }
    labels = [
        names.get((answer.condition, answer.streams, answer.window_bytes)) or format_subject(answer)
        for answer in answers
    ]
    yield build_answer_table(
        f"{name.replace('_', '-')}-table",
        entry.title,
        name,
        answers,
        label="combination",
        labels=labels,
        replaces="combination",
        note=format_note(answers, entry),
    )


def _find_gap(inputs: ReportInputs) -> str | None:
    return (
        None
        if has_flows(inputs.study) and inputs.study.datagrams()
        else "it needs trials with transport 'udp' and without message"
    )


SECTION = LazySection(
    key="datagrams",
    title="UDP flows",
    find_gap=_find_gap,
    blocks=_list_blocks,
    factors=("transport",),
    asks=lambda settings: settings.get("transport") == "udp" and settings.get("message_bytes") is None,
)
TOPIC = Topic(
    key="datagrams",
    describe=lambda study: group_answer(describe_flows(study)),
    tables=build_flows_table,
    blocks=list_opening_datagrams,
    sections=(SECTION,),
)
