"""What a record says of a column besides its type."""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """The meaning of a column whose name does not end with its unit."""

    meaning: str
    unit: str
