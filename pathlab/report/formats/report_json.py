"""The report as one JSON document for programs: ``pathlab report RESULTS --format json``.

Version 1. Keys: ``document`` ("pathlab-report"), ``version``, ``program_version``, ``title``, ``facts``,
``campaign`` (name, title, digest, seed, created_utc, program_version), ``trials`` (planned, done, missing,
cycles, complete, failed, stages, interrupted), ``rule``, ``notices`` (kind, path, text and its parts:
short, details, fix), ``recommendations`` (per condition, as ``analyze --json`` has them under
``recommendation``; ``words`` has the sentences), and ``sections``: ``key``, ``title``, ``question`` (whose
fold it is in; null: always shown), ``blocks``. A block has a ``type``: ``paragraph``, ``subheading``,
``bullets``, ``facts``, ``preformatted``, ``table`` (every row and column; ``shown``: places of the columns
that pages show, ``constants``: columns of one value), ``figure`` (its numbers under ``data``; ``empty``
says why it has none) or ``fold`` (``blocks``). What was not measured is null. New fields may come within a
version; a field that changes its meaning or is removed makes a new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pathlab._version import VERSION
from pathlab.escaping import escape_controls
from pathlab.report.base.blocks import (
    Block,
    Bullets,
    Facts,
    Fold,
    Paragraph,
    Preformatted,
    Report,
    Section,
    Subheading,
    TableBlock,
)
from pathlab.report.flows.recommendation_text import RULE, describe_recommendation
from pathlab.report.formats.output_file import write_whole
from pathlab.report.plots.export import list_plot_rows
from pathlab.report.plots.model import Plot
from pathlab.report.plots.preparation import prepare_plot
from pathlab.study.base.answer import Answer
from pathlab.study.document import encode
from pathlab.study.flows.recommendation import Recommendation

DOCUMENT = "pathlab-report"
DOCUMENT_VERSION = 1
#: Names of blocks that are described by their fields.
TYPES: Mapping[type[Block], str] = {
    Paragraph: "paragraph",
    Subheading: "subheading",
    Bullets: "bullets",
    Facts: "facts",
    Preformatted: "preformatted",
}


def write_machine(report: Report, out: Path) -> Path:
    """Write the document and return its path; the file is replaced as a whole."""
    text = json.dumps(describe_report(report), ensure_ascii=False, allow_nan=False, indent=1)
    return write_whole(out, escape_controls(text).encode())


def describe_report(report: Report) -> dict[str, Any]:
    """The document, of values that JSON can hold."""
    return {
        "document": DOCUMENT,
        "version": DOCUMENT_VERSION,
        "program_version": VERSION,
        "title": report.title,
        "facts": list(report.facts),
        "campaign": encode(report.campaign),
        "trials": encode(report.trials),
        "rule": RULE,
        "notices": [encode(notice) | {"text": notice.text} for notice in report.notices],
        "recommendations": [_describe_recommendation(answer) for answer in report.recommendations],
        "sections": [_describe_section(section) for section in (report.opening, *report.sections)],
    }


def _describe_recommendation(answer: Answer[Recommendation]) -> dict[str, Any]:
    described: dict[str, Any] = encode(answer)
    return described | {"words": encode(describe_recommendation(answer.result))}


def _describe_section(section: Section) -> dict[str, Any]:
    return {
        "key": section.key,
        "title": section.title,
        "question": section.question,
        "blocks": _describe_blocks(section.blocks),
    }


def _describe_blocks(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    return [_describe_block(block) for block in blocks]


def _describe_table(table: TableBlock) -> dict[str, Any]:
    columns = table.columns
    return {
        "type": "table",
        "name": table.name,
        "title": table.title,
        "headings": [{"label": column.heading, "meaning": column.meaning} for column in columns],
        "rows": encode(table.rows),
        "numeric": [not column.has_words for column in columns],
        "note": table.note,
        "constants": encode(table.constants),
        "shown": encode(table.shown),
    }


def _describe_block(block: Block) -> dict[str, Any]:
    """Type and fields of a block; those of a figure with its numbers."""
    if isinstance(block, Fold):
        return {"type": "fold", "title": block.title, "blocks": _describe_blocks(block.blocks)}
    if isinstance(block, TableBlock):
        return _describe_table(block)
    if not isinstance(block, Plot):
        return {"type": TYPES[type(block)], **encode(block)}
    ready = prepare_plot(block)
    headings, rows = list_plot_rows(ready)
    return {
        "type": "figure",
        "name": block.name,
        "title": block.title,
        "condition": block.condition,
        "sentence": ready.sentence,
        "empty": ready.empty,
        "axes": [{"x": panel.x.title, "y": panel.y.title} for panel in ready.panels],
        "data": {"headings": list(headings), "rows": encode([list(row) for row in rows])},
    }
