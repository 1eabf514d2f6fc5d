"""The campaign file described from its model: JSON Schema for editors, Markdown for people.

``python -m pathlab.campaign.schema FOLDER`` writes both files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from pathlab.campaign import (
    background_model,
    conduct_model,
    factor_model,
    host_model,
    lab_model,
    model,
    search_model,
)
from pathlab.campaign.engine_names import DEFAULT_ENGINE
from pathlab.campaign.factors import FACTORS_BY_KEY
from pathlab.campaign.quantities import Bounds
from pathlab.campaign.technologies import list_shipped_technologies, list_technologies

MARKDOWN_NAME = "SCHEMA.md"
JSON_NAME = "campaign.schema.json"

Node = dict[str, Any]
_TABLES: tuple[tuple[str, type[BaseModel]], ...] = (
    ("Top level", model.Campaign),
    ("`[[paths]]`", model.MeasuredPath),
    ("`[paths.addresses.NAME]`", model.AddressPair),
    ("`[hosts.NAME]`", host_model.Host),
    ("`[factors]`", factor_model.Factors),
    ("`[trial]`", model.TrialSettings),
    ("`[probes]`", model.ProbeSettings),
    ("`[[rows]]`", factor_model.Combination),
    ("`[control]`", factor_model.Control),
    ("`[cool_down]`", conduct_model.CoolDown),
    ("`[budget]`", conduct_model.Budget),
    ("`[safety_limits]`", conduct_model.SafetyLimits),
    ("`[background]`", background_model.BackgroundSettings),
    ("`[search]`", search_model.SearchSettings),
    ("`[lab]`", lab_model.LabSettings),
    ("`[[lab.links]]`", lab_model.LabLink),
    ("`[lab.links.reverse]`", lab_model.LabDirection),
    ("`[lab.links.burst_loss]`", lab_model.BurstLoss),
)
_HEAD = """# Campaign files

A campaign file is TOML in UTF-8. It names the paths that are measured, what is varied, and how one trial
runs; see [quickstart.toml](quickstart.toml) for one with comments. Every mistake in a file is reported at
once. A key that is not in these tables is a mistake. Editors check a file against
[campaign.schema.json](campaign.schema.json).

A factor is one level or a list of levels; numbers may be a range in quotes as well, `"1..64 step x2"` or
`"0..10 step 2"`. Constraints (`where`) compare factors with `== != < <= > >=`, `+ - *`, `and or not`,
brackets and numbers with units, such as `streams * window == 2MiB`; a level left to the system (`auto`) has
no size, so that no comparison by size holds for it.

A profile, `[profiles.NAME]`, holds other values of any keys; `--profile NAME` applies it. Single keys given
on the command line (`--set KEY=VALUE`) count for more than a profile, a profile for more than the file.

Sizes: `64KiB` and `256K` are powers of 1024, `250kB` of 1000. Rates are decimal bits: `40Mbit/s`. Times need
a unit: `100ms`. The host `local` is this machine and always known.

This page is made from the model: `python -m pathlab.campaign.schema campaigns`.
"""


class _FileSchema(GenerateJsonSchema):
    """What a TOML file can say: no null, and neither titles nor defaults in Python's form."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def build_json_schema(*, shipped: bool = False) -> Node:
    """Return the JSON Schema (draft 2020-12) of a campaign file, in the file's own keys and values.

    ``shipped``: without the technologies that are this user's own.
    """
    schema: Node = model.Campaign.model_json_schema(schema_generator=_FileSchema)
    for _, table in _TABLES:
        node = schema if table is model.Campaign else schema["$defs"][table.__name__]
        node["title"] = table.__name__
        for key, default in _list_defaults(table):
            node["properties"][key]["default"] = default
    del schema["$defs"]["LabSettings"]["required"]  # a ready-made topology may give them
    needed = schema["$defs"]["Factors"].pop("required")  # of an explicit design the rows may give them
    schema |= {
        "if": {"properties": {"design": {"const": "explicit"}}, "required": ["design"]},
        "else": {"properties": {"factors": {"required": needed}}},
    }
    if shipped:
        own = set(list_technologies()) - list_shipped_technologies()
        schema = json.loads(json.dumps(schema), object_hook=lambda node: _drop_levels(node, own))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _drop_levels(node: Node, left_out: Collection[str]) -> Node:
    """A node without these technologies among its engines."""
    if DEFAULT_ENGINE in node.get("enum", ()):
        node["enum"] = [level for level in node["enum"] if level not in left_out]
    return node


