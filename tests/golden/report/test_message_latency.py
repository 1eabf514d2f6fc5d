"""The chapter on the latency of messages: its figures, tables and sentences, and the report's opening."""

from __future__ import annotations

import pytest

from pathlab.report.blocks import Block, Paragraph, list_blocks
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Plot
from pathlab.report.sections.opening import build_opening
from pathlab.study.analyses import Study
from tests.builders.messages import RATES, TCP, Setup, make_message_results
from tests.golden.conftest import Say
from tests.unit.report.sections.test_message_latency import find


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return ReportInputs(Study(make_message_results(histograms=True)))


def list_texts(blocks: tuple[Block, ...]) -> list[str]:
    return [one.text for one in list_blocks(blocks) if isinstance(one, Paragraph)]


def describe_fronts(*setups: Setup, cycles: int = 8, rates: tuple[int, ...] = (1000, 5000)) -> str:
    results = make_message_results(setups, sizes=(64,), rates=rates, cycles=cycles)
    return list_texts(build_opening(ReportInputs(Study(results))).blocks)[0]


def test_a_tail_without_histograms_says_so(say: Say) -> None:
    bare = ReportInputs(Study(make_message_results((TCP,), cycles=1)))
    say(find(bare, "latency-tail-1-64B-1k-s").empty)


def test_the_opening_is_the_front_of_each_size(say: Say, inputs: ReportInputs) -> None:
    opening = build_opening(inputs)
    texts = list_texts(opening.blocks)
    say(texts[0])
    say(texts[1])
    plots = [one.name for one in opening.blocks if isinstance(one, Plot)]
    assert plots == ["latency-front-1-64B"]


def test_the_opening_of_messages_one_at_a_time_names_the_shortest_round_trips(say: Say) -> None:
    opening = build_opening(ReportInputs(Study(make_message_results(rates=(None,)))))
    texts = list_texts(opening.blocks)
    say(texts[0])
    few = build_opening(ReportInputs(Study(make_message_results(rates=(None,), cycles=2))))
    say(list_texts(few.blocks)[0])


def test_a_front_of_few_trials_names_no_winner_without_a_doubt(say: Say) -> None:
    unix = Setup({"transport": "unix"}, base_ns=5_000.0)
    say(describe_fronts(TCP, unix, cycles=2))
    assert "too few trials" not in describe_fronts(TCP, unix)


def test_one_setup_has_no_superlative(say: Say) -> None:
    text = describe_fronts(TCP)
    say(text)


def test_setups_that_all_carry_the_highest_rate_differ_by_p99_alone(say: Say) -> None:
    slow = Setup({"transport": "unix"}, base_ns=50_000.0)
    text = describe_fronts(TCP, slow, rates=(5000,))
    say(text)


def test_points_of_few_trials_are_counted_by_rate_and_by_size(say: Say) -> None:
    few = ReportInputs(Study(make_message_results([TCP], rates=RATES[:2], cycles=2)))
    for name in ("latency-by-rate-1-64B", "latency-by-size-1-1k-s"):
        sentence = find(few, name).sentence
        say(sentence)
