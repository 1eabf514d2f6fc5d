"""Published tables of message sizes alongside own results: faint curves, and the ratios."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pathlab.reference.series import GBPS
from pathlab.report.base.blocks import Block
from pathlab.report.base.phrases import format_factor, format_interval, format_spread
from pathlab.report.base.tables import build_table
from pathlab.report.messages.size_text import SizeGroup
from pathlab.report.plots.model import Curve
from pathlab.study.comparison.references import ReferenceRow, compare_column, find_published
from pathlab.study.messages.message_rates import MESSAGES
from pathlab.table_columns import list_table_columns
from pathlab.units import NOT_MEASURED, format_bytes, format_rate

NOTE = (
    "Published: IBM InfoSphere Streams on other hosts (2 x Xeon X5570), without scatter; a ratio compares "
    "machines and software together."
)


def draw_published(group: SizeGroup, bits: float | None = None) -> Iterator[Curve]:
    """The published columns that were measured as one of the curves was, in its colour.

    Messages per second; ``bits``: their throughput, in this unit.
    """
    seen = set()
    for slot, _, curve in group:
        published = find_published(curve.condition, curve.streams)
        if published is None or (published[0].name, published[1]) in seen:
            continue
        table, column = published
        seen.add((table.name, column))
        sizes, rates = (np.array(table.columns[item]) for item in (table.level, column))
        name = format_published(table.name, column)
        y = rates * GBPS / (8 * sizes if bits is None else bits)
        yield Curve(name=name, x=sizes, y=y, slot=slot, markers=False, faint=True)


def format_published(table: str, column: str) -> str:
    """A published column in short: ``Streams 3.0 internode: tcp batched``."""
    name = table.removeprefix("ibm-streams-").replace("-", " ", 1)
    return f"Streams {name}: {column.removesuffix('_gbps').replace('_', ' ')}"


def build_published_table(group: SizeGroup) -> Iterator[Block]:
    """Own throughput over the published one, size by size."""
    rows = []
    for _, name, curve in group:
        published = find_published(curve.condition, curve.streams)
        if published is not None:
            sizes = curve.found.sample.read_setting(MESSAGES.setting)
            overlay = compare_column(sizes, 8 * sizes * MESSAGES.count(curve.found.sample), *published)
            title = format_published(overlay.reference, published[1])
            rows += [(name, title, *_format_ratio(row)) for row in overlay.rows if row.ratio is not None]
    if rows:
        yield build_table(
            f"published-{group.number}",
            f"Own throughput and published figures: {group.title}",
            list_table_columns(
                ("curve", "published", "size", "own", "figure", "ratio"), words=("curve", "published")
            ),
            rows,
            note=NOTE,
        )


def _format_ratio(row: ReferenceRow) -> tuple[str, str, str, str]:
    own = NOT_MEASURED if row.own is None else format_spread(row.own, format_rate)
    ratio = format_factor(row.ratio)
    if row.ratio_interval.decided:
        ratio += f" ({format_interval(row.ratio_interval, format_factor)})"
    return format_bytes(row.level), own, format_rate(row.reference_bits_per_s), ratio
