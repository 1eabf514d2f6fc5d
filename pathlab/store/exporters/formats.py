"""The formats by name: what each writes, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pathlab.store.exporters.flent import export_flent
from pathlab.store.exporters.hdr import export_hdr
from pathlab.store.exporters.iperf3 import export_iperf3
from pathlab.store.exporters.lines import export_lines
from pathlab.store.exporters.openmetrics import export_openmetrics
from pathlab.store.exporters.selection import Selection
from pathlab.store.exporters.tables import export_csv, export_parquet


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format: ``out`` says whether it becomes a file or a folder."""

    export: Callable[[Selection, Path], None]
    out: str  # file | folder
    ending: str


FORMATS: Mapping[str, Format] = {
    "parquet": Format(export=export_parquet, out="folder", ending="-parquet"),
    "csv": Format(export=export_csv, out="folder", ending="-csv"),
    "jsonl": Format(export=export_lines, out="file", ending=".jsonl"),
    "iperf3": Format(export=export_iperf3, out="folder", ending="-iperf3"),
    "flent": Format(export=export_flent, out="folder", ending="-flent"),
    "hdr": Format(export=export_hdr, out="file", ending=".hlog"),
    "openmetrics": Format(export=export_openmetrics, out="file", ending=".openmetrics.txt"),
}
