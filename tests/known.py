"""Values that must be there, where their type allows for none."""

from typing import TypeVar

T = TypeVar("T")


def known(value: T | None) -> T:
    """The value, which is not None."""
    assert value is not None
    return value
