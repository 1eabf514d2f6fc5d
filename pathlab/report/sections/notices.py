"""What a reader must know before any number: what is missing, what was not the path's doing."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.report.blocks import Notice
from pathlab.report.names import enumerate_cells
from pathlab.report.summary import Cell, PathSummary, Summary
from pathlab.store.flags import NOT_GRANTED, Flag
from pathlab.units import format_bytes

#: Paths that a warning names; of more it says how many.
PATHS_NAMED = 3


def list_notices(summary: Summary) -> tuple[Notice, ...]:
    """Every warning of a campaign, those on its validity first."""
    found = [*_doubt_run(summary)]
    places: dict[tuple[str, str], list[str]] = {}
    for path in summary.paths:
        if path.measured:
            for notice in _doubt_path(path):
                places.setdefault((notice.kind, notice.text), []).append(notice.path or "")
    for (kind, text), paths in places.items():
        found.append(Notice(kind=kind, text=text, path=_join(paths, len(summary.paths))))
    return tuple(found)


def _join(paths: list[str], known: int) -> str | None:
    """Where something holds: None where it is every path of several."""
    if len(paths) == known > 1:
        return None
    return "; ".join(paths) if len(paths) <= PATHS_NAMED else f"{len(paths)} paths"


def _doubt_run(summary: Summary) -> Iterator[Notice]:
    if summary.fallback:
        reason = summary.fallback.strip().rstrip(".")
        yield Notice(
            kind="fallback",
            text=f"Loopback fallback: {reason}. The numbers describe this machine alone and no network.",
        )
    if not summary.complete:
        yield Notice(
            kind="empty", text="No trial completed, so nothing was measured and nothing can be drawn."
        )
    if summary.failures:
        stages = sorted({trial.record.failed_stage or trial.record.status for trial in summary.failures})
        total = summary.complete + len(summary.failures)
        yield Notice(
            kind="failures",
            text=f"{len(summary.failures)} of {total} trials did not complete (stage: {', '.join(stages)}). "
            "They are listed with their reasons and are in no figure.",
        )
    if summary.missing:
        yield Notice(
            kind="partial",
            text=f"{summary.missing} of {summary.planned} planned trials have no result; "
            "'pathlab run' on the same campaign measures them.",
        )


def _doubt_path(path: PathSummary) -> Iterator[Notice]:
    name = str(path.path)
    if doubted := _list_flagged(path, Flag.LAB_LIMITED):
        yield Notice(
            kind=Flag.LAB_LIMITED,
            path=name,
            text=f"With {_enumerate(doubted, path)} the lab was beyond what it emulates truly (packets lost "
            "outside the links, late deliveries, no CPU time left): "
            "the numbers describe the lab, not the path.",
        )
    if doubted := _list_flagged(path, Flag.HOST_LIMITED):
        yield Notice(
            kind=Flag.HOST_LIMITED,
            path=name,
            text=f"With {_enumerate(doubted, path)} a host was at its limit and nothing else explains the "
            "rate: these numbers describe the host and not the path.",
        )
    yield from _doubt_windows(path)
    yield from _doubt_conditions(path)
    if over := [cell for cell in path.measured if dict(cell.flags).get(Flag.OVER_LINE_RATE)]:
        yield Notice(
            kind=Flag.OVER_LINE_RATE,
            path=name,
            text=f"Trials with {_enumerate(over, path)} counted more than the link carries. After a loss, "
            "what waits behind the hole is counted when the hole is filled, so a short window can hold "
            "bytes that arrived before it: these rates are too high.",
        )
    if changed := [cell for cell in path.measured if dict(cell.flags).get(Flag.ROUTE_CHANGED)]:
        yield Notice(
            kind=Flag.ROUTE_CHANGED,
            path=name,
            text=f"The route changed during the campaign, which may have touched trials with "
            f"{_enumerate(changed, path)}.",
        )
    if cut := [cell for cell in path.measured if dict(cell.flags).get(Flag.UNDELIVERED_DATA)]:
        yield Notice(
            kind=Flag.UNDELIVERED_DATA,
            path=name,
            text=f"With {_enumerate(cut, path)} some data had not arrived when the drain time was up, and "
            "the connections were reset. The steady window was over by then: its figures stand.",
        )
    fewest, need = min(cell.complete for cell in path.measured), median_interval_minimum()
    if fewest < need:
        yield Notice(
            kind="small-sample",
            path=name,
            text=f"Small sample: the combination measured least has {fewest} trial{'s' * (fewest != 1)}. A "
            f"95 % interval of a median needs {need}, so differences are shown and not decided.",
        )


def _doubt_conditions(path: PathSummary) -> Iterator[Notice]:
    """Trials that met other conditions than the plan has for them, or than the trials before."""
    for flag in sorted({flag for cell in path.measured for flag, _ in cell.flags}):
        what = None
        if flag == Flag.CHANGED_SINCE_START:
            what = "A host or a program had changed since the campaign began (see the journal), in trials"
        elif flag.endswith(NOT_GRANTED):
            setting = flag.removesuffix(NOT_GRANTED).replace("-", " ")
            what = f"An end did not grant what was asked for as {setting} (its settings tell), in trials"
        if what is not None:
            cells = [cell for cell in path.measured if dict(cell.flags).get(flag)]
            yield Notice(kind=flag, path=str(path.path), text=f"{what} with {_enumerate(cells, path)}.")


def _doubt_windows(path: PathSummary) -> Iterator[Notice]:
    """Windows that a kernel did not grant."""
    if short := [cell for cell in path.measured if cell.short_windows]:
        least = min(
            (
                size
                for cell in short
                for size in (cell.window_granted_sender_bytes, cell.window_granted_receiver_bytes)
                if size is not None
            ),
            default=None,
        )
        yield Notice(
            kind="window-not-granted",
            path=str(path.path),
            text=f"The kernel granted less than the window asked for with {_enumerate(short, path)} (least "
            f"grant: {format_bytes(least)} as the kernel reports it, which is twice what it gives). Next: "
            "raise net.core.rmem_max and net.core.wmem_max on both hosts; 'pathlab doctor' shows them.",
        )


def _list_flagged(path: PathSummary, flag: str) -> list[Cell]:
    """Cells of which most trials bear a flag."""
    return [cell for cell in path.measured if dict(cell.flags).get(flag, 0) * 2 > cell.complete]


def _enumerate(cells: list[Cell], path: PathSummary) -> str:
    if len(cells) == len(path.measured) > 1:
        return f"all {len(cells)} combinations"
    return enumerate_cells((cell.streams, cell.window_requested_bytes) for cell in cells)
