"""What a campaign file may say in a later version: refused until the runner carries it out.

A key of the model that nothing executes would be ignored in silence. Whoever implements one takes its line
out of ``NOT_YET``; an empty tuple is the end of this module's work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pathlab.campaign.levels import try_levels
from pathlab.campaign.written import Finding, Key, read_rows, read_table

#: Dotted keys of the file that are planned but not executed, and ``factors.KEY=LEVEL`` for single levels.
NOT_YET: tuple[str, ...] = ()


def find_unsupported(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every key of a file's tables that this version does not execute."""
    for entry in NOT_YET:
        dotted, _, level = entry.partition("=")
        table, _, key = dotted.rpartition(".")
        for place, holder in _tables(data, table):
            if key not in holder:
                continue
            if not level:
                yield (*place, key), f"'{key}' is not supported yet by this version; expected no such key"
            elif level in try_levels(key, holder[key]):
                yield (
                    (*place, key),
                    f"'{level}' is not supported yet by this version; expected another level",
                )


def _tables(data: Mapping[str, Any], table: str) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    """The tables of the file that a key may stand in: levels stand in rows and in the control row as well."""
    if not table:
        yield (), data
        return
    yield (table,), read_table(data, table)
    if table == "factors":
        yield ("control",), read_table(data, "control")
        yield from ((("rows", index), row) for index, row in read_rows(data, "rows"))
