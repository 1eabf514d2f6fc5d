"""``hosts.toml``: tables of hosts that campaigns share; a host of that name in the campaign itself wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pathlab.campaign.completion import fill_lab
from pathlab.campaign.host_model import KNOWN_LOCAL, HostFile
from pathlab.campaign.mistakes import translate
from pathlab.campaign.source_text import Finding, list_path_hosts, read_names, read_rows, read_table
from pathlab.campaign.toml_text import (
    combine_mistakes,
    format_finding,
    list_key_lines,
    locate_key,
    parse_toml,
    read_toml_text,
)
from pathlab.host_names import HOST_FILE_NAME, LOCAL


def find_host_file(campaign_label: str, named: Path | None) -> Path | None:
    """The file named, else the ``hosts.toml`` next to the campaign if there is one."""
    if named is not None:
        return named
    beside = Path(campaign_label).parent / HOST_FILE_NAME
    return beside if beside.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedHosts:
    """The tables of a hosts file by name, as written; ``places`` is where each begins, for messages."""

    tables: Mapping[str, dict[str, Any]]
    places: Mapping[str, str]


def read_host_file(path: Path) -> dict[str, dict[str, Any]]:
    """Every host's table, as written, all of them sound. CampaignError with every mistake."""
    return dict(read_shared_hosts(path).tables)


def read_shared_hosts(path: Path) -> SharedHosts:
    """As ``read_host_file``, with the place of each table."""
    text = read_toml_text("hosts file", str(path), "give a TOML file")
    data = parse_toml("hosts file", path, text)
    findings: list[Finding] = []
    try:
        HostFile.model_validate(data)
    except ValidationError as error:
        findings = list(translate(error, data, tables=["hosts"]))
    lines = list_key_lines(text)
    if LOCAL in read_table(data, "hosts"):
        findings.append((("hosts", LOCAL), KNOWN_LOCAL))
    if findings:
        mistakes = [format_finding(path, finding, lines) for finding in findings]
        raise combine_mistakes("hosts file", path, mistakes)
    tables: dict[str, dict[str, Any]] = data["hosts"]
    places = {name: locate_key(path, ("hosts", name), lines) for name in tables}
    return SharedHosts(tables=tables, places=places)


def needs_hosts(data: Mapping[str, Any]) -> bool:
    """Whether a path, or the jump of a host, names a host that neither the campaign nor its lab has."""
    inline = read_table(data, "hosts")
    known = {LOCAL, *inline, *_list_lab_hosts(data)}
    ends = [name for _, path in read_rows(data, "paths") for _, name in list_path_hosts(path)]
    jumps = [step for table in inline.values() for step in _list_jumps(table)]
    return any(isinstance(name, str) and name not in known for name in (*ends, *jumps))


def put_hosts(data: dict[str, Any], tables: Mapping[str, dict[str, Any]]) -> list[str]:
    """Give a campaign's table the hosts that its paths name, and those they jump through; the names added.

    Only these: what a shared file says of other hosts is no part of the campaign. A host of the campaign's
    lab is that one, whatever a shared file calls by its name.
    """
    inline = read_table(data, "hosts")
    emulated = _list_lab_hosts(data)
    wanted = [name for _, path in read_rows(data, "paths") for _, name in list_path_hosts(path)]
    added: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        if not isinstance(name, str) or name in added or name in emulated:
            continue
        if name in inline and name not in tables:
            continue
        table = inline.get(name, tables.get(name))
        if table is None:
            continue
        if name not in inline:
            added[name] = table
        wanted += [step for step in _list_jumps(table) if step not in inline]
    if added:
        data["hosts"] = {**{name: added[name] for name in sorted(added)}, **inline}
    return sorted(added)


def _list_jumps(table: Any) -> list[str]:
    """The hosts that one is reached through."""
    jump = table.get("jump") if isinstance(table, dict) else None
    return [step.strip() for step in jump.split(",")] if isinstance(jump, str) else []


def _list_lab_hosts(data: Mapping[str, Any]) -> list[str]:
    return read_names(read_table(fill_lab(data, []), "lab"), "hosts")
