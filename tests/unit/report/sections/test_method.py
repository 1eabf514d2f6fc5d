"""The facts of a run, as the section on the method states them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.report.blocks import Facts
from pathlab.report.sections.method import build_method
from tests.builders.results import SyntheticResults
from tests.builders.sections import list_blocks, make_inputs
from tests.builders.sweeps import make_sweep


def find_fact(results: SyntheticResults, label: str) -> str:
    facts = next(one for one in list_blocks([build_method(make_inputs(results))]) if isinstance(one, Facts))
    return dict(facts.items)[label]


@pytest.mark.parametrize(
    ("settings", "lengths_ns", "text"),
    [
        (
            {"transfer_bytes": 5_000_000},
            (940_000_000, 310_000_000),
            "until 5 MB had arrived (310 ms to 940 ms)",
        ),
        ({"transfer_bytes": 5_000_000}, (940_000_000, None), "until 5 MB had arrived (940 ms)"),
        ({}, (None, None), "until the amount had arrived"),
    ],
)
def test_the_steady_window_of_trials_by_amount_is_the_amount_and_what_was_measured(
    settings: dict[str, int], lengths_ns: tuple[int | None, ...], text: str
) -> None:
    lengths = iter(lengths_ns)
    results = make_sweep(
        1,
        levels=[(1, 65536), (4, 65536)],
        settings=settings,
        change=lambda record: replace(record, duration_ns=0, steady_ns=next(lengths)),
    )
    assert find_fact(results, "Steady window") == text


def test_the_steady_window_of_trials_by_time_is_the_one_requested() -> None:
    assert find_fact(make_sweep(1), "Steady window") == "3 s"
