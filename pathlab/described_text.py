"""Enumerations of texts, each with its meaning."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class DescribedText(StrEnum):
    """Members are the texts; ``meaning`` is one line for the documentation."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member
