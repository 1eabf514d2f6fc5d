"""The live view of UDP flows: loss instead of retransmissions."""

from dataclasses import replace

import pytest

from pathlab.cli.running_table import format_trial_line
from pathlab.runner.events import LossesNow, RateNow, RttNow, TrialEnded
from tests.builders.trials import make_record
from tests.unit.cli.test_live import START, STARTED, draw, make_view

LEVELS = {"streams": 4, "window_bytes": None, "congestion": None, "transport": "udp", "gso": True}
FLOW = make_record(
    streams=4,
    throughput_bits_per_s=99e6,
    udp_sent_packets=100_000,
    udp_lost_packets=1_500,
    flags=("lab", "host-limited"),
)


def test_a_udp_trial_states_its_loss() -> None:
    line = "a to b      4 × auto  transport=udp gso=yes     99 Mbit/s  loss 1.5 %  host-limited"
    assert format_trial_line(FLOW, LEVELS) == line
    nothing = replace(FLOW, udp_lost_packets=None)
    assert "loss –" in format_trial_line(nothing, LEVELS)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_live_view_shows_the_loss_so_far(width: int) -> None:
    view = make_view([STARTED, replace(START, settings=LEVELS)])
    view(RateNow(row=0, bits_per_s=99e6, elapsed_ns=10**8))
    view(RttNow(row=0, rtt_ns=40_000_000))
    assert "loss" not in "".join(draw(view, width))
    view(LossesNow(row=7, lost_packets=5, received_packets=5))  # of another trial
    view(LossesNow(row=0, lost_packets=0, received_packets=0))
    assert "loss" not in "".join(draw(view, width))
    view(LossesNow(row=0, lost_packets=15, received_packets=985))
    lines = draw(view, width)
    assert max(map(len, lines)) <= width
    assert "loss 1.5 %" in "".join(lines)
    view(replace(START, row=1, settings=LEVELS))
    assert "loss" not in "".join(draw(view, width))


def test_the_table_pools_the_loss_of_a_combination() -> None:
    view = make_view([STARTED, replace(START, settings=LEVELS)])
    for record in (FLOW, replace(FLOW, udp_sent_packets=300_000, udp_lost_packets=500)):
        view(TrialEnded(record=record, settings=LEVELS))
    shown = " ".join(" ".join(draw(view, 120)).split())
    assert "0.5 %" in shown
    assert " 2 99 Mbit/s" in shown  # a host-limited flow is what the combination carries
