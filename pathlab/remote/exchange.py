"""The exchange of messages with one agent: requests with answers, and every way in which it can end."""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
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
from pathlab.errors import HostError, PathlabError, ProtocolError, Stage
from pathlab.remote.record_checker import find_answer_fault
from pathlab.remote.transport import Channel, LostError, Transport

REQUEST_TIMEOUT_S = 15.0
#: A message or record as decoded JSON.
Record = dict[str, Any]

READ_BYTES = 64 * 1024
MAX_UNEXPECTED = 100
MAX_CHARACTERS = 2000  # of an agent's reason in a text of ours
MESSAGE_S = 60.0  # an agent whose bytes make no whole message for so long is lost, however they drip in
SILENCE_S = 5.0  # over a transport with heartbeats: an agent that says nothing for so long is lost
CLOSED = "the session is closed"
#: Stage and hint where the host itself is out of reach.
LOST = (Stage.CONNECT, "check whether the host is up and the network to it works")
_VERSION_HINT = "use the same PathLab version on both sides; see `pathlab --version`"


@dataclass(slots=True, kw_only=True)
class _Request:
    """A request under way. ``register`` runs in the reader thread, before any later message is looked at.

    ``fault``: why its answer cannot be used.
    """

    operation: str
    register: Callable[[Record], None] | None = None
    done: threading.Event = field(default_factory=threading.Event)
    answer: Record | None = None
    fault: str | None = None


