"""Rules for values that a host states: type, range, length, and size of the whole.

JSON from a host is foreign: a rule says what a value must be before any other code reads it. A rule's
``check`` returns nothing, or raises RecordFault with what is wrong and the keys that lead to it.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Numbers of a record are below this: what is stored of them has 64 bits.
NUMBER_END = 1 << 63
TEXT_MAX_CHARACTERS = 64 * 1024
KEY_MAX_CHARACTERS = 256
DEPTH_MAX = 16
#: Values of one message: 4096 streams with every counter, and nine subflows of each, have fewer.
VALUES_MAX = 1_000_000
_PLAIN = frozenset({int, float, bool, type(None)})


class RecordFault(ValueError):  # noqa: N818 -- a fault of the other side, not an error here
    """What is wrong with a value; ``keys`` lead to it, the outermost first."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.keys: list[str] = []

    def __str__(self) -> str:
        place = ".".join(_shorten(key) for key in self.keys)
        return f"'{place}' {self.text}" if place else self.text

    def inside(self, key: str) -> RecordFault:
        """The same fault, seen from the table that has this key."""
        self.keys.insert(0, key)
        return self


@dataclass(slots=True)
class Stated:
    """What earlier records of the same program stated, which later ones must agree with.

    ``streams``: how many values an array of one for each stream has; None: not known yet. ``keys``: the keys
    of tables whose keys stay the same, by the name of the rule.
    """

    streams: int | None = None
    keys: dict[str, frozenset[str]] = field(default_factory=dict)


class ValueRule(ABC):
    """What one value must be."""

    @abstractmethod
    def check(self, value: Any, stated: Stated) -> None:
        """Raise RecordFault where the value is something else."""


@dataclass(frozen=True, slots=True)
class Number(ValueRule):
    """A number from ``least`` to below ``end``; a whole one unless ``whole`` is false."""

    least: int = 0
    end: int = NUMBER_END
    whole: bool = True
    null: bool = False

    def check(self, value: Any, _stated: Stated) -> None:
        """Truth values are no numbers; NaN and infinity are in no range."""
        if value is None and self.null:
            return
        if type(value) is not int and (self.whole or type(value) is not float):
            raise RecordFault(f"is {_describe(value)}, not {'a whole number' if self.whole else 'a number'}")
        if not self.least <= value < self.end:
            raise RecordFault(f"is {_describe(value)}, not from {self.least} to {_format_end(self.end)}")

    def check_all(self, values: list[Any]) -> bool:
        """Whether all values are right, without looking at each in turn."""
        allowed: set[type] = {int} if self.whole else {int, float}
        if self.null:
            allowed.add(type(None))
        kinds = set(map(type, values))
        if not kinds <= allowed:
            return False
        known = [value for value in values if value is not None] if type(None) in kinds else values
        if float in kinds and any(value != value for value in known):
            return False
        return not known or (self.least <= min(known) and max(known) < self.end)


@dataclass(frozen=True, slots=True)
class Text(ValueRule):
    """A text that can be written as UTF-8."""

    most: int = TEXT_MAX_CHARACTERS
    null: bool = False

    def check(self, value: Any, _stated: Stated) -> None:
        """Half of a surrogate pair can be read from JSON, and written nowhere."""
        if value is None and self.null:
            return
        if not isinstance(value, str):
            raise RecordFault(f"is {_describe(value)}, not a text")
        _check_text(value, self.most)


@dataclass(frozen=True, slots=True)
class Address(ValueRule):
    """A numeric address of IPv4 or IPv6, with a zone or without."""

    null: bool = False

    def check(self, value: Any, stated: Stated) -> None:
        """Names are none: what is stated is where packets went or came from."""
        Text(KEY_MAX_CHARACTERS, self.null).check(value, stated)
        if value is None:
            return
        try:
            ipaddress.ip_address(value)
        except ValueError as error:
            raise RecordFault("is a text, not an address") from error


@dataclass(frozen=True, slots=True)
class Truth(ValueRule):
    """True or false."""

    null: bool = False

    def check(self, value: Any, _stated: Stated) -> None:
        """1 and 0 are numbers."""
        if not isinstance(value, bool) and not (value is None and self.null):
            raise RecordFault(f"is {_describe(value)}, not true or false")


