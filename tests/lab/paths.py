"""Labs whose paths are discovered: a chain of three hops, and probers inside it."""

import contextlib
from collections.abc import Iterator, Sequence

from pathlab.discover.probes import ProbeTarget, RemoteProber
from pathlab.lab.lab import Lab
from pathlab.lab.topology import Link, Topology
from pathlab.remote.namespace import NamespaceTransport
from pathlab.remote.session import Session

DELAYS_NS = (200_000, 400_000, 300_000)
NAMES = "abcdefgh"


def chain(
    rates_mbit_per_s: Sequence[int | None], *, mtus: Sequence[int] = (), losses: Sequence[float] = ()
) -> Topology:
    """Hosts a, b, c … in a row; link k has the rate, MTU and loss k, and a short delay."""
    links = tuple(
        Link(
            between=(NAMES[number], NAMES[number + 1]),
            rate_bits_per_s=None if rate is None else rate * 10**6,
            delay_ns=DELAYS_NS[number % len(DELAYS_NS)],
            queue_bytes=200_000,
            mtu_bytes=mtus[number] if mtus else 1500,
            loss_ratio=losses[number] if losses else 0.0,
        )
        for number, rate in enumerate(rates_mbit_per_s)
    )
    return Topology(hosts=tuple(NAMES[: len(links) + 1]), links=links)


@contextlib.contextmanager
def session_in(lab: Lab, host: str) -> Iterator[Session]:
    """A conversation with an agent on a host of the lab."""
    with Session(NamespaceTransport(lab.namespaces, host), host=host, require=("discovery",)) as session:
        yield session


@contextlib.contextmanager
def probing(lab: Lab, ends: tuple[str, str], method: str = "udp", flows: int = 1) -> Iterator[RemoteProber]:
    """A prober on the first of two hosts, aimed at the other."""
    source, target = ends
    address = lab.topology.address(target, source)
    with session_in(lab, source) as session:
        probed = ProbeTarget(address=address, method=method, flows=flows)
        with RemoteProber(session, probed, seconds=300) as prober:
            yield prober
