"""Constraints: what they mean, and that nothing else is ever evaluated."""

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.campaign.constraints import parse_constraint
from pathlab.campaign.design import list_cells
from pathlab.errors import UsageError
from tests.builders.campaigns import make_sample

LEVELS: dict[str, Any] = {
    "streams": 4,
    "window": 512 * 1024,
    "congestion": "cubic",
    "duration": 2_000_000_000,
    "pacing": 40_000_000,
    "mss": None,
    "no_delay": True,
    "zero_copy": False,
    "family": "any",
}


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("streams * window == 2MiB", True),
        ("streams * window == 2 MiB", True),
        ("streams * window <= 2097151", False),
        ("1MiB < streams * window <= 16MiB", True),
        ("1MiB < streams * window < 2MiB", False),
        ("streams > 2 and window >= 512KiB", True),
        ("streams > 4 or window < 64KiB", False),
        ("not (streams > 4 or window < 64KiB)", True),
        ("streams + 1 - 2 == 3", True),
        ("window == 500kB", False),
        ("congestion == 'cubic'", True),
        ('congestion != "bbr"', True),
        ("duration <= 1.5s", False),
        ("duration >= 2000ms", True),
        ("pacing == 40Mbit/s", True),
        ("no_delay", True),
        ("zero_copy or no_delay", True),
        ("no_delay == false", False),
        ("not zero_copy", True),
        # what is left to the system has no size
        ("mss < 1000", False),
        ("mss >= 1000", False),
        ("mss + 40 <= 1500", False),
        ("mss == 'auto'", True),
        ("window != 'auto'", True),
        ("family == 'any'", True),
        ("congestion > 3", False),
        ("streams\n== 4\n or streams == 5", True),
    ],
)
def test_a_constraint_means_what_it_says(text: str, truth: bool) -> None:
    assert parse_constraint(text).holds(LEVELS) is truth


@given(streams=st.integers(1, 4096), kib=st.integers(1, 2**20), limit=st.integers(0, 2**42))
def test_products_are_exact(streams: int, kib: int, limit: int) -> None:
    levels = {"streams": streams, "window": kib * 1024}
    assert parse_constraint(f"streams * window <= {limit}").holds(levels) == (streams * kib * 1024 <= limit)


@settings(max_examples=40)
@given(text=st.text(max_size=60))
def test_no_text_crashes_the_parser(text: str) -> None:
    with contextlib.suppress(UsageError):
        parse_constraint(text).holds(LEVELS)


def test_constraints_choose_combinations() -> None:
    factors = {"streams": "1..64 step x2", "window": "32KiB..2MiB step x2"}
    campaign = make_sample(factors=factors, where="streams * window == 2MiB")
    cells = [(cell.streams, (cell.window_bytes or 0) // 1024) for cell in list_cells(campaign)]
    assert cells == [(1, 2048), (2, 1024), (4, 512), (8, 256), (16, 128), (32, 64), (64, 32)]
    both = make_sample(factors=factors, where=["streams * window == 2MiB", "streams >= 16"])
    assert [cell.streams for cell in list_cells(both)] == [16, 32, 64]
