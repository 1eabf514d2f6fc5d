"""What limits a capture and what it shows of a connection, as sentences with a stable name each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pathlab.captures.capture import Capture
from pathlab.captures.links import NO_TYPE, format_link
from pathlab.study.captures.captured_tcp import CapturedConnection

#: Kinds of notices about a file that lacks packets.
INCOMPLETE_KINDS = frozenset({"damaged", "limited", "dropped", "incomplete", "untimed", "cut-headers"})


#: Kinds of skipped packets that are named.
KINDS_MAX = 5
#: Names of Ethernet types, by the registry of IEEE.
ETHERNET_TYPES: Mapping[int, str] = {
    NO_TYPE: "not IP",
    0: "IEEE 802.3 (such as spanning tree)",
    0x0800: "IPv4",
    0x86DD: "IPv6",
    0x0806: "ARP",
    0x8035: "RARP",
    0x8100: "VLAN in too many layers",
    0x22F3: "TRILL",
    0x6003: "DECnet",
    0x8137: "IPX",
    0x8808: "Ethernet flow control",
    0x8809: "LACP",
    0x8847: "MPLS without IP",
    0x8848: "MPLS multicast without IP",
    0x8863: "PPPoE discovery",
    0x8864: "PPPoE control",
    0x886D: "Intel teaming",
    0x888E: "EAPOL",
    0x88A2: "ATA over Ethernet",
    0x88A8: "QinQ in too many layers",
    0x88CC: "LLDP",
    0x88E1: "HomePlug",
    0x88E5: "MACsec",
    0x88E7: "provider backbone bridge",
    0x88F7: "PTP",
    0x8906: "FCoE",
    0x8915: "RoCE",
    0x9000: "loopback test",
}
#: Of these, what may carry IP that was not read.
TYPES_WITH_IP = frozenset(
    {0x22F3, 0x8100, 0x8847, 0x8848, 0x88A8, 0x88E5, 0x88E7, 0x894F, 0x9100, 0x9200, 0x9300}
)
#: Names of protocols of IP, by the registry of IANA.
PROTOCOLS: Mapping[int, str] = {
    1: "ICMP",
    2: "IGMP",
    4: "IPv4 in IP",
    41: "IPv6 in IP",
    46: "RSVP",
    47: "GRE",
    50: "ESP (IPsec)",
    51: "AH (IPsec)",
    58: "ICMPv6",
    89: "OSPF",
    103: "PIM",
    112: "VRRP",
    115: "L2TP",
    132: "SCTP",
}
#: Of these, tunnels, which may carry TCP.
TUNNELS = frozenset({4, 41, 47, 50, 51, 115})
#: Tunnels over UDP by the port, of which the registry of IANA has all but 8472, Linux's own for VXLAN.
UDP_TUNNELS = {2152: "GTP-U", 4789: "VXLAN", 6081: "Geneve", 8472: "VXLAN"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureNotice:
    """Something that limits what a capture shows; ``kind`` is a stable name."""

    kind: str
    text: str


def list_end_notices(
    end: str, reasons: Mapping[str, str | None], recorded: Sequence[str]
) -> Iterator[CaptureNotice]:
    """What the trial's ``reasons`` say of the capture of ``end``, and of ends that are not ``recorded``."""
    reason = reasons[end]
    if reason is not None:
        yield CaptureNotice(
            kind="incomplete",
            text=f"The capture lacks packets of the trial: {reason}.",
        )
    if end == recorded[0]:
        for other, reason in reasons.items():
            if reason is not None and other not in recorded:
                yield CaptureNotice(kind="other-end", text=f"The {other}'s end has no capture: {reason}.")


def list_capture_notices(capture: Capture, chosen: CapturedConnection | None) -> Iterator[CaptureNotice]:
    """What limits the capture, then the connection that is shown."""
    notes, counts = capture.notes, capture.counts
    if notes.damage is not None:
        yield CaptureNotice(kind="damaged", text=f"The file is {notes.damage}.")
    if capture.limited:
        yield CaptureNotice(
            kind="limited",
            text=f"Only the first {notes.records:,} packets were read: no more fit the memory.",
        )
    if not notes.records:
        yield CaptureNotice(kind="empty", text="The capture holds no packet.")
    elif not len(capture.columns["numbers"]):
        yield CaptureNotice(kind="no-tcp", text="The capture holds no TCP segment that can be read.")
    yield from _list_skipped(capture)
    if notes.dropped_packets:
        yield CaptureNotice(
            kind="dropped",
            text=f"The capture lost {notes.dropped_packets:,} packets by its own counters. What it did not "
            "see looks like loss.",
        )
    if capture.clock_steps:
        yield CaptureNotice(
            kind="clock-step",
            text=f"The clock was set back {capture.clock_steps:,} times: no RTT spans such a step, and no "
            "throughput is stated across one.",
        )
    unread = ", ".join(map(format_link, sorted(capture.unread_links)))
    for count, kind, what in (
        (capture.untimed, "untimed", "packets have no time, or an impossible one, and were left out"),
        (
            sum(capture.unread_links.values()),
            "link-type",
            f"packets are of a link type that cannot be read: {unread}",
        ),
        (counts.fragments, "fragments", "packets are IP fragments and were left out"),
        (counts.cut, "cut-headers", "packets were captured without their whole header and were left out"),
    ):
        if count:
            yield CaptureNotice(kind=kind, text=f"{count:,} {what}.")
    if capture.cut_options:
        yield CaptureNotice(
            kind="cut-options",
            text=f"{capture.cut_options:,} TCP packets were captured without all of their options: SACK "
            "blocks, timestamps and offers in these are not known. Causes, spurious retransmissions and RTT "
            "may be wrong. Capture at least 128 bytes of each packet.",
        )
    if chosen is not None:
        yield from _list_connection_notices(chosen)


