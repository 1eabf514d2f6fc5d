"""The cool-down between two trials: until probes measure the RTT of the idle path again, then silence."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError
from pathlab.remote.session import Session

#: An RTT within this of the idle one counts as idle: noise of the path, and of the stamps.
IDLE_RATIO = 1.25
IDLE_SLACK_NS = 500_000
#: This many idle probes in a row mean that the queue has drained.
IDLE_PROBES = 3
PROBE_INTERVAL_NS = 20_000_000
GRACE_S = 10.0
ECHO_START_S, ECHO_STOP_S = 15.0, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolDownOptions:
    """How to find that a path is idle.

    ``idle_rtt_ns`` None: not known. ``echo`` is the session with the destination
    where probes go by UDP to an echo there, None where they go by ICMP.
    """

    path: TrialPath
    idle_rtt_ns: float | None
    max_wait_ns: int
    timeout_ns: int
    echo: Session | None = None


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
    session: Session, options: CoolDownOptions, pause: Callable[[threading.Event, float], None]
) -> bool:
    """Probe until the path is idle or the longest wait is over; return whether it is. Raises HostError.

    ``pause`` waits for an event for at most this many seconds, and may raise what ends the run.
    """
    if options.idle_rtt_ns is None or options.max_wait_ns == 0:
        return options.idle_rtt_ns is None
    watch, idle = IdleWatch(options.idle_rtt_ns), threading.Event()

    def on_probe(record: dict[str, Any]) -> None:
        if watch.add(record):
            idle.set()

    flags: dict[str, str | int] = {
        "address": options.path.destination_address,
        "bind": options.path.source_address,
        "count": 0,
        "interval-ns": PROBE_INTERVAL_NS,
        "timeout-ns": options.timeout_ns,
    }
    max_wait_s = options.max_wait_ns / 1e9
    with _open_echo(options, max_wait_s + 2 * GRACE_S) as (way, token):
        seconds = max_wait_s + GRACE_S
        job = session.start_engine("ping", {**flags, **way}, seconds=seconds, token=token, on_record=on_probe)
        try:
            pause(idle, max_wait_s)
            if not idle.is_set() and job.ended:
                job.wait_for("result", 0.0)  # raises what ended it
            return idle.is_set()
        except HostError:
            return False
        finally:
            job.kill()


@contextlib.contextmanager
def _open_echo(options: CoolDownOptions, seconds: float) -> Iterator[tuple[dict[str, str | int], str | None]]:
    """An echo at the destination where one is needed: the prober's flags for it, and its token."""
    if options.echo is None:
        yield {}, None
        return
    path, token = options.path, secrets.token_hex(16)
    listening: dict[str, str | int] = {"bind": path.destination_address, "port": path.destination_ports}
    echo = options.echo.start_engine("echo", listening, seconds=seconds, token=token)
    try:
        yield {"method": "udp", "port": int(echo.wait_for("listening", ECHO_START_S)["port"])}, token
    finally:
        with contextlib.suppress(HostError):
            echo.command("stop")
            echo.wait(ECHO_STOP_S)
        echo.kill()
