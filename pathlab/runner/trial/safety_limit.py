"""Do no harm: a trial ends early where its own loaded probes say that it hurts the path more than allowed."""

from __future__ import annotations

import statistics
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from pathlab.engines.spec import HarmCeiling
from pathlab.errors import PathlabError
from pathlab.units import SECOND_NS, format_time

STAGE = "harm"
#: The RTT is judged over the latest second, and so many probes at least: a single late one ends no trial.
RTT_WINDOW_NS = SECOND_NS
RTT_PROBES_MIN = 10
#: Loss is judged over the latest hundred probes, from the twentieth on.
LOSS_PROBES, LOSS_PROBES_MIN = 100, 20


class HarmStop(PathlabError):  # noqa: N818 -- a trial's end that the campaign asked for
    """A trial that was ended early because it went over the campaign's ceiling. Exit status 3."""

    exit_status = 3


class HarmWatch:
    """Judges the loaded probes of one trial as they come. May be fed from another thread than it is read."""

    def __init__(self, ceiling: HarmCeiling, probe_interval_ns: int) -> None:
        self._ceiling = ceiling
        probes = max(RTT_PROBES_MIN, RTT_WINDOW_NS // probe_interval_ns)
        self._rtts_ns: deque[int] = deque(maxlen=probes)
        self._lost: deque[bool] = deque(maxlen=LOSS_PROBES)
        self._lock = threading.Lock()
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Which ceiling was passed and by what; None as long as none was."""
        with self._lock:
            return self._reason

    def add(self, record: Mapping[str, Any]) -> bool:
        """Take one record of the prober; True for the one with which a ceiling is passed."""
        if record.get("type") != "probe" or record["sent_ns"] is None:
            return False
        with self._lock:
            if self._reason is not None:
                return False
            self._lost.append(record["rtt_ns"] is None)
            if record["rtt_ns"] is not None:
                self._rtts_ns.append(record["rtt_ns"])
            self._reason = self._judge()
            return self._reason is not None

    def _judge(self) -> str | None:
        limit_ns, limit = self._ceiling.loaded_rtt_ns, self._ceiling.loss_ratio
        if limit_ns is not None and len(self._rtts_ns) >= RTT_PROBES_MIN:
            median_ns = statistics.median(self._rtts_ns)
            if median_ns > limit_ns:
                return (
                    f"a loaded RTT of {format_time(median_ns)} is over the ceiling of {format_time(limit_ns)}"
                )
        if limit is not None and len(self._lost) >= LOSS_PROBES_MIN:
            loss = sum(self._lost) / len(self._lost)
            if loss > limit:
                return f"a probe loss of {100 * loss:.1f} % is over the ceiling of {100 * limit:g} %"
        return None
