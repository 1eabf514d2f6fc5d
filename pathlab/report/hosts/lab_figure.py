"""A lab drawn as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from pathlab.lab.topology import Link, LinkSettings, Topology
from pathlab.report.hosts.lab_text import describe_direction
from pathlab.report.plots.style import COLOURS, INK, STYLE

NODE_SPACING_INCH = 3.1
LAYER_SPACING_INCH = 1.0
LABEL_CHARACTERS = 26
LABEL_POINTS = 7.5
LINE_INCH = 0.14
TITLE_INCH = 0.75
NODE_INCH = 0.5
NARROWEST_INCH = 5.0
#: Position of a link's label on it: beyond the middle, so that the labels of a star's links do not overlap.
LABEL_SHARE = 0.6

SUBTITLE = "rate, one-way delay and queue of each link"
HARD_SPACE = "\u00a0"  # lines are not broken between a value and its unit

Place = tuple[float, float]


def _place_nodes(plan: Topology, heights_inch: Sequence[float]) -> dict[str, Place]:
    """Columns by the number of links from the first host; the nodes of a column below each other.

    ``heights_inch``: of the label of each link.
    """
    columns: dict[int, list[str]] = {}
    for node in plan.nodes:
        try:
            distance = len(plan.chain(plan.hosts[0], node)) if node != plan.hosts[0] else 0
        except KeyError:  # nothing joins the two
            distance = 0
        columns.setdefault(distance, []).append(node)
    places: dict[str, Place] = {}
    for column in sorted(columns):
        nodes = sorted(columns[column], key=lambda node: -_height_before(plan, node, places))
        touching = [
            height
            for link, height in zip(plan.links, heights_inch, strict=True)
            if set(link.between) & set(nodes)
        ]
        spacing_inch = max(LAYER_SPACING_INCH, (max(touching, default=0.0) + 0.1) / LABEL_SHARE)
        for row, node in enumerate(nodes):
            places[node] = (NODE_SPACING_INCH * column, spacing_inch * ((len(nodes) - 1) / 2 - row))
    return places


def _height_before(plan: Topology, node: str, places: dict[str, Place]) -> float:
    """The mean height of the neighbours that are placed already, so that few links cross."""
    ends = [link.between for link in plan.links if node in link.between]
    heights = [places[item][1] for pair in ends for item in pair if item in places]
    return sum(heights) / len(heights) if heights else 0.0


def _place_label(plan: Topology, number: int, places: dict[str, Place], height_inch: float) -> Place:
    """Position of a link's label, where the link bends if it is not the only one between two nodes."""
    parallel, (start, end) = plan.beside(number), (places[node] for node in plan.links[number].between)
    share = 0.5
    if len(parallel) == 1 and start[1] != end[1]:
        share = LABEL_SHARE if start[0] <= end[0] else 1 - LABEL_SHARE
    shift = (height_inch + 0.15) * ((len(parallel) - 1) / 2 - parallel.index(number))
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]) + shift


def draw_figure(plan: Topology, title: str) -> Figure:
    """The nodes and links as a picture; hosts are boxes, routers circles."""
    labels = [_label_link(link) for link in plan.links]
    heights_inch = [LINE_INCH * (label.count("\n") + 1) for label in labels]
    nodes = _place_nodes(plan, heights_inch)
    spots = [
        _place_label(plan, number, nodes, max(heights_inch[item] for item in plan.beside(number)))
        for number in range(len(labels))
    ]
    xs, ys = zip(*nodes.values(), strict=True)
    reach = [
        *(y + sign * NODE_INCH for y in ys for sign in (-1, 1)),
        *(
            spots[n][1] + sign * (height / 2 + 0.1)
            for n, height in enumerate(heights_inch)
            for sign in (-1, 1)
        ),
    ]
    middle, width_inch = (max(xs) + min(xs)) / 2, max(max(xs) - min(xs) + 1.8, NARROWEST_INCH)
    height_inch = max(reach) - min(reach)
    whole_inch = height_inch + TITLE_INCH
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width_inch, whole_inch))
        for text, below_inch, size in ((f"Lab {title}", 0.3, 12), (SUBTITLE, 0.55, 9)):
            figure.text(0.2 / width_inch, 1 - below_inch / whole_inch, text, fontsize=size, va="center")
        axes = figure.add_axes((0, 0, 1, height_inch / whole_inch))
        axes.axis("off")
        axes.set_xlim(middle - width_inch / 2, middle + width_inch / 2)
        axes.set_ylim(min(reach), max(reach))
        for link, label, spot in zip(plan.links, labels, spots, strict=True):
            line = (nodes[link.between[0]], spot, nodes[link.between[1]])
            axes.plot(*zip(*line, strict=True), color=COLOURS[0], linewidth=2, zorder=1)
            around = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            axes.text(*spot, label, ha="center", va="center", fontsize=LABEL_POINTS, bbox=around, zorder=2)
        for node, place in nodes.items():
            style = "round,pad=0.5" if node in plan.hosts else "circle,pad=0.4"
            box = {"boxstyle": style, "facecolor": "white", "edgecolor": INK}
            axes.text(*place, node, ha="center", va="center", bbox=box, zorder=3)
    return figure


def _label_link(link: Link) -> str:
    """Both directions where they differ, in narrow lines."""

    def wrap(way: LinkSettings, arrow: str = "") -> str:
        values = [value.replace(" ", HARD_SPACE) for value in describe_direction(way).split(", ")]
        return "\n".join(textwrap.wrap(arrow + ", ".join(values), LABEL_CHARACTERS))

    if link.reverse is None:
        return wrap(link.direction(0))
    return f"{wrap(link.direction(0), f'→{HARD_SPACE}')}\n{wrap(link.direction(1), f'←{HARD_SPACE}')}"
