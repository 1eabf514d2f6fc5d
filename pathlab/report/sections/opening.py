"""The recommendation of each path: the answer at first sight, and the chapters of its reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pathlab.report.blocks import (
    Block,
    Bullets,
    Facts,
    Fold,
    Paragraph,
    Question,
    Section,
    Subheading,
    TableBlock,
)
from pathlab.report.datagram_answers import describe_flows, list_other_recommendations
from pathlab.report.inputs import ReportInputs
from pathlab.report.lossless_text import describe_lossless_rates
from pathlab.report.message_text import describe_latencies
from pathlab.report.multipath_text import describe_multipath
from pathlab.report.recommendation_text import (
    RULE,
    SHORT_HEADINGS,
    SHOWN_IN_FULL,
    RecommendationText,
    describe_recommendation,
    shorten_recommendation,
)
from pathlab.report.sections.answer_figure import outline_answer_figure
from pathlab.report.sections.datagrams import outline_opening_datagrams
from pathlab.report.sections.fan_out import list_fan_out_sentences
from pathlab.report.sections.lazy import build_blocks
from pathlab.report.sections.lossless_rate import outline_opening_rates
from pathlab.report.sections.message_latency import outline_opening_front
from pathlab.report.sections.messages import outline_opening
from pathlab.report.sections.multipath import outline_opening_multipath
from pathlab.report.sections.recordings import list_cost_sentences
from pathlab.report.sections.releases import list_release_sentences
from pathlab.report.sections.technologies import outline_opening_technologies
from pathlab.report.size_text import describe_messages
from pathlab.report.tables import build_table
from pathlab.report.technology_text import describe_technologies
from pathlab.study.answer import Answer
from pathlab.study.recommendation import Recommendation

Answers = Sequence[Answer[Recommendation]]


def build_opening(inputs: ReportInputs) -> Section:
    """What carries messages best, then the answer of every condition; of several first a table of all."""
    answers = list_other_recommendations(inputs.study)
    flows = describe_flows(inputs.study)
    compared = tuple(list_comparisons(inputs))
    messages = describe_messages(inputs.study)
    technologies = describe_technologies(inputs.study)
    links = describe_multipath(inputs.study)
    rates = describe_lossless_rates(inputs.study)
    leads = (*rates, *compared, *flows[:1], *links[:1], *technologies[:1])
    leads = (*leads, *describe_latencies(inputs.study), *messages[:1])
    blocks: list[Block] = [Paragraph(text=text, lead=True) for text in leads]
    remarks = (*flows[1:], *links[1:], *technologies[1:], *messages[1:])
    blocks += [Bullets(items=remarks)] if remarks else []
    blocks += build_blocks(outline_opening_rates(inputs))
    blocks += build_blocks(outline_opening_datagrams(inputs))
    blocks += build_blocks((*outline_opening_multipath(inputs), *outline_opening_technologies(inputs)))
    blocks += [figure.build() for figure in (*outline_opening_front(inputs), *outline_opening(inputs))]
    if not answers and not blocks:
        blocks.append(Paragraph(text="Nothing can be recommended: no trial completed.", lead=True))
    if len(answers) > 1:
        blocks.append(_tabulate(answers))
    figures = {one.key: outline_answer_figure(inputs, one) for one in inputs.conditions}

    def show(answer: Answer[Recommendation]) -> Iterator[Block]:
        text = describe_recommendation(answer.result)
        yield Paragraph(text=text.lead, lead=True)
        if text.numbers:
            yield Facts(items=text.numbers)
        if figure := figures.get(answer.condition):
            yield figure.build()

    blocks += _list_per_condition(answers, show)
    return Section(key="answer", title="The answer", blocks=tuple(blocks))


def list_comparisons(inputs: ReportInputs) -> Iterator[str]:
    """What changed between builds or levels, what recording costs, what several sinks receive."""
    yield from list_release_sentences(inputs)
    yield from list_cost_sentences(inputs)
    yield from list_fan_out_sentences(inputs)


def build_reasons(answers: Answers) -> Iterator[Section]:
    """Why the recommendation is as it is, and how certain; none where there is nothing to say."""
    reasons = list(_list_per_condition(answers, lambda one: _list_words(one, lambda text: text.reasons)))
    if any(answer.result.recommended is not None for answer in answers):
        reasons.append(
            Fold(title="How this is chosen", blocks=(Paragraph(text=RULE, note=True),), detail=True)
        )
    certainty = list(_list_per_condition(answers, lambda one: _list_words(one, lambda text: text.certainty)))
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


def _tabulate(answers: Answers) -> TableBlock:
    rows = (shorten_recommendation(answer.result) for answer in answers)
    words = set(SHORT_HEADINGS) - {"dRTT", "Loss", "CPU"}
    return build_table(
        "answers", "Every path and setting", SHORT_HEADINGS, rows, words=words, keep=SHORT_HEADINGS
    )
