"""Writes what follows from native/records.toml, the table of the fields of the engine's records.

Run it after a change: ``python tools/engine_records.py``. The table says which files these are.
"""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "native" / "records.toml"
ROWS = ROOT / "native" / "src" / "base" / "record_types.h"
TYPES = ROOT / "pathlab" / "remote" / "engine_records.py"
SCHEMA = ROOT / "docs" / "engine-records.schema.json"
#: Of a row in C, without its indentation and its end.
C_COLUMNS = 104
MADE_BY = "native/records.toml by tools/engine_records.py"
#: A scalar of the table: its JSON Schema.
SCALARS: Mapping[str, Mapping[str, Any]] = {
    "Count": {"type": "integer", "minimum": 0},
    "Whole": {"type": "integer"},
    "Port": {"type": "integer", "minimum": 0, "maximum": 65535},
    "Stream": {"type": "integer", "minimum": 0, "maximum": 4095},
    "Streams": {"type": "integer", "minimum": 1, "maximum": 4096},
    "Size": {"type": "integer", "minimum": 0, "maximum": 4095},
    "Figure": {"type": "number"},
    "Name": {"type": "string", "maxLength": 4096},
    "Text": {"type": "string"},
    "Flag": {"type": "boolean"},
    "Histogram": {"type": "string", "contentEncoding": "base64"},
    "Structures": {"type": "string", "contentEncoding": "base64"},
}

OPTIONAL = "optional "
#: A list with a value for each stream.
PER_STREAM = "streams"
#: The key that stands for all other keys of an object.
FURTHER = "*"
_TOKEN = re.compile(r"\{|\}|\?|\[(?:\d+|streams)\]|\w+")


@dataclass(frozen=True, slots=True)
class FieldType:
    """A type. ``of``: None of a scalar or an object, which ``name`` names; else that of the values.

    ``most`` is None of an object with free keys, 0 of a list with a value for each stream, else the longest
    length of a list.
    """

    name: str = ""
    of: FieldType | None = None
    most: int | None = None
    null: bool = False

    @property
    def is_list(self) -> bool:
        return self.of is not None and self.most is not None


def parse_field(text: str) -> tuple[FieldType, bool]:
    """The type of a field, and whether the field may be left out. Raises ValueError for another notation."""
    rest = text.removeprefix(OPTIONAL)
    tokens = _TOKEN.findall(rest)
    if "".join(tokens) != rest:
        raise ValueError(f"'{text}' is not a field's type")
    tokens.reverse()
    result = _parse_type(tokens)
    if tokens:
        raise ValueError(f"'{text}' has a stray '{tokens[-1]}'")
    return result, rest != text


def _parse_type(tokens: list[str]) -> FieldType:
    """Take a type from the end of the reversed tokens."""
    token = tokens.pop()
    if token == "{":
        field_type = FieldType(of=_parse_type(tokens))
        if not tokens or tokens.pop() != "}":
            raise ValueError("'{' without '}'")
    else:
        field_type = FieldType(token)
    while tokens and tokens[-1] != "}":
        token = tokens.pop()
        if token == "?":
            field_type = replace(field_type, null=True)
        else:
            length = token.strip("[]")
            field_type = FieldType(of=field_type, most=0 if length == PER_STREAM else int(length))
    return field_type


Objects = Mapping[str, Mapping[str, str]]
#: Kinds of fields in C (native/src/base/record.h) by type; a number that may be null is NULLABLE.
KINDS: Mapping[str, str] = {
    **dict.fromkeys(("Count", "Whole", "Port", "Stream", "Streams"), "NUMBER"),
    **{"Figure": "FIGURE", "Name": "TEXT", "Text": "TEXT", "Flag": "FLAG"},
    **{"Quantiles": "QUANTILES", "RoundTrips": "ROUND_TRIPS"},
}


