"""``hosts.toml``: tables of hosts that campaigns share; a host of that name in the campaign itself wins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pathlab.campaign.host_model import HostFile
from pathlab.campaign.mistakes import translate
from pathlab.campaign.source_text import list_path_hosts, read_rows, read_table
from pathlab.campaign.toml_text import format_finding, list_key_lines, parse_toml, read_toml_text, refuse

DEFAULT_NAME = "hosts.toml"


def find_host_file(campaign_label: str, named: Path | None) -> Path | None:
    """The file named, else the ``hosts.toml`` beside the campaign if there is one."""
    if named is not None:
        return named
    beside = Path(campaign_label).parent / DEFAULT_NAME
    return beside if beside.is_file() else None


def read_host_file(path: Path) -> dict[str, dict[str, Any]]:
    """Every host's table, as written, all of them sound. CampaignError with every mistake."""
    text = read_toml_text("hosts file", str(path), "Give a TOML file.")
    data = parse_toml("hosts file", path, text)
    try:
        HostFile.model_validate(data)
    except ValidationError as error:
        findings = translate(error, data, tables=["hosts"])
        lines = list_key_lines(text)
        mistakes = [format_finding(path, finding, lines) for finding in findings]
        raise refuse("hosts file", path, mistakes) from error
    tables: dict[str, dict[str, Any]] = data["hosts"]
    return tables


def put_hosts(data: dict[str, Any], tables: Mapping[str, dict[str, Any]]) -> None:
    """Give a campaign's table the hosts that its paths name, and those they jump through.

    Only these: what a shared file says of other hosts is no part of the campaign.
    """
    inline = read_table(data, "hosts")
    wanted = [name for _, path in read_rows(data, "paths") for _, name in list_path_hosts(path)]
    added: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        if not isinstance(name, str) or name in added or (name in inline and name not in tables):
            continue
        table = inline.get(name, tables.get(name))
        if table is None:
            continue
        if name not in inline:
            added[name] = table
        if isinstance(table, dict) and isinstance(table.get("jump"), str):
            wanted += [step.strip() for step in table["jump"].split(",") if step.strip() not in inline]
    if added:
        data["hosts"] = {**{name: added[name] for name in sorted(added)}, **inline}