class Exchange(ABC):
    """One channel to one agent, from hello to the end. Every method may be called from any thread.

    When the agent dies, everyone who waits wakes with a HostError (stage agent). ``hello`` is the agent's,
    empty before it came; ``unexpected`` holds the first hundred things that this version does not know.
    """

    def __init__(
        self, transport: Transport, host: str, require: tuple[str, ...], request_timeout_s: float
    ) -> None:
        self.host = host
        self.unexpected: list[str] = []
        self.hello: Record = {}
        self._transport = transport
        self._require, self._request_timeout_s = require, request_timeout_s
        self._channel: Channel | None = None
        self._lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._requests: dict[int, _Request] = {}
        self._last_request = 0
        self._death: Callable[[], PathlabError] | None = None
        self._closing = False
        self._last_received_s = self._last_message_s = 0.0
        self._ended = threading.Event()
        self._handshake_done = threading.Event()
        self._callbacks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._callback_thread: int | None = None

    @abstractmethod
    def _on_message(self, kind: str, message: Record) -> str | None:
        """Take a message that is no answer, in the reader thread; what is wrong with it, or None."""

    @abstractmethod
    def _on_end(self) -> None:
        """Called when the exchange is over, on one of its threads; must not wait."""

    def __enter__(self) -> Self:
        if self._channel is None:
            self.open()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def open(self, timeout_s: float = 15.0) -> Record:
        """Start the agent and exchange hellos; the agent's, with the fields of agents/PROTOCOL.md and others.

        HostError when it cannot be started or is late, ProtocolError naming both versions on a mismatch.
        """
        if self._channel is not None:
            raise RuntimeError("a session is opened once")
        self._channel = self._transport.open()
        self._start_thread("read", self._read_messages)
        self._start_thread("records", self._run_callbacks)
        hello = {"protocol": PROTOCOL_VERSION, "program": VERSION, "require": list(self._require)}
        with contextlib.suppress(PathlabError):  # raised below, after everything is closed
            self._send({"op": "hello", **hello})
        if not self._handshake_done.wait(timeout_s):
            self._die(f"the agent did not answer within {timeout_s:g} s{self._last_output()}")
        death = self.death()
        if death is not None:
            self.close(0.0)
            raise death
        if self._transport.heartbeat_s is not None:
            self._last_received_s = self._last_message_s = time.monotonic()
            self._start_thread("alive", self._keep_alive)
        return self.hello

    def request(
        self,
        operation: str,
        *,
        timeout_s: float | None = None,
        register: Callable[[Record], None] | None = None,
        **fields: Any,
    ) -> Record:
        """One request and its result, which ``register`` sees before any later message is looked at.

        HostError when it is refused or late, when its answer cannot be used, or when the agent is gone.
        """
        wait_s = self._request_timeout_s if timeout_s is None else timeout_s
        request = _Request(operation=operation, register=register)
        with self._lock:
            number = self._last_request = self._last_request + 1
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
            text, named = (str(error.get(key))[:MAX_CHARACTERS] for key in ("text", "stage"))
            stage = Stage.parse(named)
            if "stage" in error and named != stage:
                text = f"{named}: {text}"
            raise HostError(text, host=self.host, stage=stage)
        if request.fault is not None:
            text = f"the agent's answer to '{operation}' cannot be used: {request.fault}"
            raise HostError(text, host=self.host, stage=Stage.AGENT)
        result: Record = request.answer["result"]
        return result

    def _defer(self, call: Callable[[], None]) -> None:
        """Have something called on the thread of the callbacks, which may send requests and wait."""
        self._callbacks.put(call)

    def in_callback(self) -> bool:
        """Whether the calling thread is the one that runs the callbacks."""
        return threading.get_ident() == self._callback_thread

    def death(self) -> PathlabError | None:
        """A fresh error when the exchange is over, else None."""
        with self._lock:
            return None if self._death is None else self._death()

    def close(self, timeout_s: float = 5.0) -> None:
        """Say bye, so that the agent ends its engines, and close the channel. Never raises; idempotent."""
        channel = self._channel
        if channel is None:
            self._transport.close()
            return
        self._closing = True  # the agent may be gone before its answer to bye is looked at
        if self.death() is None and timeout_s > 0:
            with contextlib.suppress(PathlabError):
                self.request("bye", timeout_s=timeout_s)
        self._die(CLOSED)
        self._ended.set()
        with contextlib.suppress(OSError):
            channel.close()
        self._callbacks.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(timeout_s, 1.0))
        self._transport.close()

    def _start_thread(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=f"pathlab-{name}-{self.host}", daemon=True)
        thread.start()
        self._threads.append(thread)

    def _unanswered(self, operation: str, wait_s: float) -> HostError:
        text = f"the agent did not answer '{operation}' within {wait_s:g} s"
        return HostError(text, host=self.host, stage=Stage.AGENT, hint="check whether the host is overloaded")

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
            self._die(f"cannot send to the agent: {error.strerror or error}{self._last_output()}")
            raise self.death() or error from error

    def _keep_alive(self) -> None:
        """Runs in a thread of its own: say something now and then, and notice when nothing comes back."""
        assert self._channel is not None
        assert self._transport.heartbeat_s is not None
        while not self._ended.wait(self._transport.heartbeat_s):
            now_s = time.monotonic()
            silent_s, partial_s = now_s - self._last_received_s, now_s - self._last_message_s
            if silent_s >= SILENCE_S or partial_s >= MESSAGE_S:
                text = f"nothing came from the host for {silent_s:.0f} s"
                if silent_s < SILENCE_S:
                    text = f"only parts of a message came from the host for {partial_s:.0f} s"
                self._die(text, *LOST)
                self._channel.abandon()
                return
            with self._lock:
                number = self._last_request = self._last_request + 1
            with contextlib.suppress(PathlabError):
                self._send({"op": "ping", "id": number})  # that an answer comes is enough
            if self.death() is not None:
                return

    def _run_callbacks(self) -> None:
        self._callback_thread = threading.get_ident()
        while (call := self._callbacks.get()) is not None:
            call()

    # What follows runs in the reader thread.

    def _read_messages(self) -> None:
        assert self._channel is not None
        decoder = FrameDecoder(noise_bytes=MAX_NOISE_BYTES)
        try:
            while data := self._channel.read(READ_BYTES):
                self._last_received_s = time.monotonic()
                decoder.feed(data)
                while (message := decoder.read()) is not None:
                    self._last_message_s = time.monotonic()
                    self._dispatch(message)
            noise = b"" if self.hello else decoder.noise
            self._die(CLOSED if self._closing else f"the agent is gone{self._last_output(noise)}")
        except LostError as error:
            self._die(str(error), *LOST)
        except OSError as error:
            self._die(f"lost the agent: {error.strerror or error}{self._last_output()}")
        except FrameError as error:
            noise = b"" if self.hello else decoder.noise
            self._end_misunderstood(f"{error}{self._last_output(noise)}")
            self._abandon_channel()
        except (MessageError, KeyError, TypeError, ValueError, OverflowError) as error:
            self._end_misunderstood(f"the agent sent a message that cannot be used: {error}")
            self._abandon_channel()

    def _dispatch(self, message: Record) -> None:
        if not self.hello and message.get("protocol") not in (None, PROTOCOL_VERSION):
            # Before the fields: another version may well have other fields.
            self._end_misunderstood(_format_versions(message), _VERSION_HINT)
            return
        kind, unknown = check_agent_message(message)
        if unknown and kind != "hello":
            self._note(f"message '{kind}': unknown field '{unknown[0]}'")
        if not self.hello:
            self._on_first_message(kind, message)
        elif kind == "answer":
            self._on_answer(message)
        elif kind == "refusal":
            self._end_misunderstood(str(message["text"]))
        else:
            odd = self._on_message(kind, message)
            if odd is not None:
                self._note(odd)

    def _on_first_message(self, kind: str, message: Record) -> None:
        if kind == "refusal":
            self._end_misunderstood(f"the agent refuses: {message['text']}", _VERSION_HINT)
        elif kind != "hello":
            raise MessageError(f"'{kind}' before 'hello'")
        else:
            self.hello = message
            self._handshake_done.set()

    def _on_answer(self, message: Record) -> None:
        with self._lock:
            request = self._requests.pop(message["id"], None)
        if request is None:
            self._on_late_answer(message)
            return
        try:
            if message["ok"]:
                request.fault = find_answer_fault(request.operation, message["result"])
            if message["ok"] and request.fault is None and request.register is not None:
                request.register(message["result"])
            request.answer = message
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._end_misunderstood(f"the agent sent an answer that cannot be used: {error!r}")
            raise
        finally:
            request.done.set()  # whoever waits would wait for ever

    def _on_late_answer(self, message: Record) -> None:
        """Undo what a request started whose caller has given up; on the callback thread, which may write."""
        result = message.get("result", {})
        for key, operation in (("job", "engine.kill"), ("watch", "counters.stop")):
            if key in result:
                self._defer(functools.partial(self._undo, operation, {key: result[key]}))

    def _undo(self, operation: str, fields: Record) -> None:
        with contextlib.suppress(PathlabError):
            self.request(operation, **fields)

    def _note(self, text: str) -> None:
        if len(self.unexpected) < MAX_UNEXPECTED:
            self.unexpected.append(text)

    def _end_misunderstood(self, text: str, hint: str | None = None) -> None:
        """End the exchange: the two sides do not understand each other."""
        self._end(functools.partial(ProtocolError, f"host '{self.host}': {text}", hint=hint))

    def _die(self, text: str, stage: Stage = Stage.AGENT, hint: str | None = None) -> None:
        """End the exchange: the agent or the host is gone."""
        self._end(functools.partial(HostError, text, host=self.host, stage=stage, hint=hint))

    def _end(self, death: Callable[[], PathlabError]) -> None:
        """Remember the first reason and wake everyone who waits."""
        with self._lock:
            self._death = self._death or death
            requests = list(self._requests.values())
        self._handshake_done.set()
        for request in requests:
            request.done.set()
        self._on_end()

    def _abandon_channel(self) -> None:
        """Close a channel that cannot be understood; from another thread, since this one is its reader."""
        assert self._channel is not None
        threading.Thread(target=self._channel.close, name="pathlab-abandon", daemon=True).start()

    def _last_output(self, noise: bytes = b"") -> str:
        assert self._channel is not None
        return self._channel.last_output(noise)


def _format_versions(message: Record) -> str:
    return (
        f"the agent (PathLab {message.get('program')}) speaks agent protocol {message.get('protocol')}, "
        f"this controller (PathLab {VERSION}) speaks {PROTOCOL_VERSION}"
    )
