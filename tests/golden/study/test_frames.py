"""Answers as data frames: what stands in a column is what the answer says, for every analysis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pathlab.errors import UsageError
from pathlab.study.analyses import Study
from tests.builders.results import study
from tests.builders.sweeps import make_sweep
from tests.golden.conftest import Say

LEVELS = [(1, 16_384), (2, 16_384), (4, 16_384), (1, 32_768), (2, 32_768), (4, None)]


@pytest.fixture(scope="module")
def sweep() -> Study:
    return study(make_sweep(7, levels=LEVELS, settings={"direction": "reverse"}))


@pytest.mark.parametrize("number", [2.5, np.float64("nan"), 0, "2", pd.Series([1, 2])])
def test_other_trials_per_cell_are_one_line(say: Say, sweep: Study, number: Any) -> None:
    with pytest.raises(UsageError) as caught:
        sweep.warm_up(number)
    say(caught.value)


def test_the_text_of_an_answer_says_yes_and_no_and_every_reason_once(say: Say, sweep: Study) -> None:
    (answer,) = sweep.precision()
    say(repr(answer))
    reasons = [(repr(one), one.result.undecided) for one in sweep.saturation()]
    undecided = [(text, reason.value) for text, reason in reasons if reason is not None]
    assert undecided
    assert all(text.count(reason) == 1 for text, reason in undecided)
