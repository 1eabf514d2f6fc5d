"""The page of all columns, made from ``pathlab.store.columns``.

``python -m pathlab.store.document docs/COLUMNS.md`` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pathlab.store.columns import SERIES_COLUMNS, TABLE_COLUMNS, kind_of, unit_of
from pathlab.store.records import (
    SERIES_KINDS,
    CampaignRecord,
    HostRecord,
    JournalRecord,
    OriginRecord,
    PlanRecord,
    TrialRecord,
)
from pathlab.store.schema import FORMAT_VERSION, column_types

RECORDS: Mapping[str, type] = {
    "trial": TrialRecord,
    "plan": PlanRecord,
    "host": HostRecord,
    "campaign": CampaignRecord,
    "journal": JournalRecord,
    "origin": OriginRecord,
}
_TYPES = {int: "integer", float: "number", str: "text", dict: "JSON", tuple: "list"}
_HEAD = f"""# Columns

What a results file of format {FORMAT_VERSION} holds, and every export of it. An empty cell
(Parquet and JSON: null) was not measured; it is never replaced by a number.
Units stand at the end of the names.

In exports each trial also has `planned_NAME` for every factor of its plan row, and each row of a series
`trial_id`. In CSV, lists are joined by `;` and JSON stays JSON.

This page is made from `pathlab/store/columns.py`: `python -m pathlab.store.document docs/COLUMNS.md`.
"""
_SERIES_HEAD = """
# Series

One table per trial and kind. `sender_…` and `receiver_…` name the side that took it. Times count from
the sender's "go" on the clock of the host that took them, in `receiver_…` from the first byte received, in
imported trials from the first stamp of the file.
"""


def render_page() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD]
    for table, columns in TABLE_COLUMNS.items():
        types = column_types(RECORDS[table])
        parts.append(f"\n## `{table}`\n\n" + "\n".join(_table_lines(columns, types)) + "\n")
    parts.append(_SERIES_HEAD)
    for kind, columns in SERIES_COLUMNS.items():
        names = ", ".join(f"`{series}`" for series in SERIES_KINDS if kind_of(series) == kind)
        parts.append(f"\n## {names}\n\n" + "\n".join(_series_lines(columns)) + "\n")
    return "".join(parts)


def _table_lines(columns: Mapping[str, str], types: Mapping[str, object]) -> Iterator[str]:
    yield "| column | type | unit | may be empty | meaning |"
    yield "|---|---|---|---|---|"
    for name, meaning in columns.items():
        held = types.get(name)
        base, nullable = (getattr(held, "base", int), getattr(held, "nullable", False))
        empty = "yes" if nullable else ""
        yield f"| `{name}` | {_TYPES[base]} | {unit_of(name) or ''} | {empty} | {meaning} |"


def _series_lines(columns: Mapping[str, str]) -> Iterator[str]:
    yield "| column | unit | meaning |"
    yield "|---|---|---|"
    for name, meaning in columns.items():
        yield f"| `{name}` | {unit_of(name) or ''} | {meaning} |"


def main(arguments: list[str]) -> None:
    """Write the page to the file that the one argument names."""
    (target,) = arguments
    Path(target).write_text(render_page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
