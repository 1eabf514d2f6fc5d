"""A lab drawn: as text, and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from pathlab.lab.topology import Link, LinkSettings, Topology, link_address
from pathlab.report.figures import COLOURS, INK, STYLE
from pathlab.units import format_bytes, format_rate, format_ratio, format_time

NODE_SPACING_INCH = 2.6
LAYER_SPACING_INCH = 1.3


def describe_direction(way: LinkSettings) -> str:
    """One direction in a few words."""
    words = ["not limited" if way.rate_bits_per_s is None else format_rate(way.rate_bits_per_s)]
    words.append(f"{format_time(way.delay_ns)}")
    if way.queue_bytes is not None:
        words.append(f"queue {format_bytes(way.queue_bytes)}")
    if way.loss_ratio:
        words.append(f"loss {format_ratio(way.loss_ratio)}")
    if way.burst_enter_ratio:
        words.append(f"bursts of loss {format_ratio(way.burst_enter_ratio)}")
    if way.jitter_ns:
        words.append(f"jitter {format_time(way.jitter_ns)}")
    if way.reorder_ratio:
        words.append(f"reordered {format_ratio(way.reorder_ratio)}")
    if way.duplicate_ratio:
        words.append(f"doubled {format_ratio(way.duplicate_ratio)}")
    if way.ecn_bytes is not None:
        words.append(f"ECN from {format_bytes(way.ecn_bytes)}")
    if way.aqm != "none":
        words.append(way.aqm)
    if way.cross_bits_per_s is not None:
        words.append(f"others {format_rate(way.cross_bits_per_s)}")
    return ", ".join(words)


def draw_text(plan: Topology, counters: Sequence[Mapping[str, Any]] | None = None) -> str:
    """Every link on a line of its own, with addresses; both directions where they differ; then the counts."""
    width = max(len(node) for node in plan.nodes)
    lines = []
    for number, link in enumerate(plan.links):
        left, right = (
            f"{node:{width}} {link_address(number, end):14}" for end, node in enumerate(link.between)
        )
        arrow = "<->" if link.reverse is None else "-->"
        lines.append(f"  {left} {arrow}  {right}  {describe_direction(link.direction(0))}")
        if link.reverse is not None:
            lines.append(
                f"  {'':{len(left)}} <--  {'':{len(right)}}  {describe_direction(link.direction(1))}"
            )
        if counters is not None:
            lines += [f"  {'':{len(left)}}      {words}" for words in _count_words(link, counters[number])]
    return "\n".join(lines)


def _count_words(link: Link, counted: Mapping[str, Any]) -> list[str]:
    words = []
    for way, (start, end) in (("forward", link.between), ("reverse", link.between[::-1])):
        counts = counted[way]
        parts = [f"{counts['delivered_packets']} packets delivered"]
        for key, what in (
            ("queue_dropped_packets", "dropped by the queue"),
            ("aqm_dropped_packets", "dropped by CoDel"),
            ("lost_packets", "lost"),
            ("dropped_packets", "dropped or lost"),
            ("marked_packets", "marked"),
        ):
            if counts.get(key):
                parts.append(f"{counts[key]} {what}")
        words.append(f"{start} to {end}: {', '.join(parts)}")
    return words


def _place_nodes(plan: Topology) -> dict[str, tuple[float, float]]:
    """Columns by the number of links from the first host; the nodes of a column below each other."""
    columns: dict[int, list[str]] = {}
    for node in plan.nodes:
        try:
            distance = len(plan.chain(plan.hosts[0], node)) if node != plan.hosts[0] else 0
        except KeyError:  # nothing joins the two
            distance = 0
        columns.setdefault(distance, []).append(node)
    places = {}
    for column, nodes in columns.items():
        for row, node in enumerate(nodes):
            places[node] = (
                NODE_SPACING_INCH * column,
                LAYER_SPACING_INCH * ((len(nodes) - 1) / 2 - row),
            )
    return places


def draw_figure(plan: Topology, title: str) -> Figure:
    """The nodes and links as a picture; hosts are boxes, routers circles."""
    places = _place_nodes(plan)
    xs, ys = zip(*places.values(), strict=True)
    pairs = [frozenset(link.between) for link in plan.links]
    size = (max(xs) - min(xs) + 2.4, max(ys) - min(ys) + 1.7 + 0.4 * (len(pairs) - len(set(pairs))))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size)
        axes = figure.add_axes((0, 0, 1, 0.85))
        axes.axis("off")
        axes.set_xlim(min(xs) - 1.2, max(xs) + 1.2)
        axes.set_ylim(min(ys) - 0.9, max(ys) + 0.9)
        figure.suptitle(f"Lab {title}: rate, one-way delay and queue of each link", x=0.02, ha="left")
        for number, link in enumerate(plan.links):
            beside = pairs[:number].count(pairs[number])
            shift = 0.55 * beside - 0.275 * (pairs.count(pairs[number]) - 1)
            (x0, y0), (x1, y1) = places[link.between[0]], places[link.between[1]]
            axes.plot(
                [x0, (x0 + x1) / 2, x1],
                [y0, (y0 + y1) / 2 + shift, y1],
                color=COLOURS[0],
                linewidth=2,
                zorder=1,
            )
            axes.text(
                (x0 + x1) / 2,
                (y0 + y1) / 2 + shift + (0.06 if shift >= 0 else -0.08),
                _edge_label(link),
                ha="center",
                va="bottom" if shift >= 0 else "top",
                fontsize=7.5,
            )
        for node, (x, y) in places.items():
            style = "round,pad=0.5" if node in plan.hosts else "circle,pad=0.4"
            box = {"boxstyle": style, "facecolor": "white", "edgecolor": INK}
            axes.text(x, y, node, ha="center", va="center", bbox=box, zorder=2)
    return figure


def _edge_label(link: Link) -> str:
    def short(way: LinkSettings) -> str:
        return describe_direction(way).replace(", queue", "\nqueue")

    if link.reverse is None:
        return short(link.direction(0))
    return f"→ {short(link.direction(0))}\n← {short(link.direction(1))}"
