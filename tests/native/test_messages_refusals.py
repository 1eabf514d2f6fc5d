"""Hellos that no sender of messages sends; of flags: tests/golden/native/refusals.txt."""

from __future__ import annotations

import pytest

from tests.native.engine import receiving
from tests.native.peers import build_hello, call, read_to_end

pytestmark = pytest.mark.engine

#: Flags of a hello, and its size, encoding, carrier and queue.
IMPOSSIBLE = [
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
]


def test_hellos_with_impossible_messages_are_rejected() -> None:
    with receiving() as (receiver, port):
        for flags, messages in IMPOSSIBLE:
            with call(port, build_hello(flags=flags, messages=messages)) as connection:
                assert read_to_end(connection) == b"", messages
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
