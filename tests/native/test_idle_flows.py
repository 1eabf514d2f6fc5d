"""A receiver that serves one flow after the other: one that stands still ends, and the next hears why."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.native.engine import Ending, Engine, Flag, assert_complete, run, start
from tests.native.peers import (
    ANSWER,
    FORWARD,
    REVERSE,
    build_answer,
    build_hello,
    call,
    read_busy,
    read_exactly,
)

pytestmark = pytest.mark.engine

OPEN_TOKEN = "0" * 32
#: Long enough for the next sender to find the receiver busy, however loaded this machine is.
SOON, LATE = "500ms", "1h"


@contextlib.contextmanager
def serving(**flags: Flag) -> Iterator[tuple[Engine, int]]:
    """A receiver started by hand, without controller and token, and its port."""
    settings: dict[str, Flag] = {"bind": "127.0.0.1", "port": 0, "flows": 0, "output": "json", **flags}
    with start("receive", **settings) as receiver:
        receiver.expect("hello")
        yield receiver, receiver.expect("listening")["port"]


def send(port: int, **flags: Flag) -> Ending:
    return run("send", address="127.0.0.1", port=port, duration="40ms", **flags)


@pytest.mark.parametrize("flags", [FORWARD, REVERSE, FORWARD | REVERSE])
@pytest.mark.parametrize("streams", [1, 8])
def test_a_flow_that_stands_still_ends_and_the_next_is_served(streams: int, flags: int) -> None:
    """One stream of a sender that vanished without a word: of 8 it is incomplete, alone it is silent."""
    hello = build_hello(streams=streams, flags=flags, token=OPEN_TOKEN)
    with serving(idle_timeout=SOON) as (receiver, port), call(port, hello) as vanished:
        assert read_exactly(vanished, ANSWER.size) == build_answer()
        ended = receiver.wait_for("error" if streams > 1 else "result")
        assert receiver.expect("listening")["port"] == port
        assert_complete(send(port, streams=2))
        assert receiver.wait_for("result")["complete"] is True
    if streams > 1:
        assert (ended["stage"], ended["text"]) == (
            "accept",
            "1 of 8 streams connected, and no other one within 500ms",
        )
    else:
        assert ended["reason"] == ("the flow was silent: nothing was delivered in either direction for 500ms")


@pytest.mark.parametrize("sent", [b"", b"x" * 1000])
def test_a_sender_that_stops_in_the_middle_ends_too(sent: bytes) -> None:
    """Bytes that arrived are counted; the flow by bytes would have no other end."""
    hello = build_hello(token=OPEN_TOKEN, total_bytes=1_000_000)
    with serving(idle_timeout=SOON, flows=1) as (receiver, port), call(port, hello + sent):
        ended = receiver.finish()
    assert ended.status == 5
    assert ended.last["complete"] is False
    assert ended.last["total_bytes"] == [len(sent)]
    assert "the flow was silent" in ended.stderr


@pytest.mark.parametrize(
    ("hello", "named"),
    [
        ({"streams": 1}, "another flow of 1 stream from 127.0.0.1, for "),
        ({"streams": 8}, "another flow of 8 streams from 127.0.0.1, 1 of them connected, for "),
    ],
)
@pytest.mark.parametrize("streams", [1, 2, 8])
def test_the_next_sender_hears_which_flow_is_busy(hello: dict[str, int], named: str, streams: int) -> None:
    """Also one with as many streams, whose streams would else fill those that are missing."""
    first_hello = build_hello(**hello, token=OPEN_TOKEN)  # type: ignore[arg-type]
    with serving(idle_timeout=LATE) as (_receiver, port), call(port, first_hello) as first:
        assert read_exactly(first, ANSWER.size) == build_answer()
        refused = send(port, streams=streams)
    assert refused.status == 4
    assert named in refused.stderr
    assert refused.stderr.rstrip().endswith(": try again when it is over")


def test_streams_of_two_addresses_are_no_flow() -> None:
    """Alike in all else, and without a token."""
    with (
        serving(bind="any", idle_timeout=LATE) as (_receiver, port),
        call(port, build_hello(streams=2, token=OPEN_TOKEN)) as first,
    ):
        assert read_exactly(first, ANSWER.size) == build_answer()
        with call(port, build_hello(stream=1, streams=2, token=OPEN_TOKEN), address="::1") as other:
            assert read_busy(other) == (1, 1, 2)


def test_what_the_receiver_would_not_serve_is_not_called_busy() -> None:
    """Another number of streams than it was started with: waiting would not help."""
    hello = build_hello(streams=2, token=OPEN_TOKEN)
    with serving(streams=2, idle_timeout=LATE) as (_receiver, port), call(port, hello) as first:
        assert read_exactly(first, ANSWER.size) == build_answer()
        refused = send(port, streams=3)
    assert "another token, number of streams or direction" in refused.stderr