@dataclass(frozen=True, slots=True)
class Encoded(ValueRule):
    """Bytes in base64."""

    most_bytes: int
    null: bool = False

    def check(self, value: Any, _stated: Stated) -> None:
        """Nothing but the alphabet, and whole bytes."""
        if value is None and self.null:
            return
        if not isinstance(value, str):
            raise RecordFault(f"is {_describe(value)}, not a text")
        if len(value) > 4 * (self.most_bytes // 3 + 1):
            raise RecordFault(f"has more than {self.most_bytes} bytes")
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise RecordFault("is not base64") from error


@dataclass(frozen=True, slots=True)
class Each(ValueRule):
    """A list whose items keep one rule: of one for each stream, or of up to ``most``."""

    rule: ValueRule
    most: int = VALUES_MAX
    per_stream: bool = False
    null: bool = False

    def check(self, value: Any, stated: Stated) -> None:
        """The first list with a value for each stream states their number, unless a record did."""
        if value is None and self.null:
            return
        if not isinstance(value, list):
            raise RecordFault(f"is {_describe(value)}, not a list")
        if self.per_stream:
            if stated.streams is None:
                stated.streams = len(value)
            if len(value) != stated.streams:
                raise RecordFault(f"has {len(value)} values for {stated.streams} streams")
        if len(value) > self.most:
            raise RecordFault(f"has {len(value)} values; the most is {self.most}")
        if isinstance(self.rule, Number) and self.rule.check_all(value):
            return
        for index, item in enumerate(value):
            try:
                self.rule.check(item, stated)
            except RecordFault as fault:
                raise fault.inside(str(index)) from None


@dataclass(frozen=True, slots=True)
class ObjectRule(ValueRule):
    """An object that has ``required`` keys and may have ``optional`` ones.

    Other keys keep ``further``; None: their values only have to be bounded, which is checked of the whole.
    ``alike``: the keys are those of the first table of this name. ``also`` finds what is wrong between keys.
    """

    required: Mapping[str, ValueRule] = field(default_factory=dict)
    optional: Mapping[str, ValueRule] = field(default_factory=dict)
    further: ValueRule | None = None
    null: bool = False
    alike: str | None = None
    barred: Collection[str] = ()
    also: Callable[[Mapping[str, Any], Stated], str | None] | None = None

    def check(self, value: Any, stated: Stated) -> None:
        """Every key that is there, then what is between them."""
        if value is None and self.null:
            return
        if not isinstance(value, dict):
            raise RecordFault(f"is {_describe(value)}, not an object")
        for name in self.required:
            if name not in value:
                raise RecordFault(f"has no key '{name}'")
        for name, item in value.items():
            rule = self.required.get(name) or self.optional.get(name) or self.further
            if name in self.barred:
                raise RecordFault(f"has the key '{_shorten(name)}', which is another value's")
            if rule is not None:
                try:
                    rule.check(item, stated)
                except RecordFault as fault:
                    raise fault.inside(name) from None
        keys = frozenset(value) if self.alike is not None else frozenset()
        if self.alike is not None and stated.keys.setdefault(self.alike, keys) != keys:
            raise RecordFault("has other keys than in the record before")
        text = None if self.also is None else self.also(value, stated)
        if text is not None:
            raise RecordFault(text)


def measure_value(value: Any) -> int:
    """How many values a JSON value has, itself included.

    RecordFault where there are more than ``VALUES_MAX``, where it is deeper than ``DEPTH_MAX``, or where a
    number, a text or a key of it is out of bounds.
    """
    count = 0
    waiting = [(value, 0)]
    while waiting:
        entry, depth = waiting.pop()
        if isinstance(entry, dict):
            for key in entry:
                _check_text(key, KEY_MAX_CHARACTERS)
            items = list(entry.values())
        elif isinstance(entry, list):
            items = entry
        else:
            items = [entry]
        count += 1 + len(items)
        if count > VALUES_MAX:
            raise RecordFault(f"has more than {VALUES_MAX} values")
        if depth > DEPTH_MAX:
            raise RecordFault(f"is nested more than {DEPTH_MAX} levels deep")
        if _PLAIN.issuperset(map(type, items)):
            _check_numbers(items)
            continue
        for item in items:
            if isinstance(item, str):
                _check_text(item, VALUES_MAX * 16)  # a rule for the key has a bound of its own
            elif isinstance(item, (dict, list)):
                waiting.append((item, depth + 1))
            else:
                _check_numbers([item])
    return count


def _check_numbers(items: list[Any]) -> None:
    known = [item for item in items if item is not None]
    if not known:
        return
    if float in map(type, known) and any(item != item for item in known):
        raise RecordFault("holds a number that is none")
    if min(known) < -NUMBER_END or max(known) >= NUMBER_END:
        raise RecordFault("holds a number of more than 64 bits")


def _check_text(text: str, most: int) -> None:
    if len(text) > most:
        raise RecordFault(f"has a text of {len(text)} characters; the most is {most}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise RecordFault("has a text that is not Unicode") from error


def _describe(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return f"{value:g}" if isinstance(value, float) else _shorten(str(value))
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def _format_end(end: int) -> str:
    return "2^63 - 1" if end == NUMBER_END else str(end - 1)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}\u2026"
