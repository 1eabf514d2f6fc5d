"""Read the published tables that come with the product."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from pathlab.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTable:
    """One published table; a column ends with its unit (``_bytes``, ``_gbps``: 10^9 bit/s)."""

    name: str
    columns: Mapping[str, tuple[float, ...]]


def list_tables() -> tuple[str, ...]:
    """Names of all tables, sorted."""
    files = resources.files(__package__).iterdir()
    return tuple(sorted(file.name.removesuffix(".csv") for file in files if file.name.endswith(".csv")))


def load_table(name: str) -> ReferenceTable:
    """The table of that name; ``UsageError`` naming those there are."""
    if name not in list_tables():
        raise UsageError(f"reference '{name}' is not known", hint=f"take one of: {', '.join(list_tables())}")
    text = resources.files(__package__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return ReferenceTable(
        name=name,
        columns={title: tuple(float(row[at]) for row in rows) for at, title in enumerate(header)},
    )
