"""A report before it is written: chapters of text, tables and figures, which every form is written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pathlab.report.plots.model import Plot
from pathlab.report.tables import TextTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A sentence or more; ``note``: said in small print."""

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlock:
    """A table under its own heading; ``name`` as of a figure, unique in the report."""

    name: str
    title: str
    table: TextTable
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Blocks that are shown on demand (on paper: always)."""

    title: str
    blocks: tuple[Block, ...]


Block: TypeAlias = Paragraph | TableBlock | Plot | Fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A chapter; ``key``: letters, digits and dashes, unique in the report."""

    key: str
    title: str
    blocks: tuple[Block, ...]
