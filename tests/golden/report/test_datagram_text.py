"""A UDP flow in words, on a terminal of any width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pathlab.analysis.estimators.trial_loss import pool_trial_loss
from pathlab.report.datagram_text import (
    describe_attribution,
    describe_loss,
    describe_reordering,
    format_datagram_limit,
    list_datagram_facts,
)
from pathlab.study.datagram_limit import classify_datagrams, read_datagrams
from pathlab.study.datagram_trial import LossRuns
from tests.golden.conftest import Say
from tests.unit.report.test_datagram_text import FLOW

LOSS = pool_trial_loss([8490] * 10, [79] * 10, burst_packets=2)
RUNS = LossRuns(runs=605, mean_packets=790 / 605, longest_packets=12, burst_packets=2.0)


def test_the_facts_of_a_flow(say: Say) -> None:
    facts = dict(list_datagram_facts(FLOW, LOSS, RUNS))
    say(facts["Sent"])
    say(facts["Received"])
    say(facts["Loss"])
    say(facts["  lost by"])
    say(facts["  runs"])
    order = "0.0499 % (42 of 84,110); largest extent 5 packets, late by up to 1.2 ms; 3-reordered 3"
    assert facts["Reordering"] == order
    say(facts["Pacing error"])
    say(facts["CPU per packet"])
    assert not facts.keys() & {"Refused", "Foreign"}
    full = replace(FLOW, udp_refused_packets=9, udp_foreign_packets=1, udp_offered_packets_per_s=None)
    facts = dict(list_datagram_facts(full, None, None))
    say(facts["Refused"])
    say(facts["Foreign"])
    say(facts["Sent"])
    say(facts["Loss"])


def test_a_loss_of_nothing_has_an_upper_bound(say: Say) -> None:
    none = replace(FLOW, udp_lost_packets=0)
    say(describe_loss(none, pool_trial_loss([8490] * 10, [0] * 10)))
    assert describe_reordering(replace(FLOW, udp_reordered_packets=0)) == "0 % (0 of 84,110)"


@pytest.mark.parametrize(
    ("lost", "host", "path"), [(0, 0, 0), (None, None, None), (9, 4, 5), (9, None, None), (9, 4, None)]
)
def test_who_lost_datagrams(say: Say, lost: int | None, host: int | None, path: int | None) -> None:
    say(describe_attribution(lost, host, path))


def test_the_limit_in_a_sentence(say: Say) -> None:
    def limit(**changes: Any) -> str:
        return format_datagram_limit(classify_datagrams(read_datagrams(replace(FLOW, **changes))))

    say(limit(receiver_busiest_core_ratio=0.99))
    nothing: dict[str, Any] = {"udp_lost_packets": 0, "udp_lost_host_packets": 0, "udp_lost_path_packets": 0}
    say(limit(**nothing))
    slow = limit(**nothing, udp_sent_packets_per_s=4246.0, sender_busiest_core_ratio=1.0)
    say(slow)
    fast = limit(**nothing, udp_offered_packets_per_s=None)
    say(fast)
    unknown = limit(udp_lost_host_packets=None, udp_lost_path_packets=None)
    say(unknown)
    none: dict[str, Any] = {**nothing, "udp_sent_packets": 0, "udp_sent_packets_per_s": 0.0}
    say(limit(**none))
    rare = limit(**none, udp_offered_packets_per_s=0.1)  # one may be due in the 10 s, and under way
    say(rare)
