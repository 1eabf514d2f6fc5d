"""The explorer as one file with its data inside: ``pathlab report RESULTS... --format explorer``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pathlab.report.explorer.export import export_page
from pathlab.report.formats.output_file import write_whole
from pathlab.study.exploration.explored_results import ExploredResults


def write_explorer(results: Sequence[Path], out: Path) -> Path:
    """Write the page of one or several results and return its path; the file is replaced as a whole.

    Raises StoreError where the results cannot be read or the file cannot be written.
    """
    return write_whole(out, export_page(ExploredResults.open(results)).text.encode())
