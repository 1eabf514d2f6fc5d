"""A file as untrusted JSON: bounded, tolerant of what the programs really write, and never a traceback."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pathlab.errors import StoreError
from pathlab.files import open_for_reading

MAXIMUM_BYTES = 64 * 1024 * 1024
#: Memory that the values of a file may take, by the marks in its text and what each stands for: a few kB of
#: gzip may hold tens of millions of empty objects.
VALUES_MAX_BYTES = 700_000_000
MARK_BYTES = {"{": 130, "[": 90, ":": 150, ",": 40}
#: An object that goes wrong within this number of characters of its end was cut off there.
SHORT_TAIL = 6
#: Objects that a file may hold one after the other: more than a day of events, ten a second.
MAXIMUM_VALUES = 1_000_000
#: How often the length of a text may be gone through for values that turn out to be none.
READINGS_MAX = 8
#: Characters of any text, however short, that may be gone through in vain.
SPARE_CHARS = 100_000_000
#: Characters in which line ends are counted in the time in which one is read.
COUNTING_CHARS = 16
#: Characters of skipped text that a note shows.
SHOWN_CHARS = 80
#: Members of a gzip file that are read, and bytes of it that are unpacked at once.
MEMBERS_MAX = 10_000
PIECE_BYTES = 64 * 1024
_TEXT = re.compile(r"[^ \t\r\n]")
_START = re.compile(r"^(?:[{\[]|[^\s{}\[\]\",:][^{\n]*\{)", re.MULTILINE)
_OBJECT = re.compile(r"\{\s*\"")
_BRACE_AHEAD = re.compile(r"[^{\n]*\{")
#: Texts, which stay as they are, and what is written for a number that is none: ``-nan``, ``inf``,
#: ``-nan(ind)``, ``1.#QNAN``; and an exponent that lost its sign, as in ``9.4e 07``.
_NO_NUMBER = re.compile(
    r"""\"(?:[^\"\\]|\\.)*+(?:\"|\Z)
    | (?<=[:,\[\s]) (?: (?P<exponent>-?\d+(?:\.\d+)?[eE])\ (?P<digits>\d+)
        | [-+]?(?: nan(?:\([a-z0-9]*\))? | inf(?:inity)? | 1\.\#[a-z]+\d* ) )
      (?=\s*[,\]}])""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_NO_NUMBER_HERE = re.compile(r"[-+]?(?:nan|inf)|\.#|[eE] \d", re.IGNORECASE)
#: How captures begin: pcap in both orders of bytes, with times in micro- and nanoseconds, and pcapng.
_CAPTURES = tuple(
    bytes.fromhex(mark) for mark in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")
)
_GZIP = b"\x1f\x8b"
#: Encodings by their byte-order marks; those of UTF-32 begin as those of UTF-16 do.
_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
    b"{\x00": "utf-16-le",  # without a mark: JSON begins with a brace
    b"\x00{": "utf-16-be",
}
_INT_64 = 2**63
#: What to do with a file that cannot be imported: another kind of file is needed, or another copy.
WANTED = "give JSON, as iperf3 --json or irtt -o write it, or a .flent.gz"
DAMAGED = "copy the file again or measure again; --keep-going imports the other files"
EMPTY = "measure again: the program wrote nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file as text, with its name, the digest of its bytes and when it was last written."""

    name: str
    sha256: str
    modified_s: float
    text: str
    packed: bool


