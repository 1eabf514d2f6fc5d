"""The explorations of curves.js beside Python's, of the same table and views."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from typing import Any

from pathlab.report.explorer.packing import PackableTrials, pack_trials
from pathlab.study.exploration.view import View
from tests.scripts.host import ScriptHost

_BUILD = """([text, views]) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const table = window.pathlabExplorer.packed.read(bytes.buffer);
  return views.map(({ view, rows }) =>
    window.pathlabExplorer.curves.build(table, view, Uint32Array.from(rows)));
}"""
#: Numbers are equal that differ by this share at most.
RELATIVE = 1e-9


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
    packed = base64.b64encode(pack_trials(table)).decode()
    asked = [{"view": describe_view(view), "rows": [int(row) for row in rows]} for view, rows in views]
    found: list[dict[str, Any]] = scripts.evaluate(_BUILD, [packed, asked])
    return found


def list_differences(ours: Any, theirs: Any, place: str = "") -> Iterator[str]:
    """Where two JSON documents differ; numbers by more than 1e-9 of the larger one."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if ours.keys() != theirs.keys():
            yield f"{place}: fields {sorted(ours.keys() ^ theirs.keys())}"
        for name in ours.keys() & theirs.keys():
            yield from list_differences(ours[name], theirs[name], f"{place}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{place}: {len(ours)} and {len(theirs)} items"
        for at, pair in enumerate(zip(ours, theirs, strict=False)):
            yield from list_differences(*pair, f"{place}[{at}]")
    elif _is_number(ours) and _is_number(theirs):
        if not math.isclose(ours, theirs, rel_tol=RELATIVE, abs_tol=1e-300):
            yield f"{place}: {ours!r} and {theirs!r}"
    elif ours != theirs:
        yield f"{place}: {ours!r} and {theirs!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
