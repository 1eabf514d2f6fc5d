"""What changes the tables of a campaign file before they are checked: profiles, paths, single keys."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from pathlab.campaign.completion import fill_lab
from pathlab.campaign.source_text import format_choice, read_names, read_table
from pathlab.campaign.toml_text import load_toml
from pathlab.errors import UsageError

PATH_EXPECTED = "expected SOURCE:DESTINATION, several joined by commas"


def put_override(data: dict[str, Any], override: str) -> str | None:
    """Put one ``key=value`` into the tables; return what is wrong with it, or None."""
    key, equals, written = override.partition("=")
    steps = key.strip().split(".")
    if not equals or not all(steps):
        return 'expected key=value such as "trial.duration=5s"'
    if steps[0] in ("profile", "profiles"):
        return "a profile is not set key by key; expected --profile NAME, and single keys alongside it"
    try:
        value = load_toml(f"value = {written}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        value = written.strip()
    except ValueError as error:
        return str(error)
    place: Any = data
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        if isinstance(place, list):
            if not step.isdecimal() or int(step) >= len(place):
                here = ".".join(steps[:position])
                return f"'{step}' is not an entry of {here}; {_expect_index(len(place))}"
            index: Any = int(step)
        elif isinstance(place, dict):
            index = step
        else:
            return f"{'.'.join(steps[:position])} is not a table; expected the key of one value"
        if last:
            place[index] = copy.deepcopy(value)
        else:
            place = place.setdefault(index, {}) if isinstance(place, dict) else place[index]
    return None


def _expect_index(count: int) -> str:
    """What may be given for an entry of a list of this length."""
    return {0: "it has none", 1: "expected 0"}.get(count, f"expected a number from 0 to {count - 1}")


def put_paths(data: dict[str, Any], paths: Sequence[str]) -> None:
    """Put other paths in place of the file's. A lab that none of them touches is left out.

    Raises UsageError for what is no pair of hosts.
    """
    pairs = []
    for text in (part for given in paths for part in given.split(",")):
        source, colon, destination = (part.strip() for part in text.partition(":"))
        if not colon or not source or not destination or ":" in destination:
            raise UsageError(f"--paths: '{text}' is not a path", hint=PATH_EXPECTED)
        pairs.append({"source": source, "destination": destination})
    data["paths"] = pairs
    lab_hosts = read_names(read_table(fill_lab(data, []), "lab"), "hosts")
    if "lab" in data and not any(end in lab_hosts for pair in pairs for end in pair.values()):
        del data["lab"]
        background = data.get("background")
        if (
            isinstance(background, dict)
            and str(background.get("network_path")).partition(":")[0] in lab_hosts
        ):
            del background["network_path"]  # its check names what to give instead


def take_profiles(data: dict[str, Any]) -> dict[str, Any]:
    """Take the profiles out of the tables and return them; {} where there are none or no table of them."""
    profiles = data.get("profiles")
    return data.pop("profiles") if isinstance(profiles, dict) else {}


def put_profile(data: Mapping[str, Any], profiles: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the tables as a profile changes them: its tables key by key, everything else as a whole.

    Raises UsageError when there is no such profile.
    """
    values = profiles.get(name)
    if not isinstance(values, Mapping):
        known = format_choice(name, list(profiles)) if profiles else "; the file has none"
        raise UsageError(f"there is no profile '{name}'{known}")
    return {**_merge(data, values), "profile": name}


def list_keys(values: Mapping[str, Any], start: str = "") -> list[str]:
    """Return the dotted keys of the values in a table and its tables."""
    keys = []
    for key, value in values.items():
        nested = isinstance(value, Mapping) and value
        keys += list_keys(value, f"{start}{key}.") if nested else [f"{start}{key}"]
    return keys


def _merge(data: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(dict(data))
    for key, value in values.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(below, value) if both and below is not None else copy.deepcopy(value)
    return merged
