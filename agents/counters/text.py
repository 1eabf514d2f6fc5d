"""The kernel's counters as text files, and names in them as plain text."""

from __future__ import annotations

import os

from pathlab.agents.limits import MAX_COUNTER_TEXT_BYTES

_PIECE_BYTES = 64 * 1024


def read_text(path: str) -> str:
    """A whole small file. OSError when it cannot be read, ValueError above MAX_COUNTER_TEXT_BYTES."""
    # Plain descriptors: a file object with its decoder costs three times as much per sample.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while True:
            piece = os.read(descriptor, _PIECE_BYTES)
            if not piece:
                return os.fsdecode(data)
            data += piece
            if len(data) > MAX_COUNTER_TEXT_BYTES:
                raise ValueError(f"more than {MAX_COUNTER_TEXT_BYTES} bytes")
    finally:
        os.close(descriptor)


def show_name(name: str) -> str:
    """An interface's name as text that UTF-8 can carry; Linux takes nearly any bytes for one."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
