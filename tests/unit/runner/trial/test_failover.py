"""A link that fails: the columns of its dip from interval records whose answer is known, and its thread."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from pathlab.errors import HostError, Stage
from pathlab.runner.trial.failover import (
    NO_INTERVALS,
    NOT_IN_WINDOW,
    NOTHING_BEFORE,
    NOTHING_REMAINED,
    FailurePlan,
    LinkFailure,
    measure_failover,
)

MS = 1_000_000
ORIGIN_NS = 7_000 * MS
PLAN = FailurePlan(
    member="wan1", after_ns=0, return_after_ns=None, over_after_ns=10**12, remaining_bits_per_s=50_000_000
)


def make_failure(
    at_ms: int, returned_ms: int | None = None, complete_ms: int | None = None, **plan: Any
) -> LinkFailure:
    failure = LinkFailure(replace(PLAN, **plan), lambda: None, lambda: None)
    failure.failed_ns = ORIGIN_NS + at_ms * MS
    failure.returned_ns = None if returned_ms is None else ORIGIN_NS + returned_ms * MS
    failure.complete_ns = None if complete_ms is None else ORIGIN_NS + complete_ms * MS
    return failure


def make_receiver(rates_mbit_per_s: list[float]) -> list[dict[str, Any]]:
    """Intervals of 100 ms, all of the steady window, which begins with the trial."""
    spans = [{"start_ns": n * 100 * MS, "end_ns": (n + 1) * 100 * MS} for n in range(len(rates_mbit_per_s))]
    intervals = [
        {"type": "interval", "phase": "steady", **span, "bytes": [round(rate * 1e6 / 8 / 10)]}
        for span, rate in zip(spans, rates_mbit_per_s, strict=True)
    ]
    steady = {"start_ns": 0, "end_ns": len(rates_mbit_per_s) * 100 * MS}
    result = {"type": "result", "phases": {"steady": steady}}
    return [{"type": "start", "monotonic_ns": ORIGIN_NS}, *intervals, result]


def make_sender(resent: list[int]) -> list[dict[str, Any]]:
    intervals = [
        {"type": "interval", "end_ns": (place + 1) * 100 * MS, "tcp_info": {"bytes_retrans": [total, 0]}}
        for place, total in enumerate(resent)
    ]
    return [{"type": "start", "monotonic_ns": ORIGIN_NS}, *intervals]


RETURNED = [100.0] * 5 + [0.0] * 3 + [99.0] * 4


@pytest.mark.parametrize(
    ("failure", "rates", "columns"),
    [
        # 100 before; fails at 450 ms; 0, 10, then 48 of the remaining 50 from 700 ms on.
        (
            make_failure(450),
            [100.0] * 4 + [60, 0, 10, 48, 48, 48, 48],
            {"at": 450, "dip": 0.0, "recovery": 250},
        ),
        # It begins at 380 ms, and nothing more passes from 520 ms on: part of the recovery and of no rate.
        (
            make_failure(380, complete_ms=520),
            [100.0] * 3 + [80, 90, 95, 25, 48, 48, 48],
            {"at": 380, "dip": 0.25, "recovery": 320},
        ),
        # A rate below what the others carry has to come back itself: round robin over unequal links.
        (make_failure(450), [30.0] * 5 + [0.0, 28, 28, 28], {"at": 450, "dip": 0.0, "recovery": 150}),
        # One burst of what was held back is no recovery.
        (make_failure(450), [100.0] * 5 + [0, 0, 150, 0, 0, 0], {"at": 450, "dip": 0.0}),
        (
            make_failure(450, 800, remaining_bits_per_s=0),
            RETURNED,
            {"at": 450, "dip": 0.0, "recovery": 350, "returned_at": 800},
        ),
        (make_failure(450, 5_000), RETURNED, {"at": 450, "dip": 0.0, "recovery": 350}),
    ],
)
def test_depth_and_duration_of_a_dip(
    failure: LinkFailure, rates: list[float], columns: dict[str, float]
) -> None:
    found = measure_failover(failure, [], make_receiver(rates))
    assert found["failover_member"] == "wan1"
    assert found["failover_dip_ratio"] == pytest.approx(columns["dip"])
    for name in ("at", "recovery", "returned_at"):
        assert found.get(f"failover_{name}_ns") == (columns[name] * MS if name in columns else None)
    assert ("failover_censored" in found) == ("recovery" not in columns)


def test_resent_bytes_are_those_of_the_dip() -> None:
    sender = make_sender([0, 0, 0, 5, 5, 1000, 2000, 2500, 2500, 2500, 2500])
    found = measure_failover(
        make_failure(450), sender, make_receiver([100.0] * 4 + [60, 0, 10, 48, 48, 48, 48])
    )
    assert found["failover_retransmitted_bytes"] == 2000 - 5


def test_resent_bytes_of_mptcp_are_those_of_all_subflows() -> None:
    def read(place: int, first: int, second: int) -> dict[str, Any]:
        ports = {"stream": 0, "remote_port": 9}
        return {
            "type": "interval",
            "end_ns": (place + 1) * 100 * MS,
            "tcp_info": {"bytes_retrans": [first]},
            "subflows": [
                {**ports, "local_port": 1, "bytes_retrans": first},
                {**ports, "local_port": 2, "bytes_retrans": second},
            ],
        }

    sender = [{"type": "start", "monotonic_ns": ORIGIN_NS}]
    sender += [read(place, 7, 0 if place < 5 else 3000) for place in range(10)]
    found = measure_failover(make_failure(450), sender, make_receiver([100.0] * 5 + [0.0] * 5))
    assert found["failover_retransmitted_bytes"] == 3000


@pytest.mark.parametrize(
    ("failure", "rates", "reason"),
    [
        (make_failure(450, remaining_bits_per_s=0), [100.0] * 10, NOTHING_REMAINED),
        (make_failure(5_000), [100.0] * 10, NOT_IN_WINDOW),
        (make_failure(950), [100.0] * 10, NO_INTERVALS),
        (make_failure(450), [0.0] * 10, NOTHING_BEFORE),
    ],
)
def test_reasons_without_a_recovery(failure: LinkFailure, rates: list[float], reason: str) -> None:
    assert measure_failover(failure, [], make_receiver(rates))["failover_censored"] == reason


def test_without_a_failure_there_are_no_columns() -> None:
    waiting = LinkFailure(PLAN, lambda: None, lambda: None)
    assert measure_failover(None, [], []) == measure_failover(waiting, [], []) == {}


class Commands:
    """What fails and restores a link, and what was called."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failed, self.returned = threading.Event(), threading.Event()

    def fail(self) -> None:
        self.done.append("fail")
        self.failed.set()

    def restore(self) -> None:
        self.done.append("restore")
        self.returned.set()


