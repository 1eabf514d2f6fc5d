"""What the conversations with the agents send during a trial: records that wait, and bytes that are counted.

An agent is reached over a network that may be the measured path itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from pathlab.engines.spec import TrialSpec
from pathlab.errors import PathlabError
from pathlab.remote.session import Session
from pathlab.units import SECOND_NS

#: From this share of the path's rate on, traffic alongside the trial's own changes what is measured.
SHARE_MAX_RATIO = 0.01
#: Records that a trial does not need before its end.
PROBE_RECORDS = ("probe", "round_trips")
FLOW_RECORDS = ("interval", "counters")
#: About what one record takes of the way back: of an interval its head and each stream, and of a probe.
INTERVAL_BYTES, STREAM_BYTES, PROBE_BYTES = 1500, 250, 200
RELEASE_TIMEOUT_S = 600.0


def estimate_record_rate(spec: TrialSpec) -> float:
    """About what the records of one end of a trial take, bit/s."""
    interval = INTERVAL_BYTES + STREAM_BYTES * spec.cell.streams
    bytes_per_ns = interval / spec.interval_ns + PROBE_BYTES / spec.probes.interval_ns
    return 8 * bytes_per_ns * SECOND_NS


class ControlTraffic:
    """The conversations of one trial; ``rate_bits_per_s`` is the known rate of its path, None: not known.

    Where their records may take more than a hundredth of it, they wait on the hosts until ``release``.
    ``share_bits_per_s`` is the highest rate that a conversation had in a measuring window; None: none was
    over a network.
    """

    def __init__(self, spec: TrialSpec, sessions: Sequence[Session], rate_bits_per_s: float | None) -> None:
        self._sessions = [session for session in dict.fromkeys(sessions) if session.over_network]
        limits = spec.safety_limits
        watched = limits.loaded_rtt_ns is not None or limits.loss_ratio is not None
        # A safety limit acts on the probes while they come.
        self._kinds = FLOW_RECORDS if watched else (*FLOW_RECORDS, *PROBE_RECORDS)
        few = rate_bits_per_s is not None and estimate_record_rate(spec) <= SHARE_MAX_RATIO * rate_bits_per_s
        self._holds = bool(self._sessions) and not few
        self.share_bits_per_s: float | None = None

    def hold(self) -> None:
        """Have the records wait. Raises HostError."""
        for session in self._sessions if self._holds else ():
            session.hold_records(self._kinds)

    @contextlib.contextmanager
    def let_probes_through(self) -> Iterator[None]:
        """Have those of probes come at once meanwhile, which decide what comes next."""
        for session in self._sessions if self._holds else ():
            session.hold_records(FLOW_RECORDS)
        yield
        self.hold()

    def release(self) -> None:
        """Have what waits sent, unless a host is gone, which the trial says by itself."""
        for session in self._sessions if self._holds else ():
            with contextlib.suppress(PathlabError):
                session.release_records(RELEASE_TIMEOUT_S)

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count the bytes of a measuring window. Raises HostError."""
        before = [session.count_bytes() for session in self._sessions]
        yield
        for session, (began_ns, sent_bytes) in zip(self._sessions, before, strict=True):
            ended_ns, all_bytes = session.count_bytes()
            rate = (all_bytes - sent_bytes) * 8 * SECOND_NS / max(1, ended_ns - began_ns)
            self.share_bits_per_s = max(rate, self.share_bits_per_s or 0.0)
