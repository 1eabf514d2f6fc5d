"""Sections before their blocks are made, so that a single figure can be made without all others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from pathlab.report.base.blocks import Block, Fold, Paragraph, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.shortfalls import Shortfall
from pathlab.report.plots.model import Axis, Layer, Panel, Plot


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What a figure shows: its panels and the sentences about them; ``empty``: why there is no panel.

    ``unit``: of a figure whose title names it.
    """

    sentences: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    empty: str | None = None
    unit: str = ""


def draw_panel(x: Axis, y: Axis, layers: Iterable[Layer], *sentences: str) -> Drawing:
    """A figure of one panel."""
    return Drawing(sentences=sentences, panels=(Panel(x=x, y=y, layers=tuple(layers)),))


#: Why a block is left out of the report; None where it is shown.
Lacks: TypeAlias = Callable[[], Shortfall | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyPlot:
    """A figure to be made, with its name, title and condition.

    ``on_demand``: made by name alone; so is one that ``lacks`` something.
    """

    name: str
    title: str
    condition: str
    draw: Callable[[], Drawing]
    on_demand: bool = False
    lacks: Lacks | None = None

    def build(self) -> Plot:
        """The figure."""
        drawn = self.draw()
        return Plot(
            name=self.name,
            title=f"{self.title} ({drawn.unit})" if drawn.unit else self.title,
            condition=self.condition,
            sentence=" ".join(text for text in drawn.sentences if text),
            panels=drawn.panels,
            shared_x=len(drawn.panels) > 1,
            empty=None if drawn.panels else drawn.empty,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyText:
    """Text and tables to be made; none where there is nothing to say."""

    build: Callable[[], Iterable[Block]]
    lacks: Lacks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyFold:
    """Blocks that are shown on demand; ``detail`` as of a ``Fold``."""

    title: str
    blocks: tuple[LazyBlock, ...]
    detail: bool = True


LazyBlock: TypeAlias = LazyPlot | LazyText | LazyFold


@dataclass(frozen=True, slots=True, kw_only=True)
class LazySection:
    """A section: ``blocks`` gives its blocks; ``find_gap`` why results cannot fill it, or None.

    ``choose_setting``: a key of the campaign file with a value, by which results fill it. ``factors``, by
    attribute: where the plan has none of them, it was not asked for, and a gap is not worth a line. ``asks``:
    which settings of a plan's row ask for it.
    ``of_messages``: it may be about messages; results of messages alone have no other.
    """

    key: str
    title: str
    find_gap: Callable[[ReportInputs], str | None]
    blocks: Callable[[ReportInputs], Iterable[LazyBlock]]
    question: Question | None = None
    choose_setting: Callable[[ReportInputs], str | None] = lambda _: None
    factors: tuple[str, ...] = ()
    of_messages: bool = False
    asks: Callable[[Mapping[str, Any]], bool] = lambda _: True

    def is_requested(self, inputs: ReportInputs) -> bool:
        """Whether the plan has a factor that it is about."""
        rows = inputs.study.study_plan()
        return not self.factors or any(
            not row.settings.keys().isdisjoint(self.factors) and self.asks(row.settings) for row in rows
        )


class Numbered(Protocol):
    """A subject with figures of its own: a condition, a survey of a path."""

    @property
    def number(self) -> int: ...

    @property
    def title(self) -> str: ...


def lazy_plot(
    numbered: Numbered,
    key: str,
    title: str,
    draw: Callable[..., Drawing],
    *arguments: Any,
    suffix: str = "",
    on_demand: bool = False,
    lacks: Lacks | None = None,
) -> LazyPlot:
    """The figure ``key-NUMBER`` that is drawn from these arguments."""
    return LazyPlot(
        name=f"{key}-{numbered.number}{suffix}",
        title=title,
        condition=numbered.title,
        draw=partial(draw, *arguments),
        on_demand=on_demand,
        lacks=lacks,
    )


def format_suffix(text: str) -> str:
    """A size at the end of a figure's name: ``-64KiB``, ``-1-5MiB``."""
    return re.sub(r"[^A-Za-z0-9]", "-", f" {text.replace(' ', '')}")


def lazy_text(build: Callable[..., Iterable[Block]], *arguments: Any, lacks: Lacks | None = None) -> LazyText:
    """Text and tables, made from these arguments."""
    return LazyText(build=partial(build, *arguments), lacks=lacks)


def list_shortfalls(blocks: Iterable[LazyBlock]) -> Iterator[Shortfall]:
    """What the blocks that are not shown lack."""
    for block in blocks:
        if isinstance(block, LazyFold):
            yield from list_shortfalls(block.blocks)
        elif block.lacks is not None and (result := block.lacks()) is not None:
            yield result


def build_blocks(blocks: Iterable[LazyBlock]) -> Iterator[Block]:
    """The blocks in their order, without those that lack something; a fold without any is left out."""
    apart = []
    for block in blocks:
        if not isinstance(block, LazyFold) and block.lacks is not None and block.lacks() is not None:
            continue
        if isinstance(block, LazyPlot) and block.on_demand:
            apart.append(block.name)
        elif isinstance(block, LazyPlot):
            yield block.build()
        elif isinstance(block, LazyText):
            yield from block.build()
        elif inside := tuple(build_blocks(block.blocks)):
            yield Fold(title=block.title, blocks=inside, detail=block.detail)
    if apart:
        text = f"More figures: 'pathlab report RESULTS --figure NAME --out FILE' with {', '.join(apart)}."
        yield Paragraph(text=text, note=True)


def list_plots(blocks: Iterable[LazyBlock]) -> Iterator[LazyPlot]:
    """The figures among the blocks, those in folds included; none is made."""
    for block in blocks:
        if isinstance(block, LazyPlot):
            yield block
        elif isinstance(block, LazyFold):
            yield from list_plots(block.blocks)
