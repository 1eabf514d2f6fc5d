"""The recommendation in words: the same on the terminal and in the report, and no more than was measured."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import IntervalBuilder, Undecided
from pathlab.analysis.verdicts.preference import Reason
from pathlab.report.flows import limits
from pathlab.report.flows.candidate_text import format_expected
from pathlab.report.flows.recommendation_text import describe_recommendation, shorten_recommendation
from pathlab.report.report_builder import gather_inputs
from pathlab.store.records import TrialRecord
from pathlab.study.base.answer import measure_spread
from tests.builders.recommendations import KIB, QUICK, answer, make, sweep
from tests.builders.results import make_quickstart
from tests.golden.conftest import Say

WINDOW = 64 * KIB


@pytest.mark.parametrize(
    ("streams", "lab_limited"), [((2, 4), None), ((1, 3), None), ((1, 3, 2), 2)], ids=str
)
def test_decided_claims_no_more_of_what_is_smaller_than_was_measured(
    say: Say, streams: tuple[int, ...], lab_limited: int | None
) -> None:
    def change(record: TrialRecord) -> TrialRecord:
        flags = ("lab-limited",) if record.streams == lab_limited else ()
        return replace(record, throughput_bits_per_s=50e6 if record.streams > 1 else 10e6, flags=flags)

    found = answer(make([(number, WINDOW) for number in streams], 8, change))
    say(describe_recommendation(found).certainty[0])


def test_trials_that_drift_are_not_called_too_few(say: Say) -> None:
    found = answer(make([(1, WINDOW)], 20, lambda one: replace(one, throughput_bits_per_s=1e8)))
    none = IntervalBuilder(n=20, method="test").build_undecided(Undecided.TOO_CORRELATED)
    rates = replace(found.recommended.throughput_bits_per_s, interval=none)
    drifting = replace(found.recommended, throughput_bits_per_s=rates)
    say(format_expected(drifting, None))
    both = (drifting, replace(drifting, streams=2))
    say(describe_recommendation(replace(found, recommended=drifting, candidates=both)).certainty[0])


def test_delays_of_few_trials_are_not_called_trials_each(say: Say) -> None:
    """One has its delay in ten trials, the other in three."""

    def change(record: TrialRecord) -> TrialRecord:
        loaded = 200e6 if record.streams == 1 else 100e6
        known = record.streams == 1 or record.cycle < 3
        return replace(record, throughput_bits_per_s=5e7, loaded_rtt_mean_ns=loaded if known else None)

    say(describe_recommendation(answer(make([(1, WINDOW), (2, WINDOW)], 10, change))).sentences)


def test_a_rising_rtt_without_probes_gives_no_figure_of_added_delay(say: Say) -> None:
    found = sweep(QUICK, 8, rising=(4,))
    assert found.recommended is not None
    unknown = replace(found.recommended, drtt_ns=measure_spread(np.array([np.nan])))
    say(describe_recommendation(replace(found, recommended=unknown)).sentences)


@pytest.mark.parametrize(
    ("cap_bits_per_s", "name"), [(20e6, "the requested rate"), (None, "the path's capacity")]
)
def test_a_requested_rate_is_named_as_for_a_single_trial(
    say: Say, cap_bits_per_s: float | None, name: str
) -> None:
    carried = (39e6 * 1448 / 1500) if cap_bits_per_s is None else 20.4e6
    model = {"name": "own", "budget": {"rate_bits_per_s": cap_bits_per_s}}
    results = make_quickstart(cycles=6, levels=[(4, 256 * KIB), (8, 256 * KIB)], model=model)
    results.change_trials(throughput_bits_per_s=carried)
    found = answer(results)
    say(describe_recommendation(found).reasons)
    assert dict(describe_recommendation(found).numbers)["Limited by"] == name
    assert shorten_recommendation(found)[6] == name
    inputs = gather_inputs(results)
    say(limits.plot_limits(inputs, inputs.conditions[0]).sentences)


def test_a_delay_of_late_probes_is_above_a_time_and_no_loss(say: Say) -> None:
    """One combination has an RTT above a second; the other, which carries as much, a known one."""
    levels = [(1, 256 * KIB), (4, 256 * KIB)]

    def delay(record: TrialRecord) -> TrialRecord:
        late: dict[str, Any] = {"loaded_received": 5, "loaded_late": 15, "loaded_rtt_mean_ns": None}
        late |= {"loaded_rtt_median_ns": None, "loaded_rtt_mean_above_ns": 1.2e9}
        late |= {"loaded_rtt_median_above_ns": 1.1e9}
        changes = late if record.streams == 1 else {"loaded_received": 20}
        return replace(record, throughput_bits_per_s=30e6, loaded_sent=20, **changes)

    found = answer(make(levels, 6, delay))
    assert found.recommended.streams == 4
    assert found.preferred_for is Reason.DELAY
    say(describe_recommendation(found).reasons)
    alone = answer(make(levels[:1], 6, delay))
    assert alone.recommended.loaded_loss.lost == 0
    said = describe_recommendation(alone)
    say([*said.sentences, *(": ".join(number) for number in said.numbers)])
    say(" ".join(shorten_recommendation(alone)))


@pytest.mark.parametrize("missing", ["loaded_rtt_mean_ns", "loaded_sent", "sender_cpu_user_s"])
def test_what_was_not_measured_is_said_so_and_never_a_number(say: Say, missing: str) -> None:
    results = make_quickstart(cycles=6, levels=[(1, 256 * KIB), (1, 64 * KIB)])
    results.change_trials(**{missing: None})
    say(dict(describe_recommendation(answer(results)).numbers))
