"""Hosts as they are named for ssh, and what no name or address can look like: known without a look-up."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Any

from pathlab.errors import UsageError

#: The name of this machine, and of the file of hosts that is read where none is named.
LOCAL, HOST_FILE_NAME = "local", "hosts.toml"
LOOPBACK = "127.0.0.1"
HOST_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
PORT_MAX = 65535
DESTINATION_HINT = "give local, a host of hosts.toml, or [user@]host[:port] as for ssh"
ZONE_FAULT = "it is a link-local address: add the interface, such as fe80::1%eth0"
_HOST = r"(?P<host>[^@:\[\]]+|\[[^\]]+\]|[^@:\[\]]*:[^@:\[\]]*:[^@\[\]]*)"
_DESTINATION = re.compile(rf"(?:(?P<user>[^@\s]+)@)?{_HOST}(?::(?P<port>\d{{1,9}}))?")
LABEL_MAX_CHARACTERS = 63
NAME_MAX_CHARACTERS = 253


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """What ssh would connect to; None where it chooses itself."""

    address: str
    user: str | None = None
    port: int | None = None


def parse_destination(text: str) -> Destination:
    """Read ``[user@]host[:port]``; an IPv6 address with a port is in brackets. Raises UsageError."""
    match = _DESTINATION.fullmatch(text)
    fault, port = None, None
    if match is None:
        address = ""
    else:
        address = match["host"].strip("[]")
        port = int(match["port"]) if match["port"] else None
        fault = find_name_fault(address)
        if port is not None and not 1 <= port <= PORT_MAX:
            fault = f"port {port} is out of range; expected 1 to {PORT_MAX}"
    if match is None or fault is not None:
        raise UsageError(f"'{text}' is not a host{f': {fault}' if fault else ''}", hint=DESTINATION_HINT)
    return Destination(address=address, user=match["user"], port=port)


def find_name_fault(name: str) -> str | None:
    """Why a text is neither a name nor an address of a host; None where a look-up may find it.

    Names of ``~/.ssh/config`` pass as well. Lengths: RFC 1035, section 2.3.4.
    """
    refused = re.search(r"[\s/@\"'\x00-\x1f\x7f]", name)
    if refused:
        character = "a space" if refused[0].isspace() else f"{refused[0]!r}"
        return f"{character} cannot be part of a name"
    if ":" in name:
        return find_address_fault(name)
    labels = name.removesuffix(".").split(".")
    if not all(labels):
        return "it has an empty label (nothing before, between or after the dots)" if name else "it is empty"
    if name.startswith("-"):
        return "a name does not start with '-'"
    encoded = []
    for label in labels:
        try:
            encoded.append(label.encode("idna" if not label.isascii() else "ascii"))
        except UnicodeError:
            return f"'{label}' cannot be encoded as a label (IDNA)"
    longest = max(map(len, encoded))
    if longest > LABEL_MAX_CHARACTERS:
        return f"a label has {longest} characters; {LABEL_MAX_CHARACTERS} at most"
    length = sum(map(len, encoded)) + len(encoded) - 1
    if length > NAME_MAX_CHARACTERS:
        return f"it has {length} characters; {NAME_MAX_CHARACTERS} at most"
    if all(label.isdecimal() for label in labels) and len(labels) == 4 and max(map(int, labels)) > 255:
        return "it is not an IPv4 address"
    return None


def find_address_fault(address: str) -> str | None:
    """Why a text is no IPv6 address that a socket can use; None where it is one.

    A link-local address is one of many hosts: each interface has its own (RFC 4007).
    """
    if address.startswith("["):
        return "an IPv6 address has no brackets here"
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return "it is not an IPv6 address"
    return ZONE_FAULT if parsed.is_link_local and parsed.scope_id is None else None


def name_address(place: tuple[Any, ...]) -> str:
    """The address of a socket's place as text, a link-local one with its interface."""
    address, zone = str(place[0]), place[3] if len(place) > 3 else 0
    return address if not zone or "%" in address else f"{address}%{socket.if_indextoname(zone)}"
