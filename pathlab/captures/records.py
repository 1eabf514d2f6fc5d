"""Records of a capture file as arrays, before any header is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

#: Time of a record without one (a simple packet block): no time in nanoseconds is this.
NO_TIME_NS = int(np.iinfo(np.int64).min)
#: A time further from 1970, in 2115, is none, so that 63 bits hold the difference of two in nanoseconds.
TIME_MAX_S = 4_600_000_000
#: Zero bytes after the last record of a batch, so that fields of a cut header can be read before they are
#: found to be cut.
PADDING_BYTES = 128


class CaptureFile(Protocol):
    """What is read of a file."""

    def read(self, most_bytes: int, /) -> bytes:
        """The next bytes, empty at the end."""


@dataclass(slots=True, kw_only=True)
class Interface:
    """An interface of a capture; ``dropped``: what its counters say that it lost, None: no counter.

    ``link_type``: LINKTYPE_ number of the pcap registry. ``time_units_per_s``: resolution of its times.
    ``snap_bytes``: longest record, 0: no limit.
    """

    link_type: int
    snap_bytes: int = 0
    name: str = ""
    time_units_per_s: int = 1_000_000
    time_offset_s: int = 0
    dropped: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBatch:
    """Some records of a file in its order; all arrays but ``data`` have one entry per record.

    ``data``: bytes that hold the records, with ``PADDING_BYTES`` behind them. ``places``: where each record's
    first byte is in it. ``captured_bytes`` and ``original_bytes``: its length as stored and on the link.
    ``times_ns``: since 1970, or ``NO_TIME_NS``. ``interfaces``: places in ``CaptureNotes.interfaces``.
    ``gaps``: True where the capture says that it lost packets since the record before.
    """

    data: Bytes
    places: Integers
    captured_bytes: Integers
    original_bytes: Integers
    times_ns: Integers
    interfaces: Integers
    gaps: Flags


@dataclass(slots=True, kw_only=True)
class CaptureNotes:
    """What was found besides records while a file was read; complete once its records are.

    ``file_bytes``: its size when reading began. ``damage``: a sentence about the part that was not read,
    None: all was read. ``skipped_blocks``: blocks of a pcapng file that hold no packets, and are of no known
    type.
    """

    form: str
    file_bytes: int = 0
    interfaces: list[Interface] = field(default_factory=list)
    records: int = 0
    damage: str | None = None
    skipped_blocks: int = 0

    @property
    def dropped_packets(self) -> int | None:
        """Packets that the capture's own counters say it lost; None where it has no counter."""
        known = [interface.dropped for interface in self.interfaces if interface.dropped is not None]
        return sum(known) if known else None


def view_numbers(data: Bytes, form: str) -> NDArray[np.unsignedinteger]:
    """Numbers of the type ``form`` (``>u4``) that begin at each byte of ``data``: item i at byte i.

    It is a view: no byte is copied, and alignment does not matter.
    """
    size = np.dtype(form).itemsize
    return np.ndarray((max(0, len(data) - size + 1),), dtype=form, buffer=data.data, strides=(1,))


def scale_times(units: Integers, interface: Interface) -> Integers:
    """Counts of the interface's time units as nanoseconds since 1970, exact for every resolution.

    The product would overflow, so whole seconds and the remainder are converted apart. A time beyond
    ``TIME_MAX_S`` is ``NO_TIME_NS``.
    """
    per_s = interface.time_units_per_s
    offset_ns = interface.time_offset_s * 1_000_000_000
    counts = units.view(np.uint64)
    far = counts > np.uint64(min((TIME_MAX_S - interface.time_offset_s) * per_s, (1 << 64) - 1))
    if per_s == 1_000_000_000:
        return np.where(far, NO_TIME_NS, units + offset_ns)
    seconds, remainder = np.divmod(counts, np.uint64(per_s))
    if per_s <= 9_000_000_000:
        fraction = remainder * np.uint64(1_000_000_000) // np.uint64(per_s)
    else:
        fraction = (remainder.astype(np.float64) * (1e9 / per_s)).astype(np.uint64)
    whole: Integers = seconds.astype(np.int64) * 1_000_000_000 + fraction.astype(np.int64) + offset_ns
    return np.where(far, NO_TIME_NS, whole)
