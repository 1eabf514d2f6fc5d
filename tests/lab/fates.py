"""The emulator's trace: what became of every packet (native/PROTOCOL.md, ``emulate``)."""

import struct
from dataclasses import dataclass
from pathlib import Path

_HEADER = struct.Struct(">4sHHq")
_RECORD = struct.Struct(">qqIBBBB")
_FATES = ("delivered", "queue_dropped", "lost", "aqm_dropped")
_DIRECTIONS = ("forward", "reverse")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """One packet. Times are nanoseconds since the trace began; ``due_ns`` is None unless delivered."""

    arrival_ns: int
    due_ns: int | None
    ip_bytes: int
    direction: str
    fate: str
    marked: bool
    duplicated: bool
    segment: bool

    @property
    def held_ns(self) -> int | None:
        """For how long the link keeps it."""
        return None if self.due_ns is None else self.due_ns - self.arrival_ns


def read_begin_ns(path: Path) -> int:
    """CLOCK_MONOTONIC when the trace began."""
    begin_ns: int = _HEADER.unpack_from(path.read_bytes())[3]
    return begin_ns


def read_fates(path: Path, direction: str) -> list[Fate]:
    """The records of one direction, in the order of arrival."""
    content = path.read_bytes()
    magic, version, record_bytes, _ = _HEADER.unpack_from(content)
    assert (magic, version, record_bytes) == (b"PLTR", 1, _RECORD.size)
    fates = []
    for arrival_ns, due_ns, ip_bytes, side, fate, flags, reserved in _RECORD.iter_unpack(
        content[_HEADER.size :]
    ):
        assert reserved == 0
        assert (due_ns >= 0) == (_FATES[fate] == "delivered")
        fates.append(
            Fate(
                arrival_ns=arrival_ns,
                due_ns=due_ns if due_ns >= 0 else None,
                ip_bytes=ip_bytes,
                direction=_DIRECTIONS[side],
                fate=_FATES[fate],
                marked=bool(flags & 1),
                duplicated=bool(flags & 2),
                segment=bool(flags & 4),
            )
        )
    return [fate for fate in fates if fate.direction == direction]
