"""A lab as text and as a picture: everything is there, and nothing lies upon anything else."""

from __future__ import annotations

from pathlab.campaign.load import load_lab
from pathlab.runner.hosts.lab_topology import build_topology
from tests.golden.conftest import Say
from tests.unit.lab.test_drawn import print_lines


def test_a_delay_is_one_way_and_the_round_trip_is_stated(say: Say) -> None:
    lines = print_lines(build_topology(load_lab("three-hops")))
    say([line.split("Mbit/s, ")[1].split(",")[0] for line in lines[:3]])
    say(lines[3])


def test_a_narrow_terminal_has_the_settings_below_the_ends(say: Say) -> None:
    lines = print_lines(build_topology(load_lab("bufferbloat")), 60)
    say(lines[1].strip())
    assert max(map(len, lines)) <= 60
