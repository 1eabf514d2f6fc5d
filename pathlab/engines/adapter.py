"""Technologies as engines: one program asks, another one or a server answers (agents/adapters/CONTRACT.md).

One class for all; what sets them apart is in their manifests. The programs state what our own engine states
of messages with replies, in the same words. What they do not state stays null: the server counts nothing, so
that there is no throughput.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
from collections.abc import Iterator
from typing import Any, ClassVar, cast

from pathlab.agents.adapters.manifest import Manifest
from pathlab.campaign.constraints import parse_constraint
from pathlab.campaign.engine_rules import Capabilities, EngineLimit, Refusal
from pathlab.campaign.native_option import list_cores
from pathlab.campaign.order import PlanRow
from pathlab.campaign.technologies import list_technologies
from pathlab.engines.base import BITS_PER_S, GRACE_S, Engine, EngineContext, first
from pathlab.errors import HostError, Stage, UsageError
from pathlab.remote.jobs import EngineJob

#: Building a program (two minutes at most), starting its server and connecting to it.
START_S = 200.0
#: Without a reply for so long a trial ends; under load a server may wait longer for a core.
STALL_NS, LOADED_STALL_NS = 1_000_000_000, 5_000_000_000
#: How long the other end is waited for, once one has failed: its words may be the cause.
CAUSE_S = 1.0
STREAMS_MAX = 1024
#: What to do about a failure, by the stage that its text starts with, as in CONTRACT.md.
NEXT_STEPS = {
    "needs": "`pathlab technologies` names the package to install",
    "build": "run the command of the manifest's `build` by hand",
    "start": "start the server or program by hand with the same words",
    "port": 'use {address} and {port} in `server`; `port` is "own" only where the server takes port 0',
    "contract": "correct the manifest key or record that the text names",
    "connect": "call `ready` only when the server accepts connections",
    "reply": "return the bytes of the request, one reply for each request, in order",
    "stall": "look for a lost request: a subscriber that was not ready, a buffer that is not flushed",
    "exit": "see the last lines of the program or server, in the text or on stderr",
    "limit": "use a smaller trial, or state the limit of the technology in `limits`",
}
#: Keys of the factors that reach the programs, or that concern the trial alone.
FACTORS = frozenset(
    (
        *("streams", "duration", "warmup", "transport", "direction", "no_delay", "cpus", "cpus_sender"),
        *("cpus_receiver", "engine", "message", "reply", "message_rate", "placement", "priority"),
        *("recording", "background", "family", "addresses", "bond", "tcp_reordering"),
    )
)
LIMITS = (
    EngineLimit(what="streams of bytes", constraint="message != 'none'"),
    EngineLimit(what="messages without reply", constraint="reply == true"),
    EngineLimit(what="transports other than 'tcp'", constraint="transport == 'tcp'"),
    EngineLimit(what="delayed writes", constraint="no_delay == true"),
    EngineLimit(what="directions other than 'forward'", constraint="direction == 'forward'"),
    EngineLimit(
        what="placements within one process", constraint="placement == 'host' or placement == 'process'"
    ),
    EngineLimit(what=f"more than {STREAMS_MAX} streams", constraint=f"streams <= {STREAMS_MAX}"),
)


class AdapterEngine(Engine):
    """The answering end is the receiver, at the path's destination; the asking end is the sender."""

    manifest: ClassVar[Manifest]

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self._jobs: dict[str, EngineJob] = {}  # by role
        # Of names at a server that others may reach: of its role, database, subjects and keys.
        self._scope = f"p{secrets.token_hex(15)}"
        self._rates_bits_per_s: dict[int, float] = {}  # the latest of each stream

    @classmethod
    def check(cls, row: PlanRow) -> Iterator[Refusal]:
        """Besides what the limits say: placement 'host' that was asked for needs two hosts."""
        yield from super().check(row)
        path, cell = row.path, row.cell
        if "placement" in cell.given and cell.placement == "host" and path.source == path.destination:
            what = f"both ends are on '{path.source}', and technologies would be measured over loopback"
            expected = "two hosts (--hosts FILE --paths A:B), or placement 'process'"
            yield Refusal(factor="placement", text=f"{what}; expected {expected}")

    @property
    def lifetime_s(self) -> float:
        """Each end may have to be built first."""
        return super().lifetime_s + 2 * START_S

    def prepare(self) -> None:
        """Start the server, then connect to it; one reply of each stream has come back."""
        spec = self.context.spec
        path, cell = spec.path, spec.cell
        asker = {"local_address": path.source_address}
        self._start("receiver", "answer", cell.cpus_receiver, asker, ports=path.destination_ports)
        port = self._wait("receiver", "listening", START_S)["port"]
        self.context.listening(port)
        times = {
            **asker,
            "port": port,
            "interval_ns": self.find_interval_ns(spec),
            "warmup_ns": cell.warmup_ns,
            "duration_ns": cell.duration_ns,
            "rate_per_s": cell.message_rate_per_s,
            "stall_ns": self._stall_ns,
        }
        self._start("sender", "ask", cell.cpus_sender, times)
        self._wait("sender", "ready", START_S)

    @property
    def _stall_ns(self) -> int:
        return STALL_NS if self.context.spec.cell.background == "none" else LOADED_STALL_NS

    def _start(
        self, end: str, role: str, cores: str | None, further: dict[str, Any], *, ports: str = "0"
    ) -> None:
        """Start one end with what both are given, and more."""
        cell = self.context.spec.cell
        settings = {
            "contract": self.manifest.contract,
            "name": self.name,
            "variant": self.manifest.variant or "",
            "address": self.context.spec.path.destination_address,
            "bytes": cell.message_bytes,
            "streams": cell.streams,
            "scope": self._scope,
            "priority": cell.priority,
            "cores": [] if cores is None else list_cores(cores),
        }
        with self._as_failures_of(end):
            job = self.find_session(end).start_adapter(
                self.name,
                role,
                settings | further,
                ports=ports,
                seconds=self.lifetime_s,
                on_record=self._on_reply if role == "ask" else None,
            )
        self._jobs[end] = job
        self.context.keep(job)

    def _on_reply(self, record: dict[str, Any]) -> None:
        if record["type"] == "result":
            self.context.end_probes()
        elif record["type"] == "round_trips" and self.has_rate(record):
            count, span_ns = record["round_trip_ns"]["count"], record["end_ns"] - record["start_ns"]
            size_bits = 8 * (self.context.spec.cell.message_bytes or 0)
            self._rates_bits_per_s[record["stream"]] = count * size_bits * 1e9 / span_ns
            self.context.observer.rate(sum(self._rates_bits_per_s.values()), record["end_ns"])
            streams = [rate for _, rate in sorted(self._rates_bits_per_s.items())]
            self.context.observer.streams(BITS_PER_S, streams, record["end_ns"])

    def run(self) -> None:
        """Say go to both ends, and stop to the server when all replies have come."""
        spec = self.context.spec
        for end in ("receiver", "sender"):
            self._command(end, "go")
        self._wait("sender", "result", spec.traffic_s + self._stall_ns / 1e9 + GRACE_S)
        self._command("receiver", "stop")
        self._wait("receiver", "result", GRACE_S)

    def stop(self) -> None:
        self._command("sender", "stop")

    def _command(self, end: str, line: str) -> None:
        with self._as_failures_of(end):
            self._jobs[end].command(line)

    def _wait(self, end: str, record_type: str, timeout_s: float) -> dict[str, Any]:
        with self._as_failures_of(end):
            return self._jobs[end].wait_for(record_type, timeout_s)

    @contextlib.contextmanager
    def _as_failures_of(self, end: str) -> Iterator[None]:
        """Errors of one end as errors of the technology, with what the other end says in the program's words.

        Those of a host that is gone remain.
        """
        try:
            yield
        except HostError as error:
            if self.find_session(end).death() is not None:
                raise
            text = self._find_words(end) or error.reason.removeprefix(f"{self.name}: ")
            other = "receiver" if end == "sender" else "sender"
            cause = self._find_words(other) if end == "sender" else None
            raise self._fail(end, text if cause is None else f"{text}; the server's end: {cause}") from error

    def _find_words(self, end: str) -> str | None:
        """What an end states of its failure, within ``CAUSE_S``; its last records have come by then."""
        if end not in self._jobs:
            return None
        try:
            error = self._jobs[end].wait_for("error", CAUSE_S)
        except HostError:
            return None
        with contextlib.suppress(HostError):
            self._jobs[end].wait(CAUSE_S)
        return f"{error.get('stage')}: {error.get('text')}"

    def _fail(self, end: str, text: str) -> HostError:
        return HostError(
            f"{self.name}: {text}",
            host=self.find_session(end).host,
            stage=Stage.ADAPTER,
            hint=NEXT_STEPS.get(text.split(":")[0]),
        )

    def collect(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        sender, receiver = (self._jobs.get(end) for end in ("sender", "receiver"))
        return (
            [self._convert_asked(record) for record in sender.records] if sender else [],
            [*self._convert_answered(receiver.records)] if receiver else [],
        )

    def _convert_asked(self, record: dict[str, Any]) -> dict[str, Any]:
        """A record of the asking end with the keys that our own engine's has besides."""
        size_bytes = self.context.spec.cell.message_bytes or 0
        if record["type"] == "hello":
            return {**record, "version": f"{self.name}, contract {self.manifest.contract}"}
        if record["type"] == "ready":
            return {**record, "no_delay": _read_adapter(record).get("settings", {}).get("no_delay")}
        if record["type"] == "result":
            phases = {
                name: {**phase, "bytes": [size_bytes * count for count in phase["messages"]]}
                for name, phase in record["phases"].items()
            }
            sent = [size_bytes * count for count in record["messages"]["sent"]]
            return {**record, "phases": phases, "total_bytes": sent, "workers": None}
        return record

    def _convert_answered(self, records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The answering end's as a receiver's: ready with its first words, its start at the first go."""
        listening, moment = first(records, "listening"), first(records, "server_cpu")
        if listening is not None:
            stated = {key: listening.get(key) for key in ("versions", "settings", "server_start_ns")}
            own = {"no_delay": (stated["settings"] or {}).get("no_delay")}
            yield {
                "type": "ready",
                "adapter": stated,
                **own,
                "messages": {"priority": listening.get("priority")},
            }
        if moment is not None:
            yield {"type": "start", "monotonic_ns": moment["at_ns"], "realtime_ns": None}
        for record in records:
            if record["type"] == "result":
                spent = {key: record.get(key) for key in ("user_ns", "system_ns")}
                known = all(value is not None and value >= 0 for value in spent.values())
                workers = [spent] if known else None
                yield {**record, "phases": {}, "workers": workers}

    def check_ends(self) -> None:
        for end in ("sender", "receiver"):
            result = self._wait(end, "result", 0.0)
            if not result["complete"]:
                raise self._fail(end, f"the {end} did not finish: {result.get('reason') or 'ended early'}")


def _read_adapter(record: dict[str, Any]) -> dict[str, Any]:
    stated: dict[str, Any] = record.get("adapter") or {}
    return stated | {"settings": stated.get("settings") or {}}


@functools.cache
def build_adapter_engine(name: str) -> type[AdapterEngine]:
    """The class of one technology. Raises UsageError for a limit in its manifest that is no constraint."""
    technology = list_technologies()[name]
    for limit in technology.limits:
        try:
            parse_constraint(limit["constraint"])
        except UsageError as error:
            raise UsageError(f"{technology.file}: key 'limits': {error}", hint=error.hint) from error
    limits = tuple(EngineLimit(**limit) for limit in technology.limits)
    capabilities = Capabilities(
        factors=FACTORS,
        limits=(*LIMITS, *limits),
        connects_from_receiver=False,
        counts_while_running=False,
        confirms_delivery=False,
        keeps_host_caps=False,
    )
    own = {"name": name, "manifest": technology, "capabilities": capabilities}
    return cast("type[AdapterEngine]", type(f"{AdapterEngine.__name__}:{name}", (AdapterEngine,), own))
