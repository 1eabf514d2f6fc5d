"""A report before it is written: chapters of text, tables and figures. Every form is written from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import TypeAlias

from pathlab.report.plots.model import Plot
from pathlab.study.base.answer import Answer
from pathlab.study.flows.recommendation import Recommendation
from pathlab.study.runs.progress import RunCounts
from pathlab.table_columns import TableColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """One sentence or more; ``note``: in small print; ``lead``: in large print."""

    text: str
    note: bool = False
    lead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subheading:
    """A heading within a chapter."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Labels with a text each; ``wide``: definitions, one below the other."""

    items: tuple[tuple[str, str], ...]
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Preformatted:
    """Text that is shown as it is written, such as a campaign file."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlock:
    """A table under its own heading; ``name`` as of a figure, unique in the report.

    ``shown``: the places of the columns that pages show (see
    ``narrow``). ``constants``: heading and value of the others that have one value; ``note`` says them too.
    """

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str | None = None
    constants: tuple[tuple[str, str], ...] = ()
    shown: tuple[int, ...]

    def narrow(self) -> TableBlock:
        """The table as pages show it: only the columns of ``shown``."""
        if len(self.shown) == len(self.columns):
            return self
        return replace(
            self,
            columns=tuple(self.columns[index] for index in self.shown),
            rows=tuple(tuple(row[index] for index in self.shown) for row in self.rows),
            shown=tuple(range(len(self.shown))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Blocks that are shown on demand. ``detail``: those that the paper of small results leaves out."""

    title: str
    blocks: tuple[Block, ...]
    detail: bool = False


Block: TypeAlias = Paragraph | Subheading | Bullets | Facts | Preformatted | TableBlock | Plot | Fold


class Question(StrEnum):
    """The questions after the answer, in their order; each folds the chapters that answer it."""

    WHY = "Why this one?"
    BOTTLENECK = "What is the bottleneck?"
    COST = "What does it cost?"
    CERTAINTY = "How certain is it?"
    TRIALS = "Single trials"
    METHOD = "How was it measured?"

    @property
    def key(self) -> str:
        """Its name in links: ``why-this-one``."""
        return self.rstrip("?").lower().replace(" ", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A chapter; ``key``: letters, digits and dashes, unique in the report.

    ``question``: the one whose fold it is in; None: it is always shown.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]
    question: Question | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One warning: ``short`` says what is wrong, ``details`` explains it, ``fix`` says what to do.

    ``kind`` is a stable name for programs; ``path``: its scope, None: everywhere.
    """

    kind: str
    short: str
    details: str = ""
    fix: str = ""
    path: str | None = None

    @property
    def text(self) -> str:
        """The whole warning."""
        return " ".join(filter(None, (self.short, self.details, self.fix)))

    @property
    def brief(self) -> str:
        """The warning for a terminal: without its details."""
        return " ".join(filter(None, (self.short, self.fix)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report: its opening, and all of its chapters in order.

    ``facts`` are shown below the title. ``recommendations`` are the numbers of ``opening``. Those of
    ``sections`` with the same question follow each other. ``campaign`` and ``trials``: None where it is
    about several campaigns.
    """

    title: str
    facts: tuple[str, ...]
    footer: str
    notices: tuple[Notice, ...]
    recommendations: tuple[Answer[Recommendation], ...]
    opening: Section
    sections: tuple[Section, ...]
    campaign: Mapping[str, str | int] | None = None
    trials: RunCounts | None = None


def group_sections(report: Report) -> list[tuple[Question | None, tuple[Section, ...]]]:
    """The chapters of a report by their question, in reading order."""
    groups = groupby(report.sections, key=lambda section: section.question)
    return [(question, tuple(sections)) for question, sections in groups]


def list_blocks(blocks: Sequence[Block]) -> Iterator[Block]:
    """Every block in reading order, those inside folds as well."""
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from list_blocks(block.blocks)


def list_figures(report: Report) -> Iterator[Plot]:
    """Every figure of a report, in reading order."""
    for section in (report.opening, *report.sections):
        for block in list_blocks(section.blocks):
            if isinstance(block, Plot):
                yield block
