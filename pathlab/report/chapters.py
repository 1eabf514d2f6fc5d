"""The report's chapters in their order, and its figures by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pathlab.report.base.blocks import Question, Section
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyPlot, LazySection, build_blocks, list_plots, list_shortfalls
from pathlab.report.base.shortfalls import Shortfall, build_shortfalls
from pathlab.report.paths import routes
from pathlab.report.plots.model import Plot
from pathlab.report.topics import TOPICS
from pathlab.store.flags import Flag

#: The chapters of every topic in reading order: by question, then by topic.
SECTIONS: tuple[LazySection, ...] = tuple(
    section
    for question in (None, *Question)
    for topic in TOPICS
    for section in topic.sections
    if section.question is question
)


def build_sections(inputs: ReportInputs) -> tuple[Section, ...]:
    """Every chapter that the results fill, then the list of analyses that are not shown."""
    sections: list[Section] = []
    lacking: list[Shortfall] = []
    gaps: list[Shortfall] = []
    for chapter in _list_chapters(inputs):
        gap = chapter.find_gap(inputs)
        if gap is not None and not chapter.is_requested(inputs):
            continue
        if gap is not None:
            excluded = None if chapter is routes.SECTION else _find_exclusion(inputs)
            setting = None if excluded else chapter.choose_setting(inputs)
            needs = (excluded or gap).removeprefix("it needs ")
            repeat = Flag.LAB_LIMITED in (excluded or "")
            gaps.append(Shortfall(title=chapter.title, needs=needs, setting=setting, repeat=repeat))
            continue
        blocks = tuple(chapter.blocks(inputs))
        lacking += list_shortfalls(blocks)
        if built := tuple(build_blocks(blocks)):
            sections.append(
                Section(key=chapter.key, title=chapter.title, blocks=built, question=chapter.question)
            )
    return (*sections, *build_shortfalls(inputs, [*lacking, *gaps]))


def _list_chapters(inputs: ReportInputs) -> tuple[LazySection, ...]:
    """The chapters that these results may fill: those of messages alone where nothing else was carried."""
    messages_alone = inputs.message_conditions and not inputs.conditions
    return tuple(item for item in SECTIONS if item.of_messages or not messages_alone)


def _find_exclusion(inputs: ReportInputs) -> str | None:
    """Why there is nothing at all to make chapters from, though trials were completed; None otherwise."""
    if not inputs.conditions:
        if inputs.message_conditions:
            return None
        return "no trial carried traffic" if inputs.study.count_trials().complete else None
    if any(condition.cells for condition in inputs.conditions):
        return None
    counts: Counter[str] = Counter()
    for condition in inputs.conditions:
        counts.update({item.reason: item.trials for item in condition.sample.selection.excluded})
    return f"no usable trial ({', '.join(f'{count} {reason}' for reason, count in sorted(counts.items()))})"


def list_lazy_plots(inputs: ReportInputs) -> tuple[LazyPlot, ...]:
    """Every figure in the order of the report, with its title; none is made."""
    return tuple(_list_figure_blocks(inputs))


def find_plot(inputs: ReportInputs, name: str) -> Plot | None:
    """The figure of that name, made without any other; None where there is none."""
    return next((lazy.build() for lazy in _list_figure_blocks(inputs) if lazy.name == name), None)


def _list_figure_blocks(inputs: ReportInputs) -> Iterator[LazyPlot]:
    for topic in TOPICS:
        yield from topic.list_figures(inputs)
    for chapter in _list_chapters(inputs):
        if chapter.find_gap(inputs) is None:
            yield from list_plots(chapter.blocks(inputs))
