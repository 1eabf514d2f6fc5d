"""What a session starts on a host: engines and counters, against an agent that is scripted in memory."""

import pytest

from pathlab.errors import HostError
from tests.unit.remote.scripted_agent import (
    STARTED,
    Message,
    answer,
    ended,
    open_session,
    record,
    reply_plainly,
)

ECHOED = {"type": "result", "complete": True, "reason": None, "echoed": 1}


def sample(time_ns: int) -> Message:
    return {"type": "counters", "watch": 4, "sample": {"time_ns": time_ns, "span_ns": 1, "cores": []}}


def test_options_limits_and_control_reach_the_agent() -> None:
    session, agent = open_session()
    session.start_engine("send", {"port": 5}, seconds=2.5)
    session.start_engine("ping", {"count": 1}, seconds=None, control=False)
    first, second = agent.next_request("engine.start"), agent.next_request("engine.start")
    session.close()
    assert first["options"] == {"port": 5, "control": "stdin"}
    assert first["limits"] == {"seconds": 2.5, "bytes": None}
    assert second["options"] == {"count": 1}
    assert second["limits"] == {"seconds": None, "bytes": None}


def test_records_that_follow_the_answer_at_once_are_not_lost() -> None:
    def reply(request: Message) -> list[Message]:
        if request["op"] == "engine.start":
            return [answer(request, **STARTED), record(type="hello"), record(**ECHOED), ended()]
        return reply_plainly(request)

    session, _agent = open_session(reply)
    with session:
        seen: list[Message] = []
        job = session.start_engine("echo", {}, seconds=1, on_record=seen.append)
        end = job.wait(10)
        assert end.records == ({"type": "hello"}, ECHOED)
        assert (end.status, end.signal, end.fault) == (0, None, None)
        assert seen == list(end.records)
        assert job.records == seen
        assert job.wait_for("result", 0.0) == ECHOED
        assert job.wait_for("result", 0.0, after=1) == ECHOED
        with pytest.raises(HostError, match="ended with status 0, before its 'result' record"):
            job.wait_for("result", 0.0, after=2)


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("connect", "network"),
        ("bind", "network"),
        ("listen", "network"),
        ("handshake", "network"),
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
        with pytest.raises(HostError, match="no 'ready' record within 0 s; it has written nothing"):
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

        job = session.start_engine("echo", {}, seconds=1, on_record=break_down)
        agent.say(record(type="hello"), record(**ECHOED), ended())
        with pytest.raises(LookupError, match="display gone"):
            job.wait(10)
        assert len(calls) == 1
        assert len(job.records) == 2
        assert session.clock() == (3, 4)


def test_counters_keep_every_sample_up_to_the_stop() -> None:
    def reply(request: Message) -> list[Message]:
        if request["op"] == "counters.stop":
            return [sample(3), answer(request)]
        return reply_plainly(request)

    session, agent = open_session(reply)
    with session:
        watch = session.start_counters(1)
        assert (watch.interval_ns, watch.start_ns) == (10_000_000, 5)
        agent.say(sample(1), sample(2))
        for _ in range(2):
            assert [one["time_ns"] for one in watch.stop()] == [1, 2, 3]
        agent.next_request("counters.stop")
        assert agent.requests.empty()  # the second stop sent nothing
