"""Answers as data frames: what stands in a column is what the answer says, for every analysis."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pathlab.study.analyses import Study
from pathlab.study.base.answer import Answers
from pathlab.study.base.frames import LINE_CHARACTERS
from pathlab.study.base.registry import ANALYSES
from tests.builders.results import study
from tests.builders.sweeps import make_sweep

LEVELS = [(1, 16_384), (2, 16_384), (4, 16_384), (1, 32_768), (2, 32_768), (4, None)]


@pytest.fixture(scope="module")
def sweep() -> Study:
    return study(make_sweep(7, levels=LEVELS, settings={"direction": "reverse"}))


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_is_a_frame_and_a_short_text(sweep: Study, name: str) -> None:
    answers = ANALYSES[name](sweep)
    assert isinstance(answers, Answers)
    frame = answers.to_frame()
    assert len(frame) == len(answers)
    for place, answer in enumerate(answers):
        row = frame.iloc[place]
        assert row["selection.used"] == answer.selection.used
        assert row["condition.settings.direction"] == "reverse"
        for column in frame.columns:
            expected = follow(answer, column)
            if expected is None:
                assert pd.api.types.is_scalar(row[column])
                assert pd.isna(row[column])
            elif not isinstance(expected, float) or not np.isnan(expected):
                assert row[column] == expected
        assert len(repr(answer)) <= LINE_CHARACTERS + len("<Answer >")
        assert repr(answer).startswith(f"<Answer {answer.condition.path} (lab, ")
    assert repr(answers).startswith(f"<{len(answers)} answers of ")
    assert len(answers[:2].to_frame()) == min(2, len(answers))


def follow(answer: Any, column: str) -> Any:
    """What is reached in an answer by a column's name; None where a part of the way is missing."""
    value = answer
    for name in column.split("."):
        if name == "settings":
            value = dict(value.settings)
            continue
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    if column.startswith("selection.") and isinstance(value, tuple):
        return "; ".join(f"{count.reason} {count.trials}" for count in value)
    return value


def test_a_frame_has_nullable_types_and_the_text_has_units(sweep: Study) -> None:
    answers = sweep.cells()
    frame = answers.to_frame()
    assert str(frame["streams"].dtype) == "Int64"
    assert str(frame["window_bytes"].dtype) == "Int64"
    assert frame["window_bytes"].isna().sum() == 1
    assert str(frame["result.throughput_bits_per_s.median"].dtype) == "Float64"
    assert str(frame["autotuned"].dtype) == "boolean"
    assert "1 stream, window 16 KiB | 7 trials: throughput " in repr(answers[0])
    assert "kbit/s, drtt " in repr(answers[0])
    (alone,) = answers[0].to_frame().to_dict("records")
    assert alone["result.throughput_bits_per_s.median"] == frame["result.throughput_bits_per_s.median"][0]
    assert len(sweep.message_cost().to_frame()) == 0


@pytest.mark.parametrize("number", [np.int64(2), np.float64(2), 2.0])
def test_trials_per_cell_is_any_whole_number(sweep: Study, number: Any) -> None:
    assert len(sweep.warm_up(number)) == len(sweep.warm_up(2)) > 0
