"""A sender keeps little unsent data waiting, and fills a fast link all the same."""

from __future__ import annotations

import statistics

import pytest

from pathlab.lab.topology import Link, Topology
from tests.lab.labs import exchange, list_rates, make_lab

pytestmark = [pytest.mark.netns, pytest.mark.engine]

RATE_BITS_PER_S = 300_000_000
FAST = Topology(
    hosts=("a", "b"),
    links=(
        Link(between=("a", "b"), rate_bits_per_s=RATE_BITS_PER_S, delay_ns=20_000_000, queue_bytes=1_500_000),
    ),
)
AFTER_SLOW_START = ("--warmup", "1500ms", "--duration", "700ms")


def test_a_fast_link_loses_no_rate_by_the_small_backlog() -> None:
    rates: list[float] = []
    with make_lab(FAST) as lab:
        for _ in range(3):  # a stall of the machine spoils the intervals of one
            rates += list_rates(exchange(lab, "--window", "8MiB", extent=AFTER_SLOW_START)[1])
    assert statistics.median(rates) / RATE_BITS_PER_S == pytest.approx(1448 / 1500, abs=0.03)
