"""What a lab's links leave for data between two hosts: the known value that fits are compared with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.payload import (
    Segment,
    find_ip_version,
    full_datagram,
    full_segment,
    payload_rate,
)
from pathlab.campaign.multipath_factors import SINGLE_LINKS
from pathlab.store.flags import Flag
from pathlab.study.base.selection import Sample
from pathlab.study.base.trials import LAB

MPTCP, NO_BOND = "mptcp", "none"
#: Flag of a trial whose ends fell back from MPTCP to TCP.
MTU_BYTES = 1500  # of a link that states none


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What the payload rate of a link depends on besides the link: how large packets are and what they hold.

    ``mss_bytes`` is the data of the largest segment that was seen; None: not known, so that packets are taken
    to be as large as the link lets them be. ``datagram_bytes`` is the payload of each datagram of a UDP flow.
    """

    transport: str | None = None
    ip_version: int = 4
    mss_bytes: int | None = None
    datagram_bytes: int | None = None

    @classmethod
    def of(
        cls,
        addresses: Iterable[str | None],
        mss_bytes: Iterable[float | None],
        *,
        transport: str | None = None,
        family: str | None = None,
        datagram_bytes: Iterable[float | None] = (),
    ) -> Traffic:
        """That of some trials, by what is stored of each; ``family`` where it was set."""
        segments, datagrams = (
            max((int(size) for size in sizes if size is not None and size > 0), default=None)
            for sizes in (mss_bytes, datagram_bytes)
        )
        version = max((find_ip_version(address) for address in addresses if address), default=4)
        if family in ("ipv4", "ipv6"):
            version = 6 if family == "ipv6" else 4
        return cls(transport=transport, ip_version=version, mss_bytes=segments, datagram_bytes=datagrams)


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckLink:
    """The narrowest link of a chain in one direction; its rate counts IP packets, headers included."""

    rate_bits_per_s: int
    mtu_bytes: int
    traffic: Traffic = Traffic()

    @property
    def segment(self) -> Segment:
        """The full segment, or the datagram, of this traffic on this link."""
        traffic = self.traffic
        if traffic.datagram_bytes is not None:
            return full_datagram(
                self.mtu_bytes, datagram_bytes=traffic.datagram_bytes, ip_version=traffic.ip_version
            )
        return full_segment(
            self.mtu_bytes,
            mss_bytes=traffic.mss_bytes,
            ip_version=traffic.ip_version,
            mptcp=traffic.transport == MPTCP,
        )

    @property
    def data_bits_per_s(self) -> float:
        """The payload rate: what is left for data."""
        return payload_rate(self.rate_bits_per_s, self.segment)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectLink:
    """What the lab set for the only link between the two ends of a path, in the path's direction."""

    bottleneck: BottleneckLink
    delay_ns: float  # one way
    queue_bytes: float | None

    @property
    def full_queue_ns(self) -> float | None:
        """How long a full queue delays a packet; None without a limit."""
        return self.queue_bytes * 8e9 / self.bottleneck.rate_bits_per_s if self.queue_bytes else None


def find_bottleneck(environment: Mapping[str, Any], sample: Sample) -> BottleneckLink | None:
    """The line under the trials of a condition, as their transport, IP version and segments meet it.

    None without a lab, and for what others measured between hosts of such names, which crossed no link of it.
    """
    condition = sample.condition
    if condition.medium != LAB:
        return None
    traffic = read_traffic(sample)
    return find_narrowest_link(environment, *condition.flow_ends, traffic, bond=condition.get("bond"))


def read_traffic(sample: Sample) -> Traffic:
    """The traffic of a condition's trials."""
    frame = sample.table.frame
    segments, datagrams = (sample.get(name) for name in ("mss_bytes", "datagram_bytes"))
    refused = bool(sample.table.flagged(Flag.TRANSPORT_NOT_GRANTED)[sample.places].any())
    addresses = frame["destination_address"].iloc[sample.places] if "destination_address" in frame else None
    return Traffic.of(
        () if addresses is None else [str(item) for item in addresses.dropna().unique()],
        segments[~np.isnan(segments)].tolist(),
        transport=None if refused else sample.condition.get("transport"),
        family=sample.condition.get("family"),
        datagram_bytes=datagrams[~np.isnan(datagrams)].tolist(),
    )


