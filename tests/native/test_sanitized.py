"""One trial among strangers on the sanitized builds: nothing found, and nothing said on stderr."""

from __future__ import annotations

import contextlib

import pytest

from tests.native.engine import MS, Engine, assert_account_holds, receiving, sending
from tests.native.peers import VERSION, build_answer, build_hello, call, read_to_end
from tests.require import require_sanitized_engine

pytestmark = pytest.mark.engine

STREAMS = 8


def _disturb(port: int) -> int:
    """Strangers of every kind, and how many of them were turned away."""
    for data in (b"GET / HTTP/1.1\r\n\r\n", bytes(5000), build_hello(token="ff" * 16, streams=STREAMS)):
        with call(port, data) as stranger:
            assert read_to_end(stranger) == b""
    with call(port, build_hello(version=VERSION + 1) + bytes(100)) as newer:
        assert read_to_end(newer) == build_answer(status=1)
    with call(port, build_hello()[:20]):
        pass  # hangs up in mid-hello
    return 4


def _go(receiver: Engine, sender: Engine) -> None:
    sender.expect("ready")
    receiver.expect("ready")
    sender.say("go")
    receiver.expect("start")


@pytest.mark.parametrize("sanitizer", ["asan", "tsan"])
def test_trial_among_strangers(sanitizer: str) -> None:
    binary = require_sanitized_engine(sanitizer)
    with contextlib.ExitStack() as stack:
        receiver, port = stack.enter_context(
            receiving(binary, streams=STREAMS, workers=2, duration_ns=400 * MS)
        )
        turned_away = _disturb(port)
        # Those who never finish their hello are still there when the receiver ends.
        for size in (0, 1, 55):
            stack.enter_context(call(port, build_hello(streams=STREAMS)[:size]))
        sender = stack.enter_context(sending(port, binary, streams=STREAMS, workers=2, duration_ns=600 * MS))
        _go(receiver, sender)
        turned_away += _disturb(port)
        sent, received = sender.finish(), receiver.finish()
    for end in (sent, received):
        assert end.stderr == ""
        assert end.status == 0
        assert_account_holds(end, STREAMS)
    assert received.last["rejected"] >= turned_away
    assert received.last["total_bytes"] == sent.last["total_bytes"]


@pytest.mark.parametrize("sanitizer", ["asan", "tsan"])
def test_runs_that_are_cut(sanitizer: str) -> None:
    """The ways out that a complete trial does not take: a limit met by the workers, and a controller gone."""
    binary = require_sanitized_engine(sanitizer)
    with (
        receiving(binary, streams=STREAMS, workers=2) as (receiver, port),
        sending(port, binary, streams=STREAMS, workers=2, volume_limit_bytes=2_000_000) as sender,
    ):
        _go(receiver, sender)
        sent, received = sender.finish(), receiver.finish()
    assert received.last["total_bytes"] == sent.last["total_bytes"]
    for end in (sent, received):
        assert end.status == 5
        assert end.stderr == f"pathlab-engine: ended early: {end.last['reason']}\n"

    with receiving(binary, streams=STREAMS) as (receiver, _):
        receiver.hang_up()
        gone = receiver.finish()
    assert gone.status == 5
    assert gone.stderr == f"pathlab-engine receive: {gone.last['text']}\n"
