"""Constants that the explorer's scripts share with Python: ``web/core/constants.js`` is written from them.

``python -m pathlab.report.explorer.script_constants pathlab/web/core/constants.js`` writes it. Names of
columns, limits, choices, colours and the numbers of the estimators are defined in Python.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pathlab import escaping, units
from pathlab.report.explorer import figure, figure_csv, packing, page
from pathlab.report.plots import extents, style
from pathlab.study.base import selection
from pathlab.study.exploration import (
    columns,
    distributions,
    dots,
    estimates,
    estimator_numbers,
    figure_axes,
    labels,
    level_text,
    pooling,
    selected_trials,
    view,
    view_text,
)

_RESULTS, _TRIAL, _START, _STATUS, _, _, _FLAGS, _CYCLE, _PATH = columns.IDENTITY
#: Columns that scripts ask for by name. Of every other column they know what the table's header says.
COLUMNS: Mapping[str, Any] = {
    "RESULTS": _RESULTS,
    "TRIAL": _TRIAL,
    "START": _START,
    "STATUS": _STATUS,
    "FLAGS": _FLAGS,
    "CYCLE": _CYCLE,
    "PATH": _PATH,
    "HOSTS": columns.HOSTS,
    "MEDIUM": labels.MEDIUM,
    "STREAMS": view.STREAMS,
    "MESSAGE_SIZE": view.MESSAGE_SIZE,
    "ROUND_TRIP": view.ROUND_TRIP,
    "MAIN_MEASURES": view.MAIN_MEASURES,
}
#: What a view may say, and how it is written.
CHOICES: Mapping[str, Any] = {
    "STATISTICS": view.STATISTICS,
    "STATISTIC_NAMES": estimates.STATISTIC_NAMES,
    "DISTRIBUTIONS": distributions.DISTRIBUTIONS,
    "RANGES": view.RANGES,
    "SCALES": view.SCALES,
    "COUNTS": view.COUNTS,
    "CHANGES": view.CHANGES,
    "SWITCH": view.SWITCH,
    "NONE": view_text.NONE,
    "MISSING": view_text.MISSING,
    "EMPTY": view_text.EMPTY,
    "WHERE": view_text.WHERE,
    "RANGE_MARK": view_text.RANGE_MARK,
    "SHOWN_LETTERS": view_text.SHOWN_LETTERS,
    "SUGGESTED_AMONG": view_text.SUGGESTED_AMONG,
    "UNKNOWN": columns.UNKNOWN,
    "BYTES": level_text.BYTES,
    "LAB_FLAGS": selection.LAB_FLAGS,
    "PROVISIONAL_FLAGS": selection.PROVISIONAL_FLAGS,
}
#: What a figure has room for.
LIMITS: Mapping[str, Any] = {
    "MEASURES_MOST": view.MEASURES_MOST,
    "COLOURS_MOST": view.COLOURS_MOST,
    "FACETS_MOST": view.FACETS_MOST,
    "FACETS_MAX": selected_trials.FACETS_MAX,
    "CURVES_MAX": selected_trials.CURVES_MAX,
    "PLACES_MAX": selected_trials.PLACES_MAX,
    "DOTS_MAX": dots.DOTS_MAX,
    "NAMED_MAX": pooling.NAMED_MAX,
    "TICKS_MAX": figure_axes.TICKS_MAX,
    "STEPS_MAX": distributions.STEPS_MAX,
    "END_STEPS": distributions.END_STEPS,
    "BINS_MAX": distributions.BINS_MAX,
    "EDGE_RATIO": distributions.EDGE_RATIO,
    "ONLY_BIN_RATIO": distributions.ONLY_BIN_RATIO,
    "ONLY_BIN": distributions.ONLY_BIN,
}
#: How figures look, on paper and on the page.
LOOKS: Mapping[str, Any] = {
    "COLOURS": style.COLOURS,
    "LEVEL_SHARE": figure.LEVEL_SHARE,
    "BARS_MAX": figure.BARS_MAX,
    "MARKED_MAX": figure.MARKED_MAX,
    "FROM_ZERO_RATIO": figure.FROM_ZERO_RATIO,
    "MARGIN_RATIO": extents.MARGIN_RATIO,
    "STEPS_S": figure.STEPS_S,
}
#: Units of numbers for reading, and what is escaped in texts: patterns that both languages read.
TEXTS: Mapping[str, Any] = {
    "RATES": units.SHOWN_RATES,
    "AMOUNTS": units.SHOWN_VOLUMES,
    "TIMES": units.SHOWN_TIMES,
    "UNSAFE_PATTERN": escaping.UNSAFE_PATTERN,
    "FORMULA_PATTERN": escaping.FORMULA_PATTERN,
    "NUMBER_PATTERN": escaping.NUMBER_PATTERN,
}
#: What files and pages hold.
FORMATS: Mapping[str, Any] = {
    "PACKED_VERSION": packing.PACKED_VERSION,
    "CSV_BEFORE_X": figure_csv.BEFORE_X,
    "CSV_AFTER_X": figure_csv.AFTER_X,
    "TABLE_ID": page.TABLE_ID,
    "DOCUMENTS_ID": page.DOCUMENTS_ID,
    "LEFT_OUT_ID": page.LEFT_OUT_ID,
}
GROUPS = {
    "Columns that scripts ask for by name": COLUMNS,
    "What a view may say, and how it is written": CHOICES,
    "What a figure has room for": LIMITS,
    "Numbers of the estimators": estimator_numbers.ESTIMATORS,
    "How figures look": LOOKS,
    "What files and pages hold": FORMATS,
    "How numbers and texts are written": TEXTS,
}
HEAD = """\
// Written by pathlab/report/explorer/script_constants.py, which has the source of each; next: `make pages`.
// deno-fmt-ignore-file
"""


def render_constants() -> str:
    """The module ``core/constants.js``."""
    lines = [HEAD]
    for title, group in GROUPS.items():
        lines += [f"\n// {title}.\n", *(_declare(name, value) for name, value in group.items())]
    return "".join(lines)


def _declare(name: str, value: Any) -> str:
    kind = ""
    if isinstance(value, Mapping):
        held = "string" if all(isinstance(each, str) for each in value.values()) else "number"
        kind = f"/** @type {{Record<string, {held}>}} */\n"
    # What cannot be seen, or is no text in UTF-8, stays an escape.
    text = json.dumps(value, ensure_ascii=name.endswith("_PATTERN"), allow_nan=False)
    return f"{kind}export const {name} = {text};\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render_constants(), encoding="utf-8")
