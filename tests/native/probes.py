"""Messages of `ping` and `echo` by native/PROTOCOL.md, built independently of the engine."""

import struct
from dataclasses import dataclass

from tests.native.engine import TOKEN

MAGIC = b"PLPB"
VERSION = 2
REQUEST, REPLY, CHALLENGE, HELLO = 1, 2, 3, 4
FRONT = struct.Struct(">4sBBH")  # magic, version, kind, size
BODY = struct.Struct(">QQQ")  # cookie, sequence, time held in ns
DIGEST = struct.Struct(">Q")
HEAD_BYTES = FRONT.size + BODY.size + DIGEST.size
NONCE_BYTES = 16
CHALLENGE_BYTES = FRONT.size + NONCE_BYTES
HELD = slice(24, 32)

_MASK = (1 << 64) - 1


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    a, c = (a + b) & _MASK, (c + d) & _MASK
    b, d = _rotate(b, 13) ^ a, _rotate(d, 16) ^ c
    a = _rotate(a, 32)
    c, a = (c + b) & _MASK, (a + d) & _MASK
    b, d = _rotate(b, 17) ^ c, _rotate(d, 21) ^ a
    return a, b, _rotate(c, 32), d


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4 of 64 bits (Aumasson and Bernstein, 2012)."""
    low, high = (int.from_bytes(key[at : at + 8], "little") for at in (0, 8))
    start = [int.from_bytes(b"somepseudorandomlygeneratedbytes"[at : at + 8], "big") for at in (0, 8, 16, 24)]
    a, b, c, d = (word ^ half for word, half in zip(start, (low, high, low, high), strict=True))
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        d ^= word
        for _ in range(2):
            a, b, c, d = _round(a, b, c, d)
        a ^= word
    c ^= 0xFF
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The fields of a probe's head between magic, version, kind, size and the digest."""

    cookie: int = 0x1122334455667788
    sequence: int = 0
    held_ns: int = 0


def build_probe(
    head: Head | None = None,
    *,
    kind: int = REQUEST,
    size: int = 100,
    version: int = VERSION,
    token: str = TOKEN,
    padding: bytes | None = None,
) -> bytes:
    """A complete message of ``size`` bytes; ``padding`` is zeros unless given."""
    head = head or Head()
    covered = FRONT.pack(MAGIC, version, kind, size) + BODY.pack(head.cookie, head.sequence, head.held_ns)
    digest = DIGEST.pack(siphash(bytes.fromhex(token), covered))
    return covered + digest + (bytes(max(size - HEAD_BYTES, 0)) if padding is None else padding)


def parse_probe(message: bytes) -> Head:
    """The head of a message."""
    return Head(**dict(zip(("cookie", "sequence", "held_ns"), BODY.unpack(message[8:32]), strict=True)))


def reply_to(request: bytes, *, held_ns: int = 0, token: str = TOKEN) -> bytes:
    """An echo's reply to a request."""
    request_head = parse_probe(request)
    head = Head(cookie=request_head.cookie, sequence=request_head.sequence, held_ns=held_ns)
    return build_probe(head, kind=REPLY, size=len(request), token=token, padding=request[HEAD_BYTES:])


def build_challenge(nonce: bytes, *, version: int = VERSION) -> bytes:
    """An echo's first message on a connection."""
    return FRONT.pack(MAGIC, version, CHALLENGE, CHALLENGE_BYTES) + nonce


def build_response(challenge: bytes, size: int, *, version: int = VERSION, token: str = TOKEN) -> bytes:
    """A prober's answer to the challenge, with the size of all further messages."""
    front = FRONT.pack(MAGIC, version, HELLO, size)
    return front + DIGEST.pack(siphash(bytes.fromhex(token), front + challenge[FRONT.size :]))
