"""Results to be compared: trials around a model's, with changes that are known."""

import dataclasses
import functools
from typing import Any

import numpy as np

from pathlab.store.records import TrialRecord
from pathlab.study.base.trials import StudySource
from pathlab.study.comparison.rows import ComparisonRules, ResultsComparison, compare_results
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


def make_changed() -> ResultsComparison:
    """Eight combinations: two slower, one with two trials, the rest alike; names longer than a terminal."""
    levels = [(streams, window) for streams in (1, 2, 4, 8) for window in (65_536, 262_144)]
    base = make_quickstart(cycles=12, levels=levels)
    sides = []
    for seed, slow in ((1, 1.0), (2, 0.82)):
        rng = np.random.default_rng(seed)
        records = [
            dataclasses.replace(
                one,
                throughput_bits_per_s=(one.throughput_bits_per_s or 0.0)
                * float(np.exp(rng.normal(0, 0.002)))
                * (slow if one.streams == 4 else 1.0),
            )
            for one in base.records
            if seed == 1 or one.cycle < 2 or (one.streams, one.window_requested_bytes) != (8, 65_536)
        ]
        sides.append(base.copy(trials=records, series={}))
    labels = (f"/srv/{'long-' * 14}before", "/srv/after")
    rules = ComparisonRules(metrics=("throughput", "idle-rtt"))
    return compare_results(list(zip(labels, sides, strict=True)), rules)
