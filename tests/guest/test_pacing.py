"""Datagrams paced by the kernel for real, where it has the queueing discipline fq."""

from __future__ import annotations

from typing import Any

import pytest

from tests.guest.pacing_task import DURATION_MS, PACKETS_PER_S, WARMUP_MS

pytestmark = [pytest.mark.engine]

DUE = PACKETS_PER_S * (WARMUP_MS + DURATION_MS) // 1000


def sum_phases(flow: dict[str, Any], *names: str) -> list[int]:
    """The sender's numbers of both phases together, for each stream."""
    phases = [flow["sent"]["phases"][phase]["datagrams"] for phase in ("warmup", "steady")]
    return [sum(counts) for counts in zip(*(phase[name] for phase in phases for name in names), strict=True)]


def test_without_a_discipline_that_paces_the_kernel_is_not_asked(pacing: dict[str, Any]) -> None:
    """The flow would be as fast as possible."""
    error = pacing["refused"]["sent"]
    assert (error["type"], error["stage"]) == ("error", "pacing")
    assert "the queueing discipline 'noqueue' of v0 does not pace: " in error["text"]


@pytest.mark.parametrize("by", ["kernel", "txtime", "user"])
def test_no_more_is_sent_than_was_offered(pacing: dict[str, Any], by: str) -> None:
    """SO_MAX_PACING_RATE counts headers, for which the engine allows."""
    flow = pacing[by]
    assert flow["ready"]["datagrams"]["pacing"] == by
    assert 0 < sum_phases(flow, "sent")[0] <= 1.1 * DUE
    sent, received = (flow[end]["phases"]["steady"]["datagrams"] for end in ("sent", "received"))
    assert received["peer_sent"] == sent["sent"]
    assert received["received"][0] + received["lost"][0] == sent["sent"][0]


def test_the_pacing_error_is_that_of_the_process(pacing: dict[str, Any]) -> None:
    """Of a rate that the kernel keeps nothing is known; with times, the process can be early."""
    times, own = (pacing[by]["sent"]["datagrams"]["pacing_error_ns"] for by in ("txtime", "user"))
    assert times["median"] <= own["median"]
    assert pacing["kernel"]["sent"]["datagrams"]["pacing_error_ns"]["median"] is None


def test_streams_share_the_rate(pacing: dict[str, Any]) -> None:
    """What an emulated processor is too slow for is given up, and counted."""
    offered = sum_phases(pacing["streams"], "sent", "refused", "given_up")
    assert sum(offered) == pytest.approx(DUE, abs=1)
    assert max(offered) - min(offered) <= 1
