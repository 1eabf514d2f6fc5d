"""Frames and messages between controller and agent, as in PROTOCOL.md next to this file; both sides use it.

A frame is ``PLF1``, the body's length in 4 bytes (big endian) and the body: one JSON object in UTF-8.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Tuple

PROTOCOL_VERSION = 2
MAGIC = b"PLF1"
HEADER_BYTES = 8
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_NOISE_BYTES = 64 * 1024
#: Objects and lists of one message: an empty one takes 64 bytes and more. 4096 streams with nine subflows
#: each have some 40,000.
MAX_CONTAINERS = 250_000
_MAX_QUOTED = 80  # characters of the other side's text in one of ours

Message = Dict[str, Any]


class FrameError(Exception):
    """Bytes that are no frame of this protocol; the conversation cannot go on."""


class MessageError(Exception):
    """A whole frame whose message is refused; the text names the operation and the field."""


class RequestError(Exception):
    """A request that the agent's host cannot carry out; becomes an answer with ``ok`` false."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage = stage


def encode_frame(message: Mapping[str, Any]) -> bytes:
    """One frame holding ``message``. FrameError when it is not plain JSON or larger than the cap."""
    try:
        body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"a message that is not plain JSON: {error}") from error
    return frame_body(body)


def frame_body(body: bytes) -> bytes:
    """One frame around a body that already is the text of a JSON object. FrameError above the cap."""
    if len(body) > MAX_BODY_BYTES:
        raise FrameError(f"a message of {len(body)} bytes; the most is {MAX_BODY_BYTES}")
    return MAGIC + struct.pack(">I", len(body)) + body


