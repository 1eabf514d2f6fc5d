"""The published tables as curves that the explorer lays over its figures, in the units of its columns."""

from __future__ import annotations

from typing import Any

from pathlab.reference.series import GBPS, ReferenceTable, describe_source, list_tables, load_table
from pathlab.report.messages.published import NOTE, format_published
from pathlab.study.exploration.columns import find_scale
from pathlab.study.messages.message_rates import MESSAGE_SIZE

THROUGHPUT, MESSAGE_RATE = "throughput_bits_per_s", "messages_per_s"
#: The setting that the levels of a table are of, where it has another name.
SETTINGS = {"receivers": "streams"}


def list_published() -> list[dict[str, Any]]:
    """Every published table: its source, and each of its curves by the columns that may be y."""
    return [_write_table(load_table(name)) for name in list_tables()]


def _write_table(table: ReferenceTable) -> dict[str, Any]:
    return {
        "id": table.name,
        "title": format_published(table.name, "").rstrip(": "),
        "source": describe_source(table.name),
        "condition": NOTE,
        "x": SETTINGS.get(table.level, table.level),
        "needs": MESSAGE_SIZE,  # every table is of messages
        "levels": list(table.columns[table.level]),
        "curves": [
            {"name": format_published(table.name, column), "y": _list_measures(table, column)}
            for column in table.rates
        ],
    }


def _list_measures(table: ReferenceTable, column: str) -> dict[str, list[float]]:
    """The figures of a column by the column of trials that they are alongside."""
    rates = [rate * GBPS for rate in table.columns[column]]
    scale = find_scale(THROUGHPUT).size
    result = {THROUGHPUT: [rate / scale for rate in rates]}
    if table.level == MESSAGE_SIZE:
        sizes = table.columns[table.level]
        result[MESSAGE_RATE] = [rate / (8 * size) for rate, size in zip(rates, sizes, strict=True)]
    return result
