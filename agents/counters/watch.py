"""One running series of samples of everything that a host counts."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence

from pathlab.agents.counters import cpu, nic_drops, nics, qdiscs, softnet, stopped, tcp, udp
from pathlab.agents.counters.text import read_text


class CounterSource(NamedTuple):
    """What is sampled alongside the cores, under ``name``.

    ``read`` gives one reading, or OSError or ValueError; ``compare`` makes of two readings what a sample
    holds. ``origin`` names where it comes from.
    """

    name: str
    origin: str
    read: Callable[[], Any]
    compare: Callable[[Any, Any], Any]


SOURCES = (
    CounterSource("nics", "/proc/net/dev", nics.read_nic_counters, nics.compare_nics),
    CounterSource(
        "nic_drops", "rtnetlink RTM_GETLINK", nic_drops.read_nic_drops, nic_drops.compare_nic_drops
    ),
    CounterSource("softnet", "/proc/net/softnet_stat", softnet.read_softnet, softnet.compare_softnet),
    CounterSource("tcp", "/proc/net/snmp and netstat", tcp.read_tcp_counters, tcp.compare_tcp),
    CounterSource("udp", "/proc/net/snmp and snmp6", udp.read_udp_counters, tcp.compare_tcp),
    CounterSource("qdiscs", "rtnetlink RTM_GETQDISC", qdiscs.read_qdiscs, qdiscs.compare_qdiscs),
    CounterSource("stopped", "/proc/PID/task", stopped.list_stopped, lambda _before, after: after),
)


class CounterSampler:
    """One running series of samples. OSError or ValueError when not even the cores' time can be read.

    Deadlines are start + k·interval. A missed deadline is skipped, never made up for: the next sample's
    ``span_ns`` is the true time between its two readings, so nothing that was counted is lost.
    ``absent`` holds, by name, why a source cannot be read here; such a source is not tried again.
    """

    def __init__(
        self,
        interval_ns: int,
        *,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        read: Callable[[], str] = lambda: read_text("/proc/stat"),
        sources: Sequence[CounterSource] = SOURCES,
    ) -> None:
        self.interval_ns = interval_ns
        self.absent: Dict[str, str] = {}
        self._clock_ns = clock_ns
        self._read = read
        self._sources = sources
        self._ticks = cpu.parse_core_ticks(read())
        self._taken_ns = self.start_ns = clock_ns()
        self._readings: Dict[str, Any] = {}
        for source in sources:
            try:
                self._readings[source.name] = source.read()
            except (OSError, ValueError) as error:
                self.absent[source.name] = _explain(source, error)
        self.due_ns = self.start_ns + interval_ns

    def skip(self) -> None:
        """Move the deadline to the next one that lies ahead, without a sample."""
        behind_ns = self._clock_ns() - self.start_ns
        self.due_ns = self.start_ns + (behind_ns // self.interval_ns + 1) * self.interval_ns

    def sample(self) -> Dict[str, Any]:
        """``time_ns`` (CLOCK_MONOTONIC), ``span_ns``, ``cores`` and one key per source, since the one before.

        The cores are read first and the time is taken then; the sources follow, always in the same order. A
        source is None when it is absent, or could not be read at one end of the span.
        """
        ticks = cpu.parse_core_ticks(self._read())
        now_ns = self._clock_ns()
        result = {
            "time_ns": now_ns,
            "span_ns": now_ns - self._taken_ns,
            "cores": cpu.compare_cores(self._ticks, ticks),
        }
        for source in self._sources:
            result[source.name] = self._compare(source)
        self._ticks, self._taken_ns = ticks, now_ns
        self.skip()
        return result

    def _compare(self, source: CounterSource) -> Optional[Any]:
        if source.name in self.absent:
            return None
        before = self._readings.pop(source.name, None)
        try:
            after = self._readings[source.name] = source.read()
        except (OSError, ValueError):
            return None
        return None if before is None else source.compare(before, after)


def _explain(source: CounterSource, error: Exception) -> str:
    origin = source.origin
    if isinstance(error, OSError):
        return f"{error.filename or origin}: {error.strerror or error}"
    return f"{origin}: {error}"
