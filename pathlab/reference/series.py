"""Read the published tables that come with the product."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from pathlab.errors import UsageError

#: Ending of the columns that hold rates, ...
RATE_SUFFIX = "_gbps"
#: ... and their unit in bit/s.
GBPS = 1e9
#: Where tables were published, by the beginning of their names; README.md says under which conditions.
SOURCES: Mapping[str, str] = {
    "ibm-streams-2.0-": "IBM, InfoSphere Streams Release 2.0 Performance Report",
    "ibm-streams-3.0-": "IBM, InfoSphere Streams Version 3.0 Performance Report",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTable:
    """One published table; a column ends with its unit (``_bytes``, ``_gbps``: 10^9 bit/s).

    The first column holds the levels, ascending. ``steps`` is the unit of each column's last printed digit: a
    figure is known no better than to half of it.
    """

    name: str
    columns: Mapping[str, tuple[float, ...]]
    steps: Mapping[str, float]

    @property
    def level(self) -> str:
        """The column that holds the levels: what was varied."""
        return next(iter(self.columns))

    @property
    def rates(self) -> tuple[str, ...]:
        """The columns that hold rates."""
        return tuple(name for name in self.columns if name.endswith(RATE_SUFFIX))


def list_tables() -> tuple[str, ...]:
    """Names of all tables, sorted."""
    files = resources.files(__package__).iterdir()
    return tuple(sorted(file.name.removesuffix(".csv") for file in files if file.name.endswith(".csv")))


def describe_source(name: str) -> str:
    """Where the table of that name was published; ``UsageError`` for a name that there is not."""
    if name not in list_tables():
        raise UsageError(f"reference '{name}' is not known", hint=f"take one of: {', '.join(list_tables())}")
    return next(source for beginning, source in SOURCES.items() if name.startswith(beginning))


def load_table(name: str) -> ReferenceTable:
    """The table of that name; ``UsageError`` naming those there are."""
    if name not in list_tables():
        raise UsageError(f"reference '{name}' is not known", hint=f"take one of: {', '.join(list_tables())}")
    text = resources.files(__package__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return ReferenceTable(
        name=name,
        columns={title: tuple(float(row[at]) for row in rows) for at, title in enumerate(header)},
        steps={title: _find_step([row[at] for row in rows]) for at, title in enumerate(header)},
    )


def _find_step(texts: Sequence[str]) -> float:
    """The unit of the last digit of figures that are printed alike."""
    return float(10.0 ** -max(len(text.partition(".")[2]) for text in texts))
