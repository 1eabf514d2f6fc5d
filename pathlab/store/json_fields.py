"""A file as untrusted JSON: bounded, tolerant of what the programs really write, and never a traceback."""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pathlab.errors import StoreError

MAXIMUM_BYTES = 128 * 1024 * 1024  # parsed, JSON takes about ten times as much memory
#: An object that goes wrong within so many characters of its end was cut off there.
SHORT_TAIL = 6
#: Objects that a file may hold one after the other: more than a day of events, ten a second.
MAXIMUM_VALUES = 1_000_000
_TEXT = re.compile(r"[^ \t\r\n]")
_GZIP = b"\x1f\x8b"
_INT_64 = 2**63
NOTHING = "Nothing was imported."


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file as text, with its name, the digest of its bytes and when it was last written."""

    name: str
    sha256: str
    modified_s: float
    text: str
    packed: bool


def load_document(path: Path) -> Document:
    """Read a file, unpacked if it is gzip. Raises StoreError: missing, too large, damaged, not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(MAXIMUM_BYTES + 1)
        modified_s = path.stat().st_mtime
    except OSError as error:
        raise StoreError(
            f"'{path}' cannot be read: {(error.strerror or str(error)).lower()}", hint=NOTHING
        ) from error
    name = path.name
    digest = hashlib.sha256(data).hexdigest()
    packed = data.startswith(_GZIP)
    if packed:
        data = _unpack(name, data)
    if len(data) > MAXIMUM_BYTES:
        raise StoreError(f"'{name}' is larger than {MAXIMUM_BYTES // 1024**2} MiB", hint=NOTHING)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StoreError(
            f"'{name}' is not a text file (byte {error.start} is not UTF-8)",
            hint=f"{NOTHING} Give JSON, as iperf3 --json or irtt -o write it, or a .flent.gz.",
        ) from error
    return Document(name=name, sha256=digest, modified_s=modified_s, text=text, packed=packed)


def parse_json(text: str, name: str) -> tuple[list[tuple[Any, int]], StoreError | None]:
    """Return the values that a text holds one after the other, and why it cannot be read beyond them.

    Each value stands with how many keys came twice in one object (the last one counts). NaN and infinities
    become None: they were not measured. Reading ends behind the first value that is no object, and where a
    value cannot be read: the error names place and reason. Raises StoreError where none can be read.
    """
    decoder = _CountingDecoder()
    values: list[tuple[Any, int]] = []
    at = _skip_space(text, 0)
    while at < len(text) and len(values) < MAXIMUM_VALUES:
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            fault = _describe_fault(text, at, name, error)
            if not values:
                raise fault from error
            return values, fault
        values.append((value, decoder.take_repeated()))
        at = _skip_space(text, end)
        if not isinstance(value, dict):
            break
    if at < len(text):
        line = text.count("\n", 0, at) + 1
        return values, StoreError(f"'{name}' is not JSON: line {line}: extra data", hint=NOTHING)
    return values, None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """A file as the importers try it: its JSON values, each with its number of repeated keys.

    ``fault`` says why it cannot be read beyond them, None where it can.
    """

    document: Document
    values: list[tuple[Any, int]]
    fault: StoreError | None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.document.name

    def match(self, *keys: str) -> Fields | None:
        """The file's only value, if it is an object that has all of these keys."""
        value = self.values[0][0]
        whole = len(self.values) == 1 and self.fault is None
        return Fields(value, self.name) if whole and isinstance(value, dict) and {*keys} <= {*value} else None


class CutOffError(StoreError):
    """The text ends in the middle of a value."""


