"""Tables of trials that scripts read, and the explorations of curves.js beside Python's."""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from pathlab.report.explorer.packing import PackableTrials, pack_trials
from pathlab.study.analyses import Study
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view import View
from tests.builders.explored import make_explored
from tests.scripts.host import ScriptHost

#: ``table`` is what scripts read; ``explore(text)`` is the page's state at the text of a view.
_OPEN = """(text) => {
  const { packed, view, filter, curves } = pathlabExplorer;
  globalThis.table = packed.readTable(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  globalThis.explore = (text) => {
    const shown = view.parseView(text, table).view;
    const rows = filter.selectRows(table, shown);
    const exploration = curves.buildExploration(table, shown, rows);
    return { table, view: shown, rows, exploration, overlays: [] };
  };
}"""
_BUILD = """(views) => views.map(({ view, rows }) =>
  pathlabExplorer.curves.buildExploration(table, view, Uint32Array.from(rows)))"""
#: Numbers are equal that differ by this share at most.
RELATIVE = 1e-9


@functools.cache
def make_results(cycles: int) -> ExploredResults:
    """Two paths, 4 numbers of streams and 2 windows in each cycle; for reading only."""
    return ExploredResults.of(Study(make_explored(cycles=cycles)))


def open_table(scripts: ScriptHost, trials: PackableTrials | bytes) -> ScriptHost:
    """Let the scripts read a table, also one that is packed already."""
    packed = trials if isinstance(trials, bytes) else pack_trials(trials)
    scripts.evaluate(_OPEN, base64.b64encode(packed).decode())
    return scripts


def describe_view(view: View) -> dict[str, Any]:
    """The view as view.js gives it, without filters."""
    return {
        "x": view.x,
        "y": list(view.y),
        "colour": view.colour,
        "facet": view.facet,
        "statistic": view.statistic,
        "range": view.range,
        "scaleX": view.scale_x,
        "scaleY": view.scale_y,
        "minX": view.min_x,
        "maxX": view.max_x,
        "minY": view.min_y,
        "maxY": view.max_y,
        "dots": view.dots,
        "count": view.count,
        "baseline": view.baseline,
        "against": view.against,
        "where": {},
        "text": "",
    }


def build_in_scripts(
    scripts: ScriptHost, table: PackableTrials, views: Sequence[tuple[View, Sequence[int]]]
) -> list[dict[str, Any]]:
    """What curves.js builds of the table for each view and its rows."""
    asked = [{"view": describe_view(view), "rows": [int(row) for row in rows]} for view, rows in views]
    found: list[dict[str, Any]] = open_table(scripts, table).evaluate(_BUILD, asked)
    return found


def list_differences(ours: Any, theirs: Any, place: str = "", *, relative: float = RELATIVE) -> Iterator[str]:
    """Where two JSON documents differ; numbers by more than a share of the larger one."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if ours.keys() != theirs.keys():
            yield f"{place}: fields {sorted(ours.keys() ^ theirs.keys())}"
        for name in ours.keys() & theirs.keys():
            yield from list_differences(ours[name], theirs[name], f"{place}.{name}", relative=relative)
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{place}: {len(ours)} and {len(theirs)} items"
        for at, pair in enumerate(zip(ours, theirs, strict=False)):
            yield from list_differences(*pair, f"{place}[{at}]", relative=relative)
    elif _is_number(ours) and _is_number(theirs):
        if not math.isclose(ours, theirs, rel_tol=relative, abs_tol=1e-300):
            yield f"{place}: {ours!r} and {theirs!r}"
    elif ours != theirs:
        yield f"{place}: {ours!r} and {theirs!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
