"""How a connection began: what both ends offered, how long it took, and which end the capture is near."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from pathlab.analysis.packets.segments import ACK, CWR, ECE, SYN, Segments


class CapturePosition(StrEnum):
    """Where on the path a capture was made, as seen from one direction's sender."""

    NEAR_SENDER = "near-sender"
    NEAR_RECEIVER = "near-receiver"
    BETWEEN = "between"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first packets of a connection; a number or time is None where the packet was not captured.

    ``client``: 0 where the first direction sent the SYN, 1 where the second did, None: no SYN was captured.
    ``syn_number`` and ``syn_ack_number``: packets. ``syns``: SYN segments of the client, more than 1 are
    retransmissions. ``to_server_ns``: from the SYN to the SYN-ACK: the round trip from the capture to the
    server; ``to_client_ns``: from the SYN-ACK to its acknowledgement. ``ecn``: negotiated (RFC 3168, section
    6.1.1), None: not known.
    """

    client: int | None
    syn_number: int | None = None
    syn_ack_number: int | None = None
    syns: int = 0
    to_server_ns: int | None = None
    to_client_ns: int | None = None
    ecn: bool | None = None

    @property
    def whole_rtt_ns(self) -> int | None:
        """The round trip from end to end."""
        if self.to_server_ns is None or self.to_client_ns is None:
            return None
        return self.to_server_ns + self.to_client_ns


def read_opening(there: Segments, back: Segments) -> Opening:
    """The handshake of a connection (RFC 9293, section 3.5), as far as it was captured."""
    sides = (there, back)
    is_syn = [side.flags & (SYN | ACK) == SYN for side in sides]
    is_syn_ack = [side.flags & (SYN | ACK) == SYN | ACK for side in sides]
    client = next((index for index in (0, 1) if is_syn[index].any()), None)
    if client is None:
        client = next((1 - index for index in (0, 1) if is_syn_ack[index].any()), None)
    if client is None:
        return Opening(client=None)
    ours, theirs = sides[client], sides[1 - client]
    syns, syn_acks = np.flatnonzero(is_syn[client]), np.flatnonzero(is_syn_ack[1 - client])
    syn = int(syns[0]) if len(syns) else None
    syn_ack = int(syn_acks[0]) if len(syn_acks) else None
    ecn = to_server = to_client = None
    if syn is not None and syn_ack is not None:
        asked = int(ours.flags[syn]) & (ECE | CWR) == ECE | CWR
        ecn = asked and int(theirs.flags[syn_ack]) & (ECE | CWR) == ECE
        if len(syns) == 1 and len(syn_acks) == 1:  # else it is not known which of them was answered
            to_server = int(theirs.times_ns[syn_ack] - ours.times_ns[syn])
    if syn_ack is not None and len(syn_acks) == 1:
        after = (ours.numbers > theirs.numbers[syn_ack]) & (ours.flags & (ACK | SYN) == ACK)
        if after.any():
            to_client = int(ours.times_ns[int(np.argmax(after))] - theirs.times_ns[syn_ack])
    return Opening(
        client=client,
        syn_number=None if syn is None else int(ours.numbers[syn]),
        syn_ack_number=None if syn_ack is None else int(theirs.numbers[syn_ack]),
        syns=len(syns),
        to_server_ns=to_server if to_server is None or to_server >= 0 else None,
        to_client_ns=to_client if to_client is None or to_client >= 0 else None,
        ecn=ecn,
    )


def find_position(opening: Opening, sender: int) -> CapturePosition:
    """Near which end of the direction from ``sender`` (0 or 1) the capture was made.

    It is near an end where that end takes less than a quarter of the handshake's round trip.
    """
    whole = opening.whole_rtt_ns
    if not whole or opening.to_server_ns is None or opening.to_client_ns is None:
        return CapturePosition.UNKNOWN
    own_part = opening.to_client_ns if opening.client == sender else opening.to_server_ns
    if own_part < whole / 4:
        return CapturePosition.NEAR_SENDER
    return CapturePosition.NEAR_RECEIVER if own_part > whole * 3 / 4 else CapturePosition.BETWEEN


def split_connections(there: Segments, back: Segments) -> Iterator[tuple[Segments, Segments]]:
    """The connections of a flow whose ports were used again: each begins at a SYN with its own number."""
    sides = (there, back)
    begins = []
    for side in sides:
        rows = np.flatnonzero(side.flags & (SYN | ACK) == SYN)
        fresh = np.concatenate(([True], side.sequences[rows[1:]] != side.sequences[rows[:-1]]))
        begins.append(side.numbers[rows[fresh[: len(rows)]]])
    first = min((int(side.numbers[0]) for side in sides if len(side)), default=0)
    # Both ends may open at once (RFC 9293, figure 8): the first SYN of the second end begins nothing then.
    openers = [begin.tolist() for begin in begins]
    if openers[0] and openers[1]:
        late = 0 if openers[0][0] > openers[1][0] else 1
        other = sides[1 - late]
        between = np.searchsorted(other.numbers, (openers[1 - late][0], openers[late][0]))
        if not (other.flags[between[0] : between[1]] & SYN == 0).any():
            openers[late] = openers[late][1:]
    cuts = sorted({first, *openers[0], *openers[1]})
    edges = [[*np.searchsorted(side.numbers, cuts).tolist(), len(side)] for side in sides]
    for index in range(len(cuts)):
        yield there.slice(*edges[0][index : index + 2]), back.slice(*edges[1][index : index + 2])
