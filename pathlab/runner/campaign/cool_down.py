"""The cool-down between two trials: until probes measure the RTT of the idle path again, then silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from pathlab.engines.base import GRACE_S
from pathlab.runner.trial.probing import PathProber, ProbeTimeouts

#: An RTT within this of the idle one counts as idle: noise of the path, and of the stamps.
IDLE_RATIO = 1.25
IDLE_SLACK_NS = 500_000
#: This many idle probes in a row mean that the queue has drained.
IDLE_PROBES = 3
PROBE_INTERVAL_NS = 20_000_000


class IdleWatch:
    """Whether the latest probes measured the idle path."""

    def __init__(self, idle_rtt_ns: float) -> None:
        self._limit_ns = IDLE_RATIO * idle_rtt_ns + IDLE_SLACK_NS
        self._in_a_row = 0

    def add(self, record: Mapping[str, Any]) -> bool:
        """Take one record of the prober; True once the path is idle."""
        if record.get("type") == "probe" and record["sent_ns"] is not None:
            rtt_ns = record["rtt_ns"]
            self._in_a_row = self._in_a_row + 1 if rtt_ns is not None and rtt_ns <= self._limit_ns else 0
        return self._in_a_row >= IDLE_PROBES


def wait_until_idle(
    prober: PathProber,
    idle_rtt_ns: float,
    max_wait_ns: int,
    timeout_ns: int,
    pause: Callable[[threading.Event, float], None],
) -> bool:
    """Probe until the path is idle or the longest wait is over; return whether it is. Raises HostError.

    ``pause`` waits for an event for at most this many seconds, and may raise what ends the run.
    """
    if max_wait_ns == 0:
        return False
    watch, idle = IdleWatch(idle_rtt_ns), threading.Event()

    def on_probe(record: dict[str, Any]) -> None:
        if watch.add(record):
            idle.set()

    max_wait_s = max_wait_ns / 1e9
    try:
        prober.start(
            count=0,
            interval_ns=PROBE_INTERVAL_NS,
            timeouts=ProbeTimeouts.fixed(timeout_ns),
            seconds=max_wait_s + 2 * GRACE_S,
            on_record=on_probe,
        )
        pause(idle, max_wait_s)
        return idle.is_set()
    finally:
        prober.close()
