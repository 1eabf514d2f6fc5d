"""A capture file in memory: its flows, and the TCP segments of each as arrays.

About 40 bytes are kept of each TCP packet, so that a limit of packets bounds the memory. Each column is one
array as long as the file may need; the system gives it memory only where it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.packets.segments import (
    ECN_CAPABLE,
    ECN_MARKED,
    HAS_IP_ID,
    HAS_TIMESTAMPS,
    SYN,
    Segments,
)
from pathlab.captures.flow_table import CapturedFlow, FlowTable
from pathlab.captures.headers import HeaderCounts, PacketHeaders, join_packets, read_headers
from pathlab.captures.links import LINK_NAMES, format_link
from pathlab.captures.pcap import find_byte_order, read_pcap
from pathlab.captures.pcapng import SECTION, read_pcapng
from pathlab.captures.records import NO_TIME_NS, CaptureNotes, Integers, RecordBatch, view_numbers
from pathlab.captures.tcp_options import SynOptions, read_segment_options, read_syn_options
from pathlab.errors import StoreError, UsageError

#: TCP packets that are kept: about 700 MB.
PACKETS_MAX = 16_000_000
#: Flows that are kept, about 500 MB: a scan of ports or addresses has one for each packet.
FLOWS_MAX = 500_000
#: SYN segments whose options are read.
SYNS_MAX = 100_000
#: A time so much before that of the packet before it on the same interface is a step of the clock; several
#: queues of a network card may be read in turn, so that times are out of order by less.
STEP_NS = 1_000_000
_COLUMNS: dict[str, type[np.generic]] = {
    "keys": np.uint32,
    "times_ns": np.int64,
    "sequences": np.uint32,
    "acks": np.uint32,
    "windows": np.uint16,
    "flags": np.uint8,
    "marks": np.uint8,
    "payload_bytes": np.uint32,
    "ts_values": np.uint32,
    "ts_echoes": np.uint32,
    "ip_ids": np.uint16,
}
_SACK_COLUMNS: dict[str, type[np.generic]] = {
    "numbers": np.uint32,
    "ordinals": np.uint8,
    "left": np.uint32,
    "right": np.uint32,
}
#: Headers of IPv4 and TCP, and of a record: no TCP packet takes less of a file.
_LEAST_BYTES = 56
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zX": "xz", b"BZh": "bzip2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a file holds; ``flows`` in the order of their first packets.

    ``counts``: packets that are not whole TCP or UDP. ``untimed``: packets without a time, of which nothing
    else was read. ``unread_links``: packets by the LINKTYPE_ number that cannot be read. ``limited``: reading
    stopped at the limit of packets, or of flows. ``breaks``: rising numbers of packets before which the
    capture has a gap, or its clock was set back; ``set_back``: those of the clock. ``clock_steps``: how often
    it was, on each interface. ``cut_options``: TCP packets whose options were not captured whole.
    """

    path: Path
    notes: CaptureNotes
    counts: HeaderCounts
    flows: tuple[CapturedFlow, ...]
    untimed: int
    unread_links: dict[int, int]
    limited: bool
    breaks: Integers
    set_back: Integers
    clock_steps: int
    cut_options: int
    syn_options: dict[int, SynOptions]
    columns: dict[str, NDArray[Any]]
    starts: Integers
    sack: dict[str, NDArray[Any]]

    def read_segments(self, flow: CapturedFlow) -> tuple[Segments, Segments]:
        """The TCP segments from ``a`` to ``b``, and those from ``b`` to ``a``; both empty for UDP."""
        first = 2 * (flow.number - 1)
        return self._read_direction(first), self._read_direction(first + 1)

    def _read_direction(self, key: int) -> Segments:
        start, stop = int(self.starts[key]), int(self.starts[key + 1])
        parts = {name: values[start:stop] for name, values in self.columns.items()}
        low, high = np.searchsorted(self.sack["keys"], (key, key + 1)).tolist()
        rows = np.searchsorted(parts["numbers"], self.sack["numbers"][low:high])
        return Segments(
            **parts,
            sack_rows=rows,
            sack_ordinals=self.sack["ordinals"][low:high],
            sack_left=self.sack["left"][low:high],
            sack_right=self.sack["right"][low:high],
        )


