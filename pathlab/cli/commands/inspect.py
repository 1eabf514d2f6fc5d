"""Explain the TCP packets of a capture."""

from __future__ import annotations

import math
from pathlib import Path

import click

from pathlab.cli.declaration import argument, declare, flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.names import REPORT_FORMS
from pathlab.cli.values import FIGURE_PATH, PATH, SECONDS, check_writable
from pathlab.errors import StoreError, UsageError
from pathlab.store.location import locate_database
from pathlab.units import format_exact_time

with DeferredImports() as libraries:
    import ctypes

    from pathlab.study.captures.inspection import inspect_file, inspect_trial


#: ``M_MMAP_THRESHOLD`` of glibc's ``malloc.h``, and the size from which an array gets pages of its own.
_MMAP_THRESHOLD, _OWN_PAGES_BYTES = -3, 1 << 20


def inspect(
    source: Path,
    trial: int | None,
    flow: int | None,
    first_ns: int | None,
    last_ns: int | None,
    formats: tuple[str, ...],
    out: Path | None,
    figure: Path | None,
    *,
    quiet: bool,
) -> None:
    """Explain the TCP packets of a capture: retransmissions by cause, reordering, RTT, windows.

    SOURCE is a pcap or pcapng file, or with --trial a results folder whose campaign recorded packet headers
    ([trial] capture = "headers").
    """
    _check_source(source, trial)
    if first_ns is not None and last_ns is not None and first_ns >= last_ns:
        given = f"--from {format_exact_time(first_ns)} is not before --to {format_exact_time(last_ns)}"
        raise UsageError(given, hint="name a later end")
    if formats or out is not None:
        _check_ending(formats, out)
        check_writable(out or Path(), "--out")
    libraries.load()
    if "pdf" in formats or (out is not None and out.suffix.lower() == ".pdf"):
        from pathlab.report.formats.forms import load_libraries

        load_libraries(("pdf",))
    _return_memory_at_once()
    window_s = None
    if first_ns is not None or last_ns is not None:
        window_s = ((first_ns or 0) / 1e9, math.inf if last_ns is None else last_ns / 1e9)
    if trial is None:
        result = inspect_file(source, flow=flow, window_s=window_s)
    else:
        result = inspect_trial(source, trial, flow=flow, window_s=window_s)
    from pathlab.cli.inspection_output import show_inspection

    show_inspection(result, formats, out, figure, quiet=quiet)


def _check_source(source: Path, trial: int | None) -> None:
    """Raise StoreError or UsageError unless it is a file that can be read, or results that hold the trial."""
    if trial is not None:
        locate_database(source)
        return
    if source.is_dir():
        raise UsageError(
            f"'{source}' is a folder", hint="name a capture file, or --trial N of a results folder"
        )
    try:
        if source.is_file():
            source.open("rb").close()
        else:
            source.stat()  # opening a pipe would wait for its writer
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(
            f"capture '{source}' cannot be read: {reason}", hint="name a pcap or pcapng file"
        ) from error


def _check_ending(formats: tuple[str, ...], out: Path | None) -> None:
    """A single form has the ending of its own."""
    ending = "" if out is None or out.is_dir() else out.suffix.lower()
    if len(set(formats)) == 1 and ending in {f".{form}" for form in REPORT_FORMS} - {f".{formats[0]}"}:
        raise UsageError(
            f"'{out}' ends as {ending[1:]} but --format says {formats[0]}",
            hint=f"give a name that ends in .{formats[0]}, or leave --format out",
        )


def _return_memory_at_once() -> None:
    """Let the C library give memory of arrays back when they end; it keeps up to 32 MiB of each otherwise.

    Columns of a large capture are of that size, and would take a tenth more memory. Another C library than
    glibc has no such setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _OWN_PAGES_BYTES)


command = declare(
    "inspect",
    inspect,
    argument("source", type=PATH),
    option("--trial", type=click.IntRange(min=1), metavar="N", help="Inspect the captures of trial N."),
    option("--flow", type=click.IntRange(min=1), metavar="N", help="Show flow N; default: most bytes."),
    option(
        "--from",
        "first_ns",
        type=SECONDS,
        metavar="TIME",
        help="Begin the figures TIME after the first packet.",
    ),
    option(
        "--to", "last_ns", type=SECONDS, metavar="TIME", help="End the figures TIME after the first packet."
    ),
    option(
        "--format",
        "formats",
        multiple=True,
        type=click.Choice(REPORT_FORMS),
        help="Write a page too; may be repeated. With --out alone: as it ends.",
    ),
    option("--out", type=PATH, help="File to write; default: inspection.html (.pdf, .md, .json) here."),
    option("--figure", type=FIGURE_PATH, help="Draw the time-sequence figure into FILE (.svg, .png, .pdf)."),
    flag("--quiet", help="Print the paths of what was written only."),
)
