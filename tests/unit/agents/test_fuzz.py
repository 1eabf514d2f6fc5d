"""Damaged, hostile and merely odd conversations, on both sides: refused in words, no traceback, no hang.

Every run is bounded and the same each time; what was once found stands among the examples.
"""

import json
import os
import random
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pathlab.agents.agent import EXIT_DONE, EXIT_PROTOCOL, Agent
from pathlab.agents.protocol import (
    HEADER_BYTES,
    MAX_BODY_BYTES,
    PROTOCOL_VERSION,
    REQUEST_FIELDS,
    FrameDecoder,
    FrameError,
    Message,
    check_agent_message,
    encode_frame,
    frame_body,
)
from pathlab.errors import PathlabError
from pathlab.remote.exchange import READ_BYTES
from pathlab.remote.session import Session
from tests.unit.remote.scripted_agent import HELLO as AGENT_HELLO
from tests.unit.remote.scripted_agent import STARTED, ScriptedAgent, ScriptedTransport

EXAMPLES = settings(max_examples=100, deadline=None, derandomize=True, database=None)
HELLO: Message = {"op": "hello", "protocol": PROTOCOL_VERSION, "program": "0.1.0", "require": []}
TOKEN = "00112233445566778899aabbccddeeff"
LIMITS = {"seconds": 5, "bytes": None, "rate_bits_per_s": 10**9}
START: Message = {
    "op": "engine.start",
    "id": 2,
    "subcommand": "send",
    "options": {"port": 9},
    "limits": LIMITS,
}
PEER: Message = {"op": "peer.start", "id": 8, "options": {}, "limits": {}}
CONVERSATION: list[Message] = [
    HELLO,
    {"op": "ping", "id": 1},
    {**START, "token": TOKEN},
    {"op": "engine.command", "id": 3, "job": 1, "line": "go"},
    {"op": "engine.kill", "id": 4, "job": 1},
    {"op": "counters.start", "id": 5, "interval_ns": 10_000_000},
    {"op": "counters.stop", "id": 6, "watch": 1},
]
INFINITY = "\N{INFINITY}"  # in these messages, becomes a number that no float can hold

# Numbers and texts that have broken programs like this one.
ODD_VALUES: list[Any] = [
    *(0, -1, 2**31, 2**63, 10**400, -(10**400), 0.5, INFINITY, True, None),
    *("", "\0", "\ud800", "é" * 90, "x" * 200_000, "--help", "stdin"),
    *([], {}, [[[[[]]]]], {"": None}, {"seconds": 10**400}),
]
ODD = st.sampled_from(ODD_VALUES)
JSON = st.recursive(
    ODD | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=6,
)


def encode(message: Any) -> bytes:
    """A frame around JSON that an honest side would not write, infinity and lone surrogates included."""
    text = json.dumps(message).replace(json.dumps(INFINITY), "1e999")
    return frame_body(text.encode("ascii"))


def damage(stream: bytes, seed: int) -> bytes:
    """A few bytes flipped, dropped, doubled or put in; sometimes the stream ends early."""
    chance = random.Random(seed)
    damaged = bytearray(stream)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(damaged) + 1)
        act = chance.randrange(5)
        if act == 0 and at < len(damaged):
            damaged[at] ^= 1 << chance.randrange(8)
        elif act == 1:
            del damaged[at : at + chance.randint(1, 40)]
        elif act == 2:
            damaged[at:at] = damaged[at : at + chance.randint(1, 40)]
        elif act == 3:
            damaged[at:at] = chance.randbytes(chance.randint(1, 9))
        elif chance.random() < 0.3:
            del damaged[at:]
    return bytes(damaged)


STREAM = b"".join(encode_frame(message) for message in CONVERSATION)


def _drain(decoder: FrameDecoder) -> str | None:
    """Take every whole message; the fault that ended it."""
    try:
        while decoder.read() is not None:
            pass
    except FrameError as error:
        return str(error)
    return None


