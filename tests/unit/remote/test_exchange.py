"""The exchange with an agent: hello, requests, noise, and every end."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from pathlab._version import VERSION
from pathlab.agents.protocol import PROTOCOL_VERSION, FrameDecoder, encode_frame
from pathlab.errors import HostError, ProtocolError
from pathlab.remote import exchange, ssh
from pathlab.remote.session import Session
from tests.unit.remote.scripted_agent import (
    HELLO,
    PATIENCE_S,
    Message,
    ScriptedAgent,
    ScriptedTransport,
    answer,
    open_session,
    record,
    refuse,
    reply_plainly,
)


def test_hello_says_what_it_wants_and_keeps_unknown_fields() -> None:
    def reply(request: Message) -> list[Message]:
        return [{**HELLO, "mood": "fine"}] if request["op"] == "hello" else [answer(request)]

    agent = ScriptedAgent(reply)
    with_extra = Session(ScriptedTransport(agent), host="alpha")
    hello = with_extra.open()
    with_extra.close()
    assert hello == with_extra.hello == {**HELLO, "mood": "fine"}
    assert agent.requests.get() == {
        "op": "hello",
        "protocol": PROTOCOL_VERSION,
        "program": VERSION,
        "require": ["engine", "counters", "facts"],
    }
    assert agent.closed


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"type": "hello", "protocol": 9, "program": "7.7.7", "new": True}, ("7.7.7", "protocol 9", VERSION)),
        (
            {"type": "refusal", "protocol": 2, "program": "0.1.0", "text": "no feature 'x'"},
            ("no feature 'x'",),
        ),
    ],
)
def test_another_version_and_a_refusal_are_named(said: Message, named: tuple[str, ...]) -> None:
    with pytest.raises(ProtocolError) as caught:
        open_session(lambda _request: [said])
    assert all(word in str(caught.value) for word in ("alpha", *named))
    assert caught.value.hint is not None


def test_login_noise_is_skipped_and_quoted_when_nothing_follows() -> None:
    agent = ScriptedAgent(reply_plainly)
    agent.say_bytes(b"Welcome to alpha\nPLF")
    agent.say_bytes(b"X more\n")
    with_noise = Session(ScriptedTransport(agent), host="alpha")
    assert with_noise.open()["pid"] == 7
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


def test_a_host_that_drips_its_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of a message that never ends comes in time: the limit is of whole messages."""

    class Beating(ScriptedTransport):
        heartbeat_s = 0.01

    def drip(request: Message) -> list[Message]:
        if request["op"] == "hello":
            return [HELLO]
        agent.say_bytes(next(bytes_left))
        return []

    bytes_left = (bytes([byte]) for byte in encode_frame({"type": "answer", "text": "x" * 100_000}))
    monkeypatch.setattr(exchange, "MESSAGE_S", 0.3)
    agent = ScriptedAgent(drip)
    with Session(Beating(agent), host="alpha") as session:
        with pytest.raises(HostError, match="only parts of a message came from the host") as caught:
            session.clock()
        assert (caught.value.stage, caught.value.host) == ("connect", "alpha")


def test_a_host_that_drips_its_first_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of the deployment's answer is one of all its parts."""
    clock_s = [0.0]

    class Dripping:
        wait_s = 0.0

        def settimeout(self, wait_s: float) -> None:
            self.wait_s = wait_s

        def recv(self, _size: int) -> bytes:
            if self.wait_s < 1.0:
                raise TimeoutError
            clock_s[0] += 1.0
            return b"x"

    monkeypatch.setattr("pathlab.remote.ssh.time.monotonic", lambda: clock_s[0])
    transport = object.__new__(ssh.SshTransport)
    with pytest.raises(TimeoutError, match="no answer within 20 s"):
        transport._read_frame(Dripping(), None, FrameDecoder(noise_bytes=1000), "", 20.0)
    assert clock_s[0] == 20.0


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
    session, agent = open_session(lambda request: [] if request["op"] == "ping" else reply_plainly(request))
    job = session.start_engine("send", {}, seconds=1)
    waits: list[Callable[[], object]] = [
        session.clock,
        lambda: job.wait_for("ready", PATIENCE_S),
        lambda: job.wait(PATIENCE_S),
    ]
    with ThreadPoolExecutor(len(waits)) as pool:
        ended = [pool.submit(wait) for wait in waits]
        agent.next_request("ping")
        agent.stderr = "Traceback\nMemoryError: no room\n"
        agent.end()
        errors = [one.exception(PATIENCE_S) for one in ended]
    assert all(isinstance(error, HostError) and "MemoryError: no room" in str(error) for error in errors)
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


def test_requests_from_many_threads_get_their_own_answers() -> None:
    def reply(request: Message) -> list[Message]:
        if request["op"] == "ping":
            return [answer(request, monotonic_ns=request["id"], realtime_ns=-request["id"])]
        return reply_plainly(request)

    session, _agent = open_session(reply)
    with session, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: session.clock(), range(400)))
    assert len({monotonic for monotonic, _realtime in answers}) == 400
    assert all(monotonic == -realtime for monotonic, realtime in answers)


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
    with pytest.raises(HostError, match="cannot send to the agent: Broken pipe; last output: ssh: conn"):
        session.clock()
    session.close()
    session.close()


@pytest.mark.parametrize("answers_bye", [True, False])
def test_a_closed_session_says_so_also_where_the_agent_went_before_it_answered_bye(answers_bye: bool) -> None:
    def reply(request: Message) -> list[Message]:
        if request["op"] == "bye" and not answers_bye:
            agent.end()
            return []
        return reply_plainly(request)

    session, agent = open_session(reply)
    session.close()
    with pytest.raises(HostError, match="the session is closed"):
        session.clock()
