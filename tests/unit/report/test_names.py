"""Cells named in short."""

from __future__ import annotations

import pytest

from pathlab.report.names import enumerate_cells, enumerate_numbers

KIB = 1024


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


def test_windows_with_the_same_streams_are_named_together() -> None:
    cells = [(2, 64 * KIB), (1, 64 * KIB), (1, 256 * KIB), (2, 256 * KIB), (1, None), (1, None)]
    assert enumerate_cells(cells) == "1 and 2 × (64 KiB, 256 KiB); 1 × auto"
