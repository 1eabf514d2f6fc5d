"""The recommendation in words: short sentences, and a table where there are many paths."""

import re
from dataclasses import replace

from pathlab.analysis.verdicts.limits import Limit
from pathlab.report.recommendation_text import RULE, describe_recommendation, shorten_recommendation
from pathlab.report.report_builder import gather_inputs
from pathlab.report.sections.opening import build_opening
from tests.builders.recommendations import KIB, QUICK, carry, sweep
from tests.builders.results import make_quickstart


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


def test_the_table_of_all_paths_marks_provisional_rows() -> None:
    source = make_quickstart(cycles=7)
    usual = gather_inputs(source).study.recommend()
    source.change_trials(lambda trial: replace(trial, flags=("lab", "lab-limited")))
    provisional = gather_inputs(source).study.recommend()
    for answers, marked in ((usual, False), (provisional, True)):
        for answer in answers:
            *_, confidence = shorten_recommendation(answer.result)
            assert confidence.endswith(" (provisional)") is marked


def test_the_rule_and_the_answer_are_short_sentences() -> None:
    found = [sweep(QUICK, 2, rising=(4,)), carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8))]
    texts = [RULE, *(text for one in found for text in describe_recommendation(one).sentences)]
    long = [part for text in texts for part in re.split(r"[.:] ", text) if len(part.split()) > 25]
    assert long == []


def test_a_rate_far_below_the_known_one_points_at_the_way_back_unless_it_is_explained() -> None:
    """Of a link of 38.6 Mbit/s 9.5 are carried, and no limit is known."""
    found = carry({1: 9.0, 4: 9.5, 8: 9.5}, (8,))
    bare = tuple(replace(one, limit=None) for one in found.candidates)
    assert found.best is not None
    open_ = replace(
        found,
        candidates=bare,
        best=replace(found.best, limit=None),
        line_bits_per_s=38.6e6,
        share_of_link_ratio=0.246,
    )
    explained = replace(open_, candidates=tuple(replace(one, limit=Limit.PATH_CAPACITY) for one in bare))
    near = replace(open_, share_of_link_ratio=0.9)
    said = [
        any(
            "the return path of the acknowledgements may be full" in text
            for text in describe_recommendation(one).sentences
        )
        for one in (open_, explained, near)
    ]
    assert said == [True, False, False]