def load_document(path: Path) -> Document:
    """Read a file, unpacked if it is gzip. Raises StoreError: missing, too large, damaged, no text.

    Text is UTF-8, or UTF-16 and UTF-32 by their byte-order marks, as Windows PowerShell writes them,
    or UTF-16 without a mark, where it begins with a brace.
    """
    try:
        with open_for_reading(path) as file:
            data = file.read(MAXIMUM_BYTES + 1)
        modified_s = path.stat().st_mtime
    except OSError as error:
        raise StoreError(
            f"'{path}' cannot be read: {(error.strerror or str(error)).lower()}",
            hint="check the path and its permissions",
        ) from error
    name = path.name
    digest = hashlib.sha256(data).hexdigest()
    packed = data.startswith(_GZIP)
    if packed:
        data = _unpack(name, data)
    if len(data) > MAXIMUM_BYTES:
        raise StoreError(
            f"'{name}' is larger than {MAXIMUM_BYTES // 1024**2} MiB", hint="import its tests one by one"
        )
    if data.startswith(_CAPTURES):
        raise StoreError(f"'{name}' is a capture of packets", hint=f"pathlab inspect {name}")
    encoding = next((form for mark, form in _MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        wanted = encoding.upper().removesuffix("-SIG")
        raise StoreError(
            f"'{name}' is not a text file (byte {error.start} is not {wanted})",
            hint=WANTED,
        ) from error
    del data
    values_bytes = sys.getsizeof(text) + sum(text.count(mark) * size for mark, size in MARK_BYTES.items())
    if values_bytes > VALUES_MAX_BYTES:
        raise StoreError(
            f"'{name}' holds more values than fit the memory", hint="import its tests one by one"
        )
    return Document(name=name, sha256=digest, modified_s=modified_s, text=text, packed=packed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    """The JSON objects of a text, each with how many keys came twice in one object (the last one counts).

    ``fault``: why the first place that is no JSON cannot be read, None: all of it was. ``is_damaged``: an
    object was left out that is not cut off at the end. ``notes``: what was left out, in words.
    """

    values: list[tuple[Any, int]]
    fault: StoreError | None
    is_damaged: bool
    notes: tuple[str, ...]


def parse_json(text: str, name: str) -> ParsedText:
    """Find the JSON objects that stand in a text: one, several in a row, in an array, or within a log.

    NaN, infinities and what printf writes for them become None: they were not measured. A text that is one
    value of another kind is that value. Raises StoreError where nothing can be read.
    """
    reader = _TextReader(text, name)
    reader.read()
    if not reader.values:
        raise reader.fault or StoreError(f"'{name}' is empty", hint=EMPTY)
    return ParsedText(
        values=reader.values, fault=reader.fault, is_damaged=reader.is_damaged, notes=tuple(reader.notes)
    )


class _TextReader:
    """Goes through a text from one object to the next; the time is bounded by the length of the text."""

    def __init__(self, text: str, name: str) -> None:
        self.values: list[tuple[Any, int]] = []
        self.fault: StoreError | None = None
        self.is_damaged = False
        self.notes: list[str] = []
        self._text, self._name = text, name
        self._decoder = _CountingDecoder()
        self._end = len(text.rstrip())
        self._left_chars = READINGS_MAX * len(text) + SPARE_CHARS
        self._has_skipped = False

    def read(self) -> None:
        """Collect the values, the first fault and the notes."""
        at = _skip_space(self._text, 0)
        while at < len(self._text) and len(self.values) < MAXIMUM_VALUES and self._left_chars > 0:
            try:
                value, end = self._decoder.raw_decode(self._text, at)
            except (json.JSONDecodeError, RecursionError, ValueError) as error:
                at = self._go_on(at, error)
                continue
            at = self._keep(value, at, end)

    def _keep(self, value: Any, at: int, end: int) -> int:
        """Keep what was read, and return where to go on."""
        if self._decoder.has_no_number:
            self._note_no_number()
        repeated = self._decoder.take_repeated()
        following = _skip_space(self._text, end)
        result = [value] if isinstance(value, dict) else value
        if isinstance(result, list) and result and all(isinstance(item, dict) for item in result):
            self.values += [(item, 0 if index else repeated) for index, item in enumerate(result)]
            if following >= len(self._text) or self._text[following] in "{[":
                return following
            return self._skip(following)
        if not self.values and following >= len(self._text):
            self.values.append((value, repeated))
            return following
        if self.fault is None:
            line = self._text.count("\n", 0, following) + 1
            self.fault = StoreError(f"'{self._name}' is not JSON: line {line}: extra data", hint=WANTED)
        return self._skip(at)

    def _go_on(self, at: int, error: Exception) -> int:
        """Repair what cannot be read, or skip it."""
        self._decoder.take_repeated()
        stopped = error.pos if isinstance(error, json.JSONDecodeError) else at
        self._left_chars -= stopped - at + stopped // COUNTING_CHARS + 1
        if _NO_NUMBER_HERE.match(self._text, stopped) and self._repair(at):
            return at
        fault = self._describe_fault(at, error)
        is_cut = isinstance(fault, CutOffError)
        if self.fault is None or (is_cut and not self.values):
            self.fault = fault
        if is_cut:
            following = self._find_start(at)
            if following >= len(self._text):
                self._note_cut()
                return following
        self.is_damaged |= _OBJECT.match(self._text, at) is not None
        return self._skip(at)

    def _describe_fault(self, at: int, error: Exception) -> StoreError:
        name, end = self._name, self._end
        if not isinstance(error, json.JSONDecodeError):
            return StoreError(
                f"'{name}' is not JSON that can be read: nested too deeply, or a number without end",
                hint=DAMAGED,
            )
        last_line = at > 0 and self._text.find("\n", at, end) < 0
        short = error.msg.startswith("Unterminated string") or end - error.pos < SHORT_TAIL
        if self._text[at] in "{[" and (short or last_line):
            return CutOffError(
                f"'{name}' ends in the middle (line {error.lineno})",
                hint="measure again: the program was ended while it wrote",
            )
        return StoreError(
            f"'{name}' is not JSON: line {error.lineno}, column {error.colno}: {error.msg.lower()}",
            hint=WANTED,
        )

    def _repair(self, at: int) -> bool:
        """Replace numbers that are none from here on; whether there was any."""
        self._left_chars -= len(self._text) - at
        fixed, count = _NO_NUMBER.subn(_replace_number, self._text[at:])
        if not count or fixed == self._text[at:]:
            return False
        self._text = self._text[:at] + fixed
        self._note_no_number()
        return True

    def _note_no_number(self) -> None:
        note = "numbers that are none, such as -nan, were left out"
        if note not in self.notes:
            self.notes.append(note)

    def _note_cut(self) -> None:
        if self.values:
            self.notes.append("the file ends in the middle; what is before was imported")

    def _skip(self, at: int) -> int:
        """Leave out the text here, and return where the next value may begin."""
        if not self._has_skipped:
            self._has_skipped = True
            line = self._text.count("\n", 0, at) + 1
            stop = self._text.find("\n", at)
            words = self._text[at : len(self._text) if stop < 0 else stop].strip()
            shown = words if len(words) <= SHOWN_CHARS else f"{words[:SHOWN_CHARS].rstrip()}..."
            self.notes.append(f"text that is not JSON was left out, from line {line}: {shown}")
        return self._find_start(at)

    def _find_start(self, at: int) -> int:
        """Where the next value may begin: at the begin of a line, or behind words in it."""
        if self._text[at] != "{":
            match = _BRACE_AHEAD.match(self._text, at + 1)
            if match is not None:
                return match.end() - 1
        start = _START.search(self._text, at + 1)
        return len(self._text) if start is None else start.end() - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """JSON values of a file as the importers try them, each with its number of repeated keys."""

    document: Document
    values: list[tuple[Any, int]]

    @property
    def name(self) -> str:
        """The file's name."""
        return self.document.name

    def match(self, *keys: str) -> Fields | None:
        """The only value, if it is an object that has all of these keys."""
        value = self.values[0][0]
        known = len(self.values) == 1 and isinstance(value, dict) and {*keys} <= {*value}
        return Fields(value, self.name) if known else None


class RepeatedKeys(dict[str, Any]):
    """An object in which a key came twice: the last value of each key counts, ``every`` has all of them."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.every: dict[str, list[Any]] = {}
        for key, value in pairs:
            self.every.setdefault(key, []).append(value)


class CutOffError(StoreError):
    """The text ends in the middle of a value."""


class _CountingDecoder(json.JSONDecoder):
    """Counts keys that come twice in one object; ``has_no_number``: a number was none, and became None."""

    def __init__(self) -> None:
        super().__init__(
            object_pairs_hook=self._build, parse_constant=self._read_number, parse_float=self._read_number
        )
        self._repeated = 0
        self.has_no_number = False

    def take_repeated(self) -> int:
        """How many there were since the last call."""
        result, self._repeated = self._repeated, 0
        return result

    def _read_number(self, text: str) -> float | None:
        number = float(text)
        if math.isfinite(number):
            return number
        self.has_no_number = True
        return None

    def _build(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) == len(pairs):
            return built
        self._repeated += len(pairs) - len(built)
        return RepeatedKeys(pairs)


def _skip_space(text: str, at: int) -> int:
    match = _TEXT.search(text, at)
    return len(text) if match is None else match.start()


def _replace_number(result: re.Match[str]) -> str:
    """The same length of text, so that places in it stay the same."""
    text = result.group()
    if text.startswith('"'):
        return text
    if result["exponent"]:
        return f"{result['exponent']}+{result['digits']}"
    return "null".ljust(len(text)) if len(text) >= len("null") else "NaN"


def _unpack(name: str, data: bytes) -> bytes:
    """The members of a gzip file one after the other, up to one byte more than is allowed."""
    parts: list[bytes] = []
    size = at = members = 0
    while data.startswith(_GZIP, at) and size <= MAXIMUM_BYTES and members < MEMBERS_MAX:
        unpacker = zlib.decompressobj(wbits=31)
        members += 1
        while not unpacker.eof and size <= MAXIMUM_BYTES:
            piece = data[at : at + PIECE_BYTES]
            if not piece:
                raise StoreError(f"'{name}' ends in the middle", hint="copy the file again")
            try:
                parts.append(unpacker.decompress(piece, MAXIMUM_BYTES + 1 - size))
            except zlib.error as error:
                raise StoreError(
                    f"'{name}' is damaged: it cannot be unpacked", hint="copy the file again"
                ) from error
            size += len(parts[-1])
            at += len(piece) - len(unpacker.unused_data)
    return b"".join(parts)


class Fields:
    """An object of the file; every value is checked when it is read, and named when it is wrong."""

    def __init__(self, value: Any, name: str, place: str = "", notes: list[str] | None = None) -> None:
        """``name`` is the file, ``place`` the keys that lead here. Raises StoreError for no object.

        ``notes``: what was left out, in words, of the whole file.
        """
        self.name, self.place = name, place
        self.notes: list[str] = [] if notes is None else notes
        if not isinstance(value, dict):
            self._fail_value(place or "the file", value, "an object")
        self.value: dict[str, Any] = value

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def sub(self, key: str) -> Fields:
        """The object under a key, empty where there is none."""
        value = self.value.get(key)
        return Fields({} if value is None else value, self.name, self._path(key), self.notes)

    def every(self, key: str) -> list[Fields]:
        """The objects under a key that may come several times, in order."""
        repeated = self.value.every.get(key, []) if isinstance(self.value, RepeatedKeys) else []
        values = repeated or [self.value.get(key)]
        known = [value for value in values if value is not None]
        return [Fields(value, self.name, self._path(key), self.notes) for value in known]

    def items(self, key: str) -> list[Fields]:
        """The objects of a list, empty where there is none."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self._fail_value(self._path(key), value, "a list")
        indices = [f"{self._path(key)}[{number}]" for number in range(len(value))]
        return [
            Fields(item, self.name, place, self.notes) for item, place in zip(value, indices, strict=True)
        ]

    def number(self, key: str) -> float | None:
        """A finite number, or None where there is none."""
        value = self.value.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _INT_64:
            self._fail_value(self._path(key), value, "a number within 64 bits")
        return float(value)

    def whole(self, key: str) -> int | None:
        """A whole number, or None where there is none; one that JSON wrote as 3.0 counts."""
        value = self.value.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _INT_64:
            return value
        number = self.number(key)
        if number is None:
            return None
        if number != int(number):
            self._fail_value(self._path(key), number, "a whole number")
        return int(number)

    def count(self, key: str) -> int | None:
        """A whole number that is not negative; -1 means "not known" in these files, less gets a note."""
        value = self.whole(key)
        if value is None or value >= 0:
            return value
        if value < -1:
            self._leave_out(key, value)
        return None

    def amount(self, key: str) -> float | None:
        """A number that is not negative; a negative one is left out with a note."""
        value = self.number(key)
        if value is None or value >= 0:
            return value
        self._leave_out(key, value)
        return None

    def _leave_out(self, key: str, value: float) -> None:
        note = f"{key} below 0 was left out, first {value:g} of {self._path(key)}"
        if not any(item.startswith(f"{key} below 0") for item in self.notes):
            self.notes.append(note)

    def flag(self, key: str) -> bool | None:
        """True or false, also as 1 and 0."""
        value = self.value.get(key)
        if value is None or isinstance(value, bool):
            return value
        if value not in (0, 1):
            self._fail_value(self._path(key), value, "true or false")
        return bool(value)

    def text(self, key: str) -> str | None:
        """A text, or None where there is none or it is empty."""
        value = self.value.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self._fail_value(self._path(key), value, "a text")
        return str(value) or None

    def fail(self, text: str) -> NoReturn:
        """Raise StoreError: the file says this, which cannot be."""
        raise StoreError(f"'{self.name}': {text}", hint=DAMAGED)

    def names(self) -> Iterator[str]:
        """The keys, in order."""
        return iter(self.value)

    def _path(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def _fail_value(self, place: str, value: Any, wanted: str) -> NoReturn:
        shown = json.dumps(value, default=str)
        short = shown if len(shown) <= 40 else f"{shown[:37]}..."
        raise StoreError(f"'{self.name}': {place} is {short}, not {wanted}", hint=DAMAGED)
