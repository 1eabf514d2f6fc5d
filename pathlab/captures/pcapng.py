"""Records of pcapng files: several sections and interfaces, every time resolution, counters of drops.

Format: draft-ietf-opsawg-pcapng. Blocks of packets are collected while the blocks' lengths are followed, and
read as arrays; all other blocks are rare and read one by one. Unknown blocks are skipped, as the draft asks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pathlab.captures.records import (
    NO_TIME_NS,
    PADDING_BYTES,
    TIME_MAX_S,
    Bytes,
    CaptureFile,
    CaptureNotes,
    Flags,
    Integers,
    Interface,
    RecordBatch,
    scale_times,
    view_numbers,
)

SECTION, INTERFACE, PACKET_OLD, SIMPLE, STATISTICS, ENHANCED = 0x0A0D0D0A, 1, 2, 3, 5, 6
#: Blocks of no use here that are no surprise: names, journal, secrets, custom blocks.
_KNOWN_OTHERS = {4, 9, 10, 0xBAD, 0x40000BAD}
_ORDER_MAGIC = 0x1A2B3C4D
PIECE_BYTES = 8 << 20
BLOCK_BYTES_MAX = 32 << 20
OPTIONS_MAX = 16  # of a packet, that are looked at
_OPTION_NAME, _OPTION_RESOLUTION, _OPTION_OFFSET = 2, 9, 14
_OPTION_IF_DROPS, _OPTION_OS_DROPS = 5, 7
_OPTION_PACKET_DROPS = 4
_SKIP = {ENHANCED: 28, PACKET_OLD: 28, SIMPLE: 12}  # bytes of a block before the packet


@dataclass(slots=True)
class _Section:
    """The state while a section is read: its byte order, and where its interfaces begin in the notes'."""

    order: str = "<"
    first_interface: int = 0


class _DamageError(Exception):
    """Why a file cannot be read from a place of the piece on: the arguments."""


def read_pcapng(file: CaptureFile, notes: CaptureNotes) -> Iterator[RecordBatch]:
    """The records of an open file in batches; ``notes`` gets interfaces, drops, and damage at the end."""
    section = _Section()
    carried, at_byte = b"", 0
    while piece := file.read(max(PIECE_BYTES, len(carried))):
        piece = carried + piece
        data = np.frombuffer(piece + bytes(PADDING_BYTES), dtype=np.uint8)
        index, kind = 0, None
        try:
            while True:
                packets: list[int] = []
                index, kind, fault = _follow_blocks(piece, index, section, notes, packets)
                if packets:
                    # What follows applies to the packets after it.
                    batch, wrong = _build_batch(data, np.array(packets, dtype=np.int64), section, notes)
                    notes.records += len(batch.places)
                    yield batch
                    fault = wrong or fault
                if fault is not None:
                    raise fault
                if kind is None:
                    break
                index = _read_other(piece, index, kind, section, notes)
        except _DamageError as error:
            reason, where = error.args
            notes.damage = f"damaged at byte {at_byte + where:,}: {reason}; what follows was not read"
            return
        carried, at_byte = piece[index:], at_byte + index
    if carried:
        notes.damage = f"cut within the last block, which begins at byte {at_byte:,}"


def _follow_blocks(
    piece: bytes, index: int, section: _Section, notes: CaptureNotes, packets: list[int]
) -> tuple[int, int | None, _DamageError | None]:
    """Collect packets' blocks from ``index`` on: where it stopped, the type of the block there, damage.

    It stops at a section and at an interface, which change what packets behind them mean; other blocks are
    read. The type is None at the end of what the piece has whole.
    """
    read_pair = struct.Struct(f"{section.order}II").unpack_from
    append, end = packets.append, len(piece)
    while index + 12 <= end:
        kind, length = read_pair(piece, index)
        if kind == SECTION:
            return index, SECTION if _is_section_whole(piece, index) else None, None
        if length < 12 or length & 3 or length > BLOCK_BYTES_MAX:
            return index, None, _DamageError(f"a block of {length:,} bytes", index)
        after = index + length
        if after > end:
            break
        if kind == INTERFACE:
            return index, kind, None
        if kind not in _SKIP:
            try:
                index = _read_other(piece, index, kind, section, notes)
            except _DamageError as fault:
                return index, None, fault
            continue
        if length < _SKIP[kind] + 4:
            return index, None, _DamageError(f"a packet's block of {length} bytes", index)
        append(index)
        index = after
    return index, None, None


