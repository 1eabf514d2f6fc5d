"""The chapter of UDP flows, the report's opening and the terminal's table, from flows with known losses."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pathlab.report.datagram_answers import describe_flows, list_other_recommendations
from pathlab.report.formats.terminal import render_summary
from pathlab.study.analyses import Study
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.results import Settings
from tests.golden.conftest import Say

RATES = [{"pacing_bits_per_s": rate * 10**6} for rate in (32, 48, 80)]
FLOWS = [{**rate, "gso": on} for rate in RATES for on in (False, True)]


def test_the_opening_says_what_arrived_and_who_lost_the_rest(say: Say) -> None:
    study = Study(make_udp_trials(RATES[:1], carry_flow))
    (text,) = describe_flows(study)
    say(text)
    assert list_other_recommendations(study) == ()
    first, limits = describe_flows(Study(make_udp_trials(FLOWS, carry_flow)))
    say(first)
    say(limits)


def test_a_clean_combination_is_the_answer_of_many(say: Say) -> None:
    def carry_clean(settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
        found = carry_flow(settings, rng)
        if found["udp_lost_path_packets"] == 0:
            counts = {"udp_lost_packets": 0, "udp_lost_host_packets": 0}
            found |= {**counts, "udp_received_packets": found["udp_sent_packets"]}
        return found

    first, _ = describe_flows(Study(make_udp_trials(FLOWS, carry_clean)))
    say(first)


def test_a_loss_that_was_not_measured_is_not_the_least(say: Say) -> None:
    def carry_unknown(settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
        found = carry_flow(settings, rng)
        unknown = dict.fromkeys(("udp_lost_packets", "udp_lost_host_packets", "udp_lost_path_packets"))
        return {**found, **unknown} if settings["pacing_bits_per_s"] in hidden else found

    hidden = {32 * 10**6}
    first, _ = describe_flows(Study(make_udp_trials(FLOWS, carry_unknown)))
    say(first)
    hidden |= {rate["pacing_bits_per_s"] for rate in RATES}
    first, _ = describe_flows(Study(make_udp_trials(FLOWS, carry_unknown)))
    say(first)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_shows_answer_and_table_at_any_width(say: Say, width: int) -> None:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    render_summary(Study(make_udp_trials(FLOWS, carry_flow)), (), console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    say(shown)
