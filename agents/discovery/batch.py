"""What a controller requests of the prober: options and batches, checked, every mistake by its name."""

from __future__ import annotations

import ipaddress
import random
import socket
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from pathlab.agents import limits
from pathlab.agents.discovery.flow import Target
from pathlab.agents.discovery.packets import smallest_packet_bytes

METHODS = ("udp", "icmp", "tcp")
_ADD_ZONE = "add one of 'ip link', such as fe80::1%eth0"
OPTIONS = {"address": str, "method": str, "family": int, "flows": int, "port": int, "source_port": int}
FIELDS = {
    "batch": int,
    "ttls": list,
    "sizes_bytes": list,
    "repeats": int,
    "flows": list,
    "seed": int,
    "gap_ns": int,
    "timeout_ns": int,
}


class Batch(NamedTuple):
    """Probes to be sent: each TTL with each size ``repeats`` times on each flow, in a seeded random order.

    ``seed`` -1: in the order given. A flow has one probe under way at a time and waits ``gap_ns`` from a
    probe's end to the next. Sizes are those of IP packets.
    """

    number: int
    ttls: Tuple[int, ...]
    sizes_bytes: Tuple[int, ...]
    repeats: int
    flows: Tuple[int, ...]
    seed: int
    gap_ns: int
    timeout_ns: int

    def order(self, flow: int) -> List[Tuple[int, int]]:
        """TTL and size of each probe of a flow, in the order of sending."""
        plan = [(ttl, size) for _ in range(self.repeats) for ttl in self.ttls for size in self.sizes_bytes]
        if self.seed >= 0:
            random.Random(self.seed * limits.MAX_DISCOVERY_FLOWS + flow).shuffle(plan)
        return plan


def read_options(given: Mapping[str, Any]) -> "Tuple[Target, int]":
    """The target, its name resolved on this host, and the number of flows. ValueError names the mistake."""
    _check_kinds(given, OPTIONS, "option")
    if given["method"] not in METHODS:
        raise ValueError(f"option 'method': '{given['method']}' is none of {', '.join(METHODS)}")
    if given["family"] not in (0, 4, 6):
        raise ValueError(f"option 'family': {given['family']} is none of 4, 6, and 0 for either")
    _check_range(given["flows"], "flows", 1, limits.MAX_DISCOVERY_FLOWS)
    _check_range(given["port"], "port", 1, 65535)
    _check_range(given["source_port"], "source_port", 1024, 65535 - limits.MAX_DISCOVERY_FLOWS)
    address = resolve_target(given["address"], given["family"])
    target = Target(
        address=address, method=given["method"], port=given["port"], source_port=given["source_port"]
    )
    return target, given["flows"]


def resolve_target(name: str, family: int) -> str:
    """The first numeric address of a name, as this host resolves it. ValueError when it has none."""
    families = {0: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}
    try:
        result = socket.getaddrinfo(name, None, families[family], socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        if ":" in name and "%" in name:
            raise ValueError(f"'{name}' names no interface of this host: {_ADD_ZONE}") from error
        raise ValueError(f"cannot resolve '{name}': {getattr(error, 'strerror', None) or error}") from error
    place = result[0][4]
    address = str(place[0])
    if len(place) == 4 and place[3] and "%" not in address:  # the zone of a link-local address
        address += f"%{socket.if_indextoname(place[3])}"
    bare = ipaddress.ip_address(address.partition("%")[0])
    if bare.version == 6 and bare.is_link_local and "%" not in address:
        raise ValueError(f"'{name}' is a link-local address without an interface: {_ADD_ZONE}")
    if bare.is_multicast:
        raise ValueError(f"'{name}' is a multicast address, to which no path leads")
    return address


def read_batch(given: Mapping[str, Any], target: Target, flows: int) -> Batch:
    """A checked batch with its times clamped. ValueError names the field that cannot be used."""
    _check_kinds(given, FIELDS, "field")
    smallest = smallest_packet_bytes(target.method, target.version)
    for name, low, high in (("ttls", 1, 255), ("sizes_bytes", smallest, 65535), ("flows", 0, flows - 1)):
        if not given[name]:
            raise ValueError(f"field '{name}' is empty")
        for value in given[name]:
            if isinstance(value, bool) or not isinstance(value, int):
                raise ValueError(f"field '{name}' must hold integers")
            _check_range(value, name, low, high)
    if target.method == "tcp" and set(given["sizes_bytes"]) != {smallest}:
        raise ValueError(f"field 'sizes_bytes': a SYN has {smallest} bytes and no other size")
    if len(set(given["flows"])) != len(given["flows"]):
        raise ValueError("field 'flows' names a flow twice")
    _check_range(given["repeats"], "repeats", 1, limits.MAX_BATCH_PROBES)
    count = len(given["ttls"]) * len(given["sizes_bytes"]) * given["repeats"] * len(given["flows"])
    if count > limits.MAX_BATCH_PROBES:
        raise ValueError(f"{count} probes in a batch; the most is {limits.MAX_BATCH_PROBES}")
    return Batch(
        number=given["batch"],
        ttls=tuple(given["ttls"]),
        sizes_bytes=tuple(given["sizes_bytes"]),
        repeats=given["repeats"],
        flows=tuple(given["flows"]),
        seed=given["seed"],
        gap_ns=min(max(given["gap_ns"], limits.MIN_PROBE_GAP_NS), limits.MAX_PROBE_GAP_NS),
        timeout_ns=min(max(given["timeout_ns"], limits.MIN_PROBE_TIMEOUT_NS), limits.MAX_PROBE_TIMEOUT_NS),
    )


def _check_kinds(given: Mapping[str, Any], kinds: Mapping[str, type], what: str) -> None:
    unknown = sorted(set(given) - set(kinds))
    if unknown:
        raise ValueError(f"unknown {what} '{unknown[0]}'")
    words: Dict[type, str] = {str: "a text", int: "an integer", list: "a list"}
    for name, kind in kinds.items():
        if name not in given:
            raise ValueError(f"{what} '{name}' is missing")
        if isinstance(given[name], bool) or not isinstance(given[name], kind):
            raise ValueError(f"{what} '{name}' must be {words[kind]}")


def _check_range(value: int, name: str, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"'{name}': {value} is not within {low} to {high}")
