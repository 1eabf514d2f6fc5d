"""The factors of messages."""

from __future__ import annotations

from operator import eq

from pathlab.campaign import native_option as native
from pathlab.campaign.factor import Factor
from pathlab.campaign.factor_types import SWITCH, Encoding, Placement, Wait
from pathlab.campaign.native_option import NativeOption
from pathlab.campaign.quantities import BYTES, COUNT, TIME, Bounds
from pathlab.units import SECOND_NS

MESSAGE_FACTORS = (
    Factor(
        "message_bytes",
        Bounds(BYTES, 4, 64 * 1024, "none"),
        "Size of a message: the sender numbers messages, the receiver counts them and checks their order; "
        "`none` carries a stream of bytes.",
        native=NativeOption("message-bytes", "sender", read=native.read_key("messages", "bytes"), grants=eq),
    ),
    Factor(
        "reply",
        SWITCH,
        "Whether the receiver returns each message, which measures its round trip.",
        default=False,
        native=NativeOption(
            "reply", "sender", native.write_switch, native.read_key("messages", "replies"), grants=eq
        ),
    ),
    Factor(
        "message_rate_per_s",
        Bounds(COUNT, 1, 100_000_000, "max"),
        "Messages offered per second, all streams together; `max` sends as fast as possible, with `reply` "
        "one at a time.",
        native=NativeOption("messages-per-s", "sender", read=native.read_key("messages", "offered_per_s")),
    ),
    Factor(
        "batch_bytes",
        Bounds(BYTES, 1, 512 * 1024, "none"),
        "Size up to which messages are collected and sent in one call; `none` sends each in its own call.",
        native=NativeOption("batch-bytes", "sender", read=native.read_key("messages", "batch_bytes")),
    ),
    Factor(
        "batch_min_delay_ns",
        Bounds(TIME, 1000, SECOND_NS, "none"),
        "How long a batch waits for further messages, at an offered rate.",
        native=NativeOption(
            "batch-min-delay-ns", "sender", read=native.read_key("messages", "batch_min_delay_ns")
        ),
    ),
    Factor(
        "batch_max_delay_ns",
        Bounds(TIME, 1000, SECOND_NS, "none"),
        "Age of its first message at which a batch is sent in any case, at an offered rate.",
        native=NativeOption(
            "batch-max-delay-ns", "sender", read=native.read_key("messages", "batch_max_delay_ns")
        ),
    ),
    Factor(
        "cork",
        SWITCH,
        "Whether the kernel waits with the rest of messages until a segment is full (TCP_CORK).",
        default=False,
        native=NativeOption("cork", "sender", native.write_switch, native.read_key("messages", "cork")),
    ),
    Factor(
        "encoding",
        Encoding,
        "Content of a message: a number and bytes, or these serialised and parsed as Protocol Buffers.",
        default="fixed",
        native=NativeOption(
            "encoding",
            "sender",
            lambda level: None if level == "fixed" else level,
            native.read_key("messages", "encoding"),
        ),
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
            "wait",
            "both",
            lambda level: None if level == "block" else level,
            native.read_key("messages", "wait"),
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
