"""One conversation with one agent: facts, engines, counters; over any transport."""

from __future__ import annotations

import base64
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pathlab.agents.protocol import OWN_BUILD, quote
from pathlab.remote.exchange import REQUEST_TIMEOUT_S, Exchange, Record
from pathlab.remote.jobs import CounterWatch, EngineJob, Taken
from pathlab.remote.record_checker import RecordChecker
from pathlab.remote.transport import Transport


class Session(Exchange):
    """A conversation with the agent of one host. Every method may be called from any thread.

    Records reach ``on_record`` callbacks on a thread of their own, so that a callback may use the session.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        host: str,
        require: tuple[str, ...] = ("engine", "counters", "facts"),
        request_timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        super().__init__(transport, host, require, request_timeout_s)
        self._jobs: dict[int, EngineJob] = {}
        self._watches: dict[int, CounterWatch] = {}

    def facts(self, timeout_s: float | None = None) -> dict[str, Any]:
        """The host's facts: one key per probe, None where unread, and ``unread`` with the reasons."""
        return self.request("facts", timeout_s=timeout_s)

    def read_facts(self, *probes: str) -> dict[str, Any]:
        """The facts of some probes alone, and ``unread``."""
        return self.request("facts", probes=list(probes))

    def clock(self) -> tuple[int, int]:
        """That host's CLOCK_MONOTONIC and CLOCK_REALTIME, read one after the other, in ns."""
        answer = self.request("ping")
        return int(answer["monotonic_ns"]), int(answer["realtime_ns"])

    def count_bytes(self) -> tuple[int, int]:
        """That host's CLOCK_MONOTONIC in ns, and the bytes of this conversation so far, both ways."""
        answer = self.request("ping")
        return int(answer["monotonic_ns"]), int(answer["read_bytes"]) + int(answer["written_bytes"])

    def hold_records(self, kinds: Sequence[str]) -> None:
        """Have records of these types, and ``counters``, wait at the host until ``release_records``."""
        self.request("records.hold", kinds=list(kinds))

    def release_records(self, timeout_s: float) -> None:
        """Have what waits sent, and return when it has come. HostError where it takes longer than that."""
        deadline_s = time.monotonic() + timeout_s
        while self.request("records.hold", kinds=[], timeout_s=max(0.0, deadline_s - time.monotonic()))[
            "held"
        ]:
            pass  # each answer comes behind a part of the records

    @property
    def over_network(self) -> bool:
        """Whether the conversation goes over a network, which may be the path that is measured."""
        return self._transport.heartbeat_s is not None

    def start_engine(
        self,
        subcommand: str,
        options: Mapping[str, str | int],
        *,
        control: bool = True,
        seconds: float | None,
        token: str | None = None,
        build: str = OWN_BUILD,
        on_record: Callable[[Record], None] | None = None,
    ) -> EngineJob:
        """Start ``pathlab-engine SUBCOMMAND --flag value …`` on the host. HostError when it cannot start.

        ``control`` adds ``--control stdin``. The agent ends the engine shortly after ``seconds`` (None: the
        agent's longest time). ``token`` (32 hexadecimal digits) reaches the engine on its stdin and is never
        passed on the command line. ``build``: which build of the engine, the host's own or the other one.
        ``on_record`` gets each record.
        """
        given: dict[str, str | int] = dict(options)
        if control:
            given["control"] = "stdin"
        limits = {"seconds": seconds, "bytes": None}
        fields: dict[str, Any] = {"subcommand": subcommand, "options": given, "limits": limits}
        if token is not None:
            fields["token"] = token
        if build != OWN_BUILD:
            fields["build"] = build
        return self._start_job(
            "engine.start",
            fields,
            subcommand,
            on_record,
            streams=_read_whole(options.get("streams")) if subcommand in ("send", "receive") else None,
            interval_ns=_read_whole(options.get("interval-ns")),
        )

    def start_capture(self, options: Mapping[str, str | int], *, seconds: float) -> EngineJob:
        """Start ``pathlab-engine capture`` with these flags; the agent keeps its file. HostError: refused."""
        fields = {"options": dict(options), "limits": {"seconds": seconds, "bytes": None}}
        return self._start_job("capture.start", fields, "capture")

    def read_capture(self, job: EngineJob, offset: int) -> tuple[bytes, int]:
        """Bytes of a capture's file from ``offset`` on, none at its end, and the size of the file.

        HostError where the host cannot read it, or where its answer cannot be used.
        """
        answer = self.request("capture.read", job=job.number, offset=offset)
        return base64.b64decode(answer["base64"]), int(answer["size_bytes"])

    def close_capture(self, job: EngineJob) -> None:
        """Have the file of a capture removed."""
        self.request("capture.close", job=job.number)

    def start_discovery(self, options: Mapping[str, str | int], *, seconds: float) -> EngineJob:
        """Start the host's prober of paths; its options and batches are those of agents/PROTOCOL.md."""
        fields = {"options": dict(options), "limits": {"seconds": seconds, "bytes": None}}
        return self._start_job("discovery.start", fields, "discovery")

    def start_peer(
        self,
        program: str,
        arguments: Sequence[str],
        *,
        seconds: float,
        listen: Mapping[str, str] | None = None,
    ) -> EngineJob:
        """Run another program of the host, found by its name, as a job. HostError when it is refused.

        ``listen`` is given for a server: the ``argument`` that takes its port, the ``address``, and the
        ``ports`` from which the agent chooses a free one ("0": any). The records are those of
        agents/PROTOCOL.md.
        """
        options: dict[str, Any] = {"program": program, "arguments": list(arguments)}
        if listen is not None:
            options["listen"] = dict(listen)
        fields = {"options": options, "limits": {"seconds": seconds, "bytes": None}}
        return self._start_job("peer.start", fields, program, kind="peer")

    def start_adapter(
        self,
        name: str,
        role: str,
        settings: Mapping[str, Any],
        *,
        ports: str = "0",
        seconds: float,
        on_record: Callable[[Record], None] | None = None,
    ) -> EngineJob:
        """Run one end of a technology, ``role`` ``ask`` or ``answer``. HostError when it is refused.

        ``settings`` and records are those of agents/adapters/CONTRACT.md and agents/PROTOCOL.md; ``ports``
        are those that an answering end may have ("0": any, "N", "N-M"). ``on_record`` gets each record.
        """
        fields = {"name": name, "role": role, "settings": dict(settings), "ports": ports}
        limits = {"seconds": seconds, "bytes": None}
        return self._start_job(
            "adapter.start",
            {**fields, "limits": limits},
            name,
            on_record,
            kind=role,
            streams=_read_whole(settings.get("streams")),
            interval_ns=_read_whole(settings.get("interval_ns")),
        )

    def check_adapters(self, names: Sequence[str], *, timeout_s: float = 60.0) -> dict[str, dict[str, Any]]:
        """What each technology lacks on the host: ``missing``, ``sandbox`` and ``versions``, by its name.

        ``missing`` has a dict of ``what``, ``debian`` and ``pip`` for each thing. HostError when the host
        cannot say.
        """
        job = self._start_job("adapter.check", {"names": list(names)}, "technologies")
        record = job.wait_for("technologies", timeout_s)
        job.wait(timeout_s)
        return dict(record["technologies"])

    def _start_job(
        self,
        operation: str,
        fields: Mapping[str, Any],
        subcommand: str,
        on_record: Callable[[Record], None] | None = None,
        *,
        kind: str | None = None,
        streams: int | None = None,
        interval_ns: int | None = None,
    ) -> EngineJob:
        """``kind``: whose records they are in ``record_schema``, where it is not the subcommand."""
        seconds = fields.get("limits", {}).get("seconds")
        checker = RecordChecker(kind or subcommand, streams=streams, interval_ns=interval_ns, seconds=seconds)
        started: list[EngineJob] = []

        def register(result: Record) -> None:
            number = int(result["job"])
            job = EngineJob(
                self, number, subcommand=subcommand, answer=result, on_record=on_record, checker=checker
            )
            self._jobs[number] = job
            started.append(job)

        self.request(operation, register=register, **fields)
        return started[0]

    def start_counters(self, interval_ns: int) -> CounterWatch:
        """Start sampling CPU per core every ``interval_ns`` (10 ms to 10 s, clamped by the agent)."""
        started: list[CounterWatch] = []

        def register(result: Record) -> None:
            number = int(result["watch"])
            started.append(CounterWatch(self, number, answer=result))
            self._watches[number] = started[0]

        self.request("counters.start", register=register, interval_ns=interval_ns)
        return started[0]

    def _on_end(self) -> None:
        for job in list(self._jobs.values()):
            job.wake()

    # What follows runs in the reader thread.

    def _on_message(self, kind: str, message: Record) -> str | None:
        if kind == "engine":
            return self._on_record(message["job"], message["record"])
        if kind == "engine-exit":
            self._on_exit(message)
            return None
        if kind == "counters" and message["watch"] in self._watches:
            self._watches[message["watch"]].add_sample(message["sample"])
            return None
        return f"message '{kind}' that nobody waits for"

    def _on_record(self, number: int, record: Record) -> str | None:
        job = self._jobs.get(number)
        if job is None:
            return f"a record of job {number}, which nobody waits for"
        taken = job.add_record(record)
        if taken is Taken.KEPT:
            self._defer(functools.partial(job.call_back, record))
        elif taken is Taken.FIRST_FAULT:
            self._defer(functools.partial(self._undo, "engine.kill", {"job": number}))
        elif taken is Taken.UNKNOWN:
            return f"a record of a type that is not known: {quote(record.get('type'))}"
        return None

    def _on_exit(self, event: Record) -> None:
        job = self._jobs.pop(event["job"], None)
        if job is not None:
            job.add_exit(event)
            self._defer(functools.partial(job.call_back, None))


def _read_whole(value: Any) -> int | None:
    """A number above 0 among options; None where it is left to the program."""
    return value if isinstance(value, int) and value > 0 else None
