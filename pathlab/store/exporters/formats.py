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

PROBES = ("loaded_probes", "unloaded_probes")
FLENT_RATES = ("receiver_intervals",)  # as the receiver counted them


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format: ``out`` says whether it becomes a file or a folder.

    ``needs``: a trial that kept none of these series is left out; empty: every trial is written.
    """

    export: Callable[[Selection, Path], None]
    out: str  # file | folder
    ending: str
    needs: tuple[str, ...] = ()

    def list_left_out(self, selection: Selection) -> list[int]:
        """The trials that are not written, by number."""
        chosen = selection.trials if self.needs else ()
        return [trial.trial_id for trial in chosen if not {*trial.kinds} & {*self.needs}]


FORMATS: Mapping[str, Format] = {
    "parquet": Format(export=export_parquet, out="folder", ending="-parquet"),
    "csv": Format(export=export_csv, out="folder", ending="-csv"),
    "jsonl": Format(export=export_lines, out="file", ending=".jsonl"),
    "iperf3": Format(export=export_iperf3, out="folder", ending="-iperf3"),
    "flent": Format(export=export_flent, out="folder", ending="-flent", needs=(*FLENT_RATES, *PROBES)),
    "hdr": Format(export=export_hdr, out="file", ending=".hlog", needs=PROBES),
    "openmetrics": Format(export=export_openmetrics, out="file", ending=".openmetrics.txt"),
}
