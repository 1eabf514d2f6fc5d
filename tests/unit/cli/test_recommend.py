"""``pathlab recommend``: what it prints, its exit status, and targets that cannot be."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pathlab.report.formats.terminal import CUT_EXPLANATION
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.messages import make_message_results
from tests.builders.results import SyntheticResults, make_campaign, make_quickstart, write_results
from tests.builders.technologies import make_technology_results
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


def test_a_rate_is_answered_for_each_size(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = ["recommend", str(results), "--rate", "5000", "--p99", "50us"]
    chosen = json.loads(call([*target, "--json"], capsys).out)["choices"]
    assert [one["target"]["size_bytes"] for one in chosen] == [64, 1024]
    said = call(target, capsys)
    assert said.status == (0 if all(one["recommended"] for one in chosen) else 6)
    leads = [line for line in said.out.splitlines() if " messages: " in line]
    assert [line.partition(" messages: ")[0] for line in leads] == ["64 B", "1 KiB"]
    single = call([*target, "--size", "1KiB"], capsys)
    assert leads[1].partition(": ")[2] == single.out.splitlines()[0]


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        (make_quickstart(cycles=6), "streams"),
        (make_udp_trials([{}], carry_flow), "datagrams"),
        (make_technology_results(), "technologies"),
    ],
)
def test_results_of_any_kind_say_what_their_report_says(
    stored: SyntheticResults, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(write_results(stored, tmp_path / "results"))
    said, report = call(["recommend", folder], capsys), call(["report", folder], capsys)
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines
    assert set(lines) - {CUT_EXPLANATION} <= set(report.out.splitlines()), kind
    document = json.loads(call(["recommend", folder, "--json"], capsys).out)
    assert bool(document["recommendations"]) == (kind == "streams")
    asked = call(["recommend", folder, "--rate", "5k", "--p99", "1ms"], capsys)
    assert asked.status == 2
    assert "no trial timed replies" in asked.err


@pytest.mark.parametrize("flagged", [False, True])
def test_results_without_a_usable_trial_have_a_status_of_their_own(
    flagged: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = make_quickstart(cycles=1)
    records = [replace(one, flags=("lab-limited",)) for one in whole.records] if flagged else []
    stored = SyntheticResults(make_campaign(), whole.plan(), records)
    said = call(["recommend", str(write_results(stored, tmp_path / "results"))], capsys)
    assert (said.status, said.out.startswith("Provisional: ")) == (7, flagged)
    assert len(said.err.splitlines()) == 2
