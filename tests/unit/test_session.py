"""The controller's end of a conversation, against an agent that is scripted in memory."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from pathlab._version import VERSION
from pathlab.agents.protocol import PROTOCOL_VERSION, FrameDecoder, encode_frame
from pathlab.errors import HostError, ProtocolError
from pathlab.remote.session import Session
from pathlab.remote.transport import Channel, Transport

Message = dict[str, Any]
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
        while (request := self._decoder.take()) is not None:
            self.requests.put(request)
            self.say(*self._reply(request))

    def say(self, *messages: Message) -> None:
        for message in messages:
            self._outgoing.put(encode_frame(message))

    def say_bytes(self, data: bytes) -> None:
        self._outgoing.put(data)

    def end(self) -> None:
        self._outgoing.put(b"")

    def read(self, max_bytes: int) -> bytes:
        data = self._outgoing.get(timeout=30)
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
            request = self.requests.get(timeout=10)
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

    def describe(self) -> str:
        return "script"


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
    reply: Callable[[Message], list[Message]] = reply_plainly, *, request_timeout_s: float = 10.0
) -> tuple[Session, ScriptedAgent]:
    agent = ScriptedAgent(reply)
    session = Session(ScriptedTransport(agent), host="alpha", request_timeout_s=request_timeout_s)
    session.open()
    return session, agent


def test_hello_says_what_it_wants_and_keeps_unknown_fields() -> None:
    def reply(request: Message) -> list[Message]:
        return [{**HELLO, "mood": "fine"}] if request["op"] == "hello" else [answer(request)]

    agent = ScriptedAgent(reply)
    with_extra = Session(ScriptedTransport(agent), host="alpha")
    hello = with_extra.open()
    with_extra.close()
    assert hello.python == "3.8.18"
    assert hello.features == ("engine", "counters", "facts")
    assert hello.extra == {"mood": "fine"}
    assert agent.requests.get() == {
        "op": "hello",
        "protocol": PROTOCOL_VERSION,
        "program": VERSION,
        "require": ["engine", "counters", "facts"],
    }
    assert agent.closed


def test_another_version_names_both() -> None:
    later = {"type": "hello", "protocol": 9, "program": "7.7.7", "new": True}
    with pytest.raises(ProtocolError) as caught:
        open_session(lambda _request: [later])
    text = str(caught.value)
    assert "alpha" in text
    assert "7.7.7" in text
    assert "protocol 9" in text
    assert VERSION in text
    assert f"speaks {PROTOCOL_VERSION}" in text
    assert caught.value.hint is not None


def test_a_refusal_is_quoted() -> None:
    refusal = {"type": "refusal", "protocol": 2, "program": "0.1.0", "text": "no feature 'engine'"}
    with pytest.raises(ProtocolError, match=r"alpha.*no feature 'engine'"):
        open_session(lambda _request: [refusal])


def test_login_noise_is_skipped_and_quoted_when_nothing_follows() -> None:
    agent = ScriptedAgent(reply_plainly)
    agent.say_bytes(b"Welcome to alpha\nPLF")
    agent.say_bytes(b"X more\n")
    with_noise = Session(ScriptedTransport(agent), host="alpha")
    assert with_noise.open().pid == 7
    with_noise.close()

    silent = ScriptedAgent(lambda _request: [])
    silent.say_bytes(b"python3: command not found\n")
    silent.end()
    with pytest.raises(HostError, match="python3: command not found") as caught:
        Session(ScriptedTransport(silent), host="alpha").open()
    assert (caught.value.host, caught.value.stage) == ("alpha", "agent")


def test_an_agent_that_keeps_silent_is_given_up() -> None:
    agent = ScriptedAgent(lambda _request: [])
    with pytest.raises(HostError, match=r"did not answer within 0\.05 s"):
        Session(ScriptedTransport(agent), host="alpha").open(0.05)
    assert agent.closed


@pytest.mark.parametrize(
    "noise",
    [
        b"XXXXXXXX",  # a wrong magic between frames
        b"PLF1\xff\xff\xff\xff",  # a length above the cap
        b"PLF1\x00\x00\x00\x02[]",  # no object
        encode_frame({"type": "surprise"}),
        encode_frame({"type": "answer", "id": "one", "ok": True}),
        encode_frame({"type": "engine", "job": 1}),
    ],
)
def test_a_stream_that_cannot_be_understood_ends_the_session(noise: bytes) -> None:
    session, agent = open_session(lambda request: [HELLO] if request["op"] == "hello" else [])
    agent.say_bytes(noise)
    with pytest.raises(ProtocolError, match="alpha"):
        session.clock()
    session.close()
    assert agent.closed


def test_everyone_who_waits_wakes_with_the_agents_last_words() -> None:
    silent = {"ping"}
    session, agent = open_session(
        lambda request: [] if request["op"] in silent else reply_plainly(request), request_timeout_s=30.0
    )
    job = session.start_engine("send", {}, seconds=1)
    caught: queue.Queue[BaseException] = queue.Queue()

    def expect_error(wait: Callable[[], object]) -> None:
        try:
            wait()
        except HostError as error:
            caught.put(error)

    waits: list[Callable[[], object]] = [
        session.clock,
        lambda: job.wait_for("ready", 30.0),
        lambda: job.wait(30.0),
    ]
    threads = [threading.Thread(target=expect_error, args=(wait,)) for wait in waits]
    for thread in threads:
        thread.start()
    agent.next_request("ping")
    agent.stderr = "Traceback\nMemoryError: no room\n"
    agent.end()
    for thread in threads:
        thread.join(10)
    errors = [caught.get(timeout=1) for _ in threads]
    assert all("MemoryError: no room" in str(error) for error in errors)
    assert len({id(error) for error in errors}) == 3  # each its own, with its own traceback
    with pytest.raises(HostError, match="gone"):
        session.facts()
    session.close()


def test_a_refused_request_carries_stage_and_text() -> None:
    session, _agent = open_session(
        lambda request: (
            [refuse(request, "engine", "64 engines run already")]
            if request["op"] == "engine.start"
            else reply_plainly(request)
        )
    )
    with session, pytest.raises(HostError, match="64 engines run already") as caught:
        session.start_engine("send", {}, seconds=1)
    assert caught.value.stage == "engine"


def test_options_limits_and_control_reach_the_agent() -> None:
    session, agent = open_session()
    session.start_engine("send", {"port": 5}, seconds=2.5, bytes_=99)
    session.start_engine("ping", {"count": 1}, seconds=None, control=False)
    first, second = agent.next_request("engine.start"), agent.next_request("engine.start")
    session.close()
    assert first["options"] == {"port": 5, "control": "stdin"}
    assert first["limits"] == {"seconds": 2.5, "bytes": 99}
    assert second["options"] == {"count": 1}
    assert second["limits"] == {"seconds": None, "bytes": None}


def test_records_that_follow_the_answer_at_once_are_not_lost() -> None:
    def reply(request: Message) -> list[Message]:
        if request["op"] == "engine.start":
            return [answer(request, **STARTED), record(type="hello"), record(type="result", n=1), ended()]
        return reply_plainly(request)

    session, _agent = open_session(reply)
    with session:
        seen: list[Message] = []
        job = session.start_engine("send", {}, seconds=1, on_record=seen.append)
        end = job.wait(10)
        assert end.records == ({"type": "hello"}, {"type": "result", "n": 1})
        assert (end.status, end.signal, end.fault) == (0, None, None)
        assert seen == list(end.records)
        assert job.records == seen
        assert job.wait_for("result", 0.0) == {"type": "result", "n": 1}
        assert job.wait_for("result", 0.0, after=1) == {"type": "result", "n": 1}
        with pytest.raises(HostError, match="ended with status 0, before its 'result' record"):
            job.wait_for("result", 0.0, after=2)


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("connect", "network"),
        ("bind", "network"),
        ("listen", "network"),
        ("greeting", "network"),
        ("window", "engine"),
        ("output", "engine"),
    ],
)
def test_an_engines_own_error_is_quoted_with_its_stage(stage: str, expected: str) -> None:
    session, agent = open_session()
    with session:
        job = session.start_engine("send", {}, seconds=1)
        agent.say(record(type="hello"), record(type="error", stage=stage, text="10.0.0.2: refused"))
        with pytest.raises(HostError, match=r"send: 10\.0\.0\.2: refused") as caught:
            job.wait_for("ready", 10.0)
        assert caught.value.stage == expected
        assert job.wait_for("hello", 0.0) == {"type": "hello"}  # what came before stays


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (ended(status=None, signal="SIGSEGV"), "was killed by SIGSEGV, before its 'ready' record"),
        (ended(status=2, stderr="a\nunknown flag --x\n"), "ended with status 2: unknown flag --x, before"),
        (
            ended(status=None, signal="SIGKILL", fault="printed junk"),
            "printed junk; it was killed by SIGKILL",
        ),
    ],
)
def test_an_end_before_the_awaited_record_says_how(end: Message, words: str) -> None:
    session, agent = open_session()
    with session:
        job = session.start_engine("send", {}, seconds=1)
        agent.say(end)
        with pytest.raises(HostError, match=words) as caught:
            job.wait_for("ready", 10.0)
        assert caught.value.stage == "engine"


def test_time_outs_say_what_came_last() -> None:
    session, agent = open_session()
    with session:
        job = session.start_engine("send", {}, seconds=1)
        with pytest.raises(HostError, match="no 'ready' record within 0 s; it has said nothing"):
            job.wait_for("ready", 0.0)
        agent.say(record(type="hello"))
        job.wait_for("hello", 10.0)
        with pytest.raises(HostError, match=r"has not ended within 0\.01 s; its last record was 'hello'"):
            job.wait(0.01)


def test_an_engine_that_starts_after_its_caller_gave_up_is_killed() -> None:
    held: list[Message] = []

    def reply(request: Message) -> list[Message]:
        if request["op"] == "engine.start":
            held.append(request)
            return []
        return reply_plainly(request)

    session, agent = open_session(reply, request_timeout_s=0.05)
    with pytest.raises(HostError, match=r"did not answer 'engine\.start' within 0\.05 s"):
        session.start_engine("send", {}, seconds=1)
    agent.say(answer(held[0], **STARTED))
    assert agent.next_request("engine.kill")["job"] == 1
    session.close()


def test_a_callback_may_use_the_session() -> None:
    session, agent = open_session()
    with session:
        clocks: list[tuple[int, int]] = []

        def read_clock(_record: Message) -> None:
            clocks.append(session.clock())

        job = session.start_engine("send", {}, seconds=1, on_record=read_clock)
        agent.say(record(type="hello"), ended())
        job.wait(10)
        assert clocks == [(3, 4)]


def test_what_a_callback_raises_comes_out_of_wait_and_stops_nothing() -> None:
    session, agent = open_session()
    with session:
        calls: list[Message] = []

        def break_down(item: Message) -> None:
            calls.append(item)
            raise LookupError("display gone")

        job = session.start_engine("send", {}, seconds=1, on_record=break_down)
        agent.say(record(type="hello"), record(type="result"), ended())
        with pytest.raises(LookupError, match="display gone"):
            job.wait(10)
        assert len(calls) == 1
        assert len(job.records) == 2
        assert session.clock() == (3, 4)


def test_requests_from_many_threads_get_their_own_answers() -> None:
    def reply(request: Message) -> list[Message]:
        if request["op"] == "ping":
            return [answer(request, monotonic_ns=request["id"], realtime_ns=-request["id"])]
        return reply_plainly(request)

    session, _agent = open_session(reply)
    results: queue.Queue[tuple[int, int]] = queue.Queue()

    def ask() -> None:
        for _ in range(50):
            results.put(session.clock())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    session.close()
    answers = [results.get(timeout=1) for _ in range(400)]
    assert len({monotonic for monotonic, _realtime in answers}) == 400
    assert all(monotonic == -realtime for monotonic, realtime in answers)


def test_counters_keep_every_sample_up_to_the_stop() -> None:
    def reply(request: Message) -> list[Message]:
        if request["op"] == "counters.stop":
            return [{"type": "counters", "watch": 4, "sample": {"time_ns": 3}}, answer(request)]
        return reply_plainly(request)

    session, agent = open_session(reply)
    with session:
        watch = session.start_counters(1)
        assert (watch.interval_ns, watch.start_ns) == (10_000_000, 5)
        agent.say({"type": "counters", "watch": 4, "sample": {"time_ns": 1}})
        agent.say({"type": "counters", "watch": 4, "sample": {"time_ns": 2}})
        assert [sample["time_ns"] for sample in watch.stop()] == [1, 2, 3]
        assert [sample["time_ns"] for sample in watch.stop()] == [1, 2, 3]
        agent.next_request("counters.stop")
        assert agent.requests.empty()  # the second stop asked nothing


def test_unknown_fields_and_strays_are_kept_for_the_report() -> None:
    session, agent = open_session()
    with session:
        agent.say({**record(type="hello"), "job": 77, "colour": "red"})
        session.clock()  # comes after it on the same stream
        assert session.unexpected == [
            "message 'engine': unknown field 'colour'",
            "a record of job 77, which nobody waits for",
        ]


def test_a_channel_that_takes_nothing_ends_the_session() -> None:
    session, agent = open_session()
    agent.closed = True
    agent.stderr = "ssh: connection reset\n"
    with pytest.raises(HostError, match="cannot speak to the agent: Broken pipe; it said last: ssh: conn"):
        session.clock()
    session.close()
    session.close()


def test_a_closed_session_says_so() -> None:
    session, _agent = open_session()
    session.close()
    with pytest.raises(HostError, match="the session is closed"):
        session.clock()
