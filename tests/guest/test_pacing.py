"""Datagrams paced by the kernel for real: one boot of a kernel that has the queueing discipline fq."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.guest.image import build_image, require_guest, run_guest

pytestmark = [pytest.mark.engine]

TIMEOUT_S = 240
TASK = Path(__file__).with_name("pacing_task.py")
PACKETS_PER_S = 1000
SECONDS = 3


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    require_guest()
    text, console = run_guest(build_image(TASK, tmp_path_factory.mktemp("guest")), TIMEOUT_S)
    assert text.strip(), console[-3000:]
    said: dict[str, Any] = json.loads(text.splitlines()[-1])
    assert "error" not in said, f"{said['error']}\n{console[-3000:]}"
    return said


def test_without_a_discipline_that_paces_the_kernel_is_not_asked(answer: dict[str, Any]) -> None:
    """The flow would be as fast as possible."""
    error = answer["refused"]["sent"]
    assert (error["type"], error["stage"]) == ("error", "pacing")
    assert "the queueing discipline 'noqueue' of v0 does not pace: " in error["text"]


@pytest.mark.parametrize("by", ["kernel", "txtime", "user"])
def test_the_rate_is_the_offered_one(answer: dict[str, Any], by: str) -> None:
    """SO_MAX_PACING_RATE counts headers, for which the engine allows."""
    flow = answer[by]
    assert flow["ready"]["datagrams"]["pacing"] == by
    sent, received = (flow[end]["phases"]["steady"]["datagrams"] for end in ("sent", "received"))
    assert sent["sent"][0] == pytest.approx(PACKETS_PER_S * SECONDS, rel=0.1)
    assert received["peer_sent"] == sent["sent"]
    assert received["received"][0] + received["lost"][0] == sent["sent"][0]


def test_the_pacing_error_is_that_of_the_process(answer: dict[str, Any]) -> None:
    """Of a rate that the kernel keeps nothing is known; with times, the process can be early."""
    times, own = (answer[by]["sent"]["datagrams"]["pacing_error_ns"] for by in ("txtime", "user"))
    assert times["median"] <= own["median"]
    assert answer["kernel"]["sent"]["datagrams"]["pacing_error_ns"]["median"] is None


def test_streams_share_the_rate(answer: dict[str, Any]) -> None:
    """What an emulated processor is too slow for is given up, and counted."""
    steady = answer["streams"]["sent"]["phases"]["steady"]["datagrams"]
    offered = sum(steady["sent"]) + sum(steady["given_up"])
    assert offered == pytest.approx(PACKETS_PER_S * SECONDS, rel=0.1)
    assert max(steady["sent"]) - min(steady["sent"]) <= 0.1 * PACKETS_PER_S * SECONDS
