"""Text of others made harmless: what hosts, files and databases say is shown, and does nothing.

Terminals act on control characters, and readers are misled by characters that turn the writing direction
round or cannot be seen. All of them are shown as JSON writes them (``\\u001b``), so that a JSON document on
its way to a terminal stays the same document.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, NoReturn, TextIO, cast

from pathlab.errors import ExitStatus

#: Controls (C0 but tab and line feed, DEL, C1), bidirectional and invisible formats, line and paragraph
#: separators, lone surrogates, tags. A carriage return before a line feed ends a line and is none.
UNSAFE_PATTERN = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)
#: What a spreadsheet takes for the beginning of a formula: OWASP, CSV Injection.
FORMULA_PATTERN = r"[\t\r\n ]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]"
#: A text that is a number as a whole.
NUMBER_PATTERN = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_UNSAFE, _FORMULA, _NUMBER = (re.compile(each) for each in (UNSAFE_PATTERN, FORMULA_PATTERN, NUMBER_PATTERN))


def escape_controls(text: str) -> str:
    """Return text without a character that acts on a terminal; tabs and line feeds stay."""
    return _UNSAFE.sub(_format_character, text)


def escape_line(text: str) -> str:
    """Return text as one line without a character that acts on a terminal: breaks become spaces."""
    return escape_controls(" ".join(text.splitlines()))


def escape_cell(text: str) -> str:
    """Return a text cell of CSV that no spreadsheet takes for a formula; numbers stay numbers.

    An apostrophe goes before what begins with ``= + - @``, a tab or a line break (OWASP, CSV Injection).
    """
    safe = escape_controls(text)
    risky = _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
    return f"'{safe}" if risky else safe


def _format_character(result: re.Match[str]) -> str:
    units = result[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index : index + 2].hex()}" for index in range(0, len(units), 2))


def end_unread(stream: IO[str]) -> NoReturn:
    """End the program with the status of SIGPIPE: the reader of a stream has ended, as in ``| head``.

    Raises SystemExit. What Python flushes at exit goes nowhere, else it would complain.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    raise SystemExit(ExitStatus.OUTPUT_CLOSED)


class EscapingStream:
    """A text stream onto which nothing is written that acts on a terminal.

    It stands in place of ``sys.stdout`` and ``sys.stderr``, so that no caller can forget it. What writes
    controls of its own, such as colours, escapes its texts itself and writes to ``unescaped``. Where nobody
    reads any more, the program ends.
    """

    def __init__(self, stream: TextIO) -> None:
        self.unescaped = stream

    def write(self, text: str) -> int:
        try:
            self.unescaped.write(escape_controls(text))
        except BrokenPipeError:
            end_unread(self.unescaped)
        return len(text)

    def flush(self) -> None:
        try:
            self.unescaped.flush()
        except BrokenPipeError:
            end_unread(self.unescaped)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # through which bytes would pass by, and libraries look for it
            raise AttributeError(name)
        return getattr(self.unescaped, name)


@contextlib.contextmanager
def escaping_streams() -> Iterator[None]:
    """Put an ``EscapingStream`` in place of ``sys.stdout`` and ``sys.stderr`` for this block.

    A letter that the terminal's encoding lacks is written as an escape instead of ending the program.
    """
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = (cast("TextIO", EscapingStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
