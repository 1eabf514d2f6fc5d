"""The short form of results: answers in sentences, and the tables below them, topic by topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathlab.printed_table import PrintedTable
from pathlab.report.base.phrases import format_count


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A sentence to act on, and what is said below it."""

    lead: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableGroup:
    """Tables with the flags of their trials, what their columns mean, and what shows the rows left out."""

    tables: Sequence[PrintedTable]
    flags: str = ""
    explanation: str = ""
    more: Sequence[str] = ()

    @property
    def texts(self) -> Iterator[str]:
        """The texts of all cells."""
        return (text for table in self.tables for row in table.rows for text in row)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSummary:
    """What a terminal shows of one topic; ``stated``: the kinds of warnings that its answers state."""

    answers: tuple[AnswerText, ...]
    groups: tuple[TableGroup, ...]
    stated: tuple[str, ...] = ()


def group_answer(texts: Sequence[str]) -> tuple[AnswerText, ...]:
    """The first sentence as the answer, the others as its remarks; none of none."""
    return (AnswerText(texts[0], tuple(texts[1:])),) if texts else ()


def format_more(count: int, noun: str, analysis: str) -> tuple[str, ...]:
    """``3 more rows: pathlab analyze RESULTS --only multipath``; nothing where none is left out."""
    text = f"{format_count(count, f'more {noun}')}: pathlab analyze RESULTS --only {analysis}"
    return (text,) if count else ()
