"""Messages in Protocol Buffers: what the engine writes Google's library parses, and the other way round."""

import io
import socket
from importlib.util import find_spec
from typing import Any

import pytest

from tests.native.engine import LONG_NS, Flag, assert_complete, assert_cut, receiving, sending
from tests.native.messages import OPEN
from tests.native.peers import (
    ANSWER,
    FORWARD,
    REVERSE,
    answering,
    build_answer,
    build_hello,
    call,
    listening,
    read_exactly,
    read_to_end,
)
from tests.require import require

pytestmark = pytest.mark.engine

REPLIES = 4
QUEUE = 2**20
UINT32, BYTES, STRING, FIXED32, DOUBLE, INT64 = 13, 12, 9, 7, 1, 3  # FieldDescriptorProto.Type
#: PROTOCOL.md's message, and one with fields that the engine does not know before, between and after.
MESSAGE = {"number": (1, UINT32), "content": (2, BYTES)}
WIDER = {
    **MESSAGE,
    "name": (3, STRING),
    "checksum": (4, FIXED32),
    "ratio": (15, DOUBLE),
    "offset": (2000, INT64),
}
#: Lengths of one, two and three bytes, of the content and of the whole; content of 0 bytes.
SIZES = [4, 5, 125, 126, 127, 131, 132, 133, 16377, 16378, 16387, 16388, 65535, 65536]


def make_class(fields: dict[str, tuple[int, int]]) -> Any:
    """Google's class of a proto3 message with these fields, without a generated file."""
    require(find_spec("google") and find_spec("google.protobuf"), "the package protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="message.proto", syntax="proto3")
    message = file.message_type.add(name="Message")
    for name, (number, kind) in fields.items():
        message.field.add(name=name, number=number, type=kind, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Message"))


def parse_all(data: bytes) -> list[Any]:
    """Messages behind their lengths, parsed by Google's library; nothing may be left."""
    from google.protobuf import proto

    kind = make_class(MESSAGE)
    stream = io.BytesIO(data)
    found = []
    while stream.tell() < len(data):
        found.append(proto.parse_length_prefixed(kind, stream))
    return found


def put_length(body: bytes) -> bytes:
    from google.protobuf.internal import encoder

    return bytes(encoder._VarintBytes(len(body))) + body


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("batch_bytes", [0, 2**18])
def test_googles_library_parses_what_the_engine_sends(size: int, batch_bytes: int) -> None:
    make_class(MESSAGE)
    count = 300 if size > 5 else 17_000  # numbers of one and two bytes, with small messages of three
    flags: dict[str, Flag] = {"message_bytes": size, "batch_bytes": batch_bytes, "bytes": count * size}
    with (
        listening() as (listener, port),
        sending(port, encoding="protobuf", **flags) as sender,
        answering(listener, build_answer()) as (stream, _),
    ):
        sender.expect("ready")
        sender.send_line("go")
        messages = parse_all(read_to_end(stream))
    assert [message.number for message in messages] == list(range(count))
    assert {len(message.content) for message in messages} == {size - 4}


def build_bodies(size: int) -> list[bytes]:
    """One message in all forms that a writer may choose, numbered in turn."""
    wider = make_class(WIDER)
    content = {"content": (bytes(range(256)) * 256)[: size - 4]}
    unknown = {"name": "n" * 40, "checksum": 2**32 - 1, "ratio": 0.1, "offset": -1}
    forms: list[list[dict[str, Any]]] = [
        [{"number": 0, **content}],
        [content, {"number": 1}],
        [unknown, {"number": 2, **content}],
        [content, unknown, {"number": 3}, unknown],
    ]
    return [b"".join(wider(**part).SerializeToString() for part in form) for form in forms]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("flags", [FORWARD, FORWARD | REVERSE | REPLIES], ids=["sink", "relay"])
def test_the_engine_parses_what_googles_library_writes(size: int, flags: int) -> None:
    data = b"".join(put_length(body) for body in build_bodies(size))
    messages = (size, 1, 0, QUEUE)
    hello = build_hello(flags=flags, messages=messages, total_bytes=4 * size, duration_ns=LONG_NS)
    with receiving(**OPEN) as (receiver, port):
        with call(port, hello + data) as stream:
            assert read_exactly(stream, ANSWER.size) == build_answer()
            stream.shutdown(socket.SHUT_WR)
            answer = read_to_end(stream)
        ending = receiver.finish()
    assert_complete(ending)
    assert ending.last["messages"]["received"] == [4]
    assert ending.last["messages"]["missing"] == ending.last["messages"]["out_of_order"] == [0]
    if flags == FORWARD:
        assert int.from_bytes(answer) == len(data)
    else:
        returned = parse_all(answer)
        assert [message.number for message in returned] == [0, 1, 2, 3]
        assert {message.content for message in returned} == {(bytes(range(256)) * 256)[: size - 4]}


def test_more_than_a_kilobyte_of_unknown_fields_is_refused() -> None:
    body = make_class(WIDER)(number=0, name="n" * 1100).SerializeToString()
    hello = build_hello(messages=(4, 1, 0, QUEUE), duration_ns=LONG_NS)
    with receiving() as (receiver, port), call(port, hello + put_length(body)) as stream:
        ending = receiver.finish()
        read_to_end(stream)
    assert_cut(ending, "not a message")