def open_capture(path: Path) -> tuple[CaptureNotes, Iterator[RecordBatch]]:
    """The records of a pcap or pcapng file, in batches; the notes are complete once all are read.

    What is appended to the file meanwhile is not read. Raises StoreError for a file that cannot be read, is
    empty, or is no capture.
    """
    try:
        if path.is_dir():
            raise StoreError(
                f"'{path}' is a folder, not a capture", hint="name a file that tcpdump or dumpcap wrote"
            )
        if path.exists() and not path.is_file():  # opening it might wait for ever
            raise StoreError(f"'{path}' is not a regular file", hint="write the capture to a file first")
        size_bytes = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(
            f"capture '{path}' cannot be read: {reason}", hint="name a pcap or pcapng file"
        ) from error
    if not start:
        raise StoreError(
            f"capture '{path}' is empty", hint="record it again: not even its header was written"
        )
    if start == SECTION.to_bytes(4):
        notes, read = CaptureNotes(form="pcapng", file_bytes=size_bytes), read_pcapng
    elif find_byte_order(start):
        notes, read = CaptureNotes(form="pcap", file_bytes=size_bytes), read_pcap
    else:
        packed = next((name for magic, name in _COMPRESSED.items() if start.startswith(magic)), None)
        hint = f"it is compressed: decompress it with {packed} -d" if packed else "name a pcap or pcapng file"
        raise StoreError(f"'{path}' is not a capture: it is neither pcap nor pcapng", hint=hint)

    def read_all() -> Iterator[RecordBatch]:
        with path.open("rb") as file:
            yield from read(_FileStart(file, size_bytes), notes)

    return notes, read_all()


class _FileStart:
    """The first bytes of an open file: one that is still being written would be read without an end."""

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        self._file, self._left_bytes = file, size_bytes

    def read(self, most_bytes: int) -> bytes:
        """The next bytes, empty at the end."""
        piece = self._file.read(min(most_bytes, self._left_bytes))
        self._left_bytes -= len(piece)
        return piece


