"""Segments that tests write one by one, as both directions of a connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pathlab.analysis.packets.connection import ConnectionFacts, DirectionTrace, analyze_direction
from pathlab.analysis.packets.copies import drop_copies
from pathlab.analysis.packets.segments import ACK, HAS_IP_ID, HAS_TIMESTAMPS, Segments

MS = 1_000_000


@dataclass
class Trace:
    """Packets in the order of the capture; times in milliseconds, sequence numbers of side 0 from 0 on."""

    base: int = 0
    rows: tuple[list[dict[str, Any]], list[dict[str, Any]]] = field(default_factory=lambda: ([], []))
    count: int = 0

    def add(self, side: int, time_ms: float, **values: Any) -> Trace:
        row: dict[str, Any] = {
            "numbers": self.count,
            "times_ns": int(time_ms * MS),
            "seq": 0,
            "ack": 0,
            "windows": 1000,
            "flags": ACK,
            "length": 0,
            "ts": None,
            "ip_id": None,
            "sack": (),
            "marks": 0,
        }
        self.rows[side].append({**row, **values})
        self.count += 1
        return self

    def data(self, time_ms: float, seq: int, length: int = 1000, **values: Any) -> Trace:
        return self.add(0, time_ms, seq=seq, length=length, **values)

    def ack(self, time_ms: float, ack: int, *sack: tuple[int, int], **values: Any) -> Trace:
        return self.add(1, time_ms, ack=ack, sack=sack, **values)

    def build(self, side: int) -> Segments:
        rows = self.rows[side]
        shifts = (self.base, 0) if side == 0 else (0, self.base)

        def column(name: str, form: str, shift: int = 0) -> np.ndarray:
            return np.array([(row[name] + shift) % (1 << 64) for row in rows], dtype=np.uint64).astype(form)

        def stamps(place: int) -> np.ndarray:
            return np.array([(row["ts"] or (0, 0))[place] for row in rows], dtype="u4")

        blocks = [
            (place, ordinal, left + self.base, right + self.base)
            for place, row in enumerate(rows)
            for ordinal, (left, right) in enumerate(row["sack"])
        ]
        table = np.array(blocks, dtype=np.int64).reshape(-1, 4)
        marks = [
            row["marks"]
            | (HAS_TIMESTAMPS if row["ts"] else 0)
            | (HAS_IP_ID if row["ip_id"] is not None else 0)
            for row in rows
        ]
        return Segments(
            numbers=column("numbers", "u4"),
            times_ns=column("times_ns", "i8"),
            sequences=column("seq", "u4", shifts[0]),
            acks=column("ack", "u4", shifts[1]),
            windows=column("windows", "u2"),
            flags=column("flags", "u1"),
            marks=np.array(marks, dtype="u1"),
            payload_bytes=column("length", "u4"),
            ts_values=stamps(0),
            ts_echoes=stamps(1),
            ip_ids=np.array([row["ip_id"] or 0 for row in rows], dtype="u2"),
            sack_rows=table[:, 0],
            sack_ordinals=table[:, 1],
            sack_left=table[:, 2].astype("u4"),
            sack_right=table[:, 3].astype("u4"),
        )

    def analyze(self, **facts: Any) -> DirectionTrace:
        known: dict[str, Any] = {
            "mss_bytes": 1000,
            "window_scale": 3,
            "sack_permitted": True,
            "base_rtt_ns": 10 * MS,
            "breaks": np.zeros(0, dtype=np.int64),
            "clock_steps": np.zeros(0, dtype=np.int64),
            "origin_ns": 0,
        }
        known |= facts
        (there, back), copies = drop_copies((self.build(0), self.build(1)), lambda _: known["base_rtt_ns"])
        return analyze_direction(there, back, ConnectionFacts(**known, copies=copies[0]))
