"""The factors of UDP flows, whose datagrams are counted one by one."""

from __future__ import annotations

from operator import eq

from pathlab.campaign import native_option as native
from pathlab.campaign.factor import Factor
from pathlab.campaign.factor_types import SWITCH
from pathlab.campaign.native_option import NativeOption
from pathlab.campaign.quantities import BYTES, Bounds

DATAGRAM_FACTORS = (
    Factor(
        "datagram_bytes",
        Bounds(BYTES, 32, 65507, "auto"),
        "Payload of each datagram of a UDP flow; `auto` is the largest that the path's MTU carries in one "
        "packet.",
        native=NativeOption(
            "datagram-bytes", "connecting", read=native.read_key("datagrams", "bytes"), grants=eq
        ),
    ),
    Factor(
        "gso",
        SWITCH,
        "Whether the sender of a UDP flow hands several datagrams to the kernel as one super-packet, which "
        "the stack or the NIC splits (UDP_SEGMENT).",
        default=False,
        native=NativeOption(
            "gso", "connecting", native.write_switch, native.read_key("datagrams", "gso"), eq
        ),
    ),
    Factor(
        "gro",
        SWITCH,
        "Whether the receiver of a UDP flow takes several datagrams of a stream at once (UDP_GRO).",
        default=False,
        native=NativeOption(
            "gro",
            "receiving",
            native.write_switch,
            native.read_key("datagrams", "gro"),
            eq,
            is_of_one_end=True,
        ),
    ),
)
