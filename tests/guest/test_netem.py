"""netem and SCTP for real, in a guest whose kernel has them."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.engine]

LINE_BITS_PER_S = 20e6 * 1448 / 1500


def test_the_lab_chooses_netem_where_the_kernel_has_it(answer: dict[str, Any]) -> None:
    assert answer["backend"] == "netem"


def test_the_round_trip_is_the_configured_one(answer: dict[str, Any]) -> None:
    assert answer["ping"]["received"] == 50
    assert answer["ping"]["least_ns"] >= 20_000_000
    assert answer["ping"]["usual_ns"] == pytest.approx(20e6, rel=0.1)


def test_a_trial_fills_the_line(answer: dict[str, Any]) -> None:
    assert answer["tcp"]["bits_per_s"] == pytest.approx(LINE_BITS_PER_S, rel=0.05)
    forward = answer["counters"][0]["forward"]
    assert forward["delivered_bytes"] * 8 >= answer["tcp"]["bits_per_s"] * 3


def test_sctp_carries_a_trial(answer: dict[str, Any]) -> None:
    assert 0.5 * LINE_BITS_PER_S < answer["sctp"]["bits_per_s"] < 1.05 * LINE_BITS_PER_S


def test_a_link_changes_while_it_runs(answer: dict[str, Any]) -> None:
    """10 ms there, and 30 ms back instead of 10."""
    assert answer["changed"]["received"] == 10
    assert answer["changed"]["least_ns"] >= 40_000_000
    assert answer["changed"]["usual_ns"] == pytest.approx(40e6, rel=0.1)


def test_losses_are_those_configured(answer: dict[str, Any]) -> None:
    """20 % each way: 36 % of the probes are lost; four standard errors."""
    assert answer["lossy"]["received"] / 400 == pytest.approx(0.64, abs=4 * (0.64 * 0.36 / 400) ** 0.5)
