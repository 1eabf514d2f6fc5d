"""Verdicts for an exported page, which has no server to ask: those of its first view and of saved views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pathlab.errors import PathlabError
from pathlab.report.explorer.verdict_document import read_verdicts
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view import View, default_view
from pathlab.study.exploration.view_text import format_view, parse_view, show_level

#: Baselines of one view, and verdicts of all: each takes seconds where there are many trials.
BASELINES_MAX, VERDICTS_MAX = 8, 24
#: From so many trials on there are none: a verdict of them takes too long.
TRIALS_MAX = 20_000


def collect_verdicts(results: ExploredResults, saved: Sequence[str]) -> dict[str, Any]:
    """The verdicts of the first view with each level of its colour as baseline, and those of saved views.

    Keys are texts of views as the page asks for them. A view that cannot be compared has none.
    """
    result: dict[str, Any] = {}
    for view in _list_views(results, saved) if len(results) <= TRIALS_MAX else ():
        key = format_view(strip_view(view))
        if key in result or len(result) == VERDICTS_MAX:
            continue
        try:
            result[key] = read_verdicts(results, view)
        except PathlabError:
            continue
    return result


def strip_view(view: View) -> View:
    """The view without what changes no verdict; ``web/page/verdicts.js`` strips the same."""
    return View(
        x=view.x,
        y=view.y,
        colour=view.colour,
        facet=view.facet,
        count=view.count,
        baseline=view.baseline,
        where=view.where,
        text=view.text,
    )


def _list_views(results: ExploredResults, saved: Sequence[str]) -> Iterator[View]:
    first = default_view(results)
    if first.colour is not None:
        for level in results.levels(first.colour)[:BASELINES_MAX]:
            yield replace(first, baseline=show_level(level))
    for text in saved:
        try:
            view = parse_view(text, results)
        except PathlabError:
            continue  # it was saved of other results
        if view.baseline is not None:
            yield view
