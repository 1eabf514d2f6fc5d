"""What a campaign file leaves out because other tables of it, or a ready-made lab, have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pathlab.campaign.levels import try_levels
from pathlab.campaign.ready_labs import list_ready_labs, read_ready_lab
from pathlab.campaign.source_text import Finding, Key, format_choice, read_rows, read_table


def fill_lab(data: Mapping[str, Any], findings: list[Finding]) -> Mapping[str, Any]:
    """Return the tables with what a ready-made lab gives and the file does not; add what is wrong."""
    lab = read_table(data, "lab")
    name = lab.get("topology")
    if not isinstance(name, str):
        return data
    if name not in list_ready_labs():
        known = list_ready_labs()
        what = f"there is no ready-made lab '{name}'{format_choice(name, known)}"
        findings.append((("lab", "topology"), what))
        return data
    return {**data, "lab": {**read_ready_lab(name), **lab}}


def complete_design(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the tables with what rows and factors take from each other.

    The factors of an explicit design are the levels that its rows have; rows and the control row take what
    they do not have from the factors, as far as those have a single level, or the first.
    """
    factors = dict(read_table(data, "factors"))
    if data.get("design") == "explicit" and isinstance(data.get("factors", {}), Mapping):
        rows = [row for _, row in read_rows(data, "rows")]
        named = list(dict.fromkeys(key for row in rows for key in row))
        for key in named:
            levels: list[Any] = [row[key] for row in rows if key in row]
            if key not in factors:
                factors[key] = [level for index, level in enumerate(levels) if level not in levels[:index]]
        whole = [{**_first_levels(factors), **row} for row in rows]
        if len(whole) == len(data.get("rows", ())):
            data = {**data, "rows": whole, "factors": factors}
    control = data.get("control")
    if isinstance(control, Mapping):
        data = {**data, "control": {**_first_levels(factors), **control}}
    return data


def _first_levels(factors: Mapping[str, Any]) -> dict[str, Any]:
    return {key: levels[0] for key, value in factors.items() if (levels := try_levels(key, value))}


def is_filled_in(key: Key, data: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    """Whether a key is in the completed tables alone, and not in those of the file."""
    return _has(key, whole) and not _has(key, data)


def _has(key: Key, place: Any) -> bool:
    for step in key:
        try:
            place = place[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
