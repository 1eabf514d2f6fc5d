"""Parquet, one file per table and kind of series; units and meanings are in the schemas."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from pathlab.store.export_tables import build_tables, list_kinds, series_batches, series_schema
from pathlab.store.exporting import ExportFormat, Selection, open_target


def export_parquet(selection: Selection, out: Path) -> None:
    """Fill the folder ``out`` with ``trials.parquet`` and others."""
    with open_target(out, folder=True) as folder:
        for name, table in build_tables(selection):
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
        for kind in list_kinds(selection):
            schema = series_schema(selection, kind)
            with pq.ParquetWriter(folder / f"series_{kind}.parquet", schema, compression="zstd") as writer:
                for table in series_batches(selection, kind, schema):
                    writer.write_table(table)


FORMAT = ExportFormat(export=export_parquet, is_folder=True, ending="-parquet")