def find_narrowest_link(
    environment: Mapping[str, Any],
    source: str,
    destination: str,
    traffic: Traffic | None = None,
    *,
    bond: str | None = None,
) -> BottleneckLink | None:
    """The narrowest link from source to destination of the lab that a run had; None without one.

    ``environment`` is the campaign record's. The chain is the one with the fewest links, as the lab routes;
    MPTCP takes all links between two neighbours together, and so do the levels of ``bond`` that are no
    link's number.
    """
    traffic = traffic or Traffic()
    lab = environment.get("lab")
    links = lab.get("links") if isinstance(lab, Mapping) else None
    if not isinstance(links, list) or environment.get("fallback"):
        return None
    chain = _find_chain(links, source, destination)
    beside = _choose_parallel(links, (source, destination), bond) if len(chain) == 1 else []
    if len(beside) == 1:
        chain = [(beside[0], beside[0]["between"][0] == source)]
    rated = [
        BottleneckLink(rate_bits_per_s=int(rate), mtu_bytes=_read_mtu(link), traffic=traffic)
        for link, forward in chain
        if (rate := _direction(link, forward).get("rate_bits_per_s"))
    ]
    together = traffic.transport == MPTCP or bond not in (None, NO_BOND)
    if together and len(beside) > 1:
        return _add_parallel(beside, (source, destination), traffic)
    return min(rated, key=lambda line: line.data_bits_per_s, default=None)


def find_direct_link(environment: Mapping[str, Any], sample: Sample) -> DirectLink | None:
    """The lab's link under the trials of a condition.

    None without a lab or a rate, where no single link joins the ends, and for what was measured elsewhere.
    """
    lab = environment.get("lab")
    if sample.condition.medium != LAB or not isinstance(lab, Mapping):
        return None
    source, destination = sample.condition.flow_ends
    links = lab.get("links") or ()
    parallel = _choose_parallel(
        [{**link, "between": link.get("between", [source, destination])} for link in links],
        (source, destination),
        sample.condition.get("bond"),
    )
    if len(parallel) != 1:
        return None
    link = parallel[0]
    forward = link.get("between", [source])[0] == source
    there = _direction(link, forward)
    if not there.get("rate_bits_per_s"):
        return None
    return DirectLink(
        bottleneck=BottleneckLink(
            rate_bits_per_s=there["rate_bits_per_s"], mtu_bytes=_read_mtu(link), traffic=read_traffic(sample)
        ),
        delay_ns=there.get("delay_ns", 0),
        queue_bytes=there.get("queue_bytes"),
    )


def _read_mtu(link: Mapping[str, Any]) -> int:
    return int(link.get("mtu_bytes") or MTU_BYTES)


def _choose_parallel(links: Iterable[Any], ends: tuple[str, str], bond: str | None) -> list[Any]:
    """The links between two neighbours that a level of ``bond`` uses."""
    beside = [link for link in links if set(link.get("between") or ()) == set(ends)]
    number = SINGLE_LINKS.get(bond or "")
    return beside if number is None else beside[number - 1 : number]


def _add_parallel(beside: list[Any], ends: tuple[str, str], traffic: Traffic) -> BottleneckLink | None:
    """Links between two neighbours as one; None where one of them has no rate."""
    given = [_direction(link, link["between"][0] == ends[0]).get("rate_bits_per_s") for link in beside]
    rates = [int(rate) for rate in given if rate]
    if not rates or len(rates) < len(beside):
        return None
    mtu_bytes = min(_read_mtu(link) for link in beside)
    return BottleneckLink(rate_bits_per_s=sum(rates), mtu_bytes=mtu_bytes, traffic=traffic)


def _find_chain(links: list[Any], source: str, destination: str) -> list[tuple[Any, bool]]:
    """The links passed, each with whether it is passed from its first end to its second."""
    ways: dict[str, list[tuple[Any, bool]]] = {source: []}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for link in links:
            first, second = link.get("between") or (source, destination)
            for here, there, forward in ((first, second, True), (second, first, False)):
                if here == node and there not in ways:
                    ways[there] = [*ways[node], (link, forward)]
                    queue.append(there)
    return ways.get(destination, [])


def _direction(link: Mapping[str, Any], forward: bool) -> Mapping[str, Any]:
    reverse = link.get("reverse")
    return reverse if not forward and isinstance(reverse, Mapping) else link
