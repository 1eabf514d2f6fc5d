"""When the cycles of a periodic campaign begin: every so often, later by a jitter drawn from the seed."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

#: A slot that began at most this long ago, as a share of the period, is still used.
LATE_RATIO = 0.1
#: Missed slots that are named by their numbers.
NAMED_MAX = 20
NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSlot:
    """The next slot to use: its number from 0, when it begins, and the numbers that went by unused."""

    number: int
    begins: datetime.datetime
    missed: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """CycleSlot n begins at ``origin`` + n x ``every_ns`` + a jitter below ``jitter_ns``."""

    origin: datetime.datetime
    every_ns: int
    jitter_ns: int
    seed: int

    def begin(self, number: int) -> datetime.datetime:
        """When a slot begins. The same seed gives the same jitter."""
        digest = hashlib.sha256(f"slot-1:{self.seed}:{number}".encode("ascii")).digest()
        share = int.from_bytes(digest[:8], "big") / 2**64
        offset_ns = number * self.every_ns + (int(share * self.jitter_ns) if number else 0)
        return self.origin + datetime.timedelta(microseconds=offset_ns / 1000)

    def choose(self, last: int | None, now: datetime.datetime) -> CycleSlot:
        """The first slot after ``last`` (None: none was used) that is to come, or has only just begun."""
        first = 0 if last is None else last + 1
        late = datetime.timedelta(microseconds=LATE_RATIO * self.every_ns / 1000)
        since_ns = (now - late - self.origin).total_seconds() * NS_PER_S - self.jitter_ns
        number = max(first, int(since_ns // self.every_ns))  # no later one can be wanted
        while self.begin(number) < now - late:
            number += 1
        return CycleSlot(number=number, begins=self.begin(number), missed=tuple(range(first, number)))


def describe_missed(numbers: Sequence[int]) -> str:
    """Slots that went by unused, in one line."""
    what = "1 slot was" if len(numbers) == 1 else f"{len(numbers)} slots were"
    named = ", ".join(str(number) for number in numbers[:NAMED_MAX])
    return f"{what} missed: {named}{', ...' if len(numbers) > NAMED_MAX else ''}"
