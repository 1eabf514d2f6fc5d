"""A link that fails while a trial runs: when it failed, how far the rate fell, and when it was back.

Times are of CLOCK_MONOTONIC, which all hosts of a lab share with the controller.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pathlab.engines.base import Record, first
from pathlab.errors import HostError
from pathlab.runner.trial.tcp_counters import list_counters
from pathlab.store.flags import Phase

#: The rate is back at this share of what the other links carry, or of before, over this number of intervals.
RECOVERED_RATIO = 0.9
RECOVERED_INTERVALS = 3
JOIN_S = 30.0  # a command in a lab takes at most that long

NOT_IN_WINDOW = "the link did not fail inside the steady window"
NO_INTERVALS = "no intervals were recorded before and after the failure"
NOTHING_REMAINED = "no other link carries this traffic"
NOTHING_BEFORE = "no data arrived before the failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePlan:
    """Which member fails, when after the traffic began, and when it returns after that."""

    member: str
    after_ns: int
    return_after_ns: int | None
    over_after_ns: int  # when the steady window is over: the link then works again in any case
    remaining_bits_per_s: int | None  # what the other links of the traffic carry; None: not limited


class LinkFailure:
    """Fails a link after a time and lets it return, on a thread of its own, until :meth:`end`."""

    def __init__(self, plan: FailurePlan, fail: Callable[[], None], restore: Callable[[], None]) -> None:
        self.plan = plan
        self.failed_ns: int | None = None  # when its failure began
        self.complete_ns: int | None = None  # when nothing more passed
        self.returned_ns: int | None = None  # when its return began
        self._fail, self._restore = fail, restore
        self._ended = threading.Event()
        self._error: HostError | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """The traffic begins now; only the first call counts."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="pathlab-failover", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            if self._ended.wait(self.plan.after_ns / 1e9):
                return
            began_ns = time.monotonic_ns()
            self._fail()
            self.failed_ns, self.complete_ns = began_ns, time.monotonic_ns()
            left_ns = self.plan.over_after_ns - self.plan.after_ns
            wanted_ns = self.plan.return_after_ns
            self._ended.wait((left_ns if wanted_ns is None else min(wanted_ns, left_ns)) / 1e9)
            began_ns = time.monotonic_ns()
            self._restore()
            self.returned_ns = began_ns
        except HostError as error:
            self._error = error

    def end(self) -> None:
        """Nothing fails after this, and a link that failed works; safe to call twice.

        Raises what a command raised.
        """
        self._ended.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        if self._error is not None:
            error, self._error = self._error, None
            raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interval:
    start_ns: int
    end_ns: int
    rate: float  # bytes per ns


def measure_failover(
    failure: LinkFailure | None,
    sender: Sequence[Record],
    receiver: Sequence[Record],
) -> dict[str, Any]:
    """The ``failover_`` columns of a trial; none where no link was to fail.

    The dip is the least rate of a whole interval after the failure, of the mean rate before it in the window.
    """
    if failure is None or failure.failed_ns is None:
        return {}
    columns: dict[str, Any] = {"failover_member": failure.plan.member}
    start, result = first(receiver, "start"), first(receiver, "result")
    steady = (result or {}).get("phases", {}).get(Phase.STEADY)
    if start is None or not steady:
        return columns | {"failover_censored": NOT_IN_WINDOW}
    origin_ns = int(start["monotonic_ns"])
    failed_ns = failure.failed_ns - origin_ns
    if not steady["start_ns"] < failed_ns < steady["end_ns"]:
        return columns | {"failover_censored": NOT_IN_WINDOW}
    columns["failover_at_ns"] = failed_ns - steady["start_ns"]
    returned_ns = None if failure.returned_ns is None else failure.returned_ns - origin_ns
    if returned_ns is not None and returned_ns < steady["end_ns"]:
        columns["failover_returned_at_ns"] = returned_ns - steady["start_ns"]
    intervals = _list_steady(receiver)
    complete_ns = failed_ns if failure.complete_ns is None else failure.complete_ns - origin_ns
    before = [interval for interval in intervals if interval.end_ns <= failed_ns]
    after = [interval for interval in intervals if interval.start_ns >= complete_ns]
    if not before or not after:
        return columns | {"failover_censored": NO_INTERVALS}
    mean, remaining = _mean_rate(before), failure.plan.remaining_bits_per_s
    if mean == 0:
        return columns | {"failover_censored": NOTHING_BEFORE}
    columns["failover_dip_ratio"] = min(item.rate for item in after) / mean
    carried = mean if remaining is None else min(mean, remaining / 8e9)
    recovered_ns: int | None = None
    reason: str | None = NOTHING_REMAINED
    if remaining != 0 or "failover_returned_at_ns" in columns:
        recovered_ns, reason = _find_recovery(after, RECOVERED_RATIO * (carried or mean))
    if recovered_ns is None:
        columns["failover_censored"] = reason
    else:
        columns["failover_recovery_ns"] = recovered_ns - failed_ns
    end_ns = origin_ns + (steady["end_ns"] if recovered_ns is None else recovered_ns)
    columns["failover_retransmitted_bytes"] = count_resent(sender, failure.failed_ns, end_ns)
    return columns


def _find_recovery(after: Sequence[_Interval], target: float) -> tuple[int | None, str | None]:
    """When the rate was back, or why that is not known. One burst of what was held back is no recovery."""
    for index in range(len(after) - RECOVERED_INTERVALS + 1):
        some = after[index : index + RECOVERED_INTERVALS]
        if _mean_rate(some) >= target and min(item.rate for item in some) >= target / 2:
            return some[0].start_ns, None
    watched_s = (after[-1].end_ns - after[0].start_ns) / 1e9
    return None, f"not recovered in the {watched_s:.3g} s that remained of the steady window"


def count_resent(sender: Sequence[Record], begin_ns: int, end_ns: int) -> int | None:
    """Bytes that the kernel retransmitted between two times; None where it states none."""
    start = first(sender, "start")
    if start is None:
        return None
    readings = []
    for record, values in list_counters(sender, "bytes_retrans"):
        known = [value for value in values if value is not None]
        if record["type"] == "interval" and known and len(known) == len(values):
            readings.append((int(start["monotonic_ns"]) + record["end_ns"], sum(known)))
    earlier = [total for at_ns, total in readings if at_ns <= begin_ns]
    later = [
        total for (at_ns, _), (next_ns, total) in pairwise(readings) if at_ns < end_ns and next_ns > begin_ns
    ]
    return later[-1] - earlier[-1] if earlier and later else None


def _list_steady(records: Sequence[Record]) -> list[_Interval]:
    return [
        _Interval(
            start_ns=record["start_ns"],
            end_ns=record["end_ns"],
            rate=sum(record["bytes"]) / (record["end_ns"] - record["start_ns"]),
        )
        for record in records
        if record["type"] == "interval"
        and record["phase"] == Phase.STEADY
        and record["end_ns"] > record["start_ns"]
    ]


def _mean_rate(intervals: Sequence[_Interval]) -> float:
    carried = sum(interval.rate * (interval.end_ns - interval.start_ns) for interval in intervals)
    return carried / sum(interval.end_ns - interval.start_ns for interval in intervals)
