"""The answers of results in sentences, as a terminal prints them at the end of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pathlab.report.datagram_answers import describe_flows, list_other_recommendations
from pathlab.report.lossless_text import describe_lossless_rates
from pathlab.report.message_text import describe_latencies
from pathlab.report.multipath_text import describe_multipath
from pathlab.report.recommendation_text import SHOWN_IN_FULL, RecommendationText, describe_recommendation
from pathlab.report.size_text import describe_messages
from pathlab.report.technology_text import describe_technologies
from pathlab.study.analyses import Analyses


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A sentence to act on, and what is said below it."""

    lead: str
    remarks: tuple[str, ...] = ()


def list_answers(study: Analyses, compared: Iterable[str]) -> tuple[AnswerText, ...]:
    """Every answer in the order in which the terminal has them; one that says so where there is none.

    ``compared``: what builds or levels that were compared say, which comes first.
    """
    found = (*map(AnswerText, compared), *find_answers(study))
    return found or (AnswerText("Nothing can be recommended: no trial completed."),)


def find_answers(study: Analyses) -> tuple[AnswerText, ...]:
    """The answers of the results' own trials; empty where there is none."""
    return (
        *map(AnswerText, describe_messages(study)),
        *_group(describe_multipath(study)),
        *_group(describe_flows(study)),
        *list_recommendation_answers(study),
        *map(AnswerText, describe_lossless_rates(study)),
        *_group(describe_technologies(study), describe_latencies(study)),
    )


def list_recommendation_answers(study: Analyses) -> list[AnswerText]:
    """The recommendation of every condition; of many conditions without the remarks."""
    answers = [describe_recommendation(answer.result) for answer in list_other_recommendations(study)]
    return [
        AnswerText(
            lead=f"{words.name}: {words.lead}" if len(answers) > 1 else words.lead,
            remarks=(
                *(_list_remarks(words) if len(answers) <= SHOWN_IN_FULL else ()),
                *words.other_rates[:SHOWN_IN_FULL],
            ),
        )
        for words in answers
    ]


def _group(texts: Sequence[str], others: Sequence[str] = ()) -> Iterator[AnswerText]:
    """The first sentence with the rest as its remarks; ``others`` are answers beside it."""
    if texts:
        yield AnswerText(texts[0], tuple(texts[1:]))
    yield from map(AnswerText, others)


def _list_remarks(words: RecommendationText) -> Iterator[str]:
    """The key numbers that the lead does not give, in a line, and the first remarks."""
    labels = {remark.partition(":")[0] for remark in words.remarks}
    numbers = [
        f"{label}: {text}" for label, text in words.numbers if text not in words.lead and label not in labels
    ]
    if numbers:
        yield f"{'. '.join(numbers)}."
    yield from words.remarks