def find_node(schema: Node, location: tuple[str | int, ...]) -> Node | None:
    """Return the part of the schema that describes a key, or None when there is no such key."""
    nodes = [schema]
    for step in location:
        nodes = [child for node in nodes for child in _children(schema, node, step)]
    return _resolve(schema, nodes[0]) if nodes else None


def describe_value(node: Node) -> str:
    """Say in words which values a key takes: ``a whole number from 1 to 4096``."""
    if "$comment" in node:
        return str(node["$comment"])
    if "const" in node or "enum" in node:
        values = [json.dumps(value) for value in node.get("enum", [node.get("const")])]
        return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"
    if "anyOf" in node:
        return f"{describe_value(node['anyOf'][0])}; one or a list of them"
    if "pattern" in node:
        return "a text in quotes"
    kind = node.get("type")
    if kind == "boolean":
        return "true or false"
    if kind == "integer":
        return f"a whole number from {node['minimum']} to {node['maximum']}"
    if kind == "array":
        least = node.get("minItems", 0)
        return "a list of two names" if "prefixItems" in node else f"a list of at least {least}"
    return {"string": "a text in quotes", "object": "a table"}.get(str(kind), "a table")


def describe_campaign_file() -> str:
    """Return the Markdown page that documents every key."""
    schema = build_json_schema(shipped=True)
    lines = [_HEAD]
    for heading, table in _TABLES:
        node = schema if table is model.Campaign else schema["$defs"][table.__name__]
        lines += [f"## {heading}", "", str(node["description"]), ""]
        own = _own_keys(table, node["properties"])
        if own:
            lines += ["| key | meaning | value | default |", "|---|---|---|---|"]
        for key, child in own.items():
            required = key in node.get("required", ())
            default = (
                "required" if required else f"`{json.dumps(child['default'])}`" if "default" in child else ""
            )
            whole = _resolve(schema, child)
            value = describe_value(whole).replace("|", r"\|")
            lines.append(f"| `{key}` | {whole['description']} | {value} | {default} |")
        if own:
            lines.append("")
    return "\n".join(lines)


def write_documents(folder: Path) -> None:
    """Write both files into a folder."""
    (folder / MARKDOWN_NAME).write_text(describe_campaign_file(), encoding="utf-8")
    (folder / JSON_NAME).write_text(
        json.dumps(build_json_schema(shipped=True), indent=2) + "\n", encoding="utf-8"
    )


def _own_keys(table: type[BaseModel], properties: Node) -> Node:
    """The keys of a table without those that it has from ``[factors]``."""
    if not issubclass(table, factor_model.Combination):
        return properties
    return {key: child for key, child in properties.items() if key not in FACTORS_BY_KEY}


def _children(schema: Node, node: Node, step: str | int) -> Iterator[Node]:
    node = _resolve(schema, node)
    for branch in node.get("anyOf", ()):
        yield from _children(schema, branch, step)
    if isinstance(step, int):
        if "items" in node:
            yield node["items"]
        elif step < len(node.get("prefixItems", ())):
            yield node["prefixItems"][step]
    elif step in node.get("properties", {}):
        yield node["properties"][step]
    else:
        yield from node.get("patternProperties", {}).values()


def _resolve(schema: Node, node: Node) -> Node:
    reference = node.get("$ref")
    if reference is None:
        return node
    return {**schema["$defs"][reference.rsplit("/", 1)[1]], **node}


def _list_defaults(table: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Keys and defaults as a file writes them; a combination's are those of the factors."""
    for name, field in table.model_fields.items() if not issubclass(table, factor_model.Combination) else ():
        key, default = field.alias or name, field.get_default()
        quantity = next((item for item in field.metadata if isinstance(item, Bounds)), None)
        if quantity is not None and default is not None and not field.is_required():
            yield key, quantity.unit.format_exact(default)
        elif default == (None,):
            yield key, FACTORS_BY_KEY[key].unset
        elif isinstance(default, (str, int, tuple)):
            yield key, list(default) if isinstance(default, tuple) else default


if __name__ == "__main__":
    write_documents(Path(sys.argv[1]))
