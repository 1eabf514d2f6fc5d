"""netem and SCTP for real, in a guest whose kernel has them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.guest.netem_task import RATE_BITS_PER_S, SLOW_BITS_PER_S

pytestmark = [pytest.mark.engine]

#: Of the rate, for the payload of full segments.
PAYLOAD_RATIO = 1448 / 1500


def test_the_lab_chooses_netem_where_the_kernel_has_it(netem: dict[str, Any]) -> None:
    assert netem["backend"] == "netem"


def test_the_kernel_states_the_configured_link(netem: dict[str, Any]) -> None:
    assert len(netem["shown"]) == 2
    for line in netem["shown"]:
        assert "delay 10ms" in line
        assert "rate 20Mbit" in line


def test_the_round_trip_is_the_configured_one(netem: dict[str, Any]) -> None:
    assert netem["ping"]["received"] == 50
    assert 20_000_000 <= netem["ping"]["least_ns"] < netem["changed"]["least_ns"]


def test_a_trial_keeps_to_the_line(netem: dict[str, Any]) -> None:
    """An emulated processor may be slower than the line, though not than a tenth of it."""
    assert netem["tcp"]["bits_per_s"] <= 1.05 * RATE_BITS_PER_S * PAYLOAD_RATIO
    assert netem["slow"]["bits_per_s"] <= 1.05 * SLOW_BITS_PER_S * PAYLOAD_RATIO
    assert netem["tcp"]["bits_per_s"] > 2 * netem["slow"]["bits_per_s"]
    assert netem["delivered_bytes"] >= netem["tcp"]["bytes"] > 0


def test_sctp_carries_a_trial(netem: dict[str, Any]) -> None:
    assert 0 < netem["sctp"]["bits_per_s"] < 1.05 * RATE_BITS_PER_S * PAYLOAD_RATIO


def test_a_link_changes_while_it_runs(netem: dict[str, Any]) -> None:
    """10 ms there, and 30 ms back instead of 10."""
    assert netem["changed"]["received"] == 10
    assert netem["changed"]["least_ns"] >= 40_000_000
    forward, reverse = sorted(netem["shown_changed"], key=lambda line: "30ms" in line)
    assert "delay 10ms" in forward
    assert "rate 2Mbit" in forward
    assert "delay 30ms" in reverse
    assert "rate" not in reverse


def test_losses_are_those_configured(netem: dict[str, Any]) -> None:
    """20 % each way: 36 % of the probes are lost; four standard errors."""
    assert netem["lossy"]["received"] / 400 == pytest.approx(0.64, abs=4 * (0.64 * 0.36 / 400) ** 0.5)
