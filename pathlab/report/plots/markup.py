"""A figure in a page: title, picture, its numbers, and its sentence."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from html import escape

from pathlab.report.plots.arrangement import WIDTH_INCH
from pathlab.report.plots.export import write_csv
from pathlab.report.plots.live import describe_plot, seal_json
from pathlab.report.plots.model import Plot
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import render_svg

#: Room for axes and legend of a figure that is not drawn yet.
AROUND_PX = 130


def tie_on_paper(text: str) -> str:
    """Markup of a text in which no line breaks within ``bit/s``; a browser's search would not find that."""
    return escape(text).replace("bit/s", "bit/\u2060s")


def render_figure(plot: Plot, key: str, *, static: bool = True) -> str:
    """The ``<figure>`` element of a plot; ``key``: letters, digits and dashes, unique in the page.

    ``templates/report.js`` draws it from the numbers in it. ``static``: with a picture for paper, and for
    readers without the script; else a line says how to get one. An empty plot is a box with its
    reason.
    """
    ready = prepare_plot(plot)
    if ready.empty is not None:
        return _frame(ready, "empty", "", "")
    described = describe_plot(ready)
    data = seal_json(json.dumps(described, allow_nan=False, separators=(",", ":"), ensure_ascii=False))
    room = "" if static else f' style="min-height:{sum(described["heights"]) + AROUND_PX}px"'
    still = f'<div class="plot-still">{render_svg(ready, key)}</div>' if static else _describe_way(plot)
    inside = f'{still}<div class="plot-live"{room}></div>'
    return _frame(ready, "waiting", inside, f'<script type="application/json">{data}</script>')


def render_printed(plot: Plot, key: str, *, width_inch: float = WIDTH_INCH) -> str:
    """The same for paper: the picture as an image, the numbers as an attachment of the document."""
    ready = prepare_plot(plot)
    if ready.empty is not None:
        return _frame(ready, "empty", "", "", tie_on_paper)
    picture = _pack("image/svg+xml", render_svg(ready, key, alone=True, width_inch=width_inch))
    table = _pack("text/csv", write_csv(ready))
    inside = f'<div class="plot-still"><img alt="{escape(ready.title)}" src="{picture}"></div>'
    link = f'<a rel="attachment" href="{table}" download="{escape(plot.name)}.csv">Data (CSV)</a>'
    return _frame(ready, "still", inside, f'<p class="plot-data">{link}</p>', tie_on_paper)


def _frame(ready: Plot, state: str, inside: str, after: str, tie: Callable[[str], str] = escape) -> str:
    """The element of a prepared plot around its picture; of an empty one a box with its reason.

    ``tie``: makes markup of a text.
    """
    name = escape(ready.name)
    title = f"title-{name}"
    opening = (
        f'<figure class="plot" id="figure-{name}" data-name="{name}" data-state="{state}" '
        f'aria-labelledby="{title}">'
    )
    head = (
        f'<div class="plot-head"><strong id="{title}">{tie(ready.title)}</strong> '
        f"<span>{tie(ready.condition)}</span></div>"
    )
    if ready.empty is not None:
        inside = f'<p class="plot-empty">{tie(ready.empty)}</p>'
    sentence = f"<figcaption><p>{tie(ready.sentence)}</p></figcaption>" if ready.sentence else ""
    return f"{opening}{head}{inside}{sentence}{after}</figure>"


def _describe_way(plot: Plot) -> str:
    """The text in place of a picture, for readers without the script."""
    return (
        '<p class="plot-empty plot-way">This figure is drawn by the page\'s script, which does not run here. '
        f"As a picture: <code>pathlab report RESULTS --figure {escape(plot.name)} --out FILE.svg</code> (its "
        "numbers: FILE.csv); all of them: <code>--format pdf</code></p>"
    )


def _pack(kind: str, text: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"
