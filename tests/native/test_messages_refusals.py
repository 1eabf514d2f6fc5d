"""Flags of messages that contradict each other, and hellos that no sender of messages sends."""

from __future__ import annotations

import pytest

from tests.native.engine import Flag, assert_refused, receiving, run
from tests.native.messages import USAGE
from tests.native.peers import build_hello, call, read_to_end

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ({"message_bytes": 3}, "--message-bytes must be at least 4"),
        ({"message_bytes": 65537}, "--message-bytes: '65537' is not a size such as"),
        ({"reply": "yes"}, "--reply, --placement, --messages-per-s and --batch-bytes need --message-bytes"),
        ({"transport": "pipe"}, "--transport: pipe carries messages: give --message-bytes"),
        ({"message_bytes": 64, "queue_bytes": 300_000}, "--queue-bytes must be a power of two"),
        (
            {"message_bytes": 64, "batch_bytes": 2**20, "transport": "eventfd"},
            "--batch-bytes must be at most half of --queue-bytes",
        ),
        ({"message_bytes": 64, "direction": "both"}, "--direction both is for streams of bytes"),
        ({"message_bytes": 64, "streams": 257}, "--message-bytes allows 256 streams at most"),
        (
            {"message_bytes": 65400, "transport": "udp"},
            "--message-bytes and --batch-bytes: a datagram carries",
        ),
        ({"message_bytes": 64, "batch_max_delay_ns": 5}, "delays of batches need --batch-bytes"),
        ({"message_bytes": 64, "placement": "fused", "reply": "yes"}, "--placement: threads of one process"),
        ({"message_bytes": 64, "placement": "threaded"}, "--placement threaded has source and sink in this"),
        ({"message_bytes": 64, "bytes": 100, "streams": 2}, "--bytes must be at least 64 for each of the 2"),
        *(
            (
                {"message_bytes": 64, "transport": "udp", **flag},
                f"--{name} is for TCP only: leave it out with",
            )
            for name, flag in dict[str, dict[str, Flag]](
                {
                    "congestion": {"congestion": "reno"},
                    "mss-bytes": {"mss_bytes": 536},
                    "no-delay": {"no_delay": "yes"},
                    "cork": {"cork": "yes"},
                }
            ).items()
        ),
        *(
            (
                {"message_bytes": 64, "transport": name, "window_bytes": 65536},
                "--window-bytes has no effect on",
            )
            for name in ("pipe", "unix-datagram", "shared-memory", "eventfd")
        ),
        ({"message_bytes": 64, "encoding": "json"}, "--encoding:"),
        ({"message_bytes": 64, "wait": "sleep"}, "--wait:"),
        ({"message_bytes": 64, "receivers": "127.0.0.1:1"}, "--receivers needs --message-bytes, and takes"),
    ],
)
def test_flags_that_contradict_each_other(flags: dict[str, Flag], named: str) -> None:
    ending = run("send", address="127.0.0.1", **flags)
    assert_refused(ending, USAGE, "options")
    assert named in ending.last["text"]


@pytest.mark.parametrize("listed", ["10.0.0.1", "::1:5000", "[::1]", "10.0.0.1:0", "[]:1", "10.0.0.1:1,"])
def test_lists_of_receivers_that_are_wrong(listed: str) -> None:
    ending = run("send", receivers=listed, message_bytes=64)
    assert_refused(ending, USAGE, "options")
    assert "--receivers: " in ending.last["text"]


@pytest.mark.parametrize(
    ("flags", "messages"),
    [
        (1, (3, 0, 0, 2**20)),  # too small
        (1, (65537, 0, 0, 2**20)),
        (1, (64, 2, 0, 2**20)),  # no such encoding
        (1, (64, 0, 6, 2**20)),  # no such carrier
        (1, (64, 0, 3, 2**20)),  # a pipe over TCP
        (1, (64, 0, 0, 2**20 + 1)),  # not a power of two
        (1, (64, 0, 0, 2**31)),
        (3, (64, 0, 0, 2**20)),  # both ways without replies
        (5, (64, 0, 0, 2**20)),  # replies one way
        (7, (0, 0, 0, 0)),  # replies to bytes
        (1, (0, 0, 1, 0)),
    ],
)
def test_a_hello_with_impossible_messages_is_rejected(
    flags: int, messages: tuple[int, int, int, int]
) -> None:
    with receiving() as (receiver, port):
        with call(port, build_hello(flags=flags, messages=messages)) as connection:
            assert read_to_end(connection) == b""
        receiver.close_stdin()
        assert receiver.finish().last["type"] == "error"


@pytest.mark.parametrize(("flags", "status"), [(1, 0), (2, None), (7, None)])
@pytest.mark.parametrize("limit", ["rate_bits_per_s", "stream_rate_bits_per_s"])
def test_a_receiver_with_a_rate_limit_sends_no_messages(flags: int, status: int | None, limit: str) -> None:
    """They are not paced, so that the limit would not hold."""
    with receiving(direction="any", **{limit: 1000}) as (receiver, port):
        with call(port, build_hello(flags=flags, messages=(64, 0, 0, 2**20))) as connection:
            answer = connection.recv(12)
            assert answer == b"" if status is None else int.from_bytes(answer[6:8], "big") == status
        receiver.close_stdin()
        receiver.finish()


def test_streams_that_state_other_messages_are_rejected() -> None:
    with receiving() as (receiver, port):
        with (
            call(port, build_hello(streams=2, messages=(64, 0, 0, 2**20))),
            call(port, build_hello(stream=1, streams=2, messages=(128, 0, 0, 2**20))) as other,
        ):
            assert read_to_end(other) == b""
        receiver.close_stdin()
        receiver.finish()
