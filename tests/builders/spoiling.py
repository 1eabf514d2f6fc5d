"""Every way to spoil one valid JSON value: each key left out, each value replaced by one that is hostile."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pathlab.remote.record_checker import RecordChecker, SampleChecker
from pathlab.remote.record_rules import RecordFault

#: In the place of a value: nothing at all.
MISSING = object()
HOSTILE_VALUES: tuple[Any, ...] = (
    *(MISSING, None, -1, 0, 2**63 - 1, 2**63, 1e300, 0.5, True),
    *("", "x", "\x1b[2J", [], {}, [0] * 20_000, [None], [-1], {"a": None}),
)


def list_places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a JSON value, by the keys and numbers that lead to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from list_places(item, (*path, key))


def set_value(value: Any, path: Sequence[str | int], new: Any) -> None:
    """Put a value in a place, or ``MISSING``: take it out."""
    for key in path[:-1]:
        value = value[key]
    if new is MISSING:
        del value[path[-1]]
    else:
        value[path[-1]] = new


def list_spoilings(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Places in a value and what to put there: of items of one list the first one alone."""
    for path in list_places(value):
        if all(key in (0, str(key)) for key in path):
            for new in HOSTILE_VALUES:
                yield path, new


def list_taken(value: Any, check: Callable[[Any], object]) -> list[Any]:
    """The spoiled forms of a valid value that ``check`` takes, and that readers must read.

    It returns false or raises RecordFault for those that it refuses, and raises nothing else.
    """
    taken: list[Any] = []
    for path, new in list_spoilings(value):
        spoiled = copy.deepcopy(value)
        set_value(spoiled, path, new)
        try:
            is_taken = check(spoiled)
        except RecordFault:
            continue
        if is_taken and spoiled not in taken:
            taken.append(spoiled)
    return taken


def _is_sample(value: Any) -> bool:
    SampleChecker().check(value)
    return True


def list_taken_records(program: str, records: Sequence[Any]) -> list[tuple[int, Any]]:
    """Of the first record of each type, its number and the forms that the schema takes."""
    first = {record.get("type"): number for number, record in reversed([*enumerate(records)])}
    forms = []
    for number in first.values():
        if program == "counters":
            taken = list_taken(records[number], _is_sample)
        else:
            taken = list_taken(records[number], lambda one: RecordChecker(program).check(one))
        forms += [(number, one) for one in taken]
    return forms
