"""``pathlab recommend``: what it prints, its exit status, and targets that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.messages import make_message_results
from tests.builders.results import write_results
from tests.command_line import call


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    messages = make_message_results(rates=(None, 5_000, 200_000), cycles=7)
    return write_results(messages, tmp_path_factory.mktemp("messages") / "results")


def test_without_targets_there_is_the_front_of_each_size(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = call(["recommend", str(results)], capsys)
    one = call(["recommend", str(results), "--size", "1KiB"], capsys)
    assert (every.status, one.status) == (0, 0)
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
