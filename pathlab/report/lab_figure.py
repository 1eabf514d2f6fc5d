"""A lab drawn as a picture."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.figure import Figure

from pathlab.lab.topology import Link, LinkSettings, Topology
from pathlab.report.lab_text import describe_direction
from pathlab.report.plots.style import COLOURS, INK, STYLE

NODE_SPACING_INCH = 2.6
LAYER_SPACING_INCH = 1.3


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
