"""The report's first chapter: the recommendation of each path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pathlab.report.blocks import Block, Bullets, Facts, Fold, Paragraph, Section, Subheading, TableBlock
from pathlab.report.recommendation_text import (
    RULE,
    SHORT_HEADINGS,
    SHOWN_IN_FULL,
    describe_recommendation,
    shorten_recommendation,
)
from pathlab.report.tables import build_table
from pathlab.study.answer import Answer
from pathlab.study.recommendation import Recommendation


def build_opening(answers: Sequence[Answer[Recommendation]]) -> Section:
    """The answer of every condition; with several a table of all of them first."""
    blocks: list[Block] = []
    if not answers:
        blocks.append(Paragraph(text="Nothing can be recommended: no trial completed.", lead=True))
    if len(answers) > 1:
        blocks.append(_tabulate(answers))
    for answer in answers:
        shown = tuple(_describe(answer))
        if len(answers) > SHOWN_IN_FULL:
            blocks.append(Fold(title=answer.result.name, blocks=shown))
        else:
            blocks += [Subheading(text=answer.result.name), *shown]
    if any(answer.result.recommended is not None for answer in answers):
        blocks.append(Fold(title="How this is chosen", blocks=(Paragraph(text=RULE, note=True),)))
    return Section(key="answer", title="The answer", blocks=tuple(blocks))


def _describe(answer: Answer[Recommendation]) -> Iterator[Block]:
    text = describe_recommendation(answer.result)
    yield Paragraph(text=text.lead, lead=True)
    if text.facts:
        yield Facts(items=text.facts)
    if text.sentences:
        yield Bullets(items=text.sentences)


def _tabulate(answers: Sequence[Answer[Recommendation]]) -> TableBlock:
    rows = (shorten_recommendation(answer.result) for answer in answers)
    words = set(SHORT_HEADINGS) - {"dRTT", "Loss", "CPU"}
    return build_table("answers", "Every path and setting", SHORT_HEADINGS, rows, words=words)
