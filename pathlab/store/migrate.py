"""Older results files are brought to this program's format step by step; newer ones are refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa

from pathlab.errors import StoreError
from pathlab.store.schema import FORMAT_VERSION, META

Step = Callable[[sa.Connection], None]

# From the format that is the key to the next one. Format 1 is the first: nothing leads to it.
STEPS: Mapping[int, Step] = {}


def check_format(found: int, writer: str, *, wanted: int = FORMAT_VERSION) -> bool:
    """Return whether a file has to be upgraded. Raises StoreError for a format newer than ``wanted``."""
    if found > wanted:
        raise StoreError(
            f"the results file has format {found}, written by PathLab {writer}; this program reads up to "
            f"format {wanted}",
            hint=f"Install PathLab {writer} or newer.",
        )
    return found < wanted


def upgrade(
    connection: sa.Connection, found: int, *, wanted: int = FORMAT_VERSION, steps: Mapping[int, Step] = STEPS
) -> None:
    """Run every step from ``found`` to ``wanted`` inside the caller's transaction.

    Raises StoreError, before anything is changed, when a step is missing: then the file is too old.
    """
    missing = [version for version in range(found, wanted) if version not in steps]
    if missing:
        raise StoreError(
            f"the results file has format {found}, and this program cannot upgrade from format {missing[0]}; "
            f"it reads format {wanted}",
            hint="Open it with an older PathLab, which upgrades it first.",
        )
    for version in range(found, wanted):
        steps[version](connection)
        is_format = META.c.name == "format_version"
        connection.execute(sa.update(META).where(is_format).values(value=str(version + 1)))
