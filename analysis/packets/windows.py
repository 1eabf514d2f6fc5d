"""Bytes in flight, the receiver's window, duplicate acknowledgements and windows of zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pathlab.analysis.packets.reduction import PART
from pathlab.analysis.packets.segments import ACK, FIN, RST, SYN, Flags, Integers, Rows, Segments, Words
from pathlab.analysis.packets.sequence_space import ReturnedAcks, SentData, find_latest

#: A sender that fills so much of the window is limited by it.
FULL_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightSamples:
    """Bytes in flight after each segment of data, and the receiver's window then.

    ``in_flight_bytes``: from the acknowledgement to the highest byte sent, SACKed bytes included; what the
    capture saw, where it was made. ``window_bytes``: -1 where no scaled window is known.
    """

    times_ns: Integers
    in_flight_bytes: Words
    window_bytes: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroWindows:
    """Stretches during which the receiver's window was 0, and their time in all."""

    count: int
    duration_ns: int


def find_duplicate_acks(back: Segments, data: SentData, acks: ReturnedAcks) -> Flags:
    """Which acknowledgements are duplicates as of RFC 5681, section 2.

    The segment has no data, no SYN and no FIN, repeats acknowledgement and window of the one before, and data
    is outstanding. With SACK blocks the window may differ (RFC 6675, section 2). A window of 0 is left out:
    such a segment answers a probe of the closed window.
    """
    result = np.zeros(len(acks), dtype=np.bool_)
    selective = np.zeros(len(back), dtype=np.bool_)
    selective[back.sack_rows] = True
    for start in range(1, len(acks) if len(data) else 0, PART):
        part = slice(start, start + PART)
        same = acks.own_acks[part] == acks.acks[start - 1 : start - 1 + PART][: len(acks) - start]
        indices = np.flatnonzero(same) + start
        rows = acks.rows[indices]
        bare = (back.payload_bytes[rows] == 0) & (back.flags[rows] & (SYN | FIN) == 0)
        same_window = back.windows[rows] == back.windows[acks.rows[indices - 1]]
        sent = find_latest(data.numbers, acks.numbers[indices])
        last = np.maximum(sent, 0)
        high = np.maximum(data.high_before[last], data.ends_at(last))
        outstanding = (sent >= 0) & (high > acks.own_acks[indices])
        bare &= back.windows[rows] > 0
        result[indices] = bare & (same_window | selective[rows]) & outstanding
    return result


def scale_windows(back: Segments, acks: ReturnedAcks, window_scale: int | None) -> Rows:
    """The window of each acknowledgement in bytes; -1 for each where the scale is not known.

    The window of a SYN is not scaled (RFC 7323, section 2.2).
    """
    if window_scale is None:
        return np.full(len(acks), -1, dtype=np.int32)
    windows = back.windows[acks.rows].astype(np.int32)  # at most 65,535 << 14
    return np.where(back.flags[acks.rows] & SYN > 0, windows, windows << window_scale)


def sample_flight(data: SentData, acks: ReturnedAcks, windows_bytes: Rows) -> FlightSamples:
    """Bytes in flight and the window after each segment of data that follows an acknowledgement."""
    first = int(np.searchsorted(data.numbers, acks.numbers[0])) if len(acks) else len(data)
    in_flight = np.empty(len(data) - first, dtype=np.uint32)
    windows = np.empty(len(data) - first, dtype=np.int32)
    for start in range(first, len(data), PART):
        part = slice(start, start + PART)
        indices = find_latest(acks.numbers, data.numbers[part])
        highest = np.maximum(data.high_before[part], data.ends_at(part))
        out = slice(start - first, start - first + len(indices))
        in_flight[out] = np.clip(highest - acks.acks[indices], 0, 0xFFFFFFFF)
        windows[out] = windows_bytes[indices]
    return FlightSamples(times_ns=data.times_ns[first:], in_flight_bytes=in_flight, window_bytes=windows)


def find_zero_windows(back: Segments) -> ZeroWindows:
    """Stretches from a segment with window 0 to the next one with a window; resets and SYNs are left out."""
    rows = np.flatnonzero((back.flags & ACK > 0) & (back.flags & (RST | SYN) == 0))
    closed = back.windows[rows] == 0
    begins = np.flatnonzero(closed & ~np.concatenate(([False], closed[:-1])))
    if not len(begins):
        return ZeroWindows(count=0, duration_ns=0)
    opened = np.flatnonzero(~closed)
    ends = np.searchsorted(opened, begins)
    last = np.append(opened, len(rows) - 1)[ends]  # of one that never opens: up to the last segment
    times = back.times_ns[rows]
    return ZeroWindows(count=len(begins), duration_ns=int((times[last] - times[begins]).clip(0).sum()))
