"""Probes from one end of a path to the other: by ICMP, or by UDP to an echo that is started there."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pathlab.engines.base import SETUP_TIMEOUT_S, Record
from pathlab.engines.spec import NO_TOKEN, TrialSpec
from pathlab.errors import HostError
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session

ECHO_STOP_TIMEOUT_S = 2.0
#: The head of a probe to an echo (native/PROTOCOL.md), which an ICMP probe does not need.
UDP_PROBE_MIN_BYTES = 40
#: Probes of a trial that are kept one by one; of more, each interval has a histogram.
PROBES_KEPT_MAX = 100_000
#: Only intervals wholly inside the steady window count, and they begin with the prober: at least so many of
#: them in the window's length, so that those at its edges are few.
STEADY_INTERVALS_MIN = 50
#: Intervals that may wait for answers at a time: 57 kB each in the engine.
PENDING_INTERVALS_MAX = 100


def find_histogram_interval_ns(spec: TrialSpec) -> int:
    """How long a histogram of a trial's probes is; 0: each probe is kept.

    Loaded and unloaded probes are kept alike, so that their difference has no part of a histogram's rounding.
    """
    cell, probes = spec.cell, spec.probes
    loaded = 0 if spec.records_totals else (cell.warmup_ns + cell.duration_ns) // probes.interval_ns
    if loaded + probes.unloaded <= PROBES_KEPT_MAX:
        return 0
    wanted_ns = min(spec.interval_ns, cell.duration_ns // STEADY_INTERVALS_MIN)
    return max(wanted_ns, probes.interval_ns, probes.timeout_ns // PENDING_INTERVALS_MAX)


#: A probe is lost where it was waited for at least this multiple of the slowest answer's time, by probes or
#: by TCP's own round trips, took.
LOST_RTTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTimeouts:
    """How long a probe is waited for, ns.

    ``timeout_ns`` grows to three times the longest round trip, up to ``longest_ns``. Where none of the last
    probes was answered, as behind a queue deeper than the time-out, the answers are awaited for
    ``final_wait_ns`` after the last one was sent. ``overdue_ns``: after which time without an answer a probe
    is stated at once; 0: none is.
    """

    timeout_ns: int
    longest_ns: int
    final_wait_ns: int = 0
    overdue_ns: int = 0

    @classmethod
    def of_trial(cls, spec: TrialSpec, known_rtt_ns: float = 0) -> ProbeTimeouts:
        """Those of a trial's probes; ``known_rtt_ns`` is the longest round trip that was seen before them."""
        longest_ns = spec.probes.find_longest_wait_ns(spec.trial.drain_ns)
        return cls(
            timeout_ns=min(max(spec.probes.timeout_ns, round(LOST_RTTS * known_rtt_ns)), longest_ns),
            longest_ns=longest_ns,
            final_wait_ns=spec.trial.drain_ns,
            overdue_ns=spec.safety_limits.loaded_rtt_ns or 0,
        )

    @classmethod
    def fixed(cls, timeout_ns: int) -> ProbeTimeouts:
        """One that does not grow."""
        return cls(timeout_ns=timeout_ns, longest_ns=timeout_ns)

    @property
    def wait_s(self) -> float:
        """The longest wait after the last probe, s."""
        return max(self.longest_ns, self.final_wait_ns) / 1e9


def find_longest_rtt_ns(probing: Iterable[Record], sending: Iterable[Record]) -> float:
    """The longest round trip in a prober's records and in TCP's own measurement at the sender; 0: none."""
    seen: list[float | None] = []
    for record in probing:
        if record.get("type") in ("probe", "late"):
            seen.append(record["rtt_ns"])
        elif record.get("type") == "round_trips":
            seen.append(record["round_trip_ns"]["max"])
    for record in sending:
        if record.get("type") == "interval":
            rtts_us = record.get("tcp_info", {}).get("rtt_us", ())
            seen += [None if rtt_us is None else 1000.0 * rtt_us for rtt_us in rtts_us]
    return max((float(item) for item in seen if item is not None), default=0.0)


class PathProber:
    """Starts probes over one path; ``ends`` are the addresses of source and destination.

    ``echo`` is the session with the destination where probes go by UDP, None where they go by ICMP; ``ports``
    are those that the echo may listen on. ``echo_port``: an echo that was started by hand listens there.
    """

    def __init__(
        self,
        session: Session,
        ends: tuple[str, str],
        *,
        echo: Session | None = None,
        ports: str = "0",
        echo_port: int | None = None,
    ) -> None:
        self._echo_port = echo_port
        self._session, self._ends, self._echo, self._ports = session, ends, echo, ports
        # Of its own: the data connections' token can be read on the path, and probes are signed with theirs.
        self._token = secrets.token_hex(16) if echo_port is None else NO_TOKEN
        self.jobs: list[EngineJob] = []

    def start(
        self,
        *,
        count: int,
        interval_ns: int,
        timeouts: ProbeTimeouts,
        seconds: float,
        payload_bytes: int | None = None,
        histogram_interval_ns: int = 0,
        on_record: Callable[[dict[str, Any]], None] | None = None,
    ) -> EngineJob:
        """Start ``count`` probes (0: until stopped), which end after ``seconds`` at the latest.

        With ``histogram_interval_ns`` there is a record for each such interval instead of each probe. Raises
        HostError.
        """
        source, destination = self._ends
        options: dict[str, str | int] = {
            "address": destination,
            "bind": source,
            "count": count,
            "interval-ns": interval_ns,
            "timeout-ns": timeouts.timeout_ns,
            "timeout-max-ns": timeouts.longest_ns,
            "final-wait-ns": timeouts.final_wait_ns,
            "overdue-ns": timeouts.overdue_ns,
        }
        if self._echo is not None:
            listening: dict[str, str | int] = {"bind": destination, "port": self._ports}
            echo = self._echo.start_engine("echo", listening, seconds=seconds, token=self._token)
            self.jobs.append(echo)
            options |= {"method": "udp", "port": int(echo.wait_for("listening", SETUP_TIMEOUT_S)["port"])}
        elif self._echo_port is not None:
            options |= {"method": "udp", "port": self._echo_port}
        if histogram_interval_ns:
            options["histogram-interval-ns"] = histogram_interval_ns
        if payload_bytes is not None:
            least_bytes = UDP_PROBE_MIN_BYTES if options.get("method") == "udp" else 0
            options["payload-bytes"] = max(payload_bytes, least_bytes)
        job = self._session.start_engine(
            "ping", options, seconds=seconds, token=self._token, on_record=on_record
        )
        self.jobs.append(job)
        return job

    def close(self) -> None:
        """End every probe and echo."""
        while self.jobs:
            job = self.jobs.pop()
            if job.subcommand == "echo":
                with contextlib.suppress(HostError):
                    job.command("stop")
                    job.wait(ECHO_STOP_TIMEOUT_S)
            job.kill()
