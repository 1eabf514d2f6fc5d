"""The recommendation in words: the same on the terminal and in the report, and no more than was measured."""

from __future__ import annotations

import io
import re
from dataclasses import replace

from rich.console import Console

from pathlab.analysis.verdicts.limits import Limit
from pathlab.report.formats.terminal import render_summary
from pathlab.report.names import LIMITS
from pathlab.report.recommendation_text import (
    RULE,
    describe_recommendation,
    shorten_recommendation,
)
from pathlab.report.report_builder import gather_inputs
from pathlab.report.sections.notices import list_notices
from pathlab.report.sections.opening import build_opening
from tests.builders.recommendations import KIB, QUICK, carry, sweep
from tests.builders.results import SyntheticResults, make_quickstart


def test_no_trial_gives_no_answer() -> None:
    empty = SyntheticResults(make_quickstart(cycles=1, levels=[(1, None)]).campaign, [], [], {})
    inputs = gather_inputs(empty)
    assert inputs.study.recommend() == ()
    (block,) = build_opening(inputs).blocks
    assert "no trial completed" in str(block)


def test_the_terminal_says_what_the_page_says() -> None:
    results = make_quickstart(cycles=8)
    inputs = gather_inputs(results)
    answers = inputs.study.recommend()
    console = Console(file=io.StringIO(), width=400, color_system=None)
    render_summary(inputs.study, list_notices(inputs.study), console)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    words = describe_recommendation(answers[0].result)
    assert words.lead in printed
    for text in (*words.remarks, *(value for _, value in words.numbers)):
        assert text.lower() in printed.lower()
    assert printed.count("Confidence:") == 1


def test_many_conditions_have_a_table_and_folds() -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records = [
        replace(record, path_destination=f"east{number}") for number in range(5) for record in results.records
    ]
    inputs = gather_inputs(results)
    answers = inputs.study.recommend()
    assert len(answers) == 5
    names = [type(block).__name__ for block in build_opening(inputs).blocks]
    assert names == ["TableBlock", *["Fold"] * 5]
    assert {len(shorten_recommendation(one.result)) for one in answers} == {8}


def test_every_limit_has_words() -> None:
    assert set(LIMITS) == set(Limit)


def test_the_rule_and_the_answer_are_short_sentences() -> None:
    found = [sweep(QUICK, 2, rising=(4,)), carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8))]
    texts = [RULE, *(text for one in found for text in describe_recommendation(one).sentences)]
    long = [part for text in texts for part in re.split(r"[.:] ", text) if len(part.split()) > 25]
    assert long == []
