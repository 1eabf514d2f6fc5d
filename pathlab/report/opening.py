"""The answer at first sight: the answers of every topic, with what each shows below them."""

from __future__ import annotations

from pathlab.report.base.blocks import Block, Bullets, Paragraph, Section
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import build_blocks
from pathlab.report.topics import TOPICS


def build_opening(inputs: ReportInputs) -> Section:
    """The answers, then their remarks, then the figures and tables of each topic."""
    answers = [answer for topic in TOPICS if topic.leads for answer in topic.describe(inputs.study)]
    blocks: list[Block] = [Paragraph(text=answer.lead, lead=True) for answer in answers]
    remarks = tuple(text for answer in answers for text in answer.remarks)
    blocks += [Bullets(items=remarks)] if remarks else []
    for topic in TOPICS:
        blocks += build_blocks(topic.blocks(inputs))
    if not blocks:
        blocks.append(Paragraph(text="Nothing can be recommended: no trial completed.", lead=True))
    return Section(key="answer", title="The answer", blocks=tuple(blocks))
