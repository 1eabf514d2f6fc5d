"""Safety limits: a trial ends early where its own loaded probes exceed the campaign's limits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from pathlab.campaign.conduct_model import SafetyLimits
from pathlab.units import SECOND_NS, format_time

#: The RTT is tested over the probes of one second and at least this many: a single late one ends no trial.
RTT_WINDOW_NS = SECOND_NS
RTT_PROBES_MIN = 10
#: Loss is tested over the latest hundred probes, from the twentieth on; over a second where those are
#: counted by interval.
LOSS_PROBES, LOSS_PROBES_MIN = 100, 20


class SafetyWatch:
    """Tests the loaded probes of one trial as they arrive. May be fed and read by different threads."""

    def __init__(self, limits: SafetyLimits, probe_interval_ns: int) -> None:
        self._limits = limits
        self._rtt_probes = max(RTT_PROBES_MIN, RTT_WINDOW_NS // probe_interval_ns)
        self._slow: set[int] = set()  # the probes without an answer within the limit of the RTT
        self._newest = -1  # of the probes that are known to be slow or not
        self._lost: dict[int, bool] = {}  # of the latest probes, in the order of their outcomes
        self._intervals: deque[Mapping[str, Any]] = deque()
        self._answered_late: deque[int] = deque(maxlen=LOSS_PROBES)  # when those were due
        self._takers = {
            **{"probe": self._add_probe, "overdue": self._add_overdue},
            **{"late": self._add_late, "round_trips": self._add_interval},
        }
        self._lock = threading.Lock()
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """The limit that was exceeded, and by what; None while none is."""
        with self._lock:
            return self._reason

    def add(self, record: Mapping[str, Any]) -> bool:
        """Take one record of the prober; True for the one with which a limit is exceeded.

        A missing answer is slower than the time waited for it, and no loss before the prober gave it up.
        """
        take = self._takers.get(record["type"])
        if take is None or record.get("sent_ns", 0) is None:
            return False
        with self._lock:
            if self._reason is not None:
                return False
            take(record)
            self._reason = self._find_excess()
            return self._reason is not None

    def _add_probe(self, record: Mapping[str, Any]) -> None:
        sequence, rtt_ns = record["sequence"], record["rtt_ns"]
        self._lost[sequence] = rtt_ns is None
        if len(self._lost) > LOSS_PROBES:
            del self._lost[next(iter(self._lost))]
        limit_ns = self._limits.loaded_rtt_ns
        if limit_ns is not None and (rtt_ns is None or rtt_ns > limit_ns):
            self._add_overdue(record)
        self._newest = max(self._newest, sequence)

    def _add_overdue(self, record: Mapping[str, Any]) -> None:
        sequence = record["sequence"]
        self._slow.add(sequence)
        self._newest = max(self._newest, sequence)
        if len(self._slow) > 2 * self._rtt_probes:
            self._slow = {item for item in self._slow if item > self._newest - self._rtt_probes}

    def _add_late(self, record: Mapping[str, Any]) -> None:
        """An answer to a probe that was given up: it was not lost."""
        if record["sequence"] in self._lost:
            self._lost[record["sequence"]] = False
        self._answered_late.append(record["intended_ns"])

    def _add_interval(self, record: Mapping[str, Any]) -> None:
        """Probes that were counted by interval; those of the latest second are looked at again."""
        self._intervals.append(record)
        while self._intervals[0]["end_ns"] + RTT_WINDOW_NS <= record["end_ns"]:
            self._intervals.popleft()

    def _find_excess(self) -> str | None:
        limit_ns, limit = self._limits.loaded_rtt_ns, self._limits.loss_ratio
        probes = min(self._rtt_probes, self._newest + 1)
        if limit_ns is not None and probes >= RTT_PROBES_MIN:
            slow = sum(item > self._newest - probes for item in self._slow)
            if 2 * slow > probes:
                return (
                    f"the loaded RTT is above the limit of {format_time(limit_ns)}: "
                    f"{slow} of {probes} probes had no answer within that time"
                )
        sent = len(self._lost) + sum(interval["sent"] for interval in self._intervals)
        if limit is not None and sent >= LOSS_PROBES_MIN:
            lost = sum(self._lost.values()) + sum(interval["lost"] for interval in self._intervals)
            if self._intervals:
                begin_ns, end_ns = self._intervals[0]["start_ns"], self._intervals[-1]["end_ns"]
                lost -= sum(begin_ns <= due_ns < end_ns for due_ns in self._answered_late)
            loss = lost / sent
            if loss > limit:
                return f"a probe loss of {100 * loss:.1f} % is above the limit of {100 * limit:g} %"
        return None