def read_table() -> tuple[dict[str, str], list[str], dict[str, dict[str, str]]]:
    """The programs, what C writes by rows, and all objects and records: ``Worker``, ``ping.probe``."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    programs, encoded = table.pop("programs"), table.pop("encoded")
    objects: dict[str, dict[str, str]] = {}
    for name, content in table.items():
        if name[0].isupper():
            objects[name] = content
        else:
            objects.update({f"{name}.{kind}": fields for kind, fields in content.items()})
    return programs, encoded, objects


def make_files() -> dict[Path, str]:
    """The text of each file."""
    programs, encoded, objects = read_table()
    return {
        ROWS: "\n".join(_format_rows(encoded, objects)) + "\n",
        TYPES: "\n".join(_format_types(programs, objects)) + "\n",
        SCHEMA: json.dumps(_build_schema(programs, objects), indent=2) + "\n",
    }


def _format_rows(encoded: Sequence[str], objects: Objects) -> Iterator[str]:
    yield f"/* Generated from {MADE_BY}: not to be edited."
    yield " * PL_RECORDS() and PL_FIELDS_...() give the macro that they are called with a row for each. */"
    yield "/* clang-format off */"
    yield "#pragma once"
    records = []
    for name in encoded:
        program, _, kind = name.partition(".")
        record = f"{program}_{kind}" if kind else re.sub("(?!^)([A-Z])", r"_\1", name).lower()
        records.append(f'RECORD({record}, "{kind}")' if kind else f"RECORD({record}, NULL)")
        rows = [f"FIELD(name, {_find_kind(text)}, {key})" for key, text in objects[name].items()]
        yield from _format_macro(f"PL_FIELDS_{record}(FIELD, name)", rows)
    yield from _format_macro("PL_RECORDS(RECORD)", records)


def _find_kind(text: str) -> str:
    result, _ = parse_field(text)
    kind = KINDS[result.name]
    return "NULLABLE" if result.null and kind == "NUMBER" else kind


def _format_macro(name: str, rows: Sequence[str]) -> Iterator[str]:
    lines = textwrap.wrap(" ".join(row.replace(" ", "\0") for row in rows), C_COLUMNS)
    yield f"#define {name} \\"
    yield from (f"    {line} \\".replace("\0", " ") for line in lines[:-1])
    yield f"    {lines[-1]}".replace("\0", " ")


def _name_class(name: str) -> str:
    """``ping.round_trips`` as ``PingRoundTrips``."""
    return re.sub(r"(?:^|[._])(\w)", lambda result: result[1].upper(), name)


def _format_types(programs: Mapping[str, str], objects: Objects) -> Iterator[str]:
    yield from (
        '"""Types of the records that the engine writes; native/PROTOCOL.md says what each value means.',
        "",
        f"Generated from {MADE_BY}: not to be edited.",
        '"""',
        "",
        "from collections.abc import Mapping",
        "from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args",
        "",
        "from pathlab.remote.field_types import (",
    )
    yield from (f"    {name}," for name in sorted((*SCALARS, "Most")))
    yield from (")", "", "", "# No blank lines between the classes.", "# fmt: off")
    for name, fields in objects.items():
        yield from _format_class(name, fields)
    yield from ("#: The types of other keys of an object.", "FURTHER: Mapping[type, Any] = {")
    for name, fields in objects.items():
        if FURTHER in fields:
            yield f"    {_name_class(name)}: {_format_python(parse_field(fields[FURTHER])[0])},"
    yield "}"
    groups = dict.fromkeys(("common", *programs.values()))
    for group in groups:
        classes = ", ".join(_name_class(name) for name in objects if name.startswith(f"{group}."))
        yield f"_{group.upper()} = ({classes})"
    yield "#: The records of a program, by type."
    yield "ENGINE_RECORDS: Mapping[str, Mapping[str, type]] = {"
    yield '    program: {get_args(kind.__annotations__["type"])[0]: kind for kind in (*_COMMON, *kinds)}'
    yield "    for program, kinds in ("
    yield from (f'        ("{program}", _{group.upper()}),' for program, group in programs.items())
    yield from ("    )", "}")


def _format_class(name: str, fields: Mapping[str, str]) -> Iterator[str]:
    _, _, kind = name.partition(".")
    yield f"class {_name_class(name)}(TypedDict):"
    if kind:
        yield f'    type: Literal["{kind}"]'
    for key, text in fields.items():
        result, optional = parse_field(text)
        if key != FURTHER:
            python = _format_python(result)
            yield f"    {key}: NotRequired[{python}]" if optional else f"    {key}: {python}"


def _format_python(kind: FieldType) -> str:
    text = kind.name
    if kind.of is not None:
        inner = _format_python(kind.of)
        text = f"list[{inner}]" if kind.is_list else f"dict[str, {inner}]"
        if kind.most:
            text = f"Annotated[{text}, Most({kind.most})]"
    return f"{text} | None" if kind.null else text


def _build_schema(programs: Mapping[str, str], objects: Objects) -> dict[str, Any]:
    groups = sorted(set(programs.values()))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Records of pathlab-engine, one JSON object a line",
        "$comment": f"Generated from {MADE_BY}. '#/$defs/ping' is any record of `pathlab-engine ping`.",
        "$defs": {
            **{name: _describe_object(name, fields) for name, fields in objects.items()},
            **{
                group: {
                    "anyOf": [
                        {"$ref": f"#/$defs/{name}"}
                        for name in objects
                        if name.partition(".")[0] in (group, "common") and "." in name
                    ]
                }
                for group in groups
            },
        },
        "anyOf": [{"$ref": f"#/$defs/{group}"} for group in groups],
    }


def _describe_object(name: str, fields: Mapping[str, str]) -> dict[str, Any]:
    parsed = {key: parse_field(text) for key, text in fields.items()}
    required = [key for key, (_, optional) in parsed.items() if not optional and key != FURTHER]
    properties = {key: _describe_type(kind) for key, (kind, _) in parsed.items() if key != FURTHER}
    if "." in name:
        properties = {"type": {"const": name.partition(".")[2]}, **properties}
        required = ["type", *required]
    further = _describe_type(parsed[FURTHER][0]) if FURTHER in parsed else False
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": further,
    }


def _describe_type(kind: FieldType) -> dict[str, Any]:
    if kind.of is not None:
        inner = _describe_type(kind.of)
        result: dict[str, Any] = (
            {"type": "array", "items": inner, **({"maxItems": kind.most} if kind.most else {})}
            if kind.is_list
            else {"type": "object", "additionalProperties": inner}
        )
    elif kind.name in SCALARS:
        result = dict(SCALARS[kind.name])
    else:
        result = {"$ref": f"#/$defs/{kind.name}"}
    if not kind.null:
        return result
    return (
        {**result, "type": [result["type"], "null"]}
        if "type" in result
        else {"anyOf": [result, {"type": "null"}]}
    )


if __name__ == "__main__":
    for path, text in make_files().items():
        path.write_text(text, encoding="utf-8")
