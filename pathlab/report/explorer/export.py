"""The explorer's page as one file with its data inside, and what is left out so that it stays small.

Columns come first, in the order in which the page lists them: what a trial is, factors, conditions, measures.
Details and series of trials take the room that is left, those of the first cycles before those of later ones.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pathlab.errors import StoreError
from pathlab.report.base.phrases import format_count
from pathlab.report.base.summary import AnswerText
from pathlab.report.explorer.documents import LEVEL_BEST, ExportedDocuments, collect_documents
from pathlab.report.explorer.exported_verdicts import collect_verdicts
from pathlab.report.explorer.packed_arrays import DIGITS, PackedArray
from pathlab.report.explorer.packing import FLAGS, NUMERIC, pack_column, pack_table
from pathlab.report.explorer.page import render_exported
from pathlab.report.explorer.published_document import list_published
from pathlab.report.topics import list_answers
from pathlab.store.saved_views import SavedView, read_views
from pathlab.study.exploration.columns import ExploredColumn
from pathlab.study.exploration.explored_results import ExploredResults

#: A page is no larger than this, with everything inside.
PAGE_BYTES_MAX = 6_000_000
#: Of the page: for what is not known before it is made, such as the list of what is left out.
SPARE_BYTES = 20_000
#: Base64 writes three bytes as four letters.
ENCODED_RATIO = 4 / 3
#: The first ones are kept for certain.
ROLES = ("identity", "factor", "condition", "measured")
IDENTITY = ROLES[0]
#: Of the room for data: what the table may take, so that there are details of some trials.
TABLE_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPage:
    """The page as text, and what its readers are told that it leaves out."""

    text: str
    left_out: tuple[str, ...]


def export_page(results: ExploredResults, bytes_max: int = PAGE_BYTES_MAX) -> ExportedPage:
    """The page of these results in at most ``bytes_max`` bytes, or with the columns of identity alone."""
    title = "; ".join(dict.fromkeys(source.title or source.name for source in results.sources))
    answers = tuple(_list_source_answers(results))
    frame_bytes = len(render_exported(title, b"", b"", (), answers).encode()) + SPARE_BYTES
    room = max(0, int((bytes_max - frame_bytes) / ENCODED_RATIO))
    columns = choose_columns(results, int(room * TABLE_RATIO))
    parts = _collect_parts(results)
    documents = collect_documents(results, max(0, room - len(columns.table)), parts)
    left_out = tuple(_list_left_out(columns, documents, len(results)))
    return ExportedPage(
        text=render_exported(title, columns.table, documents.content, left_out, answers), left_out=left_out
    )


def _list_source_answers(results: ExploredResults) -> Iterator[AnswerText]:
    """The answers of each of the results as its report has them; of several with the label of each."""
    for source in results.sources:
        if results.has_study(source.label):
            for answer in list_answers(results.study(source.label)):
                lead = answer.lead if len(results.sources) == 1 else f"{source.label}: {answer.lead}"
                yield replace(answer, lead=lead)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenColumns:
    """The compressed table of the columns that are kept, their names, and the columns left out."""

    table: bytes
    kept: tuple[str, ...]
    dropped: tuple[ExploredColumn, ...]


def choose_columns(results: ExploredResults, room_bytes: int) -> ChosenColumns:
    """The columns whose compressed table fits the room, in their order; those of identity always."""
    ranked = [column for role in ROLES for column in results.columns if column.role == role]
    ranked = [column for column in ranked if column.kind != FLAGS]
    kept: dict[str, PackedArray] = {}
    spare = room_bytes
    for column in ranked:
        packed = pack_column(results, column, exact=False)
        spare -= _measure(results, column, packed)
        if spare < 0 and column.role != IDENTITY:
            break
        kept[column.name] = packed
    table = compress(pack_table(results, kept, {}, whole_paths=False))
    while len(table) > room_bytes and ranked[len(kept) - 1].role != IDENTITY:
        del kept[ranked[len(kept) - 1].name]  # columns compress less well side by side than each alone
        table = compress(pack_table(results, kept, {}, whole_paths=False))
    return ChosenColumns(table=table, kept=tuple(kept), dropped=tuple(ranked[len(kept) :]))


def _collect_parts(results: ExploredResults) -> Mapping[str, Any]:
    """What the page has besides trials: published tables, saved views, and verdicts."""
    saved = [
        {"results": source.label, "name": name, "view": item.view, "savedUtc": item.saved_utc}
        for source in results.sources
        for name, item in _read_saved(source.path).items()
    ]
    verdicts = collect_verdicts(results, [item["view"] for item in saved])
    return {"published": list_published(), "views": saved, "verdicts": verdicts}


def _read_saved(path: str) -> Mapping[str, SavedView]:
    """The saved views of a results folder; none of results in memory, or where they cannot be read."""
    try:
        return read_views(Path(path)) if path else {}
    except StoreError:
        return {}


def compress(content: bytes) -> bytes:
    """The content as the page holds it; the same content gives the same bytes."""
    return gzip.compress(content, compresslevel=LEVEL_BEST, mtime=0)


def _measure(results: ExploredResults, column: ExploredColumn, packed: PackedArray) -> int:
    """Bytes of a column in the compressed table, about: its array, its levels and its description."""
    levels = () if column.kind in NUMERIC else results.levels(column.name)
    text = json.dumps([column.label, column.meaning, *levels], ensure_ascii=False).encode()
    return sum(len(zlib.compress(item, LEVEL_BEST)) for item in (packed.content, text))


def _list_left_out(columns: ChosenColumns, documents: ExportedDocuments, trials: int) -> Iterator[str]:
    """What the page leaves out and rounds."""
    yield f"Measures are rounded to {DIGITS} significant digits in this file, times to a millisecond."
    if columns.dropped:
        names = "; ".join(column.label for column in columns.dropped)
        yield f"{format_count(len(columns.dropped), 'column')} left out to keep the file small: {names}."
    if not documents.detailed and trials:
        yield "Details of trials are left out; 'pathlab serve RESULTS' shows them."
    elif documents.detailed < trials:
        yield (
            f"Details are inside for the first {documents.detailed} of {format_count(trials, 'trial')}; "
            "'pathlab serve RESULTS' shows all."
        )
    if documents.charted < documents.with_series:
        trials_charted = format_count(documents.charted, "trial")
        yield f"Series over time are inside for the first {trials_charted} that have any."
