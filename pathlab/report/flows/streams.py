"""Streams and windows: the recommendation of each path, its reasons, and the chapters on combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pathlab.report.base.blocks import (
    Block,
    Bullets,
    Facts,
    Fold,
    Paragraph,
    Question,
    Section,
    Subheading,
)
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyBlock, LazyFold, LazyPlot, lazy_text
from pathlab.report.base.tables import build_table
from pathlab.report.base.topic import Topic
from pathlab.report.datagrams.datagram_answers import list_other_recommendations
from pathlab.report.flows import cells, certainty, cpu, duration, effect, surface, sweep
from pathlab.report.flows.answer_figure import defer_answer_figure
from pathlab.report.flows.condition_tables import build_conditions_table
from pathlab.report.flows.recommendation_text import (
    RULE,
    SHORT_HEADINGS,
    SHOWN_IN_FULL,
    RecommendationText,
    answer_recommendations,
    describe_recommendation,
    shorten_recommendation,
)
from pathlab.study.base.answer import Answer
from pathlab.study.flows.recommendation import Recommendation
from pathlab.table_columns import list_table_columns

Answers = Sequence[Answer[Recommendation]]


def list_recommendation_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """The answer of every condition with its figure; of several first a table of all."""
    answers = list_other_recommendations(inputs.study)
    figures = {condition.key: defer_answer_figure(inputs, condition) for condition in inputs.conditions}
    if len(answers) > 1:
        yield lazy_text(_build_table, answers)
    for answer in answers:
        name, figure = answer.result.name, figures.get(answer.condition)
        blocks = (lazy_text(_write_answer, answer), *((figure,) if figure else ()))
        if len(answers) > SHOWN_IN_FULL:
            yield LazyFold(title=name, blocks=blocks, detail=False)
        else:
            if len(answers) > 1:
                yield lazy_text(_write_heading, name)
            yield from blocks


def _write_heading(name: str) -> Iterator[Block]:
    yield Subheading(text=name)


def _write_answer(answer: Answer[Recommendation]) -> Iterator[Block]:
    text = describe_recommendation(answer.result)
    yield Paragraph(text=text.lead, lead=True)
    if text.numbers:
        yield Facts(items=text.numbers)


def _list_answer_figures(inputs: ReportInputs) -> Iterator[LazyPlot]:
    return (defer_answer_figure(inputs, condition) for condition in inputs.conditions)


def build_reasons(answers: Answers) -> Iterator[Section]:
    """Why the recommendation is as it is, and how certain; none where there is nothing to say."""
    reasons = list(_list_per_condition(answers, lambda item: _list_words(item, lambda text: text.reasons)))
    if any(answer.result.recommended is not None for answer in answers):
        reasons.append(
            Fold(title="How this is chosen", blocks=(Paragraph(text=RULE, note=True),), detail=True)
        )
    certainty = list(
        _list_per_condition(answers, lambda item: _list_words(item, lambda text: text.certainty))
    )
    for key, title, blocks, question in (
        ("reasons", "The recommendation", reasons, Question.WHY),
        ("confidence", "Confidence of the recommendation", certainty, Question.CERTAINTY),
    ):
        if blocks:
            yield Section(key=key, title=title, blocks=tuple(blocks), question=question)


def _list_words(
    answer: Answer[Recommendation], choose: Callable[[RecommendationText], tuple[str, ...]]
) -> Iterator[Block]:
    if items := choose(describe_recommendation(answer.result)):
        yield Bullets(items=items)


def _list_per_condition(
    answers: Answers, show: Callable[[Answer[Recommendation]], Iterator[Block]]
) -> Iterator[Block]:
    """The blocks of every condition: below its name where there are several, folded where they are many."""
    for answer in answers:
        shown = tuple(show(answer))
        if not shown:
            continue
        if len(answers) > SHOWN_IN_FULL:
            yield Fold(title=answer.result.name, blocks=shown)
        else:
            yield from (Subheading(text=answer.result.name),) if len(answers) > 1 else ()
            yield from shown


def _build_table(answers: Answers) -> Iterator[Block]:
    rows = (shorten_recommendation(answer.result) for answer in answers)
    columns = list_table_columns(SHORT_HEADINGS, set(SHORT_HEADINGS) - {"dRTT", "Loss", "CPU"}, stay=True)
    yield build_table("answers", "Every path and setting", columns, rows)


TOPIC = Topic(
    key="streams",
    describe=answer_recommendations,
    tables=build_conditions_table,
    blocks=list_recommendation_blocks,
    figures=_list_answer_figures,
    sections=(
        cells.COMBINATIONS,
        sweep.SECTION,
        cells.SECTION,
        surface.SECTION,
        duration.SECTION,
        sweep.COSTS,
        effect.SECTION,
        cpu.COSTS,
        cpu.PRODUCTS,
        certainty.SECTION,
    ),
    leads=False,
    stated=("small-sample",),
)
