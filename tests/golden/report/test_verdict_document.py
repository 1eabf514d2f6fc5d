"""The verdicts of a view: those of `pathlab compare` and of levels in pairs of a cycle, in the same words."""

from __future__ import annotations

import pytest

from pathlab.study.analyses import Study
from pathlab.study.exploration.explored_results import ExploredResults
from tests.builders.explored import make_explored
from tests.builders.results import SyntheticResults
from tests.golden.conftest import Say
from tests.unit.report.explorer.test_verdict_document import read

AGAINST_A = "x=streams&y=throughput_bits_per_s&colour=results&baseline=A"


@pytest.fixture(scope="module")
def made() -> list[SyntheticResults]:
    return [make_explored(cycles=9), make_explored(cycles=9, speed=0.8, seed=2)]


@pytest.fixture(scope="module")
def results(made: list[SyntheticResults]) -> ExploredResults:
    return ExploredResults.of(*map(Study, made))


@pytest.mark.parametrize(
    "text",
    [
        "x=streams&y=throughput_bits_per_s&colour=results",
        "x=streams&y=fairness_jain&colour=results&baseline=A",
        f"{AGAINST_A}&where.results=A",
        "x=cycle&y=throughput_bits_per_s&colour=streams&baseline=1",
        "x=streams&y=throughput_bits_per_s&colour=status&baseline=complete",
    ],
)
def test_what_cannot_be_compared_is_said(say: Say, results: ExploredResults, text: str) -> None:
    say(read(results, text)["refused"])
