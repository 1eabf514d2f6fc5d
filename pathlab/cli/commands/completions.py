"""What a shell completes of a value that names things of a campaign; imported with the options."""

from __future__ import annotations

import click


def complete_override(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Of ``--set``: keys of factors, and after the key the levels of those that have names."""
    from pathlab.campaign.schema import build_json_schema  # takes half a second

    factors = build_json_schema()["$defs"]["Factors"]["properties"]
    key, equals, _ = incomplete.partition("=")
    if not equals:
        return [text for name in factors if (text := f"factors.{name}=").startswith(incomplete)]
    node = factors.get(key.removeprefix("factors."), {})
    names = next((one["enum"] for one in node.get("anyOf", ()) if "enum" in one), ())
    return [text for name in names if (text := f"{key}={name}").startswith(incomplete)]
