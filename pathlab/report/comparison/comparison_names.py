"""Names of compared combinations, without the parts that all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pathlab.report.base.phrases import format_count
from pathlab.study.base.trials import join_ends
from pathlab.study.comparison.groups import COMPARED, ComparedCell
from pathlab.study.comparison.mismatch import format_differing_setting
from pathlab.study.comparison.rows import ComparisonRow
from pathlab.units import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CellNames:
    """Names the combinations of some rows; ``shared``: the parts that are the same in all of them."""

    shared: tuple[str, ...]
    path: bool
    congestion: bool
    settings: frozenset[tuple[str, str]]

    def format(self, cell: ComparedCell) -> str:
        """The combination on one line, as far as it differs from others."""
        own = replace(
            cell,
            source="" if self.path else cell.source,
            destination="" if self.path else cell.destination,
            congestion="" if self.congestion else cell.congestion,
            settings=tuple(setting for setting in cell.settings if setting not in self.settings),
        )
        return format_compared_cell(own)


def name_cells(rows: Sequence[ComparisonRow]) -> CellNames:
    """The names of the combinations of ``rows``, of which there is at least one."""
    first = rows[0].cell
    path = len({(row.cell.source, row.cell.destination) for row in rows}) == 1
    congestion = len({row.cell.congestion for row in rows}) == 1
    settings = frozenset.intersection(*(frozenset(row.cell.settings) for row in rows))
    parts = (
        *((format_path(first),) if path else ()),
        *((first.congestion,) if congestion else ()),
        *_format_settings(setting for setting in first.settings if setting in settings),
    )
    return CellNames(
        shared=tuple(part for part in parts if part), path=path, congestion=congestion, settings=settings
    )


def format_path(cell: ComparedCell) -> str:
    """Sender and receiver; empty where host names were ignored."""
    if not cell.source and not cell.destination:
        return ""
    return join_ends(cell.source, cell.destination, dict(cell.settings).get("direction"))


def format_compared_cell(cell: ComparedCell, cells: str | None = None) -> str:
    """The combination on one line; ``cells``: the text of several streams and windows instead of its own."""
    return " ".join(_list_parts(cell, cells or _format_levels(cell)))


def _format_levels(cell: ComparedCell) -> str:
    """Streams and window, without the one that is compared; empty where both are."""
    if cell.window_bytes == cell.streams == COMPARED:
        return ""
    if cell.window_bytes == COMPARED:
        return format_count(cell.streams, "stream")
    window = "auto" if cell.window_bytes < 0 else format_bytes(cell.window_bytes)
    return f"window {window}" if cell.streams == COMPARED else f"{cell.streams} × {window}"


def _list_parts(cell: ComparedCell, cells: str) -> Iterator[str]:
    """Path, streams, windows and settings, as far as they are known."""
    if path := format_path(cell):
        yield f"{path}:"
    if cells:
        yield cells
    if cell.congestion:
        yield cell.congestion
    yield from _format_settings(cell.settings)


def _format_settings(settings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Settings that the system did not choose, as text."""
    named = (format_differing_setting(name, level) for name, level in settings if level != "None")
    yield from (f"{key}={text}" for key, text in named)
