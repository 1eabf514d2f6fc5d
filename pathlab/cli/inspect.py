"""``pathlab inspect``: what the packets of a capture show, in the terminal and as a page."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

from pathlab.study.captures.inspection import inspect_file, inspect_trial
from pathlab.units import parse_time_ns

#: ``M_MMAP_THRESHOLD`` of glibc's ``malloc.h``, and the size from which an array gets pages of its own.
_MMAP_THRESHOLD, _OWN_PAGES_BYTES = -3, 1 << 20


def inspect(
    source: Path,
    trial: int | None,
    flow: int | None,
    first: str | None,
    last: str | None,
    formats: tuple[str, ...],
    out: Path | None,
    figure: Path | None,
    *,
    quiet: bool,
) -> None:
    """Print what the packets show, and write it in the forms named.

    The modules that write are loaded once the packets are no longer in memory.
    """
    if "pdf" in formats or (out is not None and out.suffix.lower() == ".pdf"):
        from pathlab.report.formats.forms import load_libraries

        load_libraries(("pdf",))
    _return_memory_at_once()
    window_s = None
    if first is not None or last is not None:
        start_s, end_s = (
            default if text is None else parse_time_ns(text, bare_unit="s") / 1e9
            for text, default in ((first, 0.0), (last, math.inf))
        )
        window_s = (start_s, end_s)
    if trial is None:
        result = inspect_file(source, flow=flow, window_s=window_s)
    else:
        result = inspect_trial(source, trial, flow=flow, window_s=window_s)
    from pathlab.cli.inspection_output import show_inspection

    show_inspection(result, formats, out, figure, quiet=quiet)


def _return_memory_at_once() -> None:
    """Let the C library give memory of arrays back when they end; it keeps up to 32 MiB of each otherwise.

    Columns of a large capture are of that size, and would take a tenth more memory. Another C library than
    glibc has no such setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _OWN_PAGES_BYTES)
