"""Imported runs whose median is no single rate: levels, slow hours, bursts and outages are said first."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pathlab.report.base.rate_findings import describe_rate_findings
from pathlab.report.flows.recommendation_text import describe_recommendation
from pathlab.study.analyses import Study
from pathlab.study.flows.recommendation import Confidence
from tests.builders.results import SyntheticResults, make_quickstart

SECOND_NS = 1_000_000_000


def make_runs(
    runs: Sequence[Sequence[float]],
    hours: float = 1.0,
    *,
    kind: str = "sender_intervals",
    datagrams: bool = False,
) -> SyntheticResults:
    """One combination, a run every so many hours: Mbit/s of each second, as counted in ``kind``."""
    results = make_quickstart(cycles=len(runs), levels=[(1, None)], environment={})
    series, start = {}, pd.Timestamp("2026-01-05", tz="UTC")
    for number, rates in enumerate(runs):
        steps = np.arange(len(rates))
        series[number + 1] = {
            kind: pd.DataFrame(
                {
                    "index": steps,
                    "phase": "steady",
                    "start_ns": steps * SECOND_NS,
                    "end_ns": (steps + 1) * SECOND_NS,
                    "stream": 0,
                    "bytes": [int(125_000 * rate) for rate in rates],
                    **({"packets": 10} if datagrams else {}),
                }
            )
        }
        results.records[number] = replace(
            results.records[number],
            started_utc=(start + pd.Timedelta(hours=hours * number)).isoformat(),
            throughput_bits_per_s=1e6 * float(np.mean(rates)),
            warmup_ns=0,
        )
    return results.copy(series=series, hosts=())


RNG = np.random.default_rng(7)
LOW = RNG.permutation(21) < 7
BURST = [1500.0, *[10.0] * 9]
OUTAGE = [*[500.0] * 4, 0.0, 0.0, 0.0, *[500.0] * 3]
CASES = {
    "two levels": (
        [[(470 if low else 940) + RNG.uniform(-3, 3)] * 5 for low in LOW],
        "14 of 21 trials near 940",
    ),
    "hourly": (
        [[(300 if 11 <= n % 24 <= 14 else 900) + RNG.uniform(-15, 15)] * 3 for n in range(120)],
        "from 11:00 to 15:00 UTC (on 5 of 5 days)",
    ),
    "burst": ([BURST] * 6, "on average, not steady: 1.5 Gbit/s in the first second, then 10 Mbit/s"),
    "outage": ([OUTAGE] * 6, "on average, 3 seconds without a byte"),
}


@pytest.mark.parametrize("kind", ["sender_intervals", "receiver_intervals"])
@pytest.mark.parametrize("case", CASES)
def test_the_lead_says_it_and_confidence_is_low(case: str, kind: str) -> None:
    runs, text = CASES[case]
    study = Study(make_runs(runs, kind=kind))
    (answer,) = study.recommend()
    words = describe_recommendation(answer.result)
    assert text in words.lead
    assert answer.result.confidence is Confidence.LOW
    assert any(text.partition(":")[0] in one for one in describe_rate_findings(study, study.conditions()))
    if case in ("burst", "outage"):
        assert ("by the sender's count" in words.lead) == (kind == "sender_intervals")


def test_trials_of_the_lower_level_are_no_outliers() -> None:
    study = Study(make_runs(CASES["two levels"][0]))
    (found,) = study.outliers()
    assert found.result.known_trial_ids == ()
    (levels,) = study.rate_levels()
    assert levels.result.trial_ids[1] == tuple(int(place) + 1 for place in np.flatnonzero(LOW))


def test_steady_runs_and_what_a_sender_offers_by_udp_say_nothing() -> None:
    for runs, datagrams in ([[500.0] * 10] * 6, False), ([BURST] * 6, True):
        study = Study(make_runs(runs, datagrams=datagrams))
        assert describe_rate_findings(study, study.conditions()) == []


def test_warm_up_reads_the_senders_records_and_names_it() -> None:
    (found,) = Study(make_runs([[500.0] * 120] * 6)).warm_up()
    assert (found.result.sufficient, found.result.counted_by) == (True, "sender")
