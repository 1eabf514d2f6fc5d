"""The recommendation in words: the same on the terminal and in the report, and no more than was measured."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from pathlab.analysis.estimators.interval import IntervalBuilder, Undecided
from pathlab.analysis.verdicts.limits import Limit
from pathlab.report.candidate_text import format_expected
from pathlab.report.formats.terminal import render_summary
from pathlab.report.names import LIMITS
from pathlab.report.recommendation_text import (
    CPU_LABEL,
    RULE,
    describe_recommendation,
    shorten_recommendation,
)
from pathlab.report.report_builder import gather_inputs
from pathlab.report.sections import limits
from pathlab.report.sections.notices import list_notices
from pathlab.report.sections.opening import build_opening
from pathlab.store.records import TrialRecord
from pathlab.study.answer import measure_spread
from tests.builders.recommendations import KIB, QUICK, answer, carry, make, sweep
from tests.builders.results import SyntheticResults, make_quickstart


def test_decided_claims_no_more_of_what_is_smaller_than_was_measured() -> None:
    def sure(levels: list[tuple[int, int | None]], lab_limited: int | None = None) -> str:
        def change(record: TrialRecord) -> TrialRecord:
            carried = 50e6 if record.streams > 1 else 10e6
            flags = ("lab-limited",) if record.streams == lab_limited else ()
            return replace(record, throughput_bits_per_s=carried, flags=flags)

        return describe_recommendation(answer(make(levels, 8, change))).certainty[0]

    window = 64 * KIB
    assert sure([(2, window), (4, window)]).endswith(
        "it carries enough (8 trials); nothing smaller was measured."
    )
    assert sure([(1, window), (3, window)]).endswith("and everything smaller does not.")
    words = sure([(1, window), (3, window), (2, window)], lab_limited=2)
    assert words.endswith("and everything usable that is smaller does not.")


@pytest.mark.parametrize("missing", ["loaded_rtt_mean_ns", "loaded_sent", "sender_cpu_user_s"])
def test_what_was_not_measured_is_said_so_and_never_a_number(missing: str) -> None:
    results = make_quickstart(cycles=6, levels=[(1, 256 * KIB), (1, 64 * KIB)])
    results.change_trials(**{missing: None})
    found = answer(results)
    numbers = dict(describe_recommendation(found).numbers)
    if missing == "loaded_sent":
        assert numbers["Probe loss under load"] == "not measured"
    elif missing == "loaded_rtt_mean_ns":
        assert numbers["Added delay (dRTT)"] == "not measured"
    else:
        assert numbers[CPU_LABEL].startswith("– / ")
    assert not any("nan" in text or "None" in text for text in numbers.values())


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


def test_trials_that_drift_are_not_called_too_few() -> None:
    found = answer(make([(1, 64 * KIB)], 20, lambda one: replace(one, throughput_bits_per_s=1e8)))
    assert found.recommended is not None
    none = IntervalBuilder(n=20, method="test").refuse(Undecided.TOO_CORRELATED)
    rates = replace(found.recommended.throughput_bits_per_s, interval=none)
    drifting = replace(found.recommended, throughput_bits_per_s=rates)
    assert "(20 trials, no confidence interval: they drift or step)" in format_expected(drifting, None)
    both = (drifting, replace(drifting, streams=2))
    words = describe_recommendation(replace(found, recommended=drifting, candidates=both))
    assert words.certainty[0] == "Confidence: low - 20 trials, no confidence interval: they drift or step."


def test_delays_of_few_trials_are_not_called_trials_each() -> None:
    """One has its delay in ten trials, the other in three."""

    def change(record: TrialRecord) -> TrialRecord:
        loaded = 200e6 if record.streams == 1 else 100e6
        known = record.streams == 1 or record.cycle < 3
        return replace(record, throughput_bits_per_s=5e7, loaded_rtt_mean_ns=loaded if known else None)

    words = describe_recommendation(answer(make([(1, 64 * KIB), (2, 64 * KIB)], 10, change)))
    assert any("3 trials and 10 trials: the difference is not tested." in text for text in words.sentences)
    assert "only" not in words.certainty[0]


def test_a_rising_rtt_without_probes_gives_no_figure_of_added_delay() -> None:
    found = sweep(QUICK, 8, rising=(4,))
    assert found.recommended is not None
    unknown = replace(found.recommended, drtt_ns=measure_spread(np.array([np.nan])))
    words = describe_recommendation(replace(found, recommended=unknown))
    assert any(text.endswith("so longer trials would show more delay.") for text in words.sentences)


@pytest.mark.parametrize(
    ("cap_bits_per_s", "name"), [(20e6, "the requested rate"), (None, "the path's capacity")]
)
def test_a_requested_rate_is_named_as_for_a_single_trial(cap_bits_per_s: float | None, name: str) -> None:
    carried = (39e6 * 1448 / 1500) if cap_bits_per_s is None else 20.4e6
    model = {"name": "own", "budget": {"rate_bits_per_s": cap_bits_per_s}}
    results = make_quickstart(cycles=6, levels=[(4, 256 * KIB), (8, 256 * KIB)], model=model)
    results.change_trials(throughput_bits_per_s=carried)
    inputs = gather_inputs(results)
    found = describe_recommendation(answer(results))
    assert dict(found.numbers)["Limited by"] == name
    assert f"Limits: {name} with 4 and 8 × 256 KiB." in found.reasons
    assert shorten_recommendation(answer(results))[6] == name
    sentence = " ".join(limits.plot_limits(inputs, inputs.conditions[0]).sentences)
    assert f"{name[0].upper()}{name[1:]}: 4 and 8 × 256 KiB." in sentence
