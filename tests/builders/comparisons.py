"""Results to be compared: trials around a model's, with changes that are known."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from pathlab.store.records import TrialRecord
from pathlab.study.comparison.rows import ComparisonRules, ResultsComparison, compare_results
from pathlab.study.trials import StudySource
from tests.builders.results import SyntheticResults, make_quickstart

LEVELS = [(1, 65_536), (4, 65_536)]


@functools.cache
def make_base(cycles: int) -> SyntheticResults:
    """The model's trials, made once: their series cost time and are not compared."""
    return make_quickstart(cycles=cycles, levels=LEVELS)


def make_results(
    *, seed: int, rate: float = 1.0, rtt: float = 1.0, cycles: int = 10, noise: float = 0.005
) -> SyntheticResults:
    """Trials around the model's, rates and loaded RTTs times a factor, with log-normal noise of the seed."""
    rng = np.random.default_rng(seed)

    def change(record: TrialRecord) -> TrialRecord:
        base, rtt_ns = record.throughput_bits_per_s, record.loaded_rtt_median_ns
        assert base is not None
        assert rtt_ns is not None
        return dataclasses.replace(
            record,
            throughput_bits_per_s=base * rate * float(np.exp(rng.normal(0, noise))),
            loaded_rtt_median_ns=rtt_ns * rtt * float(np.exp(rng.normal(0, noise))),
        )

    results = make_base(cycles).copy(series={}, hosts=())
    results.change_trials(change)
    return results


def compare(*results: StudySource, **rules: Any) -> ResultsComparison:
    return compare_results([(f"r{n}", source) for n, source in enumerate(results)], ComparisonRules(**rules))
