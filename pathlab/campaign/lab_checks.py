"""Contradictions within the ``[lab]`` table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from pathlab.campaign.levels import try_levels
from pathlab.campaign.source_text import (
    Finding,
    Key,
    format_choice,
    read_names,
    read_quantity,
    read_rows,
    read_table,
)
from pathlab.units import parse_bytes

#: What tc-netem(8) cannot do, or does in another way.
NOT_BY_NETEM = ("aqm", "cross", "ecn", "jitter", "reorder")

#: What a key of a link needs to have an effect, and what is wrong without it.
NEEDED = {
    "queue_time": ("rate", "a time has no effect without a rate; expected a rate, or queue in bytes"),
    "reorder": ("reorder_delay", "no packet is reordered without a delay; expected reorder_delay as well"),
    **dict.fromkeys(("cross", "ecn", "aqm"), ("rate", "a queue needs a rate; expected a rate as well")),
}
#: The smallest that a link may have (RFC 8200).
IPV6_MTU_BYTES = 1280


def check_lab(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every contradiction of the table."""
    lab = read_table(data, "lab")
    hosts, routers = read_names(lab, "hosts"), read_names(lab, "routers")
    nodes = [*hosts, *routers]
    for index, name in enumerate(nodes):
        if name in nodes[:index]:
            key: Key = ("lab", "hosts", index)
            if index >= len(hosts):
                key = ("lab", "routers", index - len(hosts))
            yield key, f"'{name}' is listed twice; expected each name once"
    yield from _check_alone(data, hosts, routers)
    if _requests_ipv6(data, hosts) and not lab.get("ipv6"):
        yield ("lab", "ipv6"), "a level of family requests IPv6 in the lab; expected ipv6 = true"
    for index, link in read_rows(lab, "links"):
        key = ("lab", "links", index)
        mtu = link.get("mtu", 1500)
        if lab.get("ipv6") is True and isinstance(mtu, int) and mtu < IPV6_MTU_BYTES:
            yield (
                (*key, "mtu"),
                f"IPv6 needs an MTU of 1280 bytes, not {mtu}; expected at least 1280, or no ipv6",
            )
        yield from _check_ends(key, link, nodes)
        yield from _check_direction(key, link, link)
        reverse = read_table(link, "reverse")
        yield from _check_direction((*key, "reverse"), {**link, **reverse}, reverse)
        if lab.get("backend") == "netem":
            for name in NOT_BY_NETEM:
                if name in link or name in reverse:
                    yield (*key, name), "netem cannot do this; expected another backend, or no such key"


def find_lab_fault(
    source: str, target: str, hosts: Collection[str], joined: Iterable[Collection[str]] | None
) -> str | None:
    """Why two ends, at least one of them in the lab, cannot be measured; ``joined``: the ends of each link.

    None: they can, as far as is known where ``joined`` is not.
    """
    if (source in hosts) != (target in hosts):
        return (
            f"only one of '{source}' and '{target}' is in the lab; expected both ends in the lab, or neither"
        )
    if joined is None or (source != target and target in _list_reached(source, [*joined])):
        return None
    what = f"no link leads from '{source}' to '{target}'"
    return f"{what}; expected a link, or a chain of links, in lab.links"


def _list_reached(start: str, joined: list[Collection[str]]) -> set[str]:
    reached = {start}
    for _ in joined:  # each pass reaches at least one more node, or none is left
        for ends in joined:
            if not reached.isdisjoint(ends):
                reached.update(ends)
    return reached


def _check_alone(data: Mapping[str, Any], hosts: list[str], routers: list[str]) -> Iterator[Finding]:
    """A node without a link, where all links are sound; another check reports the ends of a path."""
    joined: set[Any] = {end for _, path in read_rows(data, "paths") for end in path.values() if end in hosts}
    for _, link in read_rows(read_table(data, "lab"), "links"):
        ends = link.get("between")
        if not isinstance(ends, list) or not all(end in (*hosts, *routers) for end in ends):
            return
        joined.update(ends)
    for kind, nodes in (("hosts", hosts), ("routers", routers)):
        for index, node in enumerate(nodes):
            if node not in joined and read_table(data, "lab").get("links"):
                yield ("lab", kind, index), f"no link leads to '{node}'; expected a link, or no such node"


def _requests_ipv6(data: Mapping[str, Any], hosts: list[str]) -> bool:
    """Whether a path through the lab is to be measured over IPv6."""
    inside = any(path.get("source") in hosts for _, path in read_rows(data, "paths"))
    tables = [read_table(data, "factors"), read_table(data, "control")]
    tables += [row for _, row in read_rows(data, "rows")]
    return inside and any("ipv6" in try_levels("family", table.get("family", [])) for table in tables)


def _check_ends(key: Key, link: Mapping[str, Any], nodes: list[str]) -> Iterator[Finding]:
    ends = link.get("between")
    if not isinstance(ends, list) or len(ends) != 2 or not all(isinstance(end, str) for end in ends):
        return
    for name in ends:
        if name not in nodes:
            wanted = format_choice(name, nodes, "two")
            yield (*key, "between"), f"'{name}' is not a host of the lab{wanted}"
    if ends[0] == ends[1]:
        yield (*key, "between"), f"the link joins '{ends[0]}' with itself; expected two different hosts"


def _check_direction(key: Key, whole: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Finding]:
    """``whole`` is the direction with what it takes over, ``given`` what the file says of it."""
    queue_bytes, mtu = read_quantity(parse_bytes, given.get("queue")), whole.get("mtu", 1500)
    if queue_bytes is not None and isinstance(mtu, int) and queue_bytes < mtu:
        what = f"'{given['queue']}' is less than one packet of {mtu} bytes"
        yield (*key, "queue"), f"{what}; expected a queue of at least one packet (mtu)"
    if "queue" in given and "queue_time" in given:
        yield (*key, "queue_time"), "the queue is given twice; expected queue or queue_time"
    for name, (needed, what) in NEEDED.items():
        if given.get(name, "none") != "none" and needed not in whole:
            yield (*key, name), what