def _is_section_whole(piece: bytes, index: int) -> bool:
    """Whether the section's header is in the piece, or is damaged, which reading it will say."""
    if index + 28 > len(piece):
        return False
    length = _read_word(piece, index + 4, _find_order(piece, index) or "<")
    return length > BLOCK_BYTES_MAX or index + length <= len(piece)


def _read_other(piece: bytes, index: int, kind: int, section: _Section, notes: CaptureNotes) -> int:
    """Read a block that holds no packets; where the next one begins."""
    if kind == SECTION:
        return _begin_section(piece, index, section, notes)
    length = _read_word(piece, index + 4, section.order)
    again = _read_word(piece, index + length - 4, section.order)
    if again != length:
        raise _DamageError("the two lengths of a block differ", index)
    body = piece[index + 8 : index + length - 4]
    if kind == INTERFACE:
        if len(body) < 8:
            raise _DamageError("an interface's block is too short", index)
        notes.interfaces.append(_read_interface(body, section.order))
    elif kind == STATISTICS:
        _read_statistics(body, section, notes)
    elif kind not in _KNOWN_OTHERS:
        notes.skipped_blocks += 1
    return index + length


def _begin_section(piece: bytes, index: int, section: _Section, notes: CaptureNotes) -> int:
    order = _find_order(piece, index)
    if order is None:
        raise _DamageError("a section without a byte order", index)
    length = _read_word(piece, index + 4, order)
    major = struct.unpack_from(f"{order}H", piece, index + 12)[0]
    if length < 28 or length & 3 or length > BLOCK_BYTES_MAX:
        raise _DamageError(f"a section's header of {length:,} bytes", index)
    if major != 1:
        raise _DamageError(f"a section of version {major}, where 1 is known", index)
    section.order, section.first_interface = order, len(notes.interfaces)
    return index + length


def _find_order(piece: bytes, index: int) -> str | None:
    """The byte order of the section that begins at ``index``."""
    return next((order for order in "<>" if _read_word(piece, index + 8, order) == _ORDER_MAGIC), None)


def _read_word(piece: bytes, index: int, order: str) -> int:
    return int(struct.unpack_from(f"{order}I", piece, index)[0])


