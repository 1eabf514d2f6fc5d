"""What a controller may request of this host at most; every limit of the agent is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Union

from pathlab.agents.protocol import quote

MAX_SECONDS = 7 * 24 * 3600.0  # a link emulator lives as long as its campaign
MIN_SECONDS = 0.1
MAX_ENGINE_BYTES = 10**15
MAX_RATE_BITS_PER_S = 10**14  # the engine's own bound
MIN_COUNTER_INTERVAL_NS = 10_000_000  # /proc/stat counts in ticks of 10 ms
MAX_COUNTER_INTERVAL_NS = 10_000_000_000
MAX_COUNTER_TEXT_BYTES = 1024 * 1024  # of one file of counters; 1024 cores in /proc/stat take about 100 KiB
MAX_COUNTER_NICS = 512  # a sample of so many takes about 60 KiB; above, they are not sampled
MAX_COUNTER_QDISCS = 1024
MAX_ACTIVITY_PROCESSES = 4096  # reading so many takes about 80 ms

GRACE_S = 2.0  # an engine gets this much over its time before the agent ends it
TERMINATE_GRACE_S = 1.0  # from SIGTERM to SIGKILL
FLUSH_S = 1.0  # to hand out the last answers after bye

MAX_JOBS = 64
MAX_WATCHES = 16
MAX_LINE_BYTES = 8 * 1024 * 1024  # an interval record of 4096 streams takes about 2 MiB
MAX_STDERR_BYTES = 16 * 1024  # the end of it is kept
MAX_COMMAND_BYTES = 4096
MAX_ERROR_CHARACTERS = 400  # of why a request was refused
MAX_PENDING_COMMAND_BYTES = 64 * 1024
READ_BYTES = 64 * 1024

MAX_DISCOVERY_FLOWS = 16
MAX_BATCH_PROBES = 4096  # their records take about 1.2 MiB
MIN_PROBE_GAP_NS = 0
MAX_PROBE_GAP_NS = 60_000_000_000
MIN_PROBE_TIMEOUT_NS = 1_000_000
MAX_PROBE_TIMEOUT_NS = 60_000_000_000

MAX_CAPTURES = 8
MAX_CAPTURE_BYTES = 16 * 1024**3  # of one file
CAPTURE_PIECE_BYTES = 256 * 1024  # of one answer

OUTBOX_HIGH_BYTES = 1024 * 1024  # above: engines are not read, counters skip a beat
OUTBOX_LOW_BYTES = 256 * 1024  # below: they are again
OUTBOX_HARD_BYTES = 4 * 1024 * 1024  # above: requests wait as well
MAX_HELD_BYTES = 64 * 1024 * 1024  # of records that a controller has wait; above, they go at once again


@dataclass(frozen=True)
class Caps:
    """What the owner of this host lets any engine have at most; None: no cap.

    ``rate_bits_per_s`` bounds what an engine sends. Whatever a controller requests is clamped to these.
    """

    seconds: float = MAX_SECONDS
    bytes: Optional[int] = None
    rate_bits_per_s: Optional[int] = None


def clamp_limits(requested: Mapping[str, Any], caps: Caps = Caps()) -> Dict[str, Any]:
    """``seconds``, ``bytes`` and ``rate_bits_per_s`` as they will be enforced, within this host's caps.

    ValueError for unknown keys and wrong kinds. No ``seconds`` means the longest time that an engine may
    run; no ``bytes`` or ``rate_bits_per_s`` means no limit but the cap.
    """
    unknown = sorted(set(requested) - {"seconds", "bytes", "rate_bits_per_s"})
    if unknown:
        raise ValueError(f"unknown limit {quote(unknown[0])}")
    seconds = _number(requested.get("seconds"), "seconds")
    longest = min(caps.seconds, MAX_SECONDS)
    return {
        "seconds": longest if seconds is None else float(min(max(seconds, MIN_SECONDS), longest)),
        "bytes": _clamp_whole(requested, "bytes", MAX_ENGINE_BYTES, caps.bytes),
        "rate_bits_per_s": _clamp_whole(
            requested, "rate_bits_per_s", MAX_RATE_BITS_PER_S, caps.rate_bits_per_s
        ),
    }


def _clamp_whole(requested: Mapping[str, Any], name: str, most: int, cap: Optional[int]) -> Optional[int]:
    value = _number(requested.get(name), name)
    if isinstance(value, float):
        raise ValueError(f"limit '{name}' must be an integer")
    if value is None:
        return cap
    return min(max(value, 1), most if cap is None else min(most, cap))


def clamp_counter_interval_ns(requested: int) -> int:
    return min(max(requested, MIN_COUNTER_INTERVAL_NS), MAX_COUNTER_INTERVAL_NS)


def _number(value: Any, name: str) -> Union[int, float, None]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"limit '{name}' must be a number or null")
    return value
