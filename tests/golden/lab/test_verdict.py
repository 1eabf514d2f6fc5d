"""The lab's verdict on a trial: each limit alone, and what is not reported."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.lab.verdict import OUTSIDE_THE_MODEL, evaluate_lab
from tests.golden.conftest import Say
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
