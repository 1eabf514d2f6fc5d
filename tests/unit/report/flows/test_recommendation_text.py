"""The recommendation in words: short sentences, and a table where there are many paths."""

import re
from dataclasses import replace

from pathlab.analysis.verdicts.limits import Limit
from pathlab.report.flows.recommendation_text import RULE, describe_recommendation, shorten_recommendation
from pathlab.report.opening import build_opening
from pathlab.report.report_builder import gather_inputs
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


def test_the_rule_and_the_answer_are_short_sentences() -> None:
    found = [sweep(QUICK, 2, rising=(4,)), carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8))]
    texts = [RULE, *(text for one in found for text in describe_recommendation(one).sentences)]
    long = [part for text in texts for part in re.split(r"[.:] ", text) if len(part.split()) > 25]
    assert long == []


def test_the_return_path_is_named_where_its_queue_limits_or_nothing_else_explains_a_low_rate() -> None:
    """10 Mbit/s ahead and 60 kbit/s back: 2.5 Mbit/s are carried."""
    found = replace(carry({1: 2.2, 4: 2.47, 8: 2.47}, (8,)), line_bits_per_s=9.6e6, share_of_link_ratio=0.257)
    said = {}
    for limit in (Limit.RETURN_PATH, None, Limit.PATH_CAPACITY):
        each = tuple(replace(one, limit=limit) for one in found.candidates)
        (best,) = [one for one in each if found.best is not None and one.levels == found.best.levels]
        (chosen,) = [
            one for one in each if found.recommended is not None and one.levels == found.recommended.levels
        ]
        words = describe_recommendation(replace(found, candidates=each, best=best, recommended=chosen))
        named = [
            text[:35] for text in words.reasons if "return path" in text and 'direction = "reverse"' in text
        ]
        said[limit] = (dict(words.numbers)["Limited by"], named)
    near = describe_recommendation(replace(found, share_of_link_ratio=0.9))
    assert not any("return path" in text for text in near.sentences)
    assert said == {
        Limit.RETURN_PATH: ("a queue on the return path", ["The acknowledgements wait in a queue"[:35]]),
        None: ("undecided", ["That is far below the link's rate. "]),
        Limit.PATH_CAPACITY: ("the path's capacity", []),
    }