def _list_skipped(capture: Capture) -> Iterator[CaptureNotice]:
    """What was not read, by its Ethernet type or protocol of IP: what may hold TCP, and what cannot."""
    counts = capture.counts
    carried: Counter[str] = Counter()
    for flow in capture.flows:
        ports = (flow.a.port, flow.b.port) if flow.protocol == "UDP" else ()
        for name in {UDP_TUNNELS[port] for port in ports if port in UDP_TUNNELS}:
            carried[name] += flow.all_packets
    hidden = [(count, name) for name, count in carried.items()]
    others: list[tuple[int, str]] = []
    kinds = ((counts.not_ip, ETHERNET_TYPES, TYPES_WITH_IP), (counts.other_protocols, PROTOCOLS, TUNNELS))
    for result, names, holders in kinds:
        for number, count in result.items():
            written = f"Ethernet type 0x{number:04x}" if result is counts.not_ip else f"IP protocol {number}"
            (hidden if number in holders else others).append((count, names.get(number, written)))
    for parts, kind, text in (
        (hidden, "encapsulated", "packets are encapsulated and were not read; they may hold TCP"),
        (others, "skipped", "packets are neither TCP nor UDP and were left out"),
    ):
        if parts:
            ordered = sorted(parts, reverse=True)
            named = ", ".join(f"{count:,} {name}" for count, name in ordered[:KINDS_MAX])
            rest = sum(count for count, _ in ordered[KINDS_MAX:])
            more = f", {rest:,} of other kinds" if rest else ""
            yield CaptureNotice(
                kind=kind, text=f"{sum(count for count, _ in parts):,} {text}: {named}{more}."
            )


def _list_connection_notices(connection: CapturedConnection) -> Iterator[CaptureNotice]:
    trace = connection.main.trace
    if connection.is_one_sided:
        yield CaptureNotice(
            kind="one-direction",
            text="Only one direction of the connection was captured: RTT, bytes in flight and the causes of "
            "retransmissions are not known.",
        )
    if connection.opening.syn_number is None or connection.opening.syn_ack_number is None:
        yield CaptureNotice(
            kind="no-handshake",
            text="The capture does not hold both ends' SYN. MSS and window scale are not known, so "
            "windows and super-packets are not either.",
        )
    copies = sum(direction.trace.duplicates for direction in connection.directions)
    if copies:
        packets = copies + sum(direction.trace.packets for direction in connection.directions)
        yield CaptureNotice(
            kind="copies",
            text=f"{copies:,} of {packets:,} packets are copies of others and count nowhere: the capture was "
            "made on a bridge or on several interfaces, or the network duplicated them.",
        )
    missed = trace.unseen_bytes + trace.unseen_acked_bytes
    if missed:
        yield CaptureNotice(
            kind="missed",
            text=f"{missed:,} bytes were sent that the capture did not see"
            + (f", {trace.unseen_acked_bytes:,} of them acknowledged" if trace.unseen_acked_bytes else "")
            + ": it lost packets, or they were lost before it.",
        )
    if trace.clock_steps:
        yield CaptureNotice(
            kind="clock-step",
            text=f"By the sender's timestamps the capture's clock was set forward {trace.clock_steps:,} times"
            ": no RTT spans such a step, and no throughput is stated across one.",
        )
    if trace.super_packets:
        yield CaptureNotice(
            kind="super-packets",
            text=f"{trace.super_packets:,} of {trace.data_packets:,} data packets are larger than the MSS: "
            "super-packets (GSO, TSO, GRO), captured before they were split or after they were merged. "
            "Extents count each as one packet.",
        )
    if trace.undecided_late:
        yield CaptureNotice(
            kind="undecided",
            text=f"{trace.undecided_late:,} late segments are reordered or retransmitted: neither IP "
            "identifications, timestamps nor times decide.",
        )
