"""What held a cell back, as far as windows, rates and delays can tell.

The rules are thresholds, named here; they are evidence and no proof, so a cell that fits none stays unnamed.
"""

from __future__ import annotations

from enum import StrEnum

from pathlab.report.summary import Cell

# A queue that adds less than this share of the idle RTT is called no queue.
RISE_RATIO = 0.10
# Throughput within this share of streams x window / RTT is called set by the window. Receive buffers hold up
# to a third more than was asked for, hence the wide upper side.
WINDOW_LOW_RATIO = 0.85
WINDOW_HIGH_RATIO = 1.35


class Limit(StrEnum):
    """What a cell was limited by."""

    WINDOW = "window"
    PATH = "path"
    HOST = "host"
    LAB = "lab"
    UNKNOWN = "unknown"


def window_rate_bits_per_s(cell: Cell) -> float | None:
    """Streams times window asked over the unloaded RTT: what the windows would carry on an empty path."""
    rtt_ns = cell.unloaded_median_ns.median
    if cell.product_bytes is None or not rtt_ns:
        return None
    return cell.product_bytes * 8 / (rtt_ns / 1e9)


def judge_limit(cell: Cell) -> Limit:
    """Judge the limit: the windows, the path (a queue built up), a host, the lab, or unknown.

    The lab when most trials were beyond what it emulates truly. A host when most trials were flagged so: a
    core was busy, and neither windows nor line explain the rate.
    """
    flags = dict(cell.flags)
    if flags.get("lab-limited", 0) * 2 > cell.complete:
        return Limit.LAB
    if flags.get("host-limited", 0) * 2 > cell.complete:
        return Limit.HOST
    rise, idle = cell.rise_mean_ns.median, cell.unloaded_median_ns.median
    rate, windows = cell.throughput_bits_per_s.median, window_rate_bits_per_s(cell)
    if rise is None or not idle or rate is None:
        return Limit.UNKNOWN
    queued = rise >= RISE_RATIO * idle
    if queued and (windows is None or rate < WINDOW_LOW_RATIO * windows):
        return Limit.PATH
    if not queued and windows is not None and WINDOW_LOW_RATIO <= rate / windows <= WINDOW_HIGH_RATIO:
        return Limit.WINDOW
    return Limit.UNKNOWN
