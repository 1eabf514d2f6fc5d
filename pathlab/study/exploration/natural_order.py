"""The order of levels: numbers within texts by their value, as people sort names."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: From so many texts on the order is that of their characters: nobody reads through such a list.
NATURAL_MOST = 20_000
_DIGITS = re.compile("([0-9]+)")


def sort_naturally(texts: Iterable[str]) -> list[str]:
    """The texts in natural order: ``eth2`` before ``eth10``; of more than 20,000 by characters alone."""
    every = list(texts)
    return sorted(every, key=order_naturally) if len(every) <= NATURAL_MOST else sorted(every)


def order_naturally(text: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """A key by which texts sort: runs of ASCII digits by value, the rest by code points."""
    parts = _DIGITS.split(text)
    runs = tuple(
        (0, part) if index % 2 == 0 else (len(part.lstrip("0")) + 1, part.lstrip("0"))
        for index, part in enumerate(parts)
    )
    return runs, text