NEVER_NS = 10**15


def test_a_link_fails_and_returns_in_order_and_the_end_waits_for_no_time() -> None:
    link = Commands()
    plan = replace(PLAN, return_after_ns=0, over_after_ns=NEVER_NS, remaining_bits_per_s=None)
    failure = LinkFailure(plan, link.fail, link.restore)
    failure.begin()
    failure.begin()
    assert link.returned.wait(60)
    failure.end()
    assert link.done == ["fail", "restore"]
    assert failure.failed_ns <= failure.complete_ns <= failure.returned_ns
    late = LinkFailure(replace(plan, after_ns=NEVER_NS), link.fail, link.restore)
    late.begin()
    late.end()
    assert link.done == ["fail", "restore"]


def test_a_link_that_is_still_failed_at_the_end_returns_then() -> None:
    """Probes without traffic follow at once."""
    link = Commands()
    failure = LinkFailure(replace(PLAN, over_after_ns=NEVER_NS), link.fail, link.restore)
    failure.begin()
    assert link.failed.wait(60)
    failure.end()
    failure.end()
    assert link.done == ["fail", "restore"]


def test_a_command_that_fails_is_raised_at_the_end_once() -> None:
    def refuse() -> None:
        raise HostError("no", host="lab", stage=Stage.LAB)

    failure = LinkFailure(PLAN, refuse, lambda: None)
    failure.begin()
    failure._thread.join(60)  # the failure is due at once
    with pytest.raises(HostError, match="no"):
        failure.end()
    failure.end()
