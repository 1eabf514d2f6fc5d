"""A capture is fetched within its limit, the size that its result states, and whole pieces."""

import base64

import pytest

from pathlab.errors import HostError
from pathlab.remote.captures import RemoteCapture
from pathlab.remote.record_schema import PIECE_MAX_BYTES
from tests.unit.remote.scripted_agent import (
    HELLO,
    STARTED,
    Message,
    answer,
    open_session,
    record,
    reply_plainly,
)

LIMIT_BYTES = 3 * PIECE_MAX_BYTES
SIZE_BYTES = 2 * PIECE_MAX_BYTES + 7
CONTENT = bytes(range(256)) * (SIZE_BYTES // 256 + 1)
SOUND: Message = {"stated": SIZE_BYTES, "size": SIZE_BYTES, "piece": PIECE_MAX_BYTES, "more": 0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, None),
        ({"stated": LIMIT_BYTES + 1, "size": LIMIT_BYTES + 1}, "786433 bytes; 786432 were allowed"),
        ({"size": 1 << 40}, "has 1099511627776 bytes where its result states 524295"),
        ({"stated": 100, "size": 100, "more": 5}, "sent 105 bytes from byte 0 on, not 100"),
        ({"piece": 1}, "sent 1 bytes from byte 0 on, not 262144"),
        ({"piece": 0}, "sent 0 bytes from byte 0 on, not 262144"),
        ({"piece": PIECE_MAX_BYTES + 3}, "'base64' has more than 262144 bytes"),
        ({"size": -1}, "'size_bytes' is -1, not from 0"),
        ({"size": None}, "'size_bytes' is null, not a whole number"),
        ({"stated": 2**63}, "number of more than 64 bits"),
        ({"stated": None}, "'result.file_bytes' is null, not a whole number"),
    ],
)
def test_no_more_comes_than_was_allowed_and_stated(change: Message, words: str | None) -> None:
    given = {**SOUND, **change}
    requested: list[int] = []

    def reply(request: Message) -> list[Message]:
        if request["op"] == "hello":
            return [{**HELLO, "features": [*HELLO["features"], "captures"]}]
        if request["op"] == "capture.start":
            result = {"complete": True, "reason": None, "captured_packets": 3, "dropped_packets": 0}
            return [
                answer(request, **STARTED),
                record(type="ready"),
                record(type="result", **result, file_bytes=given["stated"]),
            ]
        if request["op"] == "capture.read":
            offset = request["offset"]
            requested.append(offset)
            end = min(offset + given["piece"], (given["size"] or 0) + given["more"])
            piece = base64.b64encode(CONTENT[offset:end]).decode()
            return [answer(request, size_bytes=given["size"], base64=piece)]
        return reply_plainly(request)

    session, _agent = open_session(reply)
    with session:
        capture = RemoteCapture(session, {"port": "9", "limit-bytes": LIMIT_BYTES}, seconds=1.0)
        if words is None:
            assert b"".join(capture.read()) == CONTENT[:SIZE_BYTES]
            assert requested == [0, PIECE_MAX_BYTES, 2 * PIECE_MAX_BYTES]
        else:
            with pytest.raises(HostError) as caught:
                list(capture.read())
            assert words in str(caught.value)
            assert len(requested) <= 1
            assert session.death() is None
        capture.close()
