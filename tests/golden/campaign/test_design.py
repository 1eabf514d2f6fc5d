"""Designs: parts of all combinations, Latin hypercubes, lists; control rows; hours within cycles."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.campaign.design import list_cells
from tests.builders.campaigns import list_mistakes, make_sample
from tests.golden.conftest import Say
from tests.unit.campaign.test_design import control_plan

ROWS = [{"streams": 2, "window": "256KiB"}, {"streams": 8, "window": "64KiB"}]


@pytest.mark.parametrize(
    "changes",
    [
        {"design": "explicit", "rows": [], "factors": {"streams": 1}},
        {"rows": ROWS},
        {"design": "explicit", "rows": ROWS, "where": "streams > 1"},
        {"design": "explicit", "rows": [*ROWS, {"streams": 4}]},
        {"design": "explicit", "rows": [{"streams": 4, "window": "1B"}]},
        {"design": "lhs"},
        {"design": "fraction"},
        {"design": "fraction", "fraction": 0},
        {"points": 5},
        {"block": "cycle+hour", "order": "given"},
        {
            "design": "fraction",
            "points": 5,
            "factors": {"streams": "1..4096", "window": "1KiB..1MiB step 1KiB"},
        },
        {
            "cycles": 2000,
            "design": "fraction",
            "fraction": "50%",
            "factors": {"streams": "1..400", "congestion": ["a", "b", "c"]},
        },
    ],
)
def test_a_contradictory_design_is_named(say: Say, changes: dict[str, Any]) -> None:
    factors = {} if changes.get("design") == "explicit" else {"streams": [1, 2]}
    say(list_mistakes(**{"factors": factors, **changes}))


def test_a_control_row_takes_what_it_does_not_say_from_the_factors(say: Say) -> None:
    factors = {"streams": "2..8 step x2", "window": ["auto", "64KiB"], "direction": ["both", "forward"]}
    (first, *_) = control_plan(factors=factors, control={"every": 10})
    assert (first.cell.streams, first.cell.window_bytes, first.cell.direction) == (2, None, "both")
    (mistake,) = list_mistakes(control={"every": 1})
    say(mistake)


def test_what_iperf3_cannot_do_is_named_once_and_left_out_by_a_constraint(say: Say) -> None:
    factors = {
        "streams": [1, 200],
        "engine": ["native", "iperf3"],
        "direction": ["forward", "both"],
        "workers": ["auto", 2],
    }
    assert len(list_mistakes(factors=factors)) == 3
    where = ["engine != 'iperf3' or streams <= 128 and direction != 'both' and workers == 'auto'"]
    engines = [cell.engine for cell in list_cells(make_sample(factors=factors, where=where))]
    assert (engines.count("native"), engines.count("iperf3")) == (8, 1)
    apart = {"streams": 1, "engine": "iperf3", "window_sender": "64KiB"}
    say(list_mistakes(factors=apart))
