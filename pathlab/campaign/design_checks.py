"""Contradictions between factors, design, constraints, and the keys of a long campaign."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from pathlab.campaign.constraints import parse_constraint
from pathlab.campaign.factors import ALWAYS_GIVEN, CELL_KEYS, FACTORS, FACTORS_BY_KEY
from pathlab.campaign.levels import try_levels
from pathlab.campaign.source_text import Finding, Key, list_names, read_quantity, read_rows, read_table
from pathlab.errors import UsageError
from pathlab.units import parse_time_ns

#: What a key needs to have an effect: another key, and what that is.
NEEDED = {
    "cycles_min": ("until", "a stop rule"),
    "cycles_max": ("until", "a stop rule"),
    "every_jitter": ("every", "a period"),
}


def check_design(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every contradiction of these keys."""
    for check in (_check_levels, _check_ends, _check_kind, _check_rows, _check_where, _check_pairs):
        yield from check(data)
    for check in (_check_families, _check_needed, _check_order, _check_compared, _check_recording):
        yield from check(data)


def _check_levels(data: Mapping[str, Any]) -> Iterator[Finding]:
    for name, levels in read_table(data, "factors").items():
        if not isinstance(levels, list):
            continue
        seen: dict[Any, Any] = {}
        factor = FACTORS_BY_KEY.get(name)
        for index, level in enumerate(levels):
            unit = factor.unit if factor is not None else None
            parsed = read_quantity(unit.parse, level) if unit is not None else None
            value = str(level) if parsed is None else parsed
            if value in seen:
                as_well = f" ('{seen[value]}' is the same)" if seen[value] != level else ""
                yield (
                    ("factors", name, index),
                    f"level '{level}' is listed twice{as_well}; expected each level once",
                )
            seen.setdefault(value, level)


def _check_ends(data: Mapping[str, Any]) -> Iterator[Finding]:
    tables = [(("factors",), read_table(data, "factors"))]
    tables += [(("control",), read_table(data, "control"))]
    for place, table in tables:
        for both, each in (("window", "a window"), ("cpus", "cores")):
            for key in (f"{both}_sender", f"{both}_receiver"):
                if key in table and both in table:
                    yield (*place, key), f"{both} is for both ends; expected either it or {each} for each end"


def _check_kind(data: Mapping[str, Any]) -> Iterator[Finding]:
    design = data.get("design", "full")
    if design == "explicit" and not data.get("rows"):
        yield ("rows",), "an explicit design is empty; expected its combinations as [[rows]]"
    if design != "explicit" and data.get("rows"):
        yield ("rows",), 'combinations are listed; expected design = "explicit" as well'
    if design == "explicit" and data.get("where"):
        yield ("where",), "an explicit design lists its combinations; expected no constraints"
    if design == "lhs" and "points" not in data:
        yield ("points",), "is missing; expected the number of combinations of the Latin hypercube"
    if design == "lhs" and "fraction" in data:
        yield ("fraction",), 'has no effect on a Latin hypercube; expected points, or design = "fraction"'
    if design == "fraction" and ("points" in data) == ("fraction" in data):
        yield ("fraction",), "the size of the part is not clear; expected either fraction or points"
    if design == "fraction" and data.get("fraction") in (0, 0.0, "0%"):
        yield ("fraction",), "it leaves no combination; expected more than 0 %"
    for key in ("points", "fraction"):
        if key in data and design not in ("lhs", "fraction"):
            yield (key,), 'has no effect in this design; expected design = "lhs" or "fraction"'


