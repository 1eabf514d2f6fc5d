"""``pathlab recommend``: what it prints, its exit status, and targets that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.messages import make_message_results
from tests.builders.results import make_quickstart, write_results
from tests.builders.technologies import make_technology_results
from tests.command_line import call


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_message_results(), tmp_path_factory.mktemp("messages") / "results")


def test_targets_that_are_met(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(["recommend", str(results), "--rate", "5k", "--size", "64B", "--p99", "50us"], capsys)
    lines = said.out.splitlines()
    assert said.status == 0
    assert lines[0].startswith("Use shared-memory: 5 k/s of 64 B messages at a p99 of 6.")
    assert lines[1].startswith("  Next: tcp with 1.3")
    assert "p99 is 1.2" in said.out


def test_targets_that_nothing_meets_end_with_status_6(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(["recommend", str(results), "--rate", "1M", "--size", "64", "--p99", "50us"], capsys)
    assert said.status == 6
    assert said.out.startswith("Nothing is shown to meet 1 M/s of 64 B messages at a p99 of 50 µs. Nearest: ")


def test_without_targets_there_is_the_front_of_each_size(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = call(["recommend", str(results)], capsys)
    one = call(["recommend", str(results), "--size", "1KiB"], capsys)
    assert (every.status, one.status) == (0, 0)
    assert "west → east, 64 B" in every.out
    assert "64 B" not in one.out
    assert one.out in every.out


def test_json_has_every_figure(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = ["--rate", "5000", "--size", "64", "--p99", "50us", "--json"]
    chosen = json.loads(call(["recommend", str(results), *target], capsys).out)
    assert (chosen["document"], chosen["version"]) == ("pathlab-recommendation", 1)
    (choice,) = chosen["choices"]
    assert choice["target"] == {"rate_per_s": 5000, "size_bytes": 64, "p99_ns": 50_000}
    assert choice["recommended"]["setup"]["name"] == "shared-memory"
    assert [one["shortcoming"] for one in choice["candidates"]] == [None, None, "p99-above-target"]
    front = json.loads(call(["recommend", str(results), "--json"], capsys).out)["front"]
    assert {one["result"]["message_bytes"] for one in front} == {64, 1024}


@pytest.mark.parametrize(
    ("options", "line", "fix"),
    [
        (["--rate", "5k"], "--p99 is missing", "give both --rate and --p99, or neither of them"),
        (["--p99", "5us"], "--rate is missing", "give both --rate and --p99, or neither of them"),
        (["--rate", "5x", "--p99", "5us"], "--rate: '5x' is not a number per second: 'x'", '"5k"'),
        (["--rate", "5k", "--p99", "5"], "--p99: '5' is not a time: its unit is missing", '"100ms"'),
        (["--rate", "0", "--p99", "5us"], "--rate: 0 is no target", "above 0"),
        (["--size", "6KB"], "--size: '6KB' is ambiguous", '"64KiB"'),
        (["--size", "100"], "messages of 100 B were not measured", "name a measured size: 64B, 1KiB"),
        (["--rate", "5k", "--p99", "5us"], "messages of 2 sizes were measured", "add --size: 64B, 1KiB"),
    ],
)
def test_what_cannot_be_is_refused(
    results: Path, options: list[str], line: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(["recommend", str(results), *options], capsys)
    assert said.status == 2
    first, second = said.err.splitlines()
    assert line in first
    assert second.startswith("  fix: ")
    assert fix in second


def test_results_without_messages_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = write_results(make_quickstart(), tmp_path / "results")
    said = call(["recommend", str(plain)], capsys)
    assert said.status == 2
    assert said.err.splitlines() == [
        "pathlab: no trial timed replies to messages at an offered rate",
        "  fix: measure round trips at several offered rates: pathlab run relay-latency",
    ]


def test_technologies_without_an_offered_rate_are_referred_to_their_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_technology_results(sizes=(64,), histograms=False, cycles=2)
    said = call(["recommend", str(write_results(made, tmp_path / "results"))], capsys)
    assert said.status == 2
    assert "fix: add factors.message_rate to the campaign" in said.err
    assert "--only technologies" in said.err
