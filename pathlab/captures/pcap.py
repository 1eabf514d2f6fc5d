"""Records of classic pcap files: both byte orders, microseconds and nanoseconds.

Format: draft-ietf-opsawg-pcap. A file is read in pieces; only the records' lengths are followed one by one,
all other fields are read as arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from pathlab.captures.records import (
    PADDING_BYTES,
    CaptureFile,
    CaptureNotes,
    Integers,
    Interface,
    RecordBatch,
    view_numbers,
)

#: Units per second by the magic number as it is stored in the writer's byte order.
MAGICS = {0xA1B2C3D4: 1_000_000, 0xA1B23C4D: 1_000_000_000}
PIECE_BYTES = 8 << 20
#: No packet is longer; libpcap's own limit is 256 KiB for all link types that are read here.
RECORD_BYTES_MAX = 32 << 20
_HEADER_BYTES, _RECORD_HEADER_BYTES = 24, 16


def find_byte_order(start: bytes) -> str | None:
    """``<`` or ``>`` where a file that starts so is pcap, else None."""
    for order in "<>":
        if len(start) >= 4 and struct.unpack(f"{order}I", start[:4])[0] in MAGICS:
            return order
    return None


def read_pcap(file: CaptureFile, notes: CaptureNotes) -> Iterator[RecordBatch]:
    """The records of an open file in batches; ``notes`` gets its interface, and its damage at the end."""
    head = file.read(_HEADER_BYTES)
    order = find_byte_order(head) or "<"
    if len(head) < _HEADER_BYTES:
        notes.damage = f"cut within its header, at byte {len(head):,}"
        return
    magic, _, _, _, _, snap_bytes, link = struct.unpack(f"{order}IHHiIII", head)
    interface = Interface(link_type=link & 0x0FFFFFFF, snap_bytes=snap_bytes, time_units_per_s=MAGICS[magic])
    notes.interfaces.append(interface)
    carried, at_byte = b"", _HEADER_BYTES
    while piece := file.read(PIECE_BYTES):
        piece = carried + piece
        starts, end, reason = _follow_lengths(piece, order, interface)
        if len(starts):
            notes.records += len(starts)
            yield _build_batch(piece, starts, order, interface)
        if reason is not None:
            notes.damage = f"damaged at byte {at_byte + end:,}: {reason}; what follows was not read"
            return
        carried, at_byte = piece[end:], at_byte + end
    if carried:
        notes.damage = f"cut within the last packet, which begins at byte {at_byte:,}"


def _follow_lengths(piece: bytes, order: str, interface: Interface) -> tuple[Integers, int, str | None]:
    """Where each whole record of a piece starts, where the first one that is not whole does, and damage."""
    read_length = struct.Struct(f"{order}I").unpack_from
    units = interface.time_units_per_s
    starts: list[int] = []
    append = starts.append
    place, last = 0, len(piece) - _RECORD_HEADER_BYTES
    reason = None
    while place <= last:
        (length,) = read_length(piece, place + 8)
        if length > RECORD_BYTES_MAX:
            reason = f"a packet of {length:,} bytes"
            break
        after = place + _RECORD_HEADER_BYTES + length
        if after > len(piece):
            break
        append(place)
        place = after
    result = np.array(starts, dtype=np.int64)
    data = np.frombuffer(piece, dtype=np.uint8)
    if len(result):
        # A length may be wrong without being impossible; the next record's fraction of a second then is.
        wrong = view_numbers(data, f"{order}u4")[result + 4] >= units
        if wrong.any():
            first = int(np.argmax(wrong))
            return result[:first], int(result[first]), "a fraction of a second above 1"
    return result, place, reason


def _build_batch(piece: bytes, starts: Integers, order: str, interface: Interface) -> RecordBatch:
    data = np.frombuffer(piece + bytes(PADDING_BYTES), dtype=np.uint8)
    numbers = view_numbers(data, f"{order}u4")
    seconds, fraction, captured, original = (
        numbers[starts + skip].astype(np.int64) for skip in (0, 4, 8, 12)
    )
    size_ns = 1_000_000_000 // interface.time_units_per_s
    return RecordBatch(
        data=data,
        places=starts + _RECORD_HEADER_BYTES,
        captured_bytes=captured,
        original_bytes=np.maximum(original, captured),
        times_ns=seconds * 1_000_000_000 + fraction * size_ns,
        interfaces=np.zeros(len(starts), dtype=np.int64),
        gaps=np.zeros(len(starts), dtype=np.bool_),
    )
