"""The facts of a run, as the section on the method states them."""

from __future__ import annotations

from pathlab.report.blocks import Facts
from pathlab.report.sections.method import build_method
from tests.builders.results import SyntheticResults
from tests.builders.sections import list_blocks, make_inputs
from tests.builders.sweeps import make_sweep


def find_fact(results: SyntheticResults, label: str) -> str:
    facts = next(one for one in list_blocks([build_method(make_inputs(results))]) if isinstance(one, Facts))
    return dict(facts.items)[label]


def test_the_steady_window_of_trials_by_time_is_the_one_requested() -> None:
    assert find_fact(make_sweep(1), "Steady window") == "3 s"
