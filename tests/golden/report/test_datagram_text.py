"""UDP flows in words: the facts and the limit of one flow, what the report opens with."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.trial_loss import pool_trial_loss
from pathlab.report.datagrams.datagram_answers import describe_flows, list_other_recommendations
from pathlab.report.datagrams.datagram_text import (
    describe_attribution,
    describe_loss,
    describe_reordering,
    format_datagram_limit,
    list_datagram_facts,
)
from pathlab.report.trials.trial_text import render_trial
from pathlab.study.analyses import Study
from pathlab.study.datagrams.datagram_limit import classify_datagrams, read_datagrams
from pathlab.study.datagrams.datagram_trial import LossRuns
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.printed import print_text
from tests.builders.results import Settings
from tests.builders.trials import make_record
from tests.golden.conftest import Say

FLOW = make_record(
    streams=2,
    steady_ns=10**10,
    throughput_bits_per_s=99e6,
    datagram_bytes=1472,
    udp_offered_packets_per_s=8492.0,
    udp_sent_packets_per_s=8490.0,
    udp_received_packets_per_s=8411.0,
    udp_sent_packets=84_900,
    udp_received_packets=84_110,
    udp_lost_packets=790,
    udp_lost_host_packets=700,
    udp_lost_path_packets=90,
    udp_duplicate_packets=2,
    udp_reordered_packets=42,
    udp_reorder_extent_max_packets=5,
    udp_n_reordered_3_packets=3,
    udp_late_time_max_ns=1_200_000,
    udp_jitter_ns=120_000.0,
    udp_pacing_error_median_ns=1_500.0,
    udp_pacing_error_p99_ns=40_000.0,
    udp_pacing_error_max_ns=900_000.0,
    sender_cpu_ns_per_packet=1_200.0,
    receiver_cpu_ns_per_packet=900.0,
)
LOSS = pool_trial_loss([8490] * 10, [79] * 10, burst_packets=2)
RUNS = LossRuns(runs=605, mean_packets=790 / 605, longest_packets=12, burst_packets=2.0)


def test_the_facts_of_a_flow(say: Say) -> None:
    say(dict(list_datagram_facts(FLOW, LOSS, RUNS)))
    full = replace(FLOW, udp_refused_packets=9, udp_foreign_packets=1, udp_offered_packets_per_s=None)
    say(dict(list_datagram_facts(full, None, None)))
    say(dict(list_datagram_facts(make_record(datagram_bytes=1472), None, None)))
    printed = print_text(lambda console: render_trial(FLOW, None, 1, console), 60)
    assert max(map(len, printed.splitlines())) <= 60
    say(printed)


def test_a_loss_of_nothing_has_an_upper_bound(say: Say) -> None:
    say(describe_loss(replace(FLOW, udp_lost_packets=0), pool_trial_loss([8490] * 10, [0] * 10)))
    say(describe_reordering(replace(FLOW, udp_reordered_packets=0)))


@pytest.mark.parametrize(
    ("lost", "host", "path"), [(0, 0, 0), (None, None, None), (9, 4, 5), (9, None, None), (9, 4, None)]
)
def test_who_lost_datagrams(say: Say, lost: int | None, host: int | None, path: int | None) -> None:
    say(describe_attribution(lost, host, path))


NO_LOSS = {"udp_lost_packets": 0, "udp_lost_host_packets": 0, "udp_lost_path_packets": 0}
NONE_SENT = {**NO_LOSS, "udp_sent_packets": 0, "udp_sent_packets_per_s": 0.0}


@pytest.mark.parametrize(
    "changes",
    [
        {"receiver_busiest_core_ratio": 0.99},
        NO_LOSS,
        {**NO_LOSS, "udp_sent_packets_per_s": 4246.0, "sender_busiest_core_ratio": 1.0},
        {**NO_LOSS, "udp_offered_packets_per_s": None},
        {"udp_lost_host_packets": None, "udp_lost_path_packets": None},
        NONE_SENT,
        {**NONE_SENT, "udp_offered_packets_per_s": 0.1},  # one may be due in the 10 s, and under way
    ],
)
def test_the_limit_in_a_sentence(say: Say, changes: dict[str, Any]) -> None:
    say(format_datagram_limit(classify_datagrams(read_datagrams(replace(FLOW, **changes)))))


RATES = [{"pacing_bits_per_s": rate * 10**6} for rate in (32, 48, 80)]
FLOWS = [{**rate, "gso": on} for rate in RATES for on in (False, True)]
Carry = Callable[[Settings, np.random.Generator], dict[str, Any]]


def carry_clean(settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
    """Nothing is lost but by the path."""
    found = carry_flow(settings, rng)
    if found["udp_lost_path_packets"]:
        return found
    counts = {"udp_lost_packets": 0, "udp_lost_host_packets": 0}
    return {**found, **counts, "udp_received_packets": found["udp_sent_packets"]}


def hide_loss(*rates: float) -> Carry:
    """The loss at these rates was not measured."""
    unknown = dict.fromkeys(("udp_lost_packets", "udp_lost_host_packets", "udp_lost_path_packets"))

    def carry(settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
        hidden = settings["pacing_bits_per_s"] in rates
        return {**carry_flow(settings, rng), **(unknown if hidden else {})}

    return carry


OPENINGS: Mapping[str, tuple[list[dict[str, Any]], Carry]] = {
    "one flow": (RATES[:1], carry_flow),
    "several flows": (FLOWS, carry_flow),
    "flows without a loss": (FLOWS, carry_clean),
    "a loss was not measured": (FLOWS, hide_loss(32e6)),
    "no loss was measured": (FLOWS, hide_loss(32e6, 48e6, 80e6)),
}


@pytest.mark.parametrize("name", OPENINGS)
def test_the_opening_says_what_arrived_and_who_lost_the_rest(say: Say, name: str) -> None:
    study = Study(make_udp_trials(*OPENINGS[name]))
    say(describe_flows(study))
    assert list_other_recommendations(study) == ()
