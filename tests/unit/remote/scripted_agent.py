"""An agent that is scripted in memory: what it answers is a function of the request."""

import queue
from collections.abc import Callable
from typing import Any

from pathlab.agents.protocol import FrameDecoder, encode_frame
from pathlab.remote.exchange import READ_BYTES
from pathlab.remote.session import Session
from pathlab.remote.transport import Channel, Transport

Message = dict[str, Any]
PATIENCE_S = 60.0
HELLO: Message = {
    "type": "hello",
    "protocol": 2,
    "program": "0.1.0",
    "python": "3.8.18",
    "pid": 7,
    "features": ["engine", "counters", "facts"],
}
STARTED = {"job": 1, "pid": 11, "limits": {"seconds": 5.0, "bytes": None}}


class ScriptedAgent(Channel):
    """A channel whose far end is a function from request to messages; raw bytes can be put in as well."""

    def __init__(self, reply: Callable[[Message], list[Message]]) -> None:
        self.stderr = ""
        self.requests: queue.Queue[Message] = queue.Queue()
        self._reply = reply
        self._decoder = FrameDecoder()
        self._outgoing: queue.Queue[bytes] = queue.Queue()
        self.closed = False

    def write(self, data: bytes) -> None:
        if self.closed:
            raise BrokenPipeError(32, "Broken pipe")
        self._decoder.feed(data)
        while (request := self._decoder.read()) is not None:
            self.requests.put(request)
            self.say(*self._reply(request))

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.say_bytes(encode_frame(message))

    def say_bytes(self, data: bytes) -> None:
        for at in range(0, len(data), READ_BYTES):
            self._outgoing.put(data[at : at + READ_BYTES])

    def end(self) -> None:
        self._outgoing.put(b"")

    def read(self, max_bytes: int) -> bytes:
        data = self._outgoing.get(timeout=PATIENCE_S)
        assert len(data) <= max_bytes
        return data

    def close(self) -> None:
        self.closed = True
        self.end()

    def stderr_tail(self) -> str:
        return self.stderr

    def alive(self) -> bool:
        return not self.closed

    def next_request(self, operation: str) -> Message:
        for _ in range(100):
            request = self.requests.get(timeout=PATIENCE_S)
            if request["op"] == operation:
                return request
        raise AssertionError(f"no {operation}")


class ScriptedTransport(Transport):
    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def open(self) -> Channel:
        return self._channel

    def close(self) -> None:
        pass


def answer(request: Message, **result: Any) -> Message:
    return {"type": "answer", "id": request["id"], "ok": True, "result": result}


def refuse(request: Message, stage: str, text: str) -> Message:
    return {"type": "answer", "id": request["id"], "ok": False, "error": {"stage": stage, "text": text}}


def record(**fields: Any) -> Message:
    return {"type": "engine", "job": 1, "record": fields}


def ended(**fields: Any) -> Message:
    plain = {"status": 0, "signal": None, "stderr": "", "fault": None}
    return {"type": "engine-exit", "job": 1, **plain, **fields}


def reply_plainly(request: Message) -> list[Message]:
    if request["op"] == "hello":
        return [HELLO]
    if request["op"] == "engine.start":
        return [answer(request, **STARTED)]
    if request["op"] == "counters.start":
        return [answer(request, watch=4, interval_ns=10_000_000, monotonic_ns=5)]
    if request["op"] == "ping":
        return [answer(request, monotonic_ns=3, realtime_ns=4)]
    return [answer(request)]


def open_session(
    reply: Callable[[Message], list[Message]] = reply_plainly, *, request_timeout_s: float = PATIENCE_S
) -> tuple[Session, ScriptedAgent]:
    agent = ScriptedAgent(reply)
    session = Session(ScriptedTransport(agent), host="alpha", request_timeout_s=request_timeout_s)
    session.open()
    return session, agent
