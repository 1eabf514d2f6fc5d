"""Durations by intervals, as the engine's messages/latency_log.c and base/histogram.c count them."""

from __future__ import annotations

import base64
import struct
import time
from collections import deque
from typing import Any, Deque, Dict, Optional, Tuple

from .settings import SECOND_NS

PLACES = 7168
MAX_NS = (1 << 62) - 1


class DurationHistogram:
    """Durations in ns as the engine's base/histogram.c counts them: 128 steps per octave."""

    __slots__ = ("counts", "max_ns", "min_ns", "sum_ns")

    def __init__(self) -> None:
        self.counts = [0] * PLACES
        self.min_ns, self.max_ns, self.sum_ns = MAX_NS, 0, 0

    def add(self, value_ns: int) -> None:
        value_ns = 0 if value_ns < 0 else MAX_NS if value_ns > MAX_NS else value_ns
        shift = value_ns.bit_length() - 8
        self.counts[(shift << 7) + (value_ns >> shift) if shift > 0 else value_ns] += 1
        self.sum_ns += value_ns
        if value_ns < self.min_ns:
            self.min_ns = value_ns
        if value_ns > self.max_ns:
            self.max_ns = value_ns

    def merge(self, other: "DurationHistogram") -> None:
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts)]  # noqa: B905 -- Python 3.8 has no strict
        self.sum_ns += other.sum_ns
        self.min_ns, self.max_ns = min(self.min_ns, other.min_ns), max(self.max_ns, other.max_ns)

    def quantile(self, ratio: float) -> Optional[int]:
        count, seen = sum(self.counts), 0
        for index, here in enumerate(self.counts):
            seen += here
            if seen > 0 and seen >= ratio * count:
                shift = 0 if index < 256 else (index >> 7) - 1
                return min(((index - (shift << 7) + 1) << shift) - 1, self.max_ns)
        return None

    def to_json(self) -> Dict[str, Any]:
        count = sum(self.counts)
        if count == 0:
            return {"count": 0, "min": None, "max": None, "mean": None, "hdr": None}
        body = bytearray()
        zeros = 0
        for here in self.counts:
            if here == 0:
                zeros += 1
                continue
            if zeros:
                body += _encode_varint(0 if zeros == 1 else -zeros)
            body += _encode_varint(here)
            zeros = 0
        header = struct.pack("!IIIIQQd", 0x1C849313, len(body), 0, 2, 1, MAX_NS, 1.0)
        text = base64.b64encode(header + bytes(body)).decode("ascii")
        mean = self.sum_ns / count
        return {"count": count, "min": self.min_ns, "max": self.max_ns, "mean": mean, "hdr": text}


def _encode_varint(value: int) -> bytes:
    """ZigZag LEB128, nine bytes at most."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    encoded = bytearray()
    while rest > 0x7F and len(encoded) < 8:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


class Intervals:
    """Durations of one stream by intervals, which another thread takes from ``complete``.

    The grid begins anew after the warm-up. A duration belongs to the interval in which it began.
    """

    def __init__(self, interval_ns: int, warmup_ns: int) -> None:
        self._interval_ns, self._warmup_ns = interval_ns, warmup_ns
        self.complete: Deque[Tuple[int, int, DurationHistogram]] = deque()
        self._open = DurationHistogram()
        self._start_ns = 0
        self._end_ns = min(interval_ns, warmup_ns) if warmup_ns > 0 else interval_ns

    def add(self, at_ns: int, duration_ns: int) -> None:
        if at_ns >= self._end_ns:
            self._advance(at_ns)
        self._open.add(duration_ns)

    def _advance(self, at_ns: int) -> None:
        self.finish()
        base_ns = 0 if at_ns < self._warmup_ns else self._warmup_ns
        self._start_ns = base_ns + (at_ns - base_ns) // self._interval_ns * self._interval_ns
        self._end_ns = self._start_ns + self._interval_ns
        if at_ns < self._warmup_ns < self._end_ns:
            self._end_ns = self._warmup_ns

    def finish(self) -> None:
        self.complete.append((self._start_ns, self._end_ns, self._open))
        self._open = DurationHistogram()


def measure_recording() -> Tuple[float, float]:
    """The cost of one reading of the clock, and of counting one round trip, ns: medians of short runs."""
    clocks, records = [], []
    intervals, now = Intervals(SECOND_NS, 0), time.monotonic_ns
    for _ in range(15):
        start_ns = now()
        for _ in range(1000):
            end_ns = now()
        clocks.append((end_ns - start_ns) / 1000)
        start_ns = now()
        for i in range(1000):
            intervals.add(i, 20000 + i * 7)
        records.append((now() - start_ns) / 1000)
    return sorted(clocks)[7], sorted(records)[7]
