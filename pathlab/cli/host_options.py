"""The hosts that a command names, as tables of hosts.toml or as ``ssh`` would take them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathlab.errors import UsageError
from pathlab.host_names import DESTINATION_HINT, HOST_FILE_NAME, HOST_NAME_PATTERN, LOCAL, parse_destination

if TYPE_CHECKING:
    from pathlab.campaign.host_model import Host


def read_tables(hosts_file: Path | None) -> dict[str, dict[str, Any]]:
    """The hosts of the file named, else of ``hosts.toml`` here, else none. Raises CampaignError."""
    if hosts_file is None and not Path(HOST_FILE_NAME).is_file():
        return {}
    from pathlab.campaign.host_file import read_host_file  # loads pydantic

    return read_host_file(hosts_file or Path(HOST_FILE_NAME))


def name_hosts(
    given: Sequence[str], tables: dict[str, dict[str, Any]]
) -> list[tuple[str, dict[str, Any] | None]]:
    """As ``name_host``, several at once: hosts that differ in account or port alone get names that differ."""
    named: list[tuple[str, dict[str, Any] | None]] = []
    for text in given:
        name, table = name_host(text, tables)
        if any(name == other and table != known for other, known in named):
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")
        named.append((name, table))
    return named


def build_hosts(
    tables: dict[str, dict[str, Any]], named: Sequence[tuple[str, dict[str, Any] | None]]
) -> dict[str, Host]:
    """The hosts of a file and those that were named, by name, without this machine."""
    from pathlab.campaign.host_model import Host  # loads pydantic

    every = {**tables, **dict(named)}
    return {name: Host.model_validate(table) for name, table in every.items() if table is not None}


def name_host(given: str, tables: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any] | None]:
    """Name and table of a host as an argument gives it: a host of ``tables``, or what ``ssh`` would take.

    The table is None for ``local``. UsageError when it is neither.
    """
    if given == LOCAL:
        return LOCAL, None
    if given in tables:
        return given, tables[given]
    result = parse_destination(given)
    name = re.sub(r"[^A-Za-z0-9._-]", "-", result.address).strip("-.")
    if not re.fullmatch(HOST_NAME_PATTERN, name) or name == LOCAL:
        raise UsageError(f"'{given}' is not a host", hint=DESTINATION_HINT)
    table: dict[str, Any] = {"transport": "ssh", "address": result.address}
    if result.user:
        table["user"] = result.user
    if result.port:
        table["port"] = result.port
    return name, table
