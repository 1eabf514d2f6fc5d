"""Results of a few combinations with known rates and delays, and what is recommended for them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pathlab.report.report_builder import gather_inputs
from pathlab.store.records import TrialRecord
from pathlab.study.flows.candidates import Candidate
from pathlab.study.flows.recommendation import Recommendation
from tests.builders.results import SyntheticResults, make_quickstart

KIB = 1024
Change = Callable[[TrialRecord], TrialRecord]


def answer(results: SyntheticResults) -> Recommendation:
    (found,) = gather_inputs(results).study.recommend()
    return found.result


def take_recommended(found: Recommendation) -> Candidate:
    """The combination that is recommended."""
    assert found.recommended is not None
    return found.recommended


def make(levels: Sequence[tuple[int, int | None]], cycles: int, change: Change) -> SyntheticResults:
    """Cells with 1 % of noise of their own, every trial passed through ``change``."""
    results = make_quickstart(cycles=cycles, levels=levels, environment={})
    rng = np.random.default_rng(3)

    def vary(record: TrialRecord) -> TrialRecord:
        changed = change(record)
        rate = (changed.throughput_bits_per_s or 0.0) * float(np.exp(rng.normal(0, 0.01)))
        return replace(changed, throughput_bits_per_s=rate)

    results.change_trials(vary)
    return results.copy(series={}, hosts=())


def rate(values: dict[tuple[int, int], float], **others: Any) -> Change:
    """Trials with the rate of their cell."""

    def change(record: TrialRecord) -> TrialRecord:
        value = values[record.streams, (record.window_requested_bytes or 0) // KIB]
        return replace(record, throughput_bits_per_s=value, **others)

    return change


LINE_BITS_PER_S = 40e6 * 1448 / 1500


def carry(rates: dict[int, float], flagged: Sequence[int] = (), cycles: int = 8) -> Recommendation:
    """Streams of 64 KiB over the lab's link of 40 Mbit/s, each with its rate in Mbit/s; some are flagged."""
    results = make_quickstart(cycles=cycles, levels=[(streams, 64 * KIB) for streams in rates])
    rng = np.random.default_rng(5)
    results.change_trials(
        lambda one: replace(
            one,
            throughput_bits_per_s=1e6 * rates[one.streams] * float(np.exp(rng.normal(0, 1e-3))),
            loaded_rtt_mean_ns=one.unloaded_rtt_mean_ns,
            loaded_sent=20,
            loaded_received=20,
            flags=("lab", "over-line-rate") if one.streams in flagged else ("lab",),
        )
    )
    return answer(results)


def sweep(
    drtt_ms: dict[tuple[int, int], float], cycles: int, *, rising: Sequence[int] = ()
) -> Recommendation:
    """The issue's combinations (streams, window in kB), equal in rate, with loaded probes of a second."""
    levels = [(streams, window * 1000) for streams, window in drtt_ms]
    results = make_quickstart(cycles=cycles, levels=levels, environment={})
    series = {}
    for number, one in enumerate(results.records):
        window = (one.window_requested_bytes or 0) // 1000
        drtt_ns = 1e6 * drtt_ms[one.streams, window]
        results.records[number] = replace(
            one,
            throughput_bits_per_s=28.9e6,
            unloaded_rtt_mean_ns=160e6,
            loaded_rtt_mean_ns=160e6 + drtt_ns,
            loaded_sent=20,
            loaded_received=20,
        )
        grown = np.linspace(0, 2 * drtt_ns, 20) if one.streams in rising else np.full(20, drtt_ns)
        sent_ns = one.warmup_ns + np.arange(20) * (one.steady_ns or 0) // 20
        probes = pd.DataFrame({"sent_ns": sent_ns, "rtt_ns": (160e6 + grown).astype(np.int64)})
        series[number + 1] = {"loaded_probes": probes}
    return answer(results.copy(series=series, hosts=()))


QUICK = {(12, 64): 48.6, (4, 256): 16.5}
