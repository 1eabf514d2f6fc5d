"""The stub behind a pipe: its argument is the variant. It states on stderr when it hangs."""

from __future__ import annotations

import os
import signal
import sys

GOOD = 5


def read_exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = os.read(0, count - len(data))
        if not part:
            sys.exit(0)
        data += part
    return data


def main() -> None:
    variant, asked, reply = sys.argv[1], 0, b""
    if variant == "refuse":
        sys.exit("refused")
    while True:
        size = int.from_bytes(read_exactly(4), "big")
        if size == 0:
            if variant == "order" and asked == 1:
                os.write(2, b"null request\n")
                asked += 1
            if variant == "null-mute":
                signal.pause()
            os.write(1, bytes(4) if variant != "deaf" else b"\0\0\0\1x")
            continue
        request = read_exactly(size)
        late, asked = asked > GOOD, asked + 1
        reply = reply if late and variant == "stale" else request
        answer = reply[:5] + bytes([reply[5] ^ 0xFF]) + reply[6:] if variant == "corrupt" else reply
        if variant == "order" and asked == 1:
            os.write(2, b"first request\n")
        if variant == "mute" or (late and variant == "hang"):
            os.write(2, b"hangs\n")
            signal.pause()
        if late and variant == "fail":
            sys.exit(7)
        if (late and variant == "short") or variant == "brief":
            answer = answer[:-1]
        if late and variant == "long":
            answer += b"x"
        os.write(1, len(answer).to_bytes(4, "big") + answer)


main()
