"""Cells named in short."""

from __future__ import annotations

import pytest

from pathlab.report.names import enumerate_numbers


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((3,), "3"),
        ((1, 2), "1 and 2"),
        ((1, 2, 3), "1, 2 and 3"),
        ((1, 2, 3, 4), "1 to 4"),
        ((*range(1, 13), 15, 20), "1 to 12, 15 and 20"),
        ((1, 5, 6, 7, 8), "1 and 5 to 8"),
    ],
)
def test_numbers(numbers: tuple[int, ...], text: str) -> None:
    assert enumerate_numbers(numbers) == text
