"""TCP options of many headers at once: timestamps and SACK blocks of all, the others of SYN segments.

Sources: RFC 9293 (kinds 0-2), RFC 7323 (window scale, timestamps), RFC 2018 (SACK), RFC 8684 (MPTCP),
RFC 7413 (fast open).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.captures.records import Bytes, Flags, Integers, view_numbers

_END, _NOP, _MSS, _SCALE, _SACK_PERMITTED, _SACK, _TIMESTAMPS = 0, 1, 2, 3, 4, 5, 8
_MPTCP, _FAST_OPEN = 30, 34
_MPTCP_CAPABLE = 0
OPTION_BYTES_MAX = 40
#: NOP, NOP, timestamps of 10 bytes: how nearly all segments of data begin (RFC 7323, appendix A).
_USUAL_START = 0x0101080A
SACK_BLOCKS_MAX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SackBlocks:
    """SACK blocks in the order of packets; ``packets``: which packet, ``ordinals``: 0 for its first block.

    ``left`` and ``right``: 32-bit sequence numbers.
    """

    packets: Integers
    ordinals: Integers
    left: NDArray[np.uint32]
    right: NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class SynOptions:
    """What a SYN or SYN-ACK offered; None where the option was absent.

    ``window_scale``: bits to shift, 14 at most (RFC 7323, section 2.3). ``complete``: its options were
    captured whole.
    """

    mss_bytes: int | None = None
    window_scale: int | None = None
    sack_permitted: bool = False
    timestamps: bool = False
    mptcp: bool = False
    fast_open: bool = False
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOptions:
    """Options of segments: timestamps (0 where ``has_timestamps`` is False) and SACK blocks."""

    ts_values: NDArray[np.uint32]
    ts_echoes: NDArray[np.uint32]
    has_timestamps: Flags
    sack: SackBlocks


def read_segment_options(data: Bytes, headers: Integers, ends: Integers) -> SegmentOptions:
    """The options of TCP headers that begin at ``headers`` and whose captured bytes end at ``ends``.

    An option that is cut, or whose length cannot be, ends the list of its header.
    """
    words = view_numbers(data, ">u4")
    stop = np.minimum(headers + (data[headers + 12] >> 4).astype(np.int64) * 4, ends)
    index = headers + 20
    values, echoes = (np.zeros(len(headers), dtype=np.uint32) for _ in range(2))
    usual = (index + 12 <= stop) & (words[index] == _USUAL_START)
    at = index[usual]
    values[usual], echoes[usual] = words[at + 4], words[at + 8]
    has_timestamps = usual.copy()
    index[usual] += 12
    blocks: list[tuple[Integers, Integers, Integers]] = []
    active = np.flatnonzero(index < stop)
    for _ in range(OPTION_BYTES_MAX):
        active = active[index[active] < stop[active]]
        active = active[data[index[active]] != _END]
        if not len(active):
            break
        at = index[active]
        kind = data[at]
        size = np.where(kind == _NOP, 1, data[at + 1]).astype(np.int64)
        sound = ((kind == _NOP) | (size >= 2)) & (at + size <= stop[active])
        active, at, kind, size = active[sound], at[sound], kind[sound], size[sound]
        stamped = (kind == _TIMESTAMPS) & (size == 10)
        values[active[stamped]], echoes[active[stamped]] = words[at[stamped] + 2], words[at[stamped] + 6]
        has_timestamps[active[stamped]] = True
        selective = (kind == _SACK) & (size >= 10) & ((size - 2) % 8 == 0)
        for ordinal in range(SACK_BLOCKS_MAX):
            holds = selective & (size >= 10 + 8 * ordinal)
            if holds.any():
                blocks.append(
                    (active[holds], np.full(int(holds.sum()), ordinal), at[holds] + 2 + 8 * ordinal)
                )
        index[active] += size
    return SegmentOptions(
        ts_values=values,
        ts_echoes=echoes,
        has_timestamps=has_timestamps,
        sack=_order_blocks(words, blocks),
    )


def _order_blocks(
    words: NDArray[np.unsignedinteger], blocks: list[tuple[Integers, Integers, Integers]]
) -> SackBlocks:
    if not blocks:
        none = np.zeros(0, dtype=np.int64)
        return SackBlocks(
            packets=none, ordinals=none, left=none.astype(np.uint32), right=none.astype(np.uint32)
        )
    packets, ordinals, indices = (np.concatenate(column) for column in zip(*blocks, strict=True))
    order = np.lexsort((ordinals, packets))
    indices = indices[order]
    return SackBlocks(
        packets=packets[order],
        ordinals=ordinals[order],
        left=words[indices].astype(np.uint32),
        right=words[indices + 4].astype(np.uint32),
    )


def read_syn_options(header: bytes) -> SynOptions:
    """The options of one SYN's header, as far as it was captured."""
    length = (header[12] >> 4) * 4
    options = header[20:length]
    result: dict[str, int | bool] = {"complete": len(header) >= length}
    index = 0
    while index < len(options) and options[index] != _END:
        if options[index] == _NOP:
            index += 1
            continue
        size = options[index + 1] if index + 1 < len(options) else 0
        if size < 2 or index + size > len(options):
            break
        kind, value = options[index], options[index + 2 : index + size]
        if kind == _MSS and len(value) == 2:
            result["mss_bytes"] = int.from_bytes(value)
        elif kind == _SCALE and len(value) == 1:
            result["window_scale"] = min(value[0], 14)
        elif kind == _SACK_PERMITTED:
            result["sack_permitted"] = True
        elif kind == _TIMESTAMPS and len(value) == 8:
            result["timestamps"] = True
        elif kind == _MPTCP and value and value[0] >> 4 <= _MPTCP_CAPABLE + 1:  # capable or join
            result["mptcp"] = True
        elif kind == _FAST_OPEN:
            result["fast_open"] = True
        index += size
    return SynOptions(**result)  # type: ignore[arg-type]  # the fields are read by their names
