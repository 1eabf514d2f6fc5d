"""The segments of one direction of a TCP connection, as they were captured."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint32]
Integers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.int32]
Flags: TypeAlias = NDArray[np.bool_]

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
#: Bits of ``Segments.marks``.
HAS_TIMESTAMPS, HAS_IP_ID, ECN_CAPABLE, ECN_MARKED = 1, 2, 4, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Segments in the order of the capture; all arrays but those of SACK have one entry per segment.

    ``numbers``: place in the whole capture, rising. ``times_ns``: since 1970. ``sequences`` and ``acks``: as
    in the header, modulo 2^32. ``windows``: not scaled. ``payload_bytes``: by the IP header. ``ts_values``
    and ``ts_echoes``: RFC 7323, where ``marks`` has ``HAS_TIMESTAMPS``. ``ip_ids``: where it has
    ``HAS_IP_ID``. ``sack_rows``: rising places of the segments that hold each SACK block;
    ``sack_ordinals``: 0 for a segment's first one; ``sack_left``, ``sack_right``: its edges as in the option.
    """

    numbers: Words
    times_ns: Integers
    sequences: Words
    acks: Words
    windows: NDArray[np.uint16]
    flags: NDArray[np.uint8]
    marks: NDArray[np.uint8]
    payload_bytes: Words
    ts_values: Words
    ts_echoes: Words
    ip_ids: NDArray[np.uint16]
    sack_rows: Integers
    sack_ordinals: Integers
    sack_left: Words
    sack_right: Words

    def __len__(self) -> int:
        return len(self.numbers)

    def slice(self, start: int, stop: int) -> Segments:
        """The segments from row ``start`` to before ``stop``, with their SACK blocks; arrays are views."""
        parts: dict[str, Any] = {}
        low, high = np.searchsorted(self.sack_rows, (start, stop)).tolist()
        for field in fields(self):
            values = getattr(self, field.name)
            parts[field.name] = values[low:high] if field.name.startswith("sack_") else values[start:stop]
        parts["sack_rows"] = parts["sack_rows"] - start
        return Segments(**parts)

    def select(self, keep: Flags) -> Segments:
        """The segments for which ``keep`` is True, with their SACK blocks."""
        parts: dict[str, Any] = {}
        blocks = keep[self.sack_rows]
        for field in fields(self):
            chosen = blocks if field.name.startswith("sack_") else keep
            parts[field.name] = getattr(self, field.name)[chosen]
        parts["sack_rows"] = (np.cumsum(keep) - 1)[parts["sack_rows"]]
        return Segments(**parts)