@EXAMPLES
@given(seed=st.integers(0, 10**9), size=st.integers(1, 200))
def test_the_decoder_takes_any_damage(seed: int, size: int) -> None:
    stream = damage(STREAM, seed)
    decoder = FrameDecoder(noise_bytes=64)
    fault = None
    for at in range(0, len(stream), size):
        decoder.feed(stream[at : at + size])
        reported = _drain(decoder)
        assert fault in (None, reported)  # the first fault is the last
        fault = reported
        assert len(fault or "") < 400
        # What is announced is not held beyond a frame, and nothing after a fault.
        assert len(decoder._buffer) <= (0 if fault else HEADER_BYTES + MAX_BODY_BYTES + size)
        assert len(decoder.noise) <= 64


@contextmanager
def _signals() -> Iterator[None]:
    """Keep this process's handlers, since the agent's loop sets its own."""
    kept = {
        number: signal.getsignal(number)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD)
    }
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def converse(stream: bytes) -> tuple[int, list[Message]]:
    """What an agent makes of a stream that ends: its exit status and everything it said."""
    with tempfile.TemporaryFile() as incoming, tempfile.TemporaryFile() as outgoing, _signals():
        incoming.write(stream)
        incoming.seek(0)
        agent = Agent(incoming.fileno(), outgoing.fileno(), engine="/bin/true", program="0.1.0")
        try:
            status = agent.run()
        finally:
            os.close(agent._wake)
            os.close(agent._woken_by)
        outgoing.seek(0)
        decoder = FrameDecoder()
        decoder.feed(outgoing.read())
    said: list[Message] = []
    while (message := decoder.read()) is not None:
        check_agent_message(message)
        said.append(message)
    assert len(decoder._buffer) == 0
    return status, said


def test_the_undamaged_conversation_is_served() -> None:
    status, said = converse(STREAM)
    assert status == EXIT_DONE
    answers = {message["id"]: message["ok"] for message in said if message["type"] == "answer"}
    # Whether the engine still lives when the command comes is its affair.
    assert {number: answers[number] for number in (1, 2, 4, 5, 6)} == dict.fromkeys((1, 2, 4, 5, 6), True)


@EXAMPLES
@given(seed=st.integers(0, 10**9))
def test_an_agent_takes_any_damage(seed: int) -> None:
    status, said = converse(damage(STREAM, seed))
    assert status in (EXIT_DONE, EXIT_PROTOCOL)
    if status == EXIT_PROTOCOL:
        assert said[-1]["type"] == "refusal"
        assert len(said[-1]["text"]) < 1000


def odd_requests() -> st.SearchStrategy[Message]:
    """A request with a field or two replaced, left out or added."""
    known = {message["op"]: message for message in CONVERSATION}
    known["discovery.start"] = {"op": "discovery.start", "id": 7, "options": {}, "limits": {"seconds": "x"}}
    peer = {"program": "no/such", "arguments": ["-s"]}
    known["peer.start"] = {**PEER, "options": peer}
    fields = sorted(
        {name for kinds in REQUEST_FIELDS.values() for name in kinds} | {"op", "optional", "token"}
    )
    changes = st.dictionaries(st.sampled_from(fields) | st.text(max_size=9), JSON, min_size=1, max_size=2)
    left_out = st.lists(st.sampled_from(fields), max_size=1)

    def change(request: Message, changed: Message, absent: list[str]) -> Message:
        # A host's facts and a prober of its own take their time and are tested elsewhere.
        return {name: value for name, value in {**request, **changed}.items() if name not in absent}

    return st.builds(change, st.sampled_from(list(known.values())), changes, left_out)


@EXAMPLES
@given(requests=st.lists(odd_requests(), min_size=1, max_size=3))
@example(requests=[{**START, "limits": {"seconds": 10**400}}])
@example(requests=[{**START, "options": {"bind": "\ud800"}}])
@example(requests=[{**START, "limits": {"bytes": INFINITY}}])
@example(requests=[{"op": "\ud800" * 2_000_000, "id": 1}])
@example(requests=[{**PEER, "options": {"program": [], "arguments": "x"}}])
@example(requests=[{**PEER, "options": {"program": "iperf3", "arguments": [[]]}}])
@example(requests=[{**PEER, "options": {"program": "x" * 9_000_000, "arguments": ["\ud800"]}}])
@example(requests=[{**PEER, "options": {"program": "iperf3", "arguments": ["x" * 9_000_000]}}])
@example(requests=[{"op": "ping", "id": 1, "é" * 2_000_000: 1}])
@example(requests=[{"op": "hello", "protocol": "é" * 999_999, "program": "é" * 999_999, "require": []}])
def test_an_agent_takes_any_field(requests: list[Message]) -> None:
    opening = encode_frame(HELLO) + b"".join(encode(request) for request in requests)
    status, said = converse(opening + encode_frame({"op": "ping", "id": 77}))
    # A whole frame is never the end of a conversation, but for bye, which an odd operation may come to be.
    assert status == EXIT_DONE
    assert said[0]["type"] == "hello"
    for message in said:
        assert len(json.dumps(message)) < 3000
        assert TOKEN not in json.dumps(message)
    if not any(request.get("op") == "bye" for request in requests):
        assert any(message.get("id") == 77 and message["ok"] for message in said)