def parse_object(text: bytes) -> Message:
    """One JSON object from UTF-8 bytes. ValueError for anything else, NaN and infinities included."""
    if text.count(b"{") + text.count(b"[") > MAX_CONTAINERS:
        raise ValueError(f"more than {MAX_CONTAINERS} objects and lists")
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=_reject_constant)
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("JSON that is not an object")
    return value


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class FrameDecoder:
    """Turns a byte stream, however it was cut, into messages: ``feed`` bytes, then ``read`` until None.

    Up to ``noise_bytes`` of foreign bytes before the first frame are skipped and kept in ``noise``.
    A length above the cap is refused from the header alone. Memory held: one frame plus one feed.
    After a FrameError every further call raises it again.
    """

    def __init__(self, *, noise_bytes: int = 0) -> None:
        self._noise = bytearray()
        self._noise_allowed = noise_bytes
        self._buffer = bytearray()
        self._started = False
        self._fault: Optional[str] = None

    @property
    def noise(self) -> bytes:
        return bytes(self._noise)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream; after a fault they are dropped."""
        if self._fault is None:
            self._buffer += data

    def read(self) -> Optional[Message]:
        """The next whole message, or None when more bytes are needed. FrameError for anything else."""
        if self._fault is not None:
            raise FrameError(self._fault)
        if not self._started and not self._find_start():
            return None
        magic = bytes(self._buffer[: len(MAGIC)])
        if magic != MAGIC[: len(magic)]:
            raise self._fail(f"expected a frame, found {magic!r}")
        if len(self._buffer) < HEADER_BYTES:
            return None
        (length,) = struct.unpack_from(">I", self._buffer, len(MAGIC))
        if length > MAX_BODY_BYTES:
            raise self._fail(f"a frame of {length} bytes was announced; the most is {MAX_BODY_BYTES}")
        if len(self._buffer) < HEADER_BYTES + length:
            return None
        body = bytes(self._buffer[HEADER_BYTES : HEADER_BYTES + length])
        del self._buffer[: HEADER_BYTES + length]
        try:
            return parse_object(body)
        except ValueError as error:
            raise self._fail(f"a frame whose body is no JSON object: {error}") from error

    def _find_start(self) -> bool:
        if not self._noise_allowed:
            self._started = True
            return True
        at = self._buffer.find(MAGIC)
        # Bytes at the end may be the first part of a magic that is still under way.
        noise = at if at >= 0 else len(self._buffer) - _overlap_bytes(self._buffer)
        if len(self._noise) + noise > self._noise_allowed:
            self._noise += self._buffer[: self._noise_allowed - len(self._noise)]
            raise self._fail(f"no frame within the first {self._noise_allowed} bytes")
        self._noise += self._buffer[:noise]
        del self._buffer[:noise]
        self._started = at >= 0
        return self._started

    def _fail(self, text: str) -> FrameError:
        self._fault = text
        self._buffer.clear()
        return FrameError(text)


def _overlap_bytes(buffer: bytearray) -> int:
    for size in range(len(MAGIC) - 1, 0, -1):
        if buffer.endswith(MAGIC[:size]):
            return size
    return 0


# Fields of each operation and their kinds; all are required.
REQUEST_FIELDS: Dict[str, Dict[str, str]] = {
    "hello": {"protocol": "integer", "program": "text", "require": "texts"},
    "facts": {"id": "integer"},
    "activity": {"id": "integer"},
    "host.lock": {"id": "integer", "owner": "object"},
    "engine.start": {"id": "integer", "subcommand": "text", "options": "object", "limits": "object"},
    "engine.command": {"id": "integer", "job": "integer", "line": "text"},
    "engine.kill": {"id": "integer", "job": "integer"},
    "discovery.start": {"id": "integer", "options": "object", "limits": "object"},
    "peer.start": {"id": "integer", "options": "object", "limits": "object"},
    "adapter.start": {
        "id": "integer",
        "name": "text",
        "role": "text",
        "settings": "object",
        "ports": "text",
        "limits": "object",
    },
    "adapter.check": {"id": "integer", "names": "texts"},
    "capture.start": {"id": "integer", "options": "object", "limits": "object"},
    "capture.read": {"id": "integer", "job": "integer", "offset": "integer"},
    "capture.close": {"id": "integer", "job": "integer"},
    "counters.start": {"id": "integer", "interval_ns": "integer"},
    "counters.stop": {"id": "integer", "watch": "integer"},
    "records.hold": {"id": "integer", "kinds": "texts"},
    "ping": {"id": "integer"},
    "bye": {"id": "integer"},
}

#: Builds of the native engine that ``engine.start`` may name.
OWN_BUILD, OTHER_BUILD = "this", "against"

# Fields that may be left out.
OPTIONAL_REQUEST_FIELDS: Dict[str, Dict[str, str]] = {
    "facts": {"probes": "texts"},
    "engine.start": {"token": "text or null", "build": "text"},
}

# The same for what an agent says, by ``type``.
AGENT_FIELDS: Dict[str, Dict[str, str]] = {
    "hello": {
        "protocol": "integer",
        "program": "text",
        "python": "text",
        "pid": "integer",
        "features": "texts",
    },
    "refusal": {"protocol": "integer", "program": "text", "text": "text"},
    "answer": {"id": "integer", "ok": "boolean"},
    "engine": {"job": "integer", "record": "object"},
    "engine-exit": {
        "job": "integer",
        "status": "integer or null",
        "signal": "text or null",
        "stderr": "text",
        "fault": "text or null",
    },
    "counters": {"watch": "integer", "sample": "object"},
}
_ANSWER_FIELDS: FrozenSet[str] = frozenset({"result", "error"})


def quote(value: object) -> str:
    """A value of the other side for a message of ours: on one line and short."""
    text = repr(value[: _MAX_QUOTED + 1] if isinstance(value, str) else value)
    return text if len(text) <= _MAX_QUOTED else text[:_MAX_QUOTED] + "\u2026"


def check_request(message: Mapping[str, Any]) -> str:
    """The operation of a request whose fields are all there, all known and of the right kind.

    A field that the request itself names in ``optional`` may be unknown. MessageError names what is wrong.
    """
    operation = message.get("op")
    if not isinstance(operation, str) or operation not in REQUEST_FIELDS:
        raise MessageError(f"unknown operation {quote(operation)}")
    fields = REQUEST_FIELDS[operation]
    _check_fields(message, fields, f"operation '{operation}'")
    spare = OPTIONAL_REQUEST_FIELDS.get(operation, {})
    given = {name: kind for name, kind in spare.items() if name in message}
    _check_fields(message, given, f"operation '{operation}'")
    optional = message.get("optional", [])
    if not _is_kind(optional, "texts"):
        raise MessageError(f"operation '{operation}': 'optional' must be a list of texts")
    unknown = sorted(set(message) - set(fields) - set(spare) - set(optional) - {"op", "optional"})
    if unknown:
        raise MessageError(f"operation '{operation}': unknown required field {quote(unknown[0])}")
    return operation


def check_agent_message(message: Mapping[str, Any]) -> Tuple[str, List[str]]:
    """The type of an agent's message and its unknown fields, sorted. MessageError names what is wrong."""
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in AGENT_FIELDS:
        raise MessageError(f"unknown message type {quote(kind)}")
    _check_fields(message, AGENT_FIELDS[kind], f"message '{kind}'")
    known = set(AGENT_FIELDS[kind]) | {"type"}
    if kind == "answer":
        known |= _ANSWER_FIELDS
        wanted = "result" if message["ok"] else "error"
        if not isinstance(message.get(wanted), dict):
            raise MessageError(f"message 'answer': field '{wanted}' must be an object")
    return kind, sorted(set(message) - known)


def _check_fields(message: Mapping[str, Any], fields: Mapping[str, str], what: str) -> None:
    for name, kind in fields.items():
        if name not in message:
            raise MessageError(f"{what}: missing field '{name}'")
        if not _is_kind(message[name], kind):
            raise MessageError(f"{what}: field '{name}' must be of kind {kind}")


def _is_kind(value: object, kind: str) -> bool:
    if kind.endswith(" or null"):
        return value is None or _is_kind(value, kind[: -len(" or null")])
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "texts":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, {"text": str, "object": dict, "boolean": bool}[kind])
