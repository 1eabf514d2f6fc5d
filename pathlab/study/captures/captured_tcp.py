"""The TCP connections of a capture: who opened them, what both ends offered, and each direction's packets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pathlab.analysis.packets.connection import (
    ConnectionFacts,
    DirectionTrace,
    analyze_direction,
    measure_base_rtt,
)
from pathlab.analysis.packets.copies import drop_copies
from pathlab.analysis.packets.handshake import (
    CapturePosition,
    Opening,
    find_position,
    read_opening,
    split_connections,
)
from pathlab.analysis.packets.reduction import TimeSpan
from pathlab.analysis.packets.segments import Segments
from pathlab.captures.capture import Capture
from pathlab.captures.flow_table import CapturedFlow
from pathlab.captures.tcp_options import SynOptions

#: Bytes that the timestamps option takes of each segment, padded (RFC 7323, appendix A).
TIMESTAMPS_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedDirection:
    """One direction of a connection; ``offer``: the options of its source's SYN, None: not captured.

    ``mss_bytes``: the largest payload of a segment by both offers, None: not known.
    """

    source: str
    destination: str
    offer: SynOptions | None
    mss_bytes: int | None
    position: CapturePosition
    trace: DirectionTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedConnection:
    """A TCP connection: ``flow`` numbers its addresses and ports, ``ordinal`` (from 1) their use.

    ``directions``: from the source of the flow's first packet, then the other. ``sack_permitted``: by both
    ends, None: not known.
    """

    flow: CapturedFlow
    ordinal: int
    opening: Opening
    start_ns: int
    end_ns: int
    sack_permitted: bool | None
    directions: tuple[CapturedDirection, CapturedDirection]

    @property
    def main(self) -> CapturedDirection:
        """The direction that carried more bytes."""
        there, back = self.directions
        return back if back.trace.payload_bytes > there.trace.payload_bytes else there

    @property
    def other(self) -> CapturedDirection:
        """The direction that carried fewer bytes."""
        there, back = self.directions
        return there if self.main is back else back

    @property
    def name(self) -> str:
        """Source and destination of most bytes."""
        return f"{self.main.source} → {self.main.destination}"

    @property
    def is_one_sided(self) -> bool:
        """Whether packets of one direction alone were captured."""
        return any(direction.trace.packets == 0 for direction in self.directions)


def study_connections(
    capture: Capture, flow: CapturedFlow, most: int, window_s: tuple[float, float] | None = None
) -> tuple[list[CapturedConnection], int]:
    """The first connections of a TCP flow, ``most`` of them, and the number of those after them.

    There are several where its ports were used again. ``window_s``: seconds since a connection's first packet
    that the curves show, the second may be infinite; None: all.
    """
    result: list[CapturedConnection] = []
    left_out = 0
    for ordinal, (there, back) in enumerate(split_connections(*capture.read_segments(flow)), start=1):
        if not (len(there) or len(back)):
            continue
        if len(result) == most:
            left_out += 1
        else:
            result.append(_study_connection(capture, flow, ordinal, (there, back), window_s))
    return result, left_out


def _study_connection(
    capture: Capture,
    flow: CapturedFlow,
    ordinal: int,
    sides: tuple[Segments, Segments],
    window_s: tuple[float, float] | None,
) -> CapturedConnection:
    sides, copies = drop_copies(sides, lambda kept: _find_base_rtt(capture, read_opening(*kept), kept))
    opening = read_opening(*sides)
    offers = _find_offers(capture, opening)
    start_ns = min(int(side.times_ns.min()) for side in sides if len(side))
    end_ns = max(int(side.times_ns.max()) for side in sides if len(side))
    span = None
    if window_s is not None:
        most_ns = end_ns - start_ns + 1
        first, last = (start_ns + int(min(second * 1e9, most_ns)) for second in window_s)
        span = TimeSpan(start_ns=first, end_ns=min(last, end_ns), origin_ns=start_ns)
    base_rtt_ns = _find_base_rtt(capture, opening, sides)
    sack = _agree(offers, "sack_permitted")
    if sack is None and any(len(side.sack_rows) for side in sides):
        sack = True
    ends = (str(flow.a), str(flow.b))
    directions = []
    for index in (0, 1):
        facts = ConnectionFacts(
            mss_bytes=_find_mss(offers),
            window_scale=_find_scale(offers, 1 - index),
            sack_permitted=sack,
            base_rtt_ns=base_rtt_ns,
            breaks=capture.breaks,
            clock_steps=capture.set_back,
            origin_ns=start_ns,
            copies=copies[index],
        )
        directions.append(
            CapturedDirection(
                source=ends[index],
                destination=ends[1 - index],
                offer=offers[index],
                mss_bytes=facts.mss_bytes,
                position=find_position(opening, index),
                trace=analyze_direction(sides[index], sides[1 - index], facts, span),
            )
        )
    return CapturedConnection(
        flow=flow,
        ordinal=ordinal,
        opening=opening,
        start_ns=start_ns,
        end_ns=end_ns,
        sack_permitted=sack,
        directions=(directions[0], directions[1]),
    )


Offers = tuple[SynOptions | None, SynOptions | None]


def _find_offers(capture: Capture, opening: Opening) -> Offers:
    """The options of each side's SYN."""
    if opening.client is None:
        return None, None
    numbers = [opening.syn_number, opening.syn_ack_number]
    if opening.client == 1:
        numbers.reverse()
    result = [None if number is None else capture.syn_options.get(number) for number in numbers]
    return result[0], result[1]


def _agree(offers: Offers, name: str) -> bool | None:
    """Whether both ends offered an option; None where that is not known."""
    given = [None if offer is None else bool(getattr(offer, name)) for offer in offers]
    known = [item for item in given if item is not None]
    if any(not item for item in known) and all(offer is None or offer.complete for offer in offers):
        return False
    return True if len(known) == 2 and all(known) else None


def _find_mss(offers: Offers) -> int | None:
    """The largest payload by both offers, less what timestamps take; None where one was not captured."""
    sizes = [None if offer is None else offer.mss_bytes for offer in offers]
    if sizes[0] is None or sizes[1] is None:
        return None
    return max(1, min(sizes[0], sizes[1]) - (TIMESTAMPS_BYTES if _agree(offers, "timestamps") else 0))


def _find_scale(offers: Offers, receiver: int) -> int | None:
    """The window scale of a side: 0 unless both offered one (RFC 7323, section 2.2); None: not known."""
    if any(offer is None or (offer.window_scale is None and not offer.complete) for offer in offers):
        return None
    scales = [offer.window_scale for offer in offers if offer is not None]
    return scales[receiver] if all(scale is not None for scale in scales) else 0


def _find_base_rtt(capture: Capture, opening: Opening, sides: tuple[Segments, Segments]) -> int | None:
    """The shortest round trip from end to end: of the handshake, or the sum of both sides' parts.

    Where one part alone was measured, it is a lower bound of the round trip.
    """
    parts = [measure_base_rtt(sides[index], sides[1 - index], capture.breaks) for index in (0, 1)]
    known = [part for part in parts if part is not None]
    whole = opening.whole_rtt_ns
    if whole is not None and opening.syn_ack_number is not None:
        within = np.searchsorted(capture.breaks, (opening.syn_number or 0, opening.syn_ack_number + 1))
        if within[0] != within[1]:
            whole = None
    if len(known) == 2:
        return min(sum(known), whole) if whole is not None else sum(known)
    return whole if whole is not None else (known[0] if known else None)