def _check_rows(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Each row has every factor, itself or by a single level in the factors."""
    if data.get("design") != "explicit":
        return
    rows = list(read_rows(data, "rows"))
    factors = read_table(data, "factors")
    single = {key for key, value in factors.items() if len(try_levels(key, value)) == 1}
    named = dict.fromkeys([*factors, *(key for _, row in rows for key in row)])
    for index, row in rows:
        for key in named:
            if key not in row and key not in single:
                yield (
                    ("rows", index, key),
                    f"the row has no {key}; expected it here, or one level in [factors]",
                )


def _check_where(data: Mapping[str, Any]) -> Iterator[Finding]:
    where = data.get("where", ())
    given = [*(FACTORS[name].key for name in ALWAYS_GIVEN), *read_table(data, "factors")]
    texts = where if isinstance(where, (list, tuple)) else (where,)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            continue
        key = ("where",) if isinstance(where, str) else ("where", index)
        try:
            unused = sorted(parse_constraint(text).factors.difference(given))
        except UsageError as error:
            yield key, f"{error.message}; {error.hint}"
            continue
        if unused:
            known = list_names(dict.fromkeys(given))
            yield key, f"'{unused[0]}' is not a factor of this campaign; expected one of {known}"


def _check_pairs(data: Mapping[str, Any]) -> Iterator[Finding]:
    names = try_levels("addresses", read_table(data, "factors").get("addresses", []))
    if not names:
        return
    for index, path in read_rows(data, "paths"):
        pairs = read_table(path, "addresses")
        for name in names:
            if isinstance(name, str) and name not in pairs:
                known = f"expected one of {list_names(pairs)}" if pairs else "expected addresses there"
                yield (("paths", index, "addresses"), f"the path has no pair '{name}'; {known}")
        for key in ("source_address", "destination_address"):
            if path.get(key) is not None:
                yield ("paths", index, key), "the factor addresses sets it; expected no address here"


def _check_families(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Addresses of a path are of one family, and of every family that the factor requests."""
    wanted = try_levels("family", read_table(data, "factors").get("family", []))
    for index, path in read_rows(data, "paths"):
        ends = {"source": path.get("source_address"), "destination": path.get("destination_address")}
        pairs: list[tuple[Key, Mapping[str, Any]]] = [(("paths", index), ends)]
        for name, pair in read_table(path, "addresses").items():
            pairs.append((("paths", index, "addresses", name), pair if isinstance(pair, Mapping) else {}))
        for key, pair in pairs:
            versions = {_read_version(pair.get(end)) for end in ends} - {None}
            if len(versions) > 1:
                yield key, "the ends have addresses of different families; expected IPv4 or IPv6 for both"
                continue
            for family in wanted:
                version = {"ipv4": 4, "ipv6": 6}.get(str(family))
                if version and versions and version not in versions:
                    what = f"the addresses are not {family}, which a level of family requests"
                    yield key, f"{what}; expected {family}"


def _read_version(address: Any) -> int | None:
    try:
        return ipaddress.ip_address(address).version if isinstance(address, str) else None
    except ValueError:
        return None  # malformed: the model says so


def _check_needed(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Keys that have no effect without another one, and the end of a campaign with a stop rule."""
    for key, (needed, what) in NEEDED.items():
        if key in data and needed not in data:
            yield (key,), f"has no effect without {what}; expected {needed} as well"
    if "until" in data and "cycles_max" not in data:
        yield ("cycles_max",), "is missing; expected the cycle after which the campaign ends in any case"
    if data.get("block", "cycle") != "cycle" and data.get("order", "random") != "random":
        yield ("block",), 'only a random order is balanced; expected order = "random"'


def _check_compared(data: Mapping[str, Any]) -> Iterator[Finding]:
    key = data.get("compare")
    if not isinstance(key, str):
        return  # its type is a mistake of the model
    if key in CELL_KEYS:
        what = f"'{key}' is compared by the analyses of streams and windows"
        yield ("compare",), f"{what}; expected another factor"
    elif key in FACTORS_BY_KEY and data.get("design") != "explicit":
        count = len(try_levels(key, read_table(data, "factors").get(key, [])))
        if count < 2:
            yield ("compare",), f"'{key}' has no other level to compare; expected two or more in [factors]"


def _check_recording(data: Mapping[str, Any]) -> Iterator[Finding]:
    levels = try_levels("recording", read_table(data, "factors").get("recording", []))
    if "off" in levels and read_table(data, "safety_limits"):
        what = "they need the loaded probes that recording 'off' leaves out"
        yield ("safety_limits",), f"{what}; expected no limits, or other levels of recording"


def _check_order(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Keys of which one has to be less than the other."""
    least, most = data.get("cycles_min"), data.get("cycles_max")
    if "until" in data and isinstance(least, int) and isinstance(most, int) and least > most:
        yield ("cycles_min",), f"{least} is more than cycles_max, {most}; expected no more"
    period_ns, jitter_ns = (read_quantity(parse_time_ns, data.get(key)) for key in ("every", "every_jitter"))
    if period_ns is not None and jitter_ns is not None and jitter_ns >= period_ns:
        yield ("every_jitter",), f"'{data['every_jitter']}' is not shorter than every; expected less"
