"""Probes sent by the agent of a host, and how their replies are matched and timed.

What is sent: UDP datagrams to a closed port, ICMP echo requests, or TCP SYNs, with a limited TTL and never
fragmented. Each flow keeps the fields that routers choose a path by: addresses, ports or echo identifier,
and, of UDP and ICMP, the checksum too. How replies are matched: every probe carries a number that routers
quote (of TCP the sequence number); a flow has one probe under way at a time, so that even a quote of eight
bytes is enough.

Who does the timing: plain sockets of the agent (`pathlab.agents.discovery`), with the kernel's receive stamps
(SO_TIMESTAMPNS) and the socket's error queue (IP_RECVERR). scapy crafts and parses well, but a probe through
it takes some 30 ms of its own and its stamps are those of a Python loop; it also needs raw sockets and cannot
be expected on a remote host. So it stays with the tests, where the agent's bytes are held against scapy's
(tests/unit/discover/test_packets.py).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Self

from pathlab.errors import HostError, Stage
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session

METHODS = ("udp", "icmp", "tcp")
#: Fixed, so that a flow is the same one on the next day: balancers then choose the same path for it.
SOURCE_PORT = 53100
PORTS = {"udp": 33434, "icmp": 33434, "tcp": 443}
#: The smallest probe of each method, by version of IP; the agent refuses less.
SMALLEST_BYTES = {"udp": {4: 40, 6: 60}, "icmp": {4: 44, 6: 64}, "tcp": {4: 44, 6: 64}}
#: What a reply says about the place that it came from.
FROM_TARGET = frozenset({"port-unreachable", "echo-reply", "answer", "syn-ack", "reset"})
FROM_ROUTER = "time-exceeded"
SETUP_TIMEOUT_S = 15.0
#: For how long an answer may be waited for (agents/PROTOCOL.md).
TIMEOUTS_NS = (1_000_000, 60_000_000_000)
#: Less is not waited for an answer, however near the path's end was found to be.
SHORTEST_TIMEOUT_NS = 250_000_000


class ProbesRefused(HostError):  # noqa: N818 -- named as PartialCampaign is: an outcome
    """A host that may not or cannot send such probes; another method may still work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTarget:
    """Where probes go: a name or address as the source host knows it, the method, and the flows to keep.

    ``port`` None: the method's own. ``family`` 4 or 6, 0 for either.
    """

    address: str
    method: str = "udp"
    flows: int = 1
    port: int | None = None
    family: int = 0

    def as_options(self) -> dict[str, str | int]:
        """With the names of agents/PROTOCOL.md."""
        return {
            "address": self.address,
            "method": self.method,
            "family": self.family,
            "flows": self.flows,
            "port": PORTS[self.method] if self.port is None else self.port,
            "source_port": SOURCE_PORT,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One probe and what came back; fields as in agents/PROTOCOL.md. ``rtt_ns`` None: no answer in time."""

    flow: int
    ttl: int
    size_bytes: int
    unsent: str | None
    rtt_ns: int | None
    stamps: str | None
    kind: str | None
    code: int | None
    source: str | None
    mtu_bytes: int | None
    reply_ttl: int | None
    reply_bytes: int | None

    @property
    def sent(self) -> bool:
        """Whether the kernel took it."""
        return self.unsent is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """Probes to send: every TTL with every size, ``repeats`` times, on every flow.

    ``seed`` None: in the order given; else shuffled. Times in ns.
    """

    ttls: tuple[int, ...]
    sizes_bytes: tuple[int, ...]
    repeats: int = 1
    flows: tuple[int, ...] = (0,)
    seed: int | None = None
    gap_ns: int = 1_000_000
    timeout_ns: int = 1_000_000_000

    @property
    def packets(self) -> int:
        return len(self.ttls) * len(self.sizes_bytes) * self.repeats * len(self.flows)

    def list_probes(self) -> list[tuple[int, int, int]]:
        """Flow, TTL and size of each probe."""
        return [*product(self.flows, self.ttls, self.sizes_bytes)] * self.repeats

    @property
    def longest_s(self) -> float:
        """How long it takes when nothing answers."""
        return self.packets / len(self.flows) * (self.gap_ns + self.timeout_ns) / 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A plan carried out. ``late`` answers came after the time-out, ``ambiguous`` ones named no probe."""

    probes: tuple[Probe, ...]
    late: int
    ambiguous: int


class RemoteProber:
    """The prober of one host with its flows open. Use as a context manager.

    ProbesRefused when the host cannot open such probes, HostError when it does not know the target (stage
    network) or is gone.
    """

    def __init__(self, session: Session, target: ProbeTarget, *, seconds: float) -> None:
        self._session, self.target = session, target
        self._seconds = seconds
        self._job: EngineJob | None = None
        self._batches = 0
        self.opened: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._job = self._session.start_discovery(self.target.as_options(), seconds=self._seconds)
        try:
            self.opened = self._job.wait_for("open", SETUP_TIMEOUT_S)
        except HostError:
            self._raise_refusal(self._job)
            raise
        if len(self.opened["source_ports"]) != self.target.flows:
            raise self._contradict(f"{len(self.opened['source_ports'])} ports for {self.target.flows} flows")
        return self

    def _contradict(self, text: str) -> HostError:
        return HostError(
            f"discovery: what it stated contradicts the request: {text}",
            host=self._session.host,
            stage=Stage.ENGINE,
        )

    def _raise_refusal(self, job: EngineJob) -> None:
        """Raise the prober's own error, where it reported one."""
        said = [record for record in job.records if record["type"] == "error"]
        if not said:
            return
        text, host = str(said[0]["text"]), self._session.host
        if said[0]["stage"] == "socket":
            hint = "check the address, and the routes of this host"
            if said[0].get("errno_name") in ("EPERM", "EACCES"):
                hint = "try another method of udp, icmp, tcp, or grant this host's user the named privilege"
            raise ProbesRefused(text, host=host, stage=Stage.NETWORK, hint=hint) from None
        raise HostError(text, host=host, stage=Stage.NETWORK, hint="check the name or address") from None

    def __exit__(self, *_error: object) -> None:
        assert self._job is not None
        if self._session.death() is None and not self._job.ended:
            self._job.kill()
            self._job.wait(SETUP_TIMEOUT_S)

    @property
    def address(self) -> str:
        return str(self.opened["address"])

    @property
    def version(self) -> int:
        return 6 if ":" in self.address else 4

    @property
    def smallest_bytes(self) -> int:
        return SMALLEST_BYTES[self.target.method][self.version]

    def send(self, plan: ProbePlan) -> Sent:
        """What became of every probe of a plan. HostError where the host cannot go on, or states others."""
        assert self._job is not None
        self._batches += 1
        before = len(self._job.records)
        self._job.command(json.dumps(encode_plan(plan, self._batches), separators=(",", ":")))
        end = self._job.wait_for("batch-end", plan.longest_s + SETUP_TIMEOUT_S, after=before)
        probes = tuple(read_probe(r) for r in self._job.records[before:] if r["type"] == "probe")
        stated = Counter((probe.flow, probe.ttl, probe.size_bytes) for probe in probes)
        if stated != Counter(plan.list_probes()):
            raise self._contradict(f"{len(probes)} probes, not the {plan.packets} of the batch")
        return Sent(
            probes=probes,
            late=int(end["late"]),
            ambiguous=int(end["ambiguous"]),
        )


def read_probe(record: dict[str, Any]) -> Probe:
    """A ``probe`` record as a value; fields that this version does not know are left out."""
    return Probe(**{name: record[name] for name in Probe.__slots__})


def encode_plan(plan: ProbePlan, number: int) -> dict[str, int | Sequence[int]]:
    """A plan as the batch of that number, with the names of agents/PROTOCOL.md."""
    return {**asdict(plan), "batch": number, "seed": -1 if plan.seed is None else plan.seed}
