"""Safety limits: a trial ends early where its own loaded probes exceed the campaign's limits."""

from __future__ import annotations

import statistics
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from pathlab.campaign.conduct_model import SafetyLimits
from pathlab.errors import PathlabError
from pathlab.runner.trial.round_trips import decode_round_trips
from pathlab.store.hdr_histogram import Histogram
from pathlab.units import SECOND_NS, format_time

#: The RTT is tested over the latest second and at least this many probes: a single late one ends no trial.
RTT_WINDOW_NS = SECOND_NS
RTT_PROBES_MIN = 10
#: Loss is tested over the latest hundred probes, from the twentieth on; over a second where those are
#: counted by interval.
LOSS_PROBES, LOSS_PROBES_MIN = 100, 20


class SafetyAbort(PathlabError):  # noqa: N818 -- a trial's end that the campaign defines
    """A trial that exceeded a safety limit of the campaign and was ended early. Exit status 3."""

    exit_status = 3


class SafetyWatch:
    """Tests the loaded probes of one trial as they arrive. May be fed and read by different threads."""

    def __init__(self, limits: SafetyLimits, probe_interval_ns: int) -> None:
        self._limits = limits
        probes = max(RTT_PROBES_MIN, RTT_WINDOW_NS // probe_interval_ns)
        self._rtts_ns: deque[int] = deque(maxlen=probes)
        self._lost: deque[bool] = deque(maxlen=LOSS_PROBES)
        self._intervals: deque[Mapping[str, Any]] = deque()
        self._lock = threading.Lock()
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """The limit that was exceeded, and by what; None while none is."""
        with self._lock:
            return self._reason

    def add(self, record: Mapping[str, Any]) -> bool:
        """Take one record of the prober; True for the one with which a limit is exceeded."""
        if record.get("type") not in ("probe", "round_trips") or record.get("sent_ns", 0) is None:
            return False
        with self._lock:
            if self._reason is not None:
                return False
            if record["type"] == "probe":
                self._add_probe(record["rtt_ns"])
            else:
                self._add_interval(record)
            self._reason = self._find_excess()
            return self._reason is not None

    def _add_probe(self, rtt_ns: int | None) -> None:
        self._lost.append(rtt_ns is None)
        if rtt_ns is not None:
            self._rtts_ns.append(rtt_ns)

    def _add_interval(self, record: Mapping[str, Any]) -> None:
        """Probes that were counted by interval; those of the latest second are looked at again."""
        self._intervals.append(record)
        while self._intervals[0]["end_ns"] + RTT_WINDOW_NS <= record["end_ns"]:
            self._intervals.popleft()

    def _find_excess(self) -> str | None:
        limit_ns, limit = self._limits.loaded_rtt_ns, self._limits.loss_ratio
        median_ns = None if limit_ns is None else self._find_median_ns()
        if limit_ns is not None and median_ns is not None and median_ns > limit_ns:
            return f"a loaded RTT of {format_time(median_ns)} is above the limit of {format_time(limit_ns)}"
        sent = len(self._lost) + sum(interval["sent"] for interval in self._intervals)
        if limit is not None and sent >= LOSS_PROBES_MIN:
            loss = (sum(self._lost) + sum(interval["lost"] for interval in self._intervals)) / sent
            if loss > limit:
                return f"a probe loss of {100 * loss:.1f} % is above the limit of {100 * limit:g} %"
        return None

    def _find_median_ns(self) -> float | None:
        if self._intervals:
            stated = [interval["round_trip_ns"] for interval in self._intervals]
            recent = Histogram.merge(decode_round_trips(one) for one in stated if one["count"])
            return recent.quantile_ns(0.5) if recent.count >= RTT_PROBES_MIN else None
        return statistics.median(self._rtts_ns) if len(self._rtts_ns) >= RTT_PROBES_MIN else None
