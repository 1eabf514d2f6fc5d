"""A UDP flow in words, on a terminal of any width."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from pathlab.analysis.estimators.trial_loss import pool_trial_loss
from pathlab.report.datagram_text import (
    describe_attribution,
    describe_loss,
    describe_reordering,
    format_datagram_limit,
    list_datagram_facts,
)
from pathlab.report.text import render_trial
from pathlab.study.datagram_limit import classify_datagrams, read_datagrams
from pathlab.study.datagram_trial import LossRuns
from tests.builders.trials import make_record

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


def test_the_facts_of_a_flow() -> None:
    facts = dict(list_datagram_facts(FLOW, LOSS, RUNS))
    assert facts["Sent"] == "100 Mbit/s (8.49 k packets/s of 1472 B; offered 8.49 k packets/s)"
    assert facts["Received"] == "99 Mbit/s (8.41 k packets/s), by the receiver's count, over 10 s"
    assert facts["Loss"].startswith("0.931 % (790 of 84,900; 95 % CI 0.")
    assert facts["  lost by"] == "the receiving host 700, the path 90"
    assert facts["  runs"] == "605 runs; mean 1.31, longest 12 in a row"
    order = "0.0499 % (42 of 84,110); largest extent 5 packets, late by up to 1.2 ms; 3-reordered 3"
    assert facts["Reordering"] == order
    assert facts["Pacing error"] == "median 1.5 µs, p99 40 µs, max 900 µs late"
    assert facts["CPU per packet"] == "sender 1.2 µs, receiver 900 ns"
    assert not facts.keys() & {"Refused", "Foreign"}
    full = replace(FLOW, udp_refused_packets=9, udp_foreign_packets=1, udp_offered_packets_per_s=None)
    facts = dict(list_datagram_facts(full, None, None))
    assert facts["Refused"].startswith("9 by the sender's kernel")
    assert facts["Foreign"] == "1 datagram of others; not counted"
    assert "as fast as possible" in facts["Sent"]
    assert "too few for a confidence interval" in facts["Loss"]


def test_what_was_not_measured_is_said() -> None:
    facts = dict(list_datagram_facts(make_record(datagram_bytes=1472), None, None))
    assert (facts["Loss"], facts["Reordering"]) == ("not measured", "not measured")
    assert facts["Duplicates"] == facts["Jitter"].partition(" (")[0] == "–"
    assert not facts.keys() & {"  lost by", "  runs", "Pacing error"}


def test_a_loss_of_nothing_has_an_upper_bound() -> None:
    none = replace(FLOW, udp_lost_packets=0)
    assert describe_loss(none, pool_trial_loss([8490] * 10, [0] * 10)).startswith(
        "0 % (0 of 84,900; 95 % CI up to 0.0"
    )
    assert describe_reordering(replace(FLOW, udp_reordered_packets=0)) == "0 % (0 of 84,110)"


@pytest.mark.parametrize(
    ("lost", "host", "path", "text"),
    [
        (0, 0, 0, ""),
        (None, None, None, ""),
        (9, 4, 5, "the receiving host 4, the path 5"),
        (9, None, None, "not known 9 (a counter of the receiving host is not known)"),
        (9, 4, None, "the receiving host 4, not known 5 (a counter of the receiving host is not known)"),
    ],
)
def test_who_lost_datagrams(lost: int | None, host: int | None, path: int | None, text: str) -> None:
    assert describe_attribution(lost, host, path) == text


def test_the_limit_in_a_sentence() -> None:
    def limit(**changes: Any) -> str:
        return format_datagram_limit(classify_datagrams(read_datagrams(replace(FLOW, **changes))))

    assert limit(receiver_busiest_core_ratio=0.99) == (
        "Limited by: the receiving host (it lost 0.824 % of the datagrams, its busiest core was 99 % busy); "
        "beside it the path: it lost 0.106 % of the datagrams"
    )
    nothing: dict[str, Any] = {"udp_lost_packets": 0, "udp_lost_host_packets": 0, "udp_lost_path_packets": 0}
    assert limit(**nothing) == "Limited by: the offered rate (it was sent, and less than 0.1 % was lost)"
    slow = limit(**nothing, udp_sent_packets_per_s=4246.0, sender_busiest_core_ratio=1.0)
    assert slow == (
        "Limited by: the sending host (it did not send 50 % of the offered datagrams, "
        "its busiest core was 100 % busy)"
    )
    fast = limit(**nothing, udp_offered_packets_per_s=None)
    assert fast == "Limited by: the sending host (it sent as fast as it could)"
    unknown = limit(udp_lost_host_packets=None, udp_lost_path_packets=None)
    assert unknown.startswith("Limited by: undecided (not known where datagrams were lost)")
    assert "only without GRO" in unknown
    none: dict[str, Any] = {**nothing, "udp_sent_packets": 0, "udp_sent_packets_per_s": 0.0}
    assert limit(**none).startswith("Limited by: the sending host (it did not send 100 %")
    rare = limit(**none, udp_offered_packets_per_s=0.1)  # one may be due in the 10 s, and under way
    assert rare.startswith("Limited by: undecided (no datagram was sent in the steady window)")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_trial_fits_any_terminal(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    render_trial(FLOW, None, 1, console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    assert "lost by the receiving host 700, the path 90" in shown
    assert "Window requested" not in shown
    assert "Retransmissions" not in shown
