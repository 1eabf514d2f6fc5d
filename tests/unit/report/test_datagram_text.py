"""A UDP flow in words, on a terminal of any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pathlab.report.datagram_text import (
    list_datagram_facts,
)
from pathlab.report.text import render_trial
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


def test_what_was_not_measured_is_said() -> None:
    facts = dict(list_datagram_facts(make_record(datagram_bytes=1472), None, None))
    assert (facts["Loss"], facts["Reordering"]) == ("not measured", "not measured")
    assert facts["Duplicates"] == facts["Jitter"].partition(" (")[0] == "–"
    assert not facts.keys() & {"  lost by", "  runs", "Pacing error"}


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
