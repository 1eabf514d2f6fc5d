"""Chapters before their blocks are made, so that a single figure can be had without all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pathlab.report.blocks import Block, Fold, Paragraph
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Plot


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotDraft:
    """A figure to be made, with its name, title and condition. ``on_demand``: made by name alone.

    Where a figure's title ends in a unit in brackets, which only its numbers tell, the draft's does not.
    """

    name: str
    title: str
    condition: str
    build: Callable[[], Plot]
    on_demand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDraft:
    """Text and tables to be made; none where there is nothing to say."""

    build: Callable[[], Iterable[Block]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldDraft:
    """Drafts that are shown on demand."""

    title: str
    drafts: tuple[Draft, ...]


Draft: TypeAlias = PlotDraft | TextDraft | FoldDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A chapter: ``outline`` is what it has; ``find_gap`` why results cannot fill it (None: they can)."""

    key: str
    title: str
    find_gap: Callable[[ReportInputs], str | None]
    outline: Callable[[ReportInputs], Iterable[Draft]]


def carry_out(drafts: Iterable[Draft]) -> Iterator[Block]:
    """The blocks of the drafts, in their order; a fold without any is left out."""
    apart = []
    for draft in drafts:
        if isinstance(draft, PlotDraft) and draft.on_demand:
            apart.append(draft.name)
        elif isinstance(draft, PlotDraft):
            yield draft.build()
        elif isinstance(draft, TextDraft):
            yield from draft.build()
        elif blocks := tuple(carry_out(draft.drafts)):
            yield Fold(title=draft.title, blocks=blocks)
    if apart:
        text = f"Further ones by 'pathlab report RESULTS --figure NAME --out FILE': {', '.join(apart)}."
        yield Paragraph(text=text, note=True)


def list_plot_drafts(drafts: Iterable[Draft]) -> Iterator[PlotDraft]:
    """The figures among the drafts, those in folds included; none is made."""
    for draft in drafts:
        if isinstance(draft, PlotDraft):
            yield draft
        elif isinstance(draft, FoldDraft):
            yield from list_plot_drafts(draft.drafts)
