"""Tidy CSV, one file per table and kind of series: a row per observation, empty: not measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pathlab.escaping import escape_cell
from pathlab.store.export_tables import build_tables, list_kinds, series_batches, series_schema
from pathlab.store.exporting import ExportFormat, Selection, open_target
from pathlab.store.series import serialize_bytes


def export_csv(selection: Selection, out: Path) -> None:
    """Fill the folder ``out`` with ``trials.csv`` and others."""
    with open_target(out, folder=True) as folder:
        for name, table in build_tables(selection):
            pa.csv.write_csv(_flatten(table), folder / f"{name}.csv")
        for kind in list_kinds(selection):
            schema = series_schema(selection, kind)
            with pa.csv.CSVWriter(folder / f"series_{kind}.csv", _flat_schema(schema)) as writer:
                for table in series_batches(selection, kind, schema):
                    writer.write_table(_flatten(table))


def _flat_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, _flat_type(field.type)) for field in schema])


def _flat_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_list(kind) or pa.types.is_binary(kind) else kind


def _flatten(table: pa.Table) -> pa.Table:
    """The table as CSV can hold it: lists joined by ``;``, bytes as base64, no text a formula."""
    columns = []
    for field in table.schema:
        values: Any = table[field.name]
        if pa.types.is_list(field.type):
            joined = [None if v is None else ";".join(v) for v in values.to_pylist()]
            values = _escape_cells(pa.array(joined, pa.string()))
        elif pa.types.is_string(field.type):
            values = _escape_cells(values)
        elif pa.types.is_binary(field.type):
            values = pa.array([serialize_bytes(v) for v in values.to_pylist()], pa.string())
        columns.append(values)
    return pa.table(columns, schema=_flat_schema(table.schema))


def _escape_cells(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Texts as ``escape_cell`` has them, each different one looked at once."""
    texts = pc.unique(values)
    escaped = pa.array([None if v is None else escape_cell(v) for v in texts.to_pylist()], pa.string())
    if escaped.equals(texts):
        return values
    return escaped.take(pc.index_in(values, texts))


FORMAT = ExportFormat(export=export_csv, is_folder=True, ending="-csv")
