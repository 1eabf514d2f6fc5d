"""What no estimator, fit, verdict or plan takes: one line that names it, and what to do."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.corrections import correct_holm
from pathlab.analysis.estimators.dominance import cliffs_delta
from pathlab.analysis.estimators.fairness import jain_index
from pathlab.analysis.estimators.latency import classify_rtt_climb
from pathlab.analysis.estimators.loss import probe_loss
from pathlab.analysis.estimators.margins import log_margins
from pathlab.analysis.estimators.outliers import name_outliers
from pathlab.analysis.estimators.payload import full_datagram, full_segment, payload_rate
from pathlab.analysis.estimators.quantiles import median_interval, quartiles
from pathlab.analysis.estimators.recovery import estimate_recovery
from pathlab.analysis.estimators.reduction import reduce_bands, reduce_extremes
from pathlab.analysis.estimators.rfc6349 import PathFigures, compute_rfc6349_capacity
from pathlab.analysis.estimators.serial import serial_median
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.estimators.tails import estimate_tail
from pathlab.analysis.estimators.throughput import effective_window
from pathlab.analysis.estimators.trend import bound_change, find_trend
from pathlab.analysis.fits import breakpoints, optimum, saturation, surface
from pathlab.analysis.fits.cpu_cost import fit_cpu_cost
from pathlab.analysis.fits.curve_fit import FitOptions
from pathlab.analysis.fits.distributions import fit_distributions
from pathlab.analysis.fits.frequencies import fit_cumulative_climb, fit_frequency_decline
from pathlab.analysis.fits.message_cost import fit_cycles, fit_message_cost
from pathlab.analysis.fits.per_hop import HopSamples, estimate_hops, find_floors
from pathlab.analysis.planning.cycles import plan_cycles
from pathlab.analysis.planning.hash_streams import plan_hash_streams, use_chance
from pathlab.analysis.planning.loss_search import SearchRule
from pathlab.analysis.planning.stopping import StopRule, evaluate_stop_rule
from pathlab.analysis.verdicts import hash_shares
from pathlab.analysis.verdicts.bond_gain import evaluate_bond
from pathlab.analysis.verdicts.drift import find_drift
from pathlab.analysis.verdicts.equivalence import evaluate_ratio, evaluate_shift
from pathlab.analysis.verdicts.flow_reading import measure_rate_spread
from pathlab.analysis.verdicts.limits import classify_limits
from pathlab.analysis.verdicts.pairs import compare_pairs
from pathlab.analysis.verdicts.two_samples import compare_groups, compare_levels
from pathlab.analysis.verdicts.warm_up import detect_warm_up
from pathlab.errors import UsageError
from tests.builders.limits import QUIET, give_loads, read
from tests.golden.conftest import Say

NAN, INF = float("nan"), float("inf")
RNG = np.random.default_rng(0)
SHIFT = hodges_lehmann([0.1, 0.2, 0.3])
find_breakpoint = partial(breakpoints.find_breakpoint, cycles=[0], rng=RNG)
find_optimal_streams = partial(optimum.find_optimal_streams, cycles=[0], rng=RNG)
fit_saturation = partial(saturation.fit_saturation, cycles=[0, 0], rng=RNG)
fit_surface = partial(surface.fit_surface, cycles=[0], rng=RNG)
evaluate_counts = partial(hash_shares.evaluate_counts, rng=RNG)


def reduce(times: Sequence[float], samples: int, bins: int) -> Callable[[Callable[..., Any]], Any]:
    return lambda function: function(np.array(times), np.zeros((samples, 1)), bins)


def find_capacity(rate: float, rtt_ns: float) -> object:
    return compute_rfc6349_capacity(PathFigures(bottleneck_bits_per_s=rate, rtt_ns=rtt_ns))


def make_search(**changes: Any) -> SearchRule:
    given: dict[str, Any] = {"loss_ratio": 0.01, "lowest_bits_per_s": 10**7, "highest_bits_per_s": 10**8}
    return SearchRule(**{**given, **changes})


def make_hop(number: int, *sizes_bytes: int) -> HopSamples:
    return HopSamples(hop=number, sizes_bytes=sizes_bytes, rtt_ns=[1e6] * len(sizes_bytes))


REDUCED = [reduce([0.0, 1.0], 2, 0), reduce([0.0, 1.0], 3, 2), reduce([1.0, 0.0], 2, 2)]
REFUSED: dict[str, list[Callable[[], object]]] = {
    "samples": [
        lambda: quartiles([1.0, NAN]),
        lambda: quartiles([[1.0]]),
        lambda: median_interval([1.0], confidence_ratio=1.0),
        lambda: name_outliers([NAN]),
        lambda: serial_median([INF]),
        lambda: hodges_lehmann([NAN]),
        lambda: cliffs_delta([1.0], [1.0, 2.0]),
        lambda: correct_holm([1.5]),
        lambda: correct_holm([NAN]),
    ],
    "counts": [
        lambda: probe_loss(3, 4),
        lambda: probe_loss(-1, -1),
        lambda: jain_index([1, -1]),
        lambda: effective_window(1.0, 0, 1.0),
        lambda: estimate_recovery([-1.0], [True]),
        lambda: estimate_recovery([1.0], [True, False]),
        lambda: estimate_tail([([1, 2], [3])]),
        lambda: classify_rtt_climb([1.0], [], 8e6),
    ],
    "payload": [
        lambda: full_segment(1500, ip_version=5),
        lambda: full_segment(52),
        lambda: payload_rate(0, full_segment(1500)),
        lambda: full_datagram(28, datagram_bytes=1),
        lambda: full_datagram(1500, datagram_bytes=0),
        lambda: full_datagram(1500, datagram_bytes=100, ip_version=5),
        lambda: find_capacity(1e9, 0.0),
        lambda: find_capacity(NAN, 25e6),
    ],
    "reduction": [
        *(partial(given, function) for function in (reduce_extremes, reduce_bands) for given in REDUCED)
    ],
    "trend": [
        lambda: find_trend([1.0, 2.0], [1.0]),
        lambda: find_trend([1.0, NAN]),
        lambda: find_trend([[1.0]]),
        lambda: bound_change([1.0] * 15, np.arange(15), cycles=[1, 2]),
    ],
    "breakpoint": [lambda: find_breakpoint([NAN], [1.0]), lambda: find_breakpoint([1.0, 2.0], [1.0])],
    "distributions": [
        lambda: fit_distributions([1.0, NAN], rng=RNG),
        lambda: fit_frequency_decline(np.linspace(0.1, 11.9, 120), [0, 2, 1]),
        lambda: fit_cumulative_climb([NAN], np.arange(0.0, 13.0)),
    ],
    "costs": [
        lambda: fit_cpu_cost([1e9], [NAN]),
        lambda: fit_cpu_cost([-1.0], [1.0]),
        lambda: fit_cpu_cost([1e9, 2e9], [1.0]),
        lambda: fit_message_cost([0, 1], [1.0, 1.0]),
        lambda: fit_message_cost([1, 2], [1.0, 0.0]),
        lambda: fit_message_cost([1, 2], [1.0]),
        lambda: fit_message_cost([1, 2], [1.0, INF]),
        lambda: fit_cycles([1, 2], [1.0, 2.0], [0]),
    ],
    "optimum": [
        lambda: find_optimal_streams([1], [1], [INF]),
        lambda: find_optimal_streams([1, 2], [1], [1]),
    ],
    "hops": [
        lambda: estimate_hops([make_hop(2), make_hop(1, 600, 700, 800, 900)]),
        lambda: find_floors([600, 700, 800, 900], [1.0, 2.0, 3.0]),
    ],
    "saturation": [
        lambda: fit_saturation([1, 2], [1.0, NAN]),
        lambda: fit_saturation([1, 2], [1.0, -1.0]),
        lambda: fit_saturation([0, 2], [1.0, 1.0]),
        lambda: fit_saturation([1, 2], [1.0]),
        lambda: fit_saturation([1.2, 1.4], [1e9, 1e9]),
        lambda: FitOptions(resamples=5),
        lambda: FitOptions(confidence_ratio=1.0),
    ],
    "surface": [
        lambda: fit_surface([1, 2], [1.0, 2.0], cycles=[0, 0]),
        lambda: fit_surface([(1, 0)], [1.0]),
        lambda: fit_surface([(1, NAN)], [1.0]),
        lambda: fit_surface([(1, 8e3)], [1.0, 2.0]),
        lambda: fit_surface([(1, 8e3)], [-1.0]),
    ],
    "hash streams": [
        lambda: plan_hash_streams([]),
        lambda: plan_hash_streams([0.0, 1.0]),
        lambda: plan_hash_streams([1.0] * 13),
        lambda: plan_hash_streams([1.0], share_ratio=0),
        lambda: plan_hash_streams([1.0], confidence_ratio=1),
        lambda: use_chance([1.0], 0),
        lambda: use_chance([1.0, 2.0], 2, weights=[1.0]),
    ],
    "search": [
        lambda: make_search(loss_ratio=0.0),
        lambda: make_search(resolution_ratio=1.0),
        lambda: make_search(burst_packets=0.5),
        lambda: make_search(lowest_bits_per_s=10**8),
        lambda: make_search(trials_max=2),
    ],
    "cycles": [
        lambda: plan_cycles([0.1], 0.0),
        lambda: StopRule(half_width_ratio=0.0),
        lambda: StopRule(minimum_cycles=5),
        lambda: StopRule(minimum_cycles=20, maximum_cycles=19),
        lambda: StopRule(confidence_ratio=1.0),
        lambda: evaluate_stop_rule({"a": [1.0]}, -1, StopRule()),
        lambda: evaluate_stop_rule({"a": [NAN]}, 1, StopRule()),
    ],
    "bond": [
        lambda: evaluate_bond([1.0, 2.0], [[1.0]]),
        lambda: evaluate_bond([1.0], np.empty((0, 1))),
        lambda: evaluate_bond([1.0], [1.0]),
        lambda: evaluate_bond([INF], [[1.0]]),
        lambda: evaluate_bond([1.0], [[-1.0]]),
    ],
    "hash": [
        lambda: evaluate_counts([[0, 0]]),
        lambda: evaluate_counts([[-1, 2]]),
        lambda: evaluate_counts([[0.5, 2]]),
        lambda: evaluate_counts([1, 2]),
        lambda: evaluate_counts([[1, 1]], weights=[1, 1, 1]),
        lambda: hash_shares.evaluate_used([[False, False]], [2]),
        lambda: hash_shares.evaluate_used([[True, False]], [2, 2]),
        lambda: hash_shares.evaluate_used([[True, False]], [0]),
    ],
    "limits": [
        lambda: classify_limits(read(receiver_limited_s=-1.0)),
        lambda: classify_limits(replace(QUIET, rtt_loaded_ns=NAN)),
        lambda: classify_limits(replace(QUIET, hosts=give_loads(INF))),
        lambda: measure_rate_spread([1], [1, 2]),
        lambda: measure_rate_spread([1], [0]),
        lambda: measure_rate_spread([-1], [1]),
    ],
    "comparisons": [
        lambda: log_margins(0.0),
        lambda: log_margins(1.0),
        lambda: evaluate_ratio([1.0], [1.0, 2.0]),
        lambda: evaluate_shift(SHIFT, (0.1, 0.2)),
        lambda: evaluate_shift(SHIFT, log_margins(0.05), 0.7),
        lambda: compare_pairs([1.0], [1.0, 2.0]),
        lambda: compare_pairs([[1.0]], [[1.0]]),
        lambda: compare_pairs([-1.0], [1.0]),
        lambda: compare_pairs([INF], [1.0]),
        lambda: compare_groups([1.0], [1.0], margin_ratio=0),
        lambda: compare_levels([1.0], [1.0], margins=(0.0, 1.0)),
    ],
    "times": [
        lambda: find_drift([1.0, 1.0], [1.0, 2.0]),
        lambda: find_drift([1.0], [1.0, 2.0]),
        lambda: find_drift([1.0], [NAN]),
        lambda: detect_warm_up([1.0], [1.0, 2.0], 0),
        lambda: detect_warm_up([1.0], [0.0], 0),
        lambda: detect_warm_up([-1.0], [1.0], 0),
        lambda: detect_warm_up([1.0], [1.0], -1),
    ],
}


@pytest.mark.parametrize("kind", REFUSED)
def test_wrong_values_are_refused(kind: str, say: Say) -> None:
    for call in REFUSED[kind]:
        with pytest.raises(UsageError) as caught:
            call()
        assert "\n" not in caught.value.message
        assert caught.value.hint
        say(caught.value)