class _CountingDecoder(json.JSONDecoder):
    """Counts keys that come twice in one object."""

    def __init__(self) -> None:
        super().__init__(
            object_pairs_hook=self._build, parse_constant=lambda _: None, parse_float=_read_float
        )
        self._repeated = 0

    def take_repeated(self) -> int:
        """How many there were since the last call."""
        found, self._repeated = self._repeated, 0
        return found

    def _build(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        self._repeated += len(pairs) - len(built)
        return built


def _skip_space(text: str, at: int) -> int:
    found = _TEXT.search(text, at)
    return len(text) if found is None else found.start()


def _describe_fault(text: str, at: int, name: str, error: Exception) -> StoreError:
    if not isinstance(error, json.JSONDecodeError):
        return StoreError(
            f"'{name}' is not JSON that can be read: nested too deeply, or a number without end", hint=NOTHING
        )
    last_line = at > 0 and "\n" not in text[at:].rstrip()
    short = error.msg.startswith("Unterminated string") or len(text.rstrip()) - error.pos < SHORT_TAIL
    if text[at] in "{[" and (short or last_line):
        return CutOffError(
            f"'{name}' ends in the middle (line {error.lineno})",
            hint=f"{NOTHING} The program was ended while it wrote; measure again.",
        )
    return StoreError(
        f"'{name}' is not JSON: line {error.lineno}, column {error.colno}: {error.msg.lower()}", hint=NOTHING
    )


def _read_float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _unpack(name: str, data: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        out = unpacker.decompress(data, MAXIMUM_BYTES + 1)
    except zlib.error as error:
        raise StoreError(f"'{name}' is damaged: it cannot be unpacked", hint=NOTHING) from error
    if len(out) <= MAXIMUM_BYTES and not unpacker.eof:
        raise StoreError(f"'{name}' ends in the middle", hint=f"{NOTHING} Copy the file again.")
    return out


class Fields:
    """An object of the file; every value is checked when it is read, and named when it is wrong."""

    def __init__(self, value: Any, name: str, place: str = "") -> None:
        """``name`` is the file, ``place`` the keys that lead here. Raises StoreError for no object."""
        self.name, self.place = name, place
        if not isinstance(value, dict):
            self._refuse(place or "the file", value, "an object")
        self.value: dict[str, Any] = value

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def sub(self, key: str) -> Fields:
        """The object under a key, empty where there is none."""
        value = self.value.get(key)
        return Fields({} if value is None else value, self.name, self._path(key))

    def items(self, key: str) -> list[Fields]:
        """The objects of a list, empty where there is none."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self._refuse(self._path(key), value, "a list")
        return [Fields(item, self.name, f"{self._path(key)}[{n}]") for n, item in enumerate(value)]

    def number(self, key: str) -> float | None:
        """A finite number, or None where there is none."""
        value = self.value.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _INT_64:
            self._refuse(self._path(key), value, "a number within 64 bits")
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
            self._refuse(self._path(key), number, "a whole number")
        return int(number)

    def count(self, key: str) -> int | None:
        """A whole number that is not negative; a negative one means "not known" in these files."""
        value = self.whole(key)
        return None if value is None or value < 0 else value

    def flag(self, key: str) -> bool | None:
        """True or false, also as 1 and 0."""
        value = self.value.get(key)
        if value is None or isinstance(value, bool):
            return value
        if value not in (0, 1):
            self._refuse(self._path(key), value, "true or false")
        return bool(value)

    def text(self, key: str) -> str | None:
        """A text, or None where there is none or it is empty."""
        value = self.value.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self._refuse(self._path(key), value, "a text")
        return str(value) or None

    def refuse(self, text: str) -> NoReturn:
        """Raise StoreError: the file says this, which cannot be."""
        raise StoreError(f"'{self.name}': {text}", hint=NOTHING)

    def names(self) -> Iterator[str]:
        """The keys, in order."""
        return iter(self.value)

    def _path(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def _refuse(self, place: str, value: Any, wanted: str) -> NoReturn:
        shown = json.dumps(value, default=str)
        short = shown if len(shown) <= 40 else f"{shown[:37]}..."
        raise StoreError(f"'{self.name}': {place} is {short}, not {wanted}", hint=NOTHING)
