"""Probes from one end of a path to the other: by ICMP, or by UDP to an echo that is started there."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from typing import Any

from pathlab.engines.base import SETUP_TIMEOUT_S
from pathlab.engines.spec import TrialSpec
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


class PathProber:
    """Starts probes over one path; ``ends`` are the addresses of source and destination.

    ``echo`` is the session with the destination where probes go by UDP, None where they go by ICMP; ``ports``
    are those that the echo may listen on.
    """

    def __init__(
        self, session: Session, ends: tuple[str, str], *, echo: Session | None = None, ports: str = "0"
    ) -> None:
        self._session, self._ends, self._echo, self._ports = session, ends, echo, ports
        # Of its own: the data connections' token can be read on the path, and probes are signed with theirs.
        self._token = secrets.token_hex(16)
        self.jobs: list[EngineJob] = []

    def start(
        self,
        *,
        count: int,
        interval_ns: int,
        timeout_ns: int,
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
            "timeout-ns": timeout_ns,
        }
        if self._echo is not None:
            listening: dict[str, str | int] = {"bind": destination, "port": self._ports}
            echo = self._echo.start_engine("echo", listening, seconds=seconds, token=self._token)
            self.jobs.append(echo)
            options |= {"method": "udp", "port": int(echo.wait_for("listening", SETUP_TIMEOUT_S)["port"])}
        if histogram_interval_ns:
            options["histogram-interval-ns"] = histogram_interval_ns
        if payload_bytes is not None:
            least_bytes = UDP_PROBE_MIN_BYTES if self._echo is not None else 0
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
