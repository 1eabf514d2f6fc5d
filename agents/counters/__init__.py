"""What a host counts (cores, interfaces, softnet, TCP, qdiscs), sampled at absolute deadlines as differences.

One module per source: a pure parser of the kernel's words, a reader, and a comparison of two readings.
"""

from __future__ import annotations

from pathlab.agents.counters.cpu import SHARES, parse_core_ticks, share_ticks
from pathlab.agents.counters.watch import SOURCES, CounterSampler, CounterSource

__all__ = ["SHARES", "SOURCES", "CounterSampler", "CounterSource", "parse_core_ticks", "share_ticks"]
