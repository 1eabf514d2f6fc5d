"""What a controller may ask of this host at most; every limit of the agent stands here."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

MAX_SECONDS = 7 * 24 * 3600.0  # a link emulator lives as long as its campaign
MIN_SECONDS = 0.1
MAX_ENGINE_BYTES = 10**15
MIN_COUNTER_INTERVAL_NS = 10_000_000  # /proc/stat counts in ticks of 10 ms
MAX_COUNTER_INTERVAL_NS = 10_000_000_000
MAX_COUNTER_TEXT_BYTES = 1024 * 1024  # of one file of counters; 1024 cores in /proc/stat take about 100 KiB
MAX_COUNTER_NICS = 512  # a sample of so many takes about 60 KiB; above, they are not sampled
MAX_COUNTER_QDISCS = 1024

GRACE_S = 2.0  # an engine gets this much over its time before the agent ends it
TERMINATE_GRACE_S = 1.0  # from SIGTERM to SIGKILL
FLUSH_S = 1.0  # to hand out the last answers after bye

MAX_JOBS = 64
MAX_WATCHES = 16
MAX_LINE_BYTES = 8 * 1024 * 1024  # an interval record of 4096 streams takes about 2 MiB
MAX_STDERR_BYTES = 16 * 1024  # the end of it is kept
MAX_COMMAND_BYTES = 4096
MAX_PENDING_COMMAND_BYTES = 64 * 1024
READ_BYTES = 64 * 1024

MAX_DISCOVERY_FLOWS = 16
MAX_BATCH_PROBES = 4096  # their records take about 1.2 MiB
MIN_PROBE_GAP_NS = 0
MAX_PROBE_GAP_NS = 60_000_000_000
MIN_PROBE_TIMEOUT_NS = 1_000_000
MAX_PROBE_TIMEOUT_NS = 60_000_000_000

OUTBOX_HIGH_BYTES = 1024 * 1024  # above: engines are not read, counters skip a beat
OUTBOX_LOW_BYTES = 256 * 1024  # below: they are again
OUTBOX_HARD_BYTES = 4 * 1024 * 1024  # above: requests wait as well


def clamp_limits(asked: Mapping[str, Any]) -> Dict[str, Any]:
    """``seconds`` and ``bytes`` as they will be enforced. ValueError for unknown keys and wrong kinds.

    No ``seconds`` means the longest time that an engine may run; no ``bytes`` means no limit.
    """
    unknown = sorted(set(asked) - {"seconds", "bytes"})
    if unknown:
        raise ValueError(f"unknown limit '{unknown[0]}'")
    seconds = _number(asked.get("seconds"), "seconds")
    size = _number(asked.get("bytes"), "bytes")
    if isinstance(size, float):
        raise ValueError("limit 'bytes' must be an integer")
    return {
        "seconds": MAX_SECONDS if seconds is None else min(max(float(seconds), MIN_SECONDS), MAX_SECONDS),
        "bytes": None if size is None else min(max(size, 1), MAX_ENGINE_BYTES),
    }


def clamp_counter_interval_ns(asked: int) -> int:
    """The interval that counters will be sampled at, in ns."""
    return min(max(asked, MIN_COUNTER_INTERVAL_NS), MAX_COUNTER_INTERVAL_NS)


def _number(value: Any, name: str) -> Optional[float]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"limit '{name}' must be a number or null")
    return value
