"""A topic: one kind of result, with everything that any output shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyBlock, LazyPlot, LazySection, list_plots
from pathlab.report.base.summary import AnswerText, TableGroup, TopicSummary
from pathlab.study.analyses import Analyses


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One kind of result: terminal, explorer, pages and JSON iterate over all of ``topics.TOPICS``.

    ``describe``: its answers. ``tables``: those of a terminal, below the answers. ``blocks``: what the
    opening of a report shows of it; ``leads``: the opening begins with its answers, which ``blocks`` states
    itself otherwise. ``figures``: those of ``blocks``, where listing them needs no analysis. ``sections``:
    its chapters. ``stated``: the kinds of warnings that its answers state.
    Each gives nothing where results have nothing of the topic.
    """

    key: str
    describe: Callable[[Analyses], Iterable[AnswerText]] = lambda _: ()
    tables: Callable[[Analyses], Iterable[TableGroup]] = lambda _: ()
    blocks: Callable[[ReportInputs], Iterable[LazyBlock]] = lambda _: ()
    figures: Callable[[ReportInputs], Iterable[LazyPlot]] | None = None
    sections: tuple[LazySection, ...] = ()
    leads: bool = True
    stated: tuple[str, ...] = ()

    def list_figures(self, inputs: ReportInputs) -> Iterable[LazyPlot]:
        """The figures of the opening; none is made."""
        return list_plots(self.blocks(inputs)) if self.figures is None else self.figures(inputs)

    def summarise(self, study: Analyses) -> TopicSummary:
        """Its answers and tables for a terminal."""
        answers, groups = tuple(self.describe(study)), tuple(self.tables(study))
        return TopicSummary(answers=answers, groups=groups, stated=self.stated)
