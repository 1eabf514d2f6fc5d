"""What the native engine refuses of messages, before any host is touched: as its flags do, and a little more.

The rest are combinations in which a factor would have no effect. The engine's own words are in
native/src/messages/settings.c and native/src/messages/message_flow.c.
"""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.campaign.cell import PlannedCell
from pathlab.campaign.engine_rules import EngineLimit, Refusal
from pathlab.campaign.model import MeasuredPath

#: Between two programs of one host, admitted by a Unix socket.
LOCAL_TRANSPORTS = frozenset({"unix", "unix-datagram", "pipe", "shared-memory", "eventfd"})

_BY_IP = "transport == 'tcp' or transport == 'mptcp' or transport == 'udp'"
_BY_TCP = "transport == 'tcp' or transport == 'mptcp'"
_APART = "placement == 'host' or placement == 'process'"
_NO_DATAGRAM = "transport != 'udp' and transport != 'unix-datagram'"
_RATED = "batch != 'none' and message_rate != 'max'"

#: Factor at fault, what is refused, and the constraint that every combination meets.
_LIMITS = (
    # Of messages alone.
    ("reply", "reply without message", "message != 'none' or reply == false"),
    ("message_rate", "message_rate without message", "message != 'none' or message_rate == 'max'"),
    ("batch", "batch without message", "message != 'none' or batch == 'none'"),
    ("cork", "cork without message", "message != 'none' or cork == false"),
    ("encoding", "encoding without message", "message != 'none' or encoding == 'fixed'"),
    ("placement", "placement without message", "message != 'none' or placement == 'host'"),
    ("wait", "wait without message", "message != 'none' or wait == 'block'"),
    ("priority", "priority without message", "message != 'none' or priority == 'none'"),
    (
        "transport",
        "this transport without message",
        f"message != 'none' or {_BY_IP} or transport == 'unix'",
    ),
    # Of streams of bytes alone.
    (
        "direction",
        "messages in direction 'reverse' or 'both'",
        "message == 'none' or direction == 'forward'",
    ),
    ("streams", "messages on more than 256 streams", "message == 'none' or streams <= 256"),
    ("write", "write with message, whose size is the write's", "message == 'none' or write == 'auto'"),
    ("pacing", "pacing with message, which has message_rate", "message == 'none' or pacing == 'none'"),
    ("zero_copy", "zero_copy with message", "message == 'none' or zero_copy == false"),
    # What excludes each other.
    ("transfer", "transfer with message_rate", "transfer == 'none' or message_rate == 'max'"),
    (
        "transfer",
        "a transfer of less than a message for each stream",
        "transfer == 'none' or message == 'none' or transfer >= streams * message",
    ),
    (
        "batch_min_delay",
        "batch_min_delay without batch and message_rate",
        f"batch_min_delay == 'none' or ({_RATED})",
    ),
    (
        "batch_max_delay",
        "batch_max_delay without batch and message_rate",
        f"batch_max_delay == 'none' or ({_RATED})",
    ),
    (
        "batch_min_delay",
        "a batch_min_delay above batch_max_delay",
        "batch_min_delay == 'none' or batch_max_delay == 'none' or batch_min_delay <= batch_max_delay",
    ),
    ("reply", "reply within one process", f"reply == false or {_APART}"),
    ("transport", "a transport within one process", f"transport == 'tcp' or {_APART}"),
    ("cpus_receiver", "cores of each end within one process", f"cpus_sender == cpus_receiver or {_APART}"),
    ("batch", "batch in placement 'fused'", "batch == 'none' or placement != 'fused'"),
    ("message_rate", "message_rate in placement 'fused'", "message_rate == 'max' or placement != 'fused'"),
    (
        "batch",
        "batches above 32 KiB with reply and wait 'poll'",
        "batch == 'none' or batch <= 32KiB or reply == false or wait == 'block'",
    ),
    (
        "message",
        "datagrams above 65000 bytes",
        f"message == 'none' or message <= 65000 or ({_NO_DATAGRAM})",
    ),
    ("batch", "datagrams above 65000 bytes", f"batch == 'none' or batch <= 65000 or ({_NO_DATAGRAM})"),
    # Socket options that a transport does not have.
    ("cork", "cork by other transports than TCP", f"cork == false or {_BY_TCP}"),
    ("congestion", "congestion without TCP", f"congestion == 'default' or {_BY_TCP}"),
    ("mss", "mss without TCP", f"mss == 'auto' or {_BY_TCP}"),
    ("no_delay", "no_delay without TCP", f"no_delay == false or ({_APART}) and ({_BY_TCP})"),
    (
        "window",
        "window with pipes, queues and Unix datagrams",
        f"window == 'auto' or ({_APART}) and ({_BY_IP} or transport == 'unix')",
    ),
    ("dscp", "dscp without IP", f"dscp == 'none' or ({_APART}) and ({_BY_IP})"),
)

MESSAGE_LIMITS = tuple(
    EngineLimit(what=what, constraint=constraint, expected=f'where = "{constraint}"', factor=factor)
    for factor, what, constraint in _LIMITS
)


def _check_sinks(path: MeasuredPath, cell: PlannedCell) -> Iterator[str]:
    """Several receivers are of messages alone, over IP, and each has as many streams as the others."""
    receivers = 1 + len(path.sinks)
    if cell.message_bytes is None:
        yield "they receive messages alone; expected message in [factors]"
    if cell.transport not in ("tcp", "mptcp", "udp") or cell.is_on_one_host:
        yield "they are other hosts; expected transport 'tcp', 'mptcp' or 'udp' and placement 'host'"
    if cell.streams % receivers:
        yield f"{cell.streams} streams cannot be shared evenly by {receivers} hosts; expected a multiple"
    if cell.transfer_bytes is not None:
        yield "transfer is not shared; expected no transfer"


def check_message_path(path: MeasuredPath, cell: PlannedCell) -> Iterator[Refusal]:
    """What a path and a combination request that exclude each other."""
    if cell.message_bytes is not None and path.connect_from == "receiver":
        text = 'messages are sent by the end that connects; expected connect_from = "sender"'
        yield Refusal(path_key="connect_from", text=text)
    for text in _check_sinks(path, cell) if path.sinks else ():
        yield Refusal(path_key="sinks", text=text)
    if cell.transport in LOCAL_TRANSPORTS and not cell.is_on_one_host and path.source != path.destination:
        what = f"{cell.transport} joins two programs of one host"
        expected = "placement 'process', or a path from a host to itself"
        yield Refusal(factor="transport", text=f"{what}; expected {expected}")
