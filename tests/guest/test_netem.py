"""netem, bonding and SCTP for real: one boot of a kernel that has them, emulated in software."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.guest.image import build_image, require_guest, run_guest

pytestmark = [pytest.mark.slow, pytest.mark.engine]

TIMEOUT_S = 240
TASK = Path(__file__).with_name("netem_task.py")
LINE_BITS_PER_S = 20e6 * 1448 / 1500


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    require_guest()
    text, console = run_guest(build_image(TASK, tmp_path_factory.mktemp("guest")), TIMEOUT_S)
    assert text.strip(), console[-3000:]
    said: dict[str, Any] = json.loads(text.splitlines()[-1])
    assert "error" not in said, f"{said['error']}\n{console[-3000:]}"
    return said


def test_the_lab_chooses_netem_where_the_kernel_has_it(answer: dict[str, Any]) -> None:
    assert answer["backend"] == "netem"


def test_the_round_trip_is_the_configured_one(answer: dict[str, Any]) -> None:
    assert answer["ping"]["received"] == 50
    assert answer["ping"]["least_ns"] >= 20_000_000
    assert answer["ping"]["median_ns"] == pytest.approx(20e6, rel=0.1)


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
    assert answer["changed"]["median_ns"] == pytest.approx(40e6, rel=0.1)


def test_losses_are_those_configured(answer: dict[str, Any]) -> None:
    """20 % each way: 36 % of the probes are lost; four standard errors."""
    assert answer["lossy"]["received"] / 400 == pytest.approx(0.64, abs=4 * (0.64 * 0.36 / 400) ** 0.5)


def test_two_bonded_links_carry_more_than_one(answer: dict[str, Any]) -> None:
    assert answer["bonded"]["bits_per_s"] > 1.5 * LINE_BITS_PER_S
