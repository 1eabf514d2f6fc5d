"""The lab in words: the verdict on a trial, links in words of netem, and a lab drawn as text."""

from typing import Any

import pytest

from pathlab.campaign.load import load_lab
from pathlab.lab.netem import format_netem
from pathlab.lab.topology import LinkSettings
from pathlab.lab.verdict import OUTSIDE_THE_MODEL, evaluate_lab
from pathlab.runner.hosts.lab_topology import build_topology
from tests.golden.conftest import Say
from tests.unit.lab.test_drawn import print_lines
from tests.unit.lab.test_verdict import count, snapshot

RTT_NS = 40_000_000
IDLE = (0, 0, 0, 1000, 0, 0, 0, 0)
SILENT: dict[str, Any] = {"cpu_ns": None, "elapsed_ns": None, "late_ns": None, "forward": {}, "reverse": {}}


@pytest.mark.parametrize("key", OUTSIDE_THE_MODEL)
def test_one_packet_outside_the_model_is_one_too_many(say: Say, key: str) -> None:
    before, after = snapshot(count(**{key: 4})), snapshot(count(elapsed_ns=10**9, **{key: 5}), ticks=IDLE)
    say(evaluate_lab(before, after, RTT_NS).reasons)
    assert evaluate_lab(before, snapshot(count(**{key: 4}), ticks=IDLE), RTT_NS).trusted


def test_cpu_of_emulator_and_host_and_stolen_time(say: Say) -> None:
    last = count(cpu_ns=900_000_000, elapsed_ns=1_000_000_000)
    reasons = evaluate_lab(
        snapshot(count()), snapshot(last, ticks=(800, 0, 80, 100, 0, 0, 0, 20)), RTT_NS
    ).reasons
    say(reasons)


def test_where_lateness_is_not_stated_busy_cores_and_stolen_time_decide(say: Say) -> None:
    ticks = (880, 0, 0, 100, 0, 0, 0, 20)
    say(evaluate_lab(snapshot(SILENT), snapshot(SILENT, ticks=ticks), RTT_NS).reasons)


def test_a_delay_is_one_way_and_the_round_trip_is_stated(say: Say) -> None:
    lines = print_lines(build_topology(load_lab("three-hops")))
    say([line.split("Mbit/s, ")[1].split(",")[0] for line in lines[:3]])
    say(lines[3])


def test_a_narrow_terminal_has_the_settings_below_the_ends(say: Say) -> None:
    lines = print_lines(build_topology(load_lab("bufferbloat")), 60)
    say(lines[1].strip())
    assert max(map(len, lines)) <= 60


WAN = LinkSettings(rate_bits_per_s=40_000_000, delay_ns=20_000_000, queue_bytes=250_000)


def test_a_wan_in_the_words_of_tc(say: Say) -> None:
    say(" ".join(format_netem(WAN, 1500)))
