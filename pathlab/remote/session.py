"""One conversation with one agent: requests with answers, engines, counters; over any transport."""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from pathlab._version import VERSION
from pathlab.agents.protocol import (
    MAX_NOISE_BYTES,
    PROTOCOL_VERSION,
    FrameDecoder,
    FrameError,
    MessageError,
    check_agent_message,
    encode_frame,
)
from pathlab.errors import HostError, PathlabError, ProtocolError
from pathlab.remote.jobs import CounterWatch, EngineJob, Record
from pathlab.remote.transport import Channel, LostError, Transport

REQUEST_TIMEOUT_S = 15.0
READ_BYTES = 64 * 1024
MAX_UNEXPECTED = 100
SILENCE_S = 5.0  # over a transport with heartbeats: an agent that says nothing for so long is lost


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHello:
    """What an agent said of itself; ``extra`` holds fields that this version does not know."""

    protocol: int
    program: str
    python: str
    pid: int
    features: tuple[str, ...]
    extra: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class _Request:
    """A request under way. ``register`` runs in the reader thread, before any later message is looked at."""

    register: Callable[[Record], None] | None = None
    done: threading.Event = field(default_factory=threading.Event)
    answer: Record | None = None


class Session:
    """A conversation with the agent of one host. Every method may be called from any thread.

    Records reach ``on_record`` callbacks on a thread of their own, so that a callback may use the session.
    When the agent dies, everyone who waits wakes with a HostError (stage agent). ``unexpected`` holds the
    first hundred fields and messages that this version does not know.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        host: str,
        require: tuple[str, ...] = ("engine", "counters", "facts"),
        request_timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        self.host = host
        self.unexpected: list[str] = []
        self._transport, self._require = transport, require
        self._request_timeout_s = request_timeout_s
        self._channel: Channel | None = None
        self._lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._requests: dict[int, _Request] = {}
        self._last_request = 0
        self._jobs: dict[int, EngineJob] = {}
        self._watches: dict[int, CounterWatch] = {}
        self._hello: Record | None = None
        self._death: tuple[type[PathlabError], str, str | None] | None = None
        self._death_stage = "agent"
        self._last_heard_s = 0.0
        self._ended = threading.Event()
        self._greeted = threading.Event()
        self._callbacks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._callback_thread: int | None = None

    def open(self, timeout_s: float = 15.0) -> AgentHello:
        """Start the agent and greet it.

        HostError when it cannot be started or is late, ProtocolError naming both versions on a mismatch.
        """
        if self._channel is not None:
            raise RuntimeError("a session is opened once")
        self._channel = self._transport.open()
        for name, target in (("read", self._read_messages), ("records", self._run_callbacks)):
            thread = threading.Thread(target=target, name=f"pathlab-{name}-{self.host}", daemon=True)
            self._threads.append(thread)
            thread.start()
        if self._transport.heartbeat_s is not None:
            thread = threading.Thread(target=self._keep_alive, name=f"pathlab-alive-{self.host}", daemon=True)
            self._threads.append(thread)
        hello = {"protocol": PROTOCOL_VERSION, "program": VERSION, "require": list(self._require)}
        with contextlib.suppress(PathlabError):  # raised below, after everything is closed
            self._send({"op": "hello", **hello})
        if not self._greeted.wait(timeout_s):
            self._die(HostError, f"the agent did not answer within {timeout_s:g} s{self._said()}")
        death = self.death()
        if death is not None:
            self.close(0.0)
            raise death
        assert self._hello is not None
        if self._transport.heartbeat_s is not None:
            self._last_heard_s = time.monotonic()
            self._threads[-1].start()
        known = {"protocol", "program", "python", "pid", "features"}
        return AgentHello(
            **{name: self._hello[name] for name in ("protocol", "program", "python", "pid")},
            features=tuple(self._hello["features"]),
            extra={name: value for name, value in self._hello.items() if name not in known | {"type"}},
        )

    @property
    def caps(self) -> dict[str, Any]:
        """What this host grants at most: ``seconds``, ``bytes``, ``rate_bits_per_s`` (None: no cap)."""
        return dict((self._hello or {}).get("caps") or {})

    @property
    def features(self) -> tuple[str, ...]:
        """What the agent can do, as its hello said."""
        return tuple((self._hello or {}).get("features") or ())

    def facts(self, timeout_s: float | None = None) -> dict[str, Any]:
        """The host's facts: one key per probe, None where unread, and ``unread`` with the reasons."""
        return self._ask("facts", {}, timeout_s=timeout_s)

    def clock(self) -> tuple[int, int]:
        """That host's CLOCK_MONOTONIC and CLOCK_REALTIME, read one after the other, in ns."""
        answer = self.request("ping")
        return int(answer["monotonic_ns"]), int(answer["realtime_ns"])

    def start_engine(
        self,
        subcommand: str,
        options: Mapping[str, str | int],
        *,
        control: bool = True,
        seconds: float | None,
        bytes_: int | None = None,
        token: str | None = None,
        on_record: Callable[[Record], None] | None = None,
    ) -> EngineJob:
        """Start ``pathlab-engine SUBCOMMAND --flag value …`` on the host. HostError when it cannot start.

        ``control`` adds ``--control stdin``. The agent ends the engine shortly after ``seconds`` (None: the
        agent's longest time) and lowers ``--volume-limit-bytes`` to ``bytes_``. ``token`` (32 hexadecimal
        digits) reaches the engine on its stdin and stands on no command line. ``on_record`` gets each record.
        """
        given: dict[str, str | int] = dict(options)
        if control:
            given["control"] = "stdin"
        limits = {"seconds": seconds, "bytes": bytes_}
        fields: dict[str, Any] = {"subcommand": subcommand, "options": given, "limits": limits}
        if token is not None:
            fields["token"] = token
        return self._start_job("engine.start", fields, subcommand, on_record)

    def start_discovery(self, options: Mapping[str, str | int], *, seconds: float) -> EngineJob:
        """Start the host's prober of paths; its options and batches are those of agents/PROTOCOL.md."""
        fields = {"options": dict(options), "limits": {"seconds": seconds, "bytes": None}}
        return self._start_job("discovery.start", fields, "discovery", None)

    def start_peer(self, program: str, arguments: Sequence[str], *, seconds: float) -> EngineJob:
        """Run another program that the agent knows (agents/peers.py), as a job. HostError when refused."""
        options = {"program": program, "arguments": list(arguments)}
        fields = {"options": options, "limits": {"seconds": seconds, "bytes": None}}
        return self._start_job("peer.start", fields, program, None)

    def _start_job(
        self,
        operation: str,
        fields: Mapping[str, Any],
        subcommand: str,
        on_record: Callable[[Record], None] | None,
    ) -> EngineJob:
        started: list[EngineJob] = []

        def register(result: Record) -> None:
            number = int(result["job"])
            job = EngineJob(self, number, subcommand=subcommand, answer=result, on_record=on_record)
            self._jobs[number] = job
            started.append(job)

        self._ask(operation, fields, register=register)
        return started[0]

    def start_counters(self, interval_ns: int) -> CounterWatch:
        """Start sampling CPU per core every ``interval_ns`` (10 ms to 10 s, clamped by the agent)."""
        started: list[CounterWatch] = []

        def register(result: Record) -> None:
            number = int(result["watch"])
            started.append(CounterWatch(self, number, answer=result))
            self._watches[number] = started[0]

        self._ask("counters.start", {"interval_ns": interval_ns}, register=register)
        return started[0]

    def request(self, operation: str, **fields: Any) -> Record:
        """One request and its result. HostError when it is refused or late, or when the agent is gone."""
        return self._ask(operation, fields)

    def close(self, timeout_s: float = 5.0) -> None:
        """Say bye, so that the agent ends its engines, and close the channel. Never raises; idempotent."""
        channel = self._channel
        if channel is None:
            self._transport.close()
            return
        if self.death() is None and timeout_s > 0:
            with contextlib.suppress(PathlabError):
                self._ask("bye", {}, timeout_s=timeout_s)
        self._die(HostError, "the session is closed")
        self._ended.set()
        with contextlib.suppress(OSError):
            channel.close()
        self._callbacks.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(max(timeout_s, 1.0))
        self._transport.close()

    def __enter__(self) -> Self:
        if self._channel is None:
            self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def death(self) -> PathlabError | None:
        """A fresh error when the conversation is over, else None."""
        with self._lock:
            if self._death is None:
                return None
            kind, text, hint = self._death
        if kind is HostError:
            return HostError(text, host=self.host, stage=self._death_stage, hint=hint)
        return kind(f"host '{self.host}': {text}", hint=hint)

    def in_callback(self) -> bool:
        """Whether the calling thread is the one that runs the callbacks."""
        return threading.get_ident() == self._callback_thread

    def _ask(
        self,
        operation: str,
        fields: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        register: Callable[[Record], None] | None = None,
    ) -> Record:
        wait_s = self._request_timeout_s if timeout_s is None else timeout_s
        request = _Request(register=register)
        with self._lock:
            self._last_request += 1
            number = self._last_request
            self._requests[number] = request
        try:
            self._send({"op": operation, "id": number, **fields})
            answered = request.done.wait(wait_s)
        finally:
            with self._lock:
                unclaimed = self._requests.pop(number, None) is not None
        if not answered and not unclaimed:
            request.done.wait()  # the reader holds the answer in hand right now
        elif not answered:
            raise self._unanswered(operation, wait_s)
        if request.answer is None:
            raise self.death() or self._unanswered(operation, wait_s)
        if not request.answer["ok"]:
            error = request.answer["error"]
            raise HostError(str(error.get("text")), host=self.host, stage=str(error.get("stage", "agent")))
        result: Record = request.answer["result"]
        return result

    def _unanswered(self, operation: str, wait_s: float) -> HostError:
        text = f"the agent did not answer '{operation}' within {wait_s:g} s"
        return HostError(text, host=self.host, stage="agent", hint="see whether the host is overloaded")

    def _send(self, message: Record) -> None:
        death = self.death()
        if death is not None:
            raise death
        if self._channel is None:
            raise RuntimeError("the session is not open")
        try:
            frame = encode_frame(message)
        except FrameError as error:
            raise ProtocolError(f"host '{self.host}': {error}") from error
        try:
            with self._send_lock:
                self._channel.write(frame)
        except OSError as error:
            # Half a frame may be under way: nothing more can be said on this channel.
            self._die(HostError, f"cannot speak to the agent: {error.strerror or error}{self._said()}")
            raise self.death() or error from error

    # What follows runs in the reader thread.

    def _read_messages(self) -> None:
        assert self._channel is not None
        decoder = FrameDecoder(noise_bytes=MAX_NOISE_BYTES)
        try:
            while data := self._channel.read(READ_BYTES):
                self._last_heard_s = time.monotonic()
                decoder.feed(data)
                while (message := decoder.take()) is not None:
                    self._dispatch(message)
            noise = decoder.noise if self._hello is None else b""
            self._die(HostError, f"the agent is gone{self._said(noise)}")
        except LostError as error:
            self._die_lost(str(error))
        except OSError as error:
            self._die(HostError, f"lost the agent: {error.strerror or error}{self._said()}")
        except FrameError as error:
            noise = decoder.noise if self._hello is None else b""
            self._die(ProtocolError, f"{error}{self._said(noise)}")
            self._abandon_channel()
        except (MessageError, KeyError, TypeError, ValueError, OverflowError) as error:
            self._die(ProtocolError, f"the agent sent a message that cannot be used: {error}")
            self._abandon_channel()

    def _keep_alive(self) -> None:
        """Runs in a thread of its own: say something now and then, and notice when nothing comes back."""
        assert self._channel is not None
        assert self._transport.heartbeat_s is not None
        while not self._ended.wait(self._transport.heartbeat_s):
            silent_s = time.monotonic() - self._last_heard_s
            if silent_s >= SILENCE_S:
                self._die_lost(f"nothing came from the host for {silent_s:.0f} s")
                self._channel.abandon()
                return
            with self._lock:
                self._last_request += 1
                number = self._last_request
            with contextlib.suppress(PathlabError):
                self._send({"op": "ping", "id": number})  # its answer is for nobody; that it comes counts
            if self.death() is not None:
                return

    def _die_lost(self, text: str) -> None:
        with self._lock:
            if self._death is None:
                self._death_stage = "connect"
        self._die(HostError, text, "see whether the host is up and the network to it works")

    def _dispatch(self, message: Record) -> None:
        if self._hello is None and message.get("protocol") not in (None, PROTOCOL_VERSION):
            # Before the fields: another version may well have other fields.
            self._die(ProtocolError, _name_versions(message), _VERSION_HINT)
            return
        kind, unknown = check_agent_message(message)
        if unknown and kind != "hello":
            self._note(f"message '{kind}': unknown field '{unknown[0]}'")
        if self._hello is None:
            self._greet(kind, message)
        elif kind == "answer":
            self._take_answer(message)
        elif kind == "engine":
            self._take_record(message["job"], message["record"])
        elif kind == "engine-exit":
            self._take_exit(message)
        elif kind == "counters" and message["watch"] in self._watches:
            self._watches[message["watch"]].add_sample(message["sample"])
        elif kind == "refusal":
            self._die(ProtocolError, str(message["text"]))
        else:
            self._note(f"message '{kind}' for nobody")

    def _greet(self, kind: str, message: Record) -> None:
        if kind == "refusal":
            self._die(ProtocolError, f"the agent refuses: {message['text']}", _VERSION_HINT)
        elif kind != "hello":
            raise MessageError(f"'{kind}' before 'hello'")
        else:
            self._hello = message
            self._greeted.set()

    def _take_answer(self, message: Record) -> None:
        with self._lock:
            request = self._requests.pop(message["id"], None)
        if request is None:
            self._take_late_answer(message)
            return
        try:
            if message["ok"] and request.register is not None:
                request.register(message["result"])
            request.answer = message
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._die(ProtocolError, f"the agent sent an answer that cannot be used: {error!r}")
            raise
        finally:
            request.done.set()  # whoever waits would wait for ever

    def _take_late_answer(self, message: Record) -> None:
        """Undo what a request started whose caller has given up; on the callback thread, which may write."""
        result = message.get("result", {})
        for key, operation in (("job", "engine.kill"), ("watch", "counters.stop")):
            if key in result:
                self._callbacks.put(functools.partial(self._undo, operation, {key: result[key]}))

    def _undo(self, operation: str, fields: Record) -> None:
        with contextlib.suppress(PathlabError):
            self._ask(operation, fields)

    def _take_record(self, number: int, record: Record) -> None:
        job = self._jobs.get(number)
        if job is None:
            self._note(f"a record of job {number}, which nobody waits for")
            return
        job.add_record(record)
        self._callbacks.put(lambda: job.call_back(record))

    def _take_exit(self, event: Record) -> None:
        job = self._jobs.pop(event["job"], None)
        if job is not None:
            job.add_exit(event)
            self._callbacks.put(lambda: job.call_back(None))

    def _note(self, text: str) -> None:
        if len(self.unexpected) < MAX_UNEXPECTED:
            self.unexpected.append(text)

    def _run_callbacks(self) -> None:
        self._callback_thread = threading.get_ident()
        while (call := self._callbacks.get()) is not None:
            call()

    def _die(self, kind: type[PathlabError], text: str, hint: str | None = None) -> None:
        """Remember the first reason and wake everyone who waits."""
        with self._lock:
            if self._death is None:
                self._death = (kind, text, hint)
            requests = list(self._requests.values())
            jobs = list(self._jobs.values())
        self._greeted.set()
        for request in requests:
            request.done.set()
        for job in jobs:
            job.wake()

    def _abandon_channel(self) -> None:
        """Close a channel that cannot be understood; from another thread, since this one is its reader."""
        assert self._channel is not None
        threading.Thread(target=self._channel.close, name="pathlab-abandon", daemon=True).start()

    def _said(self, noise: bytes = b"") -> str:
        assert self._channel is not None
        text = self._channel.stderr_tail().strip() or noise.decode("utf-8", "replace").strip()
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"; it said last: {lines[-1][:300]}" if lines else ""


_VERSION_HINT = "use the same PathLab version on both sides; see `pathlab --version`"


def _name_versions(message: Record) -> str:
    return (
        f"the agent (PathLab {message.get('program')}) speaks agent protocol {message.get('protocol')}, "
        f"this controller (PathLab {VERSION}) speaks {PROTOCOL_VERSION}"
    )