def _read_options(body: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """The options of a block as far as they are whole."""
    index = 0
    while index + 4 <= len(body):
        code, length = struct.unpack_from(f"{order}HH", body, index)
        if code == 0 or index + 4 + length > len(body):
            return
        yield code, body[index + 4 : index + 4 + length]
        index += 4 + length + (-length & 3)


def _read_interface(body: bytes, order: str) -> Interface:
    link, _, snap_bytes = struct.unpack_from(f"{order}HHI", body)
    interface = Interface(link_type=link, snap_bytes=snap_bytes)
    for code, value in _read_options(body[8:], order):
        if code == _OPTION_RESOLUTION and value:
            exponent = value[0] & 0x7F
            base = 2 if value[0] & 0x80 else 10
            if base**exponent < 1 << 63:
                interface.time_units_per_s = base**exponent
        elif code == _OPTION_OFFSET and len(value) == 8:
            (offset_s,) = struct.unpack(f"{order}q", value)
            if abs(offset_s) <= TIME_MAX_S:
                interface.time_offset_s = offset_s
        elif code == _OPTION_NAME:
            interface.name = value.rstrip(b"\0").decode("utf-8", "replace")
    return interface


def _read_statistics(body: bytes, section: _Section, notes: CaptureNotes) -> None:
    """The counters of an interface since its capture began: the last ones replace those before."""
    if len(body) < 12:
        return
    number = section.first_interface + struct.unpack_from(f"{section.order}I", body)[0]
    if number >= len(notes.interfaces):
        return
    drops = [
        struct.unpack(f"{section.order}Q", value)[0]
        for code, value in _read_options(body[12:], section.order)
        if code in (_OPTION_IF_DROPS, _OPTION_OS_DROPS) and len(value) == 8
    ]
    if drops:
        notes.interfaces[number].dropped = sum(drops)


def _build_batch(
    data: Bytes, starts: Integers, section: _Section, notes: CaptureNotes
) -> tuple[RecordBatch, _DamageError | None]:
    """The packets of blocks that begin at ``starts``, up to the first damaged one, and that damage."""
    words = view_numbers(data, f"{section.order}u4")
    lengths = words[starts + 4].astype(np.int64)
    fault = None
    wrong = words[starts + lengths - 4] != lengths
    if wrong.any():
        first = int(np.argmax(wrong))
        fault = _DamageError("the two lengths of a block differ", int(starts[first]))
        starts, lengths = starts[:first], lengths[:first]
    kinds = words[starts]
    simple = kinds == SIMPLE
    numbers = words[starts + 8].astype(np.int64)
    old = kinds == PACKET_OLD
    if old.any():
        numbers[old] = view_numbers(data, f"{section.order}u2")[starts[old] + 8]
    captured, original = (words[starts + skip].astype(np.int64) for skip in (20, 24))
    skips = np.full(len(starts), _SKIP[ENHANCED])
    if simple.any():
        skips[simple], original[simple], numbers[simple] = _SKIP[SIMPLE], words[starts[simple] + 8], 0
        room = lengths[simple] - _SKIP[SIMPLE] - 4
        snaps = [interface.snap_bytes for interface in notes.interfaces[section.first_interface :][:1]]
        captured[simple] = np.minimum(np.minimum(original[simple], room), (snaps or [0])[0] or room)
    numbers += section.first_interface
    unknown = numbers >= len(notes.interfaces)
    wrong = unknown | (captured > lengths - skips - 4)
    if wrong.any():
        first = int(np.argmax(wrong))
        reason = "an interface that is not described" if unknown[first] else "more bytes than its block has"
        fault = _DamageError(f"a packet of {reason}", int(starts[first]))
        starts, lengths, skips, numbers = (item[:first] for item in (starts, lengths, skips, numbers))
        captured, original, simple = captured[:first], original[:first], simple[:first]
    units = (words[starts + 12].astype(np.int64) << 32) | words[starts + 16].astype(np.int64)
    times = np.full(len(starts), NO_TIME_NS)
    for number in np.unique(numbers).tolist():
        of_it = (numbers == number) & ~simple
        times[of_it] = scale_times(units[of_it], notes.interfaces[number])
    batch = RecordBatch(
        data=data,
        places=starts + skips,
        captured_bytes=captured,
        original_bytes=np.maximum(original, captured),
        times_ns=times,
        interfaces=numbers,
        gaps=_find_drops(data, starts, lengths, captured, section, simple),
    )
    return batch, fault


def _find_drops(
    data: Bytes, starts: Integers, lengths: Integers, captured: Integers, section: _Section, simple: Flags
) -> Flags:
    """Which packets' options say that packets were lost before them (``epb_dropcount`` above 0)."""
    shorts = view_numbers(data, f"{section.order}u2")
    gaps = np.zeros(len(starts), dtype=np.bool_)
    index = starts + _SKIP[ENHANCED] + captured + (-captured & 3)
    end = starts + lengths - 4
    for _ in range(OPTIONS_MAX):
        active = np.flatnonzero(~simple & (index + 4 <= end))
        if not len(active):
            break
        at = index[active]
        code, size = shorts[at].astype(np.int64), shorts[at + 2].astype(np.int64)
        counts = active[(code == _OPTION_PACKET_DROPS) & (size == 8) & (at + 12 <= end[active])]
        gaps[counts] = (view_numbers(data, "u8")[index[counts] + 4]) > 0
        index[active] = np.where(code == 0, end[active], at + 4 + size + (-size & 3))
    return gaps
