"""docs/COLUMNS.md, made from the descriptions of columns, series, statuses, stages and flags.

``python -m pathlab.store.column_page docs/COLUMNS.md`` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pathlab.errors import Stage
from pathlab.store.flags import NOT_GRANTED, NOT_GRANTED_MEANING, Flag, Status
from pathlab.store.schema import FORMAT_VERSION, TABLES, column_types
from pathlab.store.series_columns import SERIES, SERIES_KINDS, SeriesColumn, find_series_kind
from pathlab.store.usable import USABLE_MEANING

_TYPES = {int: "integer", float: "number", str: "text", dict: "JSON", tuple: "list"}
_SERIES_TYPES = {"int64": "integer", "double": "number", "string": "text", "binary": "bytes"}
_HEAD = f"""# Columns

What a results file of format {FORMAT_VERSION} holds, and every export of it. An empty cell
(Parquet and JSON: null) was not measured; it is never replaced by a number.
Names end with the unit.

In exports and data frames each trial also has `usable`, true or false:
{USABLE_MEANING}. `flags` is one text, such as
`lab;window-short`; `results.trials(flags="lab")` selects by one of them. In exports each trial has
`planned_NAME` for every factor of its plan row, and each row of a series `trial_id`. In CSV, lists are
joined by `;` and JSON stays JSON.

This page is made from `pathlab/store/records.py`, `series_columns.py` and `flags.py`:
`python -m pathlab.store.column_page docs/COLUMNS.md`.
"""
_SERIES_HEAD = """
# Series

One table per trial and kind. `sender_…` and `receiver_…` name the end that took it. Times count from
the sender's "go" on the clock of the host that took them, in `receiver_…` from the first byte received, in
imported trials from the first time in the file.
"""
_TRIAL_ID = ["`trial_id`", "integer", "", "", "number of the trial in its file"]


def render_column_page() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD]
    for record, table in TABLES.items():
        rows = [
            [f"`{name}`", _TYPES[column.base], column.unit or "", "yes" * column.nullable, column.meaning]
            for name, column in column_types(record).items()
        ]
        first = [_TRIAL_ID] if table.name == "trial" else []
        head = ("column", "type", "unit", "may be empty", "meaning")
        parts.append(_render_table(f"`{table.name}`", head, first + rows))
    for title, members in (("Statuses", Status), ("Stages", Stage), ("Flags", Flag)):
        described = [[f"`{member.value}`", member.meaning] for member in members]
        if members is Flag:
            described.append([f"`NAME{NOT_GRANTED}`", NOT_GRANTED_MEANING])
        parts.append(_render_table(title, ("text", "meaning"), described))
    parts.append(_SERIES_HEAD)
    for kind in SERIES.values():
        names = ", ".join(f"`{series}`" for series in SERIES_KINDS if find_series_kind(series) is kind)
        rows = [
            [f"`{name}`", _name_type(column), column.unit or "", column.meaning]
            for name, column in kind.columns.items()
        ]
        parts.append(_render_table(names, ("column", "type", "unit", "meaning"), rows))
    return "".join(parts)


def _name_type(column: SeriesColumn) -> str:
    return _SERIES_TYPES.get(str(column.type), "list")


def _render_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return f"\n## {title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render_column_page(), encoding="utf-8")
