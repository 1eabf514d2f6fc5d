"""Whatever a file holds, every analysis answers: never a traceback, never a confident verdict on nothing."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pathlab.analysis.verdicts.pairs import PairVerdict
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.base.registry import ANALYSES
from pathlab.study.document import build_analysis_document
from tests.builders.results import BareResults, SyntheticResults, study
from tests.builders.sweeps import make_sweep

LEVELS = [(1, 65536), (2, 32768), (4, 16384), (4, 65536), (2, 131072), (3, None)]
FIGURES = [
    name
    for name, field in TrialRecord.__dataclass_fields__.items()
    if "float" in str(field.type) or name.endswith(("_bytes", "_sent", "_received", "_segments", "steady_ns"))
]


def change(**columns: Any) -> Callable[[], SyntheticResults]:
    """Eight cycles with these columns in every trial."""
    return lambda: make_sweep(8, levels=LEVELS, change=lambda record: replace(record, **columns))


def set_all(value: float | None) -> Callable[[], SyntheticResults]:
    """Every measured figure at one and the same value."""
    return change(**dict.fromkeys(FIGURES, value))


def count_wrongly(record: TrialRecord) -> TrialRecord:
    """More streams than there are ports, or windows of half a byte."""
    if record.cycle % 2:
        return replace(record, streams=2**62)
    return replace(record, window_granted_sender_bytes=1)


BAD: dict[str, Callable[[], SyntheticResults]] = {
    "no trials": BareResults,
    "one trial": lambda: make_sweep(1, levels=[(2, 65536)]),
    "nothing measured": set_all(None),
    "zeros": set_all(0),
    "constant": set_all(7),
    "negative": set_all(-5),
    "not a number": set_all(math.nan),
    "infinite": set_all(math.inf),
    "huge": set_all(2**62),
    "counts that cannot be": lambda: make_sweep(8, levels=LEVELS, change=count_wrongly),
    "all probes lost": change(
        loaded_received=0, unloaded_received=0, **{name: None for name in FIGURES if "_rtt_" in name}
    ),
    "all failed": change(status="failed"),
    "two cycles": lambda: make_sweep(2, levels=LEVELS),
    "no streams": change(streams=0),
    "no windows": change(window_requested_bytes=0),
    "no times": change(started_utc="yesterday"),
    "one time": change(started_utc="2026-01-01"),
}


@cache
def study_bad(name: str) -> Study:
    return study(BAD[name]())


@pytest.mark.parametrize("name", BAD)
def test_every_analysis_answers_without_a_number_that_is_none(name: str) -> None:
    document = build_analysis_document(study_bad(name))
    assert set(document["analyses"]) == set(ANALYSES)
    json.dumps(document, allow_nan=False)


def test_without_a_trial_there_is_no_answer() -> None:
    assert not any(build_analysis_document(study_bad("no trials"))["analyses"].values())


@pytest.mark.parametrize(
    "name", sorted(set(BAD) - {"all probes lost", "counts that cannot be", "no times", "one time"})
)
def test_nothing_is_decided_on_nothing(name: str) -> None:
    one = study_bad(name)
    assert {answer.result.comparison.verdict for answer in one.streams_vs_windows()} <= {
        PairVerdict.UNDECIDED
    }
    for answer in one.saturation():
        assert not answer.result.capacity.interval.decided
    for surface in one.surface():
        assert not surface.result.capacity.interval.decided
    assert {str(answer.result.verdict) for answer in one.drift()} <= {"undecided"}
    assert {answer.result.limit for answer in one.limits()} <= {None}
    for effect in one.breakpoint():
        assert effect.result.drtt.breakpoint.value is None


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1))
def test_holes_and_nonsense_at_random(seed: int) -> None:
    """Any figure of any trial may be missing, 0, negative, huge or no number."""
    rng = np.random.default_rng(seed)
    choices: list[Any] = [None, 0, -1, 1e300, math.nan, math.inf, 1e-300]

    def spoil(record: TrialRecord) -> TrialRecord:
        names = rng.choice(FIGURES, size=6, replace=False)
        values = rng.integers(0, len(choices), size=6)
        changes = {str(name): choices[value] for name, value in zip(names, values, strict=True)}
        return replace(record, **changes)

    json.dumps(build_analysis_document(study(make_sweep(4, levels=LEVELS, change=spoil))), allow_nan=False)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.floats(0.01, 100))
def test_answers_ignore_the_order_and_follow_the_scale(shuffler: Any, scale: float) -> None:
    results = make_sweep(8, levels=[level for level in LEVELS if level[1] is not None])
    order = list(range(len(results.records)))
    shuffler.shuffle(order)
    mixed = [results.records[place] for place in order]
    scaled = [
        replace(record, throughput_bits_per_s=(record.throughput_bits_per_s or 0.0) * scale)
        for record in mixed
    ]
    changed = results.copy(trials=scaled, series={})
    before, after = study(results), study(changed)
    for first, second in zip(before.streams_vs_windows(), after.streams_vs_windows(), strict=True):
        assert second.result.comparison.ratio == pytest.approx(first.result.comparison.ratio)
        assert second.result.comparison.p_value == pytest.approx(first.result.comparison.p_value)
        assert second.result.comparison.verdict is first.result.comparison.verdict
    for one, other in zip(before.cells(), after.cells(), strict=True):
        median = one.result.throughput_bits_per_s.median
        assert other.result.throughput_bits_per_s.median == pytest.approx(median * scale)
