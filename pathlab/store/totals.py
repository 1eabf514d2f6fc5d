"""Totals of a foreign file against the parts that they sum up, and totals that a file lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

#: Totals are exact sums of streams; programs round what they print.
SUM_RATIO = 0.01
#: Rates against bytes and time, and times against each other.
RATE_RATIO = 0.05
#: Intervals end a little before or after the whole.
INTERVALS_RATIO = 0.1
#: Bytes that arrived against datagrams that were lost, as a share of what was sent: the last datagrams are
#: counted by one of the two alone.
LOSS_RATIO = 0.05
_Number = TypeVar("_Number", int, float)


def differ(total: float | None, parts: float | None, ratio: float) -> bool:
    """Whether two figures of one thing are apart by more than a ratio; False where one is not known."""
    if total is None or parts is None:
        return False
    return abs(total - parts) > ratio * max(abs(total), abs(parts))


def add_up(parts: Sequence[_Number | None]) -> _Number | None:
    """The sum of all parts, None where there is none or one is not known."""
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def estimate_received(sent_bytes: int | None, lost: float | None, packets: float | None) -> int | None:
    """Bytes that arrived, by the datagrams that were lost of those sent, which are of one size."""
    if sent_bytes is None or lost is None or not packets or not 0 <= lost <= packets:
        return None
    return round(sent_bytes * (1 - lost / packets))