@EXAMPLES
@given(
    hello=st.builds(
        lambda changed: {**HELLO, **changed}, st.dictionaries(st.sampled_from(sorted(HELLO)), JSON)
    )
)
@example(hello={"op": "hello", "protocol": "é" * 999_999, "program": "é" * 999_999, "require": []})
@example(hello={**HELLO, "require": ["é" * 2_000_000]})
def test_an_agent_takes_any_hello(hello: Message) -> None:
    status, said = converse(encode(hello))
    assert len(said) == 1
    assert (status, said[0]["type"]) in ((EXIT_DONE, "hello"), (EXIT_PROTOCOL, "refusal"))
    assert len(json.dumps(said[0])) < 3000


ANSWER: Message = {"type": "answer", "id": 1, "ok": True, "result": STARTED}
SAID: list[Message] = [
    AGENT_HELLO,
    ANSWER,
    {"type": "engine", "job": 1, "record": {"type": "start"}},
    {"type": "engine-exit", "job": 1, "status": 0, "signal": None, "stderr": "", "fault": None},
    {"type": "counters", "watch": 1, "sample": {}},
    {"type": "answer", "id": 1, "ok": False, "error": {"stage": "engine", "text": "no"}},
    {"type": "refusal", "protocol": PROTOCOL_VERSION, "program": "0.1.0", "text": "no"},
]


def listen(said: bytes) -> None:
    """A controller that starts an engine there and waits: whatever it hears, it ends in words at the most."""
    complaint = ""
    agent = ScriptedAgent(lambda _request: [])
    for at in range(0, len(said), READ_BYTES):
        agent.say_bytes(said[at : at + READ_BYTES])
    agent.end()
    session = Session(ScriptedTransport(agent), host="odd", require=(), request_timeout_s=60.0)
    try:
        session.open(60.0)
        job = session.start_engine("send", {}, seconds=1, token=TOKEN)
        job.wait_for("result", 60.0)
        job.wait(60.0)
    except PathlabError as error:
        complaint = str(error)
    finally:
        session.close()
    assert TOKEN not in complaint
    assert "within 60 s" not in complaint, "somebody waited for what could not come"
    assert len(session.unexpected) <= 100


@EXAMPLES
@given(seed=st.integers(0, 10**9))
def test_a_controller_takes_any_damage(seed: int) -> None:
    listen(damage(b"".join(encode_frame(message) for message in SAID), seed))


def odd_answers() -> st.SearchStrategy[Message]:
    """A message of an agent with a field or two replaced."""
    fields = sorted({name for message in SAID for name in message})
    changes = st.dictionaries(st.sampled_from(fields), JSON, min_size=1, max_size=2)
    return st.builds(lambda message, changed: {**message, **changed}, st.sampled_from(SAID), changes)


@EXAMPLES
@given(said=st.lists(odd_answers(), max_size=4))
@example(said=[{**ANSWER, "result": {"job": INFINITY, "pid": 9, "limits": {}}}])
@example(said=[{**ANSWER, "result": {"job": 1, "pid": [], "limits": {}}}])
@example(said=[{**ANSWER, "result": {"job": 1, "pid": 1, "limits": 7}}])
@example(said=[{**ANSWER, "result": {}}])
def test_a_controller_takes_any_message(said: list[Message]) -> None:
    listen(encode_frame(AGENT_HELLO) + b"".join(encode(message) for message in said))
