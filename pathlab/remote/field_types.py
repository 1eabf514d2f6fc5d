"""Types of the fields of records, each with the rule for what arrives: the scalars of native/records.toml."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, is_typeddict

from pathlab.remote.record_rules import (
    Each,
    Encoded,
    Number,
    ObjectRule,
    Stated,
    Truth,
    ValueRule,
)
from pathlab.remote.record_rules import (
    Text as TextRule,
)

STREAMS_MAX = 4096
PORTS_END = 1 << 16
STRUCT_MAX_BYTES = 4096
HISTOGRAM_MAX_BYTES = 1 << 20
#: Characters of a name.
NAME_MAX_CHARACTERS = 4096

Count = Annotated[int, Number()]
Whole = Annotated[int, Number(least=-(1 << 63))]
Port = Annotated[int, Number(end=PORTS_END)]
Stream = Annotated[int, Number(end=STREAMS_MAX)]
Streams = Annotated[int, Number(1, STREAMS_MAX + 1)]
Size = Annotated[int, Number(end=STRUCT_MAX_BYTES)]
Figure = Annotated[float, Number(whole=False)]
Name = Annotated[str, TextRule(NAME_MAX_CHARACTERS)]
Text = Annotated[str, TextRule()]
Flag = Annotated[bool, Truth()]
Histogram = Annotated[str, Encoded(HISTOGRAM_MAX_BYTES)]
Structures = Annotated[str, Encoded(STRUCT_MAX_BYTES * STREAMS_MAX)]

#: What is wrong between the keys of an object; None: nothing.
FindFault = Callable[[Mapping[str, Any], Stated], str | None]


@dataclass(frozen=True, slots=True)
class Most:
    """The longest length of a list; a list without it has a value for each stream."""

    length: int


class RuleBuilder:
    """Makes rules from types; ``further`` has the types of an object's other keys, ``also`` its faults."""

    def __init__(self, further: Mapping[type, Any], also: Mapping[type, FindFault]) -> None:
        self._further, self._also = further, also
        self._built: dict[Any, ObjectRule] = {}

    def build_object(self, kind: type) -> ObjectRule:
        """The rule of a TypedDict, the same each time."""
        if kind not in self._built:
            fields = {
                name: _strip(annotation)
                for name, annotation in kind.__annotations__.items()
                if name != "type"
            }
            rules = {name: self._build(field) for name, field in fields.items()}
            needed: frozenset[str] = kind.__required_keys__  # type: ignore[attr-defined]
            further = self._further.get(kind)
            self._built[kind] = ObjectRule(
                {name: rule for name, rule in rules.items() if name in needed},
                {name: rule for name, rule in rules.items() if name not in needed},
                None if further is None else self._build(further),
                also=self._also.get(kind),
            )
        return self._built[kind]

    def _build(self, kind: Any) -> Any:
        if is_typeddict(kind):
            return self.build_object(kind)
        origin, parts = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            (known,) = (part for part in parts if part is not type(None))
            return dataclasses.replace(self._build(known), null=True)
        if origin is Annotated:
            return (
                parts[1]
                if isinstance(parts[1], ValueRule)
                else Each(self._build(get_args(parts[0])[0]), parts[1].length)
            )
        if origin is list:
            return Each(self._build(parts[0]), per_stream=True)
        return ObjectRule(further=self._build(parts[1]))


def _strip(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is NotRequired else kind