def read_capture(path: Path, *, packets_max: int = PACKETS_MAX) -> Capture:
    """Read a whole file, or as far as it is sound and the limits of packets and flows allow.

    Raises StoreError as ``open_capture``, and UsageError where no packet has a link type that can be read.
    """
    notes, batches = open_capture(path)
    limited = False
    reader = _CaptureReader(notes, notes.file_bytes // _LEAST_BYTES + 1)
    for batch in batches:
        reader.add(batch)
        limited = reader.tcp_packets >= packets_max or reader.flows >= FLOWS_MAX
        if limited:
            break
    if notes.damage is not None and not notes.records:
        raise StoreError(
            f"capture '{path}' is {notes.damage}, and holds no whole packet", hint="record or copy it again"
        )
    capture = reader.finish(path, limited=limited)
    if capture.unread_links and sum(capture.unread_links.values()) == notes.records:
        numbers = ", ".join(map(format_link, sorted(capture.unread_links)))
        raise UsageError(
            f"'{path}': link type {numbers} cannot be read",
            hint=f"capture on another interface; readable: {', '.join(dict.fromkeys(LINK_NAMES.values()))}",
        )
    return capture


class _CaptureReader:
    """Collects what ``Capture`` holds, batch by batch."""

    def __init__(self, notes: CaptureNotes, capacity: int) -> None:
        self.tcp_packets = 0
        self._notes = notes
        self._table = FlowTable()
        self._counts = HeaderCounts()
        self._untimed = 0
        self._unread: dict[int, int] = {}
        self._breaks: list[Integers] = []
        self._set_back: list[Integers] = []
        self._steps = 0
        self._cut_options = 0
        self._last_ns: dict[int, int] = {}
        self._syns: dict[int, SynOptions] = {}
        self._columns = {name: np.empty(capacity, dtype=form) for name, form in _COLUMNS.items()}
        self._sack: dict[str, list[NDArray[Any]]] = {name: [] for name in _SACK_COLUMNS}

    @property
    def flows(self) -> int:
        return len(self._table)

    def add(self, batch: RecordBatch) -> None:
        timed = batch.times_ns != NO_TIME_NS
        self._untimed += int((~timed).sum())
        set_back = np.zeros(len(timed), dtype=np.bool_)
        for interface in np.unique(batch.interfaces).tolist():
            set_back |= self._find_steps(batch, interface, timed)
        link_types = np.array([item.link_type for item in self._notes.interfaces])[batch.interfaces]
        parts = []
        for link_type in np.unique(link_types).tolist():
            chosen = timed & (link_types == link_type)
            try:
                packets, counts = read_headers(batch, link_type, chosen)
            except KeyError:
                self._unread[link_type] = self._unread.get(link_type, 0) + int(chosen.sum())
                continue
            self._counts += counts
            parts.append(packets)
        self._add_packets(batch, join_packets(parts), batch.gaps | set_back, set_back)

    def _find_steps(self, batch: RecordBatch, interface: int, timed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        rows = np.flatnonzero((batch.interfaces == interface) & timed)
        result = np.zeros(len(batch.times_ns), dtype=np.bool_)
        if len(rows):
            times = batch.times_ns[rows]
            before = np.concatenate(([self._last_ns.get(interface, times[0])], times[:-1]))
            result[rows] = times < before - STEP_NS
            self._last_ns[interface] = int(times[-1])
            self._steps += int(result.sum())
        return result

    def _add_packets(
        self,
        batch: RecordBatch,
        packets: PacketHeaders,
        broken: NDArray[np.bool_],
        set_back: NDArray[np.bool_],
    ) -> None:
        keys = self._table.number_packets(packets)
        times = batch.times_ns[packets.rows]
        self._table.count(keys, times, packets.payload_bytes)
        if not packets.is_tcp.all():
            keys, times = keys[packets.is_tcp], times[packets.is_tcp]
            packets = packets.select(packets.is_tcp)
        for chosen, numbers in ((broken, self._breaks), (set_back, self._set_back)):
            if chosen.any():  # the next TCP packet comes after it
                rows = np.searchsorted(packets.rows, np.flatnonzero(chosen))
                numbers.append(np.unique(rows) + self.tcp_packets)
        data, at = batch.data, packets.headers
        options = read_segment_options(data, at, packets.ends)
        shorts, words = view_numbers(data, ">u2"), view_numbers(data, ">u4")
        flags = data[at + 13]
        self._cut_options += int((at + (data[at + 12] >> 4).astype(np.int64) * 4 > packets.ends).sum())
        marks = np.where(options.has_timestamps, HAS_TIMESTAMPS, 0) | np.where(
            packets.ip_ids >= 0, HAS_IP_ID, 0
        )
        marks |= np.where(packets.ecn > 0, ECN_CAPABLE, 0) | np.where(packets.ecn == 3, ECN_MARKED, 0)
        result = {
            "keys": keys,
            "times_ns": times,
            "sequences": words[at + 4],
            "acks": words[at + 8],
            "windows": shorts[at + 14],
            "flags": flags,
            "marks": marks,
            "payload_bytes": packets.payload_bytes,
            "ts_values": options.ts_values,
            "ts_echoes": options.ts_echoes,
            "ip_ids": np.maximum(packets.ip_ids, 0),
        }
        new = slice(self.tcp_packets, self.tcp_packets + len(at))
        for name, values in result.items():
            self._columns[name][new] = values
        sack = options.sack
        blocks: tuple[NDArray[Any], ...] = (
            sack.packets + self.tcp_packets,
            sack.ordinals,
            sack.left,
            sack.right,
        )
        for name, column in zip(_SACK_COLUMNS, blocks, strict=True):
            self._sack[name].append(column.astype(_SACK_COLUMNS[name]))
        for row in np.flatnonzero(flags & SYN).tolist()[: max(0, SYNS_MAX - len(self._syns))]:
            header = data[at[row] : min(int(at[row]) + 60, int(packets.ends[row]))].tobytes()
            self._syns[self.tcp_packets + row] = read_syn_options(header)
        self.tcp_packets += len(at)

    def finish(self, path: Path, *, limited: bool) -> Capture:
        keys = self._columns.pop("keys")[: self.tcp_packets]
        narrow = keys.astype(np.uint16) if 2 * len(self._table) <= 1 << 16 else keys
        order = np.argsort(narrow, kind="stable").astype(np.uint32)
        starts = np.concatenate(([0], np.cumsum(np.bincount(keys, minlength=2 * len(self._table)))))
        sack = {name: _join(self._sack[name], form) for name, form in _SACK_COLUMNS.items()}
        sack["keys"] = keys[sack["numbers"]]
        by_key = np.argsort(sack["keys"], kind="stable")
        for name, values in sack.items():
            sack[name] = values[by_key]
        del keys, narrow, by_key
        columns: dict[str, NDArray[Any]] = {"numbers": order}
        for name in [name for name in _COLUMNS if name != "keys"]:
            columns[name] = self._columns.pop(name)[order]
        return Capture(
            path=path,
            notes=self._notes,
            counts=self._counts,
            flows=tuple(self._table.list_flows()),
            untimed=self._untimed,
            unread_links=self._unread,
            limited=limited,
            breaks=np.unique(_join(self._breaks, np.int64)),
            set_back=np.unique(_join(self._set_back, np.int64)),
            clock_steps=self._steps,
            cut_options=self._cut_options,
            syn_options=self._syns,
            columns=columns,
            starts=starts.astype(np.int64),
            sack=sack,
        )


def _join(parts: list[NDArray[Any]], form: type[np.generic]) -> NDArray[Any]:
    """The arrays as one; the list is emptied."""
    whole = np.concatenate(parts).astype(form, copy=False) if parts else np.zeros(0, dtype=form)
    parts.clear()
    return whole
