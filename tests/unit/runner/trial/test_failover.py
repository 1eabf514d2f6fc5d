"""A link that fails: the columns of its dip from interval records whose answer is known, and its thread."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from pathlab.errors import HostError
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


def make_failure(at_ms: int, returned_ms: int | None = None, **plan: Any) -> LinkFailure:
    values = {name: getattr(PLAN, name) for name in PLAN.__slots__} | plan
    failure = LinkFailure(FailurePlan(**values), lambda: None, lambda: None)
    failure.failed_ns = ORIGIN_NS + at_ms * MS
    failure.returned_ns = None if returned_ms is None else ORIGIN_NS + returned_ms * MS
    return failure


def make_receiver(rates_mbit_per_s: list[float]) -> list[dict[str, Any]]:
    """Intervals of 100 ms, all of the steady window, which begins with the trial."""
    intervals = [
        {
            "type": "interval",
            "phase": "steady",
            "start_ns": place * 100 * MS,
            "end_ns": (place + 1) * 100 * MS,
            "bytes": [round(rate * 1e6 / 8 / 10)],
        }
        for place, rate in enumerate(rates_mbit_per_s)
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


def test_depth_duration_and_resent_bytes_of_a_dip() -> None:
    # 100 before; fails at 450 ms; 0, 10, then 48 of the remaining 50 from 700 ms on.
    rates = [100.0] * 4 + [60, 0, 10, 48, 48, 48, 48]
    sender = make_sender([0, 0, 0, 5, 5, 1000, 2000, 2500, 2500, 2500, 2500])
    found = measure_failover(make_failure(450), sender, make_receiver(rates))
    assert found["failover_member"] == "wan1"
    assert found["failover_at_ns"] == 450 * MS
    assert found["failover_dip_ratio"] == pytest.approx(0.0)
    assert found["failover_recovery_ns"] == 250 * MS
    assert "failover_censored" not in found
    assert found["failover_retransmitted_bytes"] == 2000 - 5


def test_the_time_that_a_failure_takes_is_part_of_the_recovery_and_of_no_rate() -> None:
    """It begins at 380 ms, and nothing more passes from 520 ms on."""
    failure = make_failure(380)
    failure.complete_ns = ORIGIN_NS + 520 * MS
    found = measure_failover(failure, [], make_receiver([100.0] * 3 + [80, 90, 95, 25, 48, 48, 48]))
    assert found["failover_at_ns"] == 380 * MS
    assert found["failover_dip_ratio"] == pytest.approx(0.25)
    assert found["failover_recovery_ns"] == 320 * MS


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


def test_one_burst_of_what_was_held_back_is_no_recovery() -> None:
    found = measure_failover(make_failure(450), [], make_receiver([100.0] * 5 + [0, 0, 150, 0, 0, 0]))
    assert "not recovered" in found["failover_censored"]


def test_a_rate_below_what_the_others_carry_has_to_come_back_itself() -> None:
    """Round robin over unequal links may carry less than the better one alone."""
    found = measure_failover(make_failure(450), [], make_receiver([30.0] * 5 + [0.0, 28, 28, 28]))
    assert found["failover_recovery_ns"] == 150 * MS


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


def test_a_link_that_returned_inside_the_window_is_said_to_have() -> None:
    rates = [100.0] * 5 + [0.0] * 3 + [99.0] * 4
    failure = make_failure(450, 800, remaining_bits_per_s=0)
    found = measure_failover(failure, [], make_receiver(rates))
    assert found["failover_returned_at_ns"] == 800 * MS
    assert found["failover_recovery_ns"] == 350 * MS
    assert "failover_returned_at_ns" not in measure_failover(
        make_failure(450, 5_000), [], make_receiver(rates)
    )


def test_without_a_failure_there_are_no_columns() -> None:
    waiting = LinkFailure(PLAN, lambda: None, lambda: None)
    assert measure_failover(None, [], []) == measure_failover(waiting, [], []) == {}


def test_a_link_fails_and_returns_in_order_and_the_end_waits_for_no_time() -> None:
    done: list[str] = []
    returned = threading.Event()

    def restore() -> None:
        done.append("restore")
        returned.set()

    plan = FailurePlan(
        member="wan1", after_ns=0, return_after_ns=0, over_after_ns=10**15, remaining_bits_per_s=None
    )
    failure = LinkFailure(plan, lambda: done.append("fail"), restore)
    failure.begin()
    failure.begin()
    assert returned.wait(60)
    failure.end()
    assert done == ["fail", "restore"]
    assert failure.failed_ns is not None
    assert failure.returned_ns is not None
    assert failure.complete_ns is not None
    assert failure.failed_ns <= failure.complete_ns <= failure.returned_ns
    late = LinkFailure(replace(plan, after_ns=10**15), lambda: done.append("late"), restore)
    late.begin()
    late.end()
    assert done == ["fail", "restore"]


def test_a_link_that_is_still_failed_at_the_end_returns_then() -> None:
    """Probes without traffic follow at once."""
    done: list[str] = []
    failed = threading.Event()

    def fail() -> None:
        done.append("fail")
        failed.set()

    failure = LinkFailure(replace(PLAN, over_after_ns=10**15), fail, lambda: done.append("restore"))
    failure.begin()
    assert failed.wait(60)
    failure.end()
    failure.end()
    assert done == ["fail", "restore"]


def test_a_command_that_fails_is_raised_at_the_end_once() -> None:
    def refuse() -> None:
        raise HostError("no", host="lab", stage="lab")

    failure = LinkFailure(PLAN, refuse, lambda: None)
    failure.begin()
    with pytest.raises(HostError, match="no"):
        # The failure is due at once; its thread has run when the end has joined it.
        _end_after(failure)
    failure.end()


def _end_after(failure: LinkFailure) -> None:
    thread = failure._thread
    assert thread is not None
    thread.join(60)
    failure.end()
