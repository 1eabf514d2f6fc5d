"""``pathlab recommend``: what it prints, its exit status, and targets that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.messages import make_message_results
from tests.builders.results import make_quickstart, write_results
from tests.builders.technologies import make_technology_results
from tests.command_line import call
from tests.golden.conftest import Say


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_message_results(), tmp_path_factory.mktemp("messages") / "results")


def test_targets_that_are_met(say: Say, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(["recommend", str(results), "--rate", "5k", "--size", "64B", "--p99", "50us"], capsys)
    lines = said.out.splitlines()
    assert said.status == 0
    say(lines[0])
    say(lines[1])
    assert "p99 is 1.2" in said.out


def test_targets_that_nothing_meets_end_with_status_6(
    say: Say, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(["recommend", str(results), "--rate", "1M", "--size", "64", "--p99", "50us"], capsys)
    assert said.status == 6
    say(said.out)


@pytest.mark.parametrize(
    "options",
    [
        ["--rate", "5k"],
        ["--p99", "5us"],
        ["--rate", "5x", "--p99", "5us"],
        ["--rate", "5k", "--p99", "5"],
        ["--rate", "0", "--p99", "5us"],
        ["--size", "6KB"],
        ["--size", "100"],
        ["--rate", "5k", "--p99", "5us"],
    ],
)
def test_what_cannot_be_is_refused(
    say: Say, results: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(["recommend", str(results), *options], capsys)
    assert said.status == 2
    first, second = said.err.splitlines()
    say(first)
    say(second)


def test_results_without_messages_are_refused(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = write_results(make_quickstart(), tmp_path / "results")
    said = call(["recommend", str(plain)], capsys)
    assert said.status == 2
    say(said.err.splitlines())


def test_technologies_without_an_offered_rate_are_referred_to_their_table(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_technology_results(sizes=(64,), histograms=False, cycles=2)
    said = call(["recommend", str(write_results(made, tmp_path / "results"))], capsys)
    assert said.status == 2
    say(said.err)
