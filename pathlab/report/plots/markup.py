"""A figure as it stands in a page: title, picture, the numbers for the browser, and its sentence."""

from __future__ import annotations

import json
from html import escape

from pathlab.report.plots.live import describe_plot, seal_json
from pathlab.report.plots.model import Plot
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import render_svg


def render_figure(plot: Plot, key: str, *, static: bool = True, live: bool = True) -> str:
    """The ``<figure>`` element of a plot; ``key``: letters, digits and dashes, unique in the page.

    ``static``: the picture that stands there before, or without, the script, and on paper. ``live``: what
    ``templates/report.js`` draws from. An empty plot is a box with its reason.
    """
    ready = prepare_plot(plot)
    head = (
        f'<div class="plot-head"><strong>{escape(plot.title)}</strong> '
        f"<span>{escape(plot.condition)}</span></div>"
    )
    sentence = f"<figcaption><p>{escape(ready.sentence)}</p></figcaption>" if ready.sentence else ""
    opening = f'<figure class="plot" id="figure-{escape(plot.name)}" data-name="{escape(plot.name)}"'
    if ready.empty is not None:
        reason = f'<p class="plot-empty">{escape(ready.empty)}</p>'
        return f'{opening} data-state="empty">{head}{reason}{sentence}</figure>'
    still = f'<div class="plot-still">{render_svg(ready, key)}</div>' if static else ""
    if not live:
        return f'{opening} data-state="still">{head}{still}{sentence}</figure>'
    described = describe_plot(ready)
    data = seal_json(json.dumps(described, allow_nan=False, separators=(",", ":"), ensure_ascii=False))
    room = "" if static else f' style="min-height:{described["layout"]["height"]}px"'
    return (
        f'{opening} data-state="waiting">{head}{still}<div class="plot-live"{room}></div>{sentence}'
        f'<script type="application/json">{data}</script></figure>'
    )
