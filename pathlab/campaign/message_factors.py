"""The factors of messages."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq
from typing import Any

from pathlab.campaign import native_option as native
from pathlab.campaign.factor import Factor
from pathlab.campaign.factor_types import SWITCH, Encoding, Placement, Wait
from pathlab.campaign.native_option import NativeOption
from pathlab.campaign.quantities import BYTES, COUNT, TIME, Bounds
from pathlab.units import SECOND_NS


def _of_sender(
    flag: str,
    key: str,
    write: Callable[[Any], Any] = lambda level: level,
    grants: Callable[[str, str], bool] | None = None,
) -> NativeOption:
    """An option of the sending end, whose ``ready`` states it among those of its messages."""
    return NativeOption(flag, "sender", write, native.read_key("messages", key), grants)


MESSAGE_FACTORS = (
    Factor(
        "message_bytes",
        Bounds(BYTES, 4, 64 * 1024, "none"),
        "Size of a message: the sender numbers messages, the receiver counts them and checks their order; "
        "`none` carries a stream of bytes.",
        native=_of_sender("message-bytes", "bytes", grants=eq),
    ),
    Factor(
        "reply",
        SWITCH,
        "Whether the receiver returns each message, which measures its round trip.",
        default=False,
        native=_of_sender("reply", "replies", native.write_switch, eq),
    ),
    Factor(
        "message_rate_per_s",
        Bounds(COUNT, 1, 100_000_000, "max"),
        "Messages offered per second, all streams together; `max` sends as fast as possible, with `reply` "
        "one at a time.",
        native=_of_sender("messages-per-s", "offered_per_s"),
    ),
    Factor(
        "batch_bytes",
        Bounds(BYTES, 1, 512 * 1024, "none"),
        "Size up to which messages are collected and sent in one call; `none` sends each in its own call.",
        native=_of_sender("batch-bytes", "batch_bytes"),
    ),
    Factor(
        "batch_min_delay_ns",
        Bounds(TIME, 1000, SECOND_NS, "none"),
        "How long a batch waits for further messages, at an offered rate.",
        native=_of_sender("batch-min-delay-ns", "batch_min_delay_ns"),
    ),
    Factor(
        "batch_max_delay_ns",
        Bounds(TIME, 1000, SECOND_NS, "none"),
        "Age of its first message at which a batch is sent in any case, at an offered rate.",
        native=_of_sender("batch-max-delay-ns", "batch_max_delay_ns"),
    ),
    Factor(
        "cork",
        SWITCH,
        "Whether the kernel waits with the rest of messages until a segment is full (TCP_CORK).",
        default=False,
        native=_of_sender("cork", "cork", native.write_switch),
    ),
    Factor(
        "encoding",
        Encoding,
        "Content of a message: a number and bytes, or these serialised and parsed as Protocol Buffers.",
        default="fixed",
        native=_of_sender("encoding", "encoding", native.write_unless("fixed")),
    ),
    Factor(
        "placement",
        Placement,
        "Where messages are received: on the destination `host`, or on the source host by another `process`, "
        "another thread (`threaded`) or a function that the sender calls (`fused`).",
        default="host",
        native=NativeOption(
            "placement",
            "sender",
            lambda level: level if level in ("threaded", "fused") else None,
            native.read_placement,
        ),
    ),
    Factor(
        "wait",
        Wait,
        "How both ends wait for messages: asleep in the kernel, or by polling.",
        default="block",
        native=NativeOption(
            "wait", "both", native.write_unless("block"), native.read_key("messages", "wait")
        ),
    ),
    Factor(
        "priority",
        Bounds(COUNT, 1, 98, "none"),
        "Real-time priority of the threads at both ends (SCHED_FIFO), which needs the permission to set it; "
        "`none` is ordinary scheduling.",
        native=NativeOption("priority", read=native.read_priority, grants=eq),
    ),
)
