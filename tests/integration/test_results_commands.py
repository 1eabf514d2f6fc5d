"""``pathlab import``, ``export``, ``results``, ``compare`` as a user runs them: words and exit statuses."""

import dataclasses
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pathlab.store.results import Results
from tests.builders.foreign_files import BEGIN_S, TEXTS, change, make_iperf3, write_sample
from tests.builders.stored import COMPLETE, make_results
from tests.command_line import call_lines


def test_from_foreign_files_to_foreign_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [str(write_sample(tmp_path, name)) for name in TEXTS]
    status, out, err = call_lines(["import", *files], capsys)
    assert (status, err) == (0, [])
    folder = out[-1]
    assert folder.startswith("results/imported-")
    assert len(out) == 1 + len(TEXTS) + 2  # Flent's and crusader's hold two trials each
    assert any("16 kbit/s" in line for line in out)
    status, out, _ = call_lines(["results", "list", "--json"], capsys)
    (listed,) = json.loads("\n".join(out))
    assert (listed["path"], listed["complete"], listed["failed"]) == (folder, 10, 0)
    status, out, _ = call_lines(["results", "show", folder, "--json"], capsys)
    programs = {origin["program"] for origin in json.loads("\n".join(out))["origins"]}
    assert programs == {"iperf3", "irtt", "flent", "pscheduler", "crusader", "transfer"}
    status, out, _ = call_lines(["export", folder, "--format", "csv"], capsys)
    assert (status, out) == (0, [f"{folder}-csv"])
    assert Path(f"{folder}-csv", "trials.csv").is_file()
    status, out, _ = call_lines(["results", "check", folder], capsys)
    assert (status, out) == (0, [f"{folder}: no errors found (10 trials, 16 series)"])
    status, out, _ = call_lines(["results", "prune", folder, "--series-older-than", "30d"], capsys)
    assert (status, out[0]) == (0, "0 trials and 11 series are gone")  # crusader's are as old as their file
    status, out, err = call_lines(["report", folder, "--quiet"], capsys)
    assert (status, err) == (0, [])


@pytest.mark.parametrize(
    ("arguments", "status", "culprit"),
    [
        (["import", "bad.json"], 5, "'bad.json'"),
        (["import", "good.json", "bad.json", "--into", "new"], 5, "'bad.json'"),
        (["import", "good.json", "--into", "good.json"], 2, "'good.json'"),
        (["export", "stored", "--format", "csv", "--trial", "7"], 2, "trial 7"),
        (["export", "stored", "--format", "csv", "--no-timestamps"], 2, "--no-timestamps"),
        (["export", "stored", "--format", "csv", "--out", "good.json"], 2, "'good.json'"),
        (["results", "list", "none"], 5, "'none'"),
        (["results", "show", "."], 5, "'.'"),
        (["results", "prune", "stored"], 2, "nothing is named"),
        (["results", "merge", "stored", "--out", "x"], 2, "one results folder"),
        (["results", "check", "stored", "torn"], 5, "1 of 2"),
    ],
)
def test_refusals_name_the_culprit_and_change_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    culprit: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.json").write_text(TEXTS["iperf3"])
    Path("bad.json").write_text(TEXTS["iperf3"][:500])
    for folder in {"stored", "torn"} & set(arguments):
        call_lines(["import", "good.json", "--into", folder], capsys)
    if "torn" in arguments:
        with closing(sqlite3.connect("torn/results.db")) as connection, connection:
            connection.execute("UPDATE series SET blob = x'00'")
    before = sorted(path.name for path in tmp_path.iterdir())
    ended, _, (error, fix) = call_lines(arguments, capsys)
    assert ended == status
    assert culprit in error
    assert fix.startswith("  fix: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_keep_going_names_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = write_sample(tmp_path, "iperf3"), tmp_path / "bad.json"
    bad.write_text("{")
    into = str(tmp_path / "into")
    status, out, err = call_lines(["import", "--keep-going", str(bad), str(good), "--into", into], capsys)
    assert (status, out[-1]) == (0, into)
    (line,) = err
    assert "'bad.json'" in line
    status, _, _ = call_lines(["import", "--keep-going", str(bad), "--into", str(tmp_path / "none")], capsys)
    assert status == 5
    assert not (tmp_path / "none").exists()


def test_a_locked_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write_sample(tmp_path, "iperf3"), write_sample(tmp_path, "irtt")
    into = tmp_path / "into"
    call_lines(["import", str(first), "--into", str(into)], capsys)
    with Results.open(into, write=True):
        for arguments in (
            ["import", str(second), "--into", str(into)],
            ["results", "prune", str(into), "--failed"],
        ):
            status, _, err = call_lines(arguments, capsys)
            assert status == 5
            assert "is being written by process" in err[0]
        assert call_lines(["results", "check", str(into)], capsys)[0] == 0
        assert call_lines(["export", str(into), "--format", "jsonl"], capsys)[0] == 0


def test_compare_ends_with_the_status_that_ci_asks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six files before and six after, a tenth slower: worse; the same against itself: not."""
    folders = []
    for name, received in (("before", 4_000_000), ("after", 3_600_000)):
        files = []
        for number in range(6):
            node = change(make_iperf3(), "start.timestamp.timesecs", BEGIN_S + number)
            total = received + 1000 * number
            for stream in range(2):
                node = change(node, f"end.streams.{stream}.receiver.bytes", total // 2)
            node = change(node, "end.sum_received.bytes", total)
            files.append(tmp_path / f"{name}-{number}.json")
            files[-1].write_text(json.dumps(node))
        folders.append(str(tmp_path / name))
        call_lines(["import", *map(str, files), "--into", folders[-1]], capsys)
    status, out, err = call_lines(["compare", *folders, "--fail-on", "worse", "--json"], capsys)
    assert (status, err) == (6, [])
    (row,) = json.loads("\n".join(out))["rows"]
    assert (row["verdict"], row["before_n"], row["after_n"]) == ("worse", 6, 6)
    assert row["ratio"] == pytest.approx(0.9, rel=0.001)
    status, out, _ = call_lines(["compare", *folders], capsys)
    assert status == 0
    assert out[0].startswith("Throughput fell by 10 %")
    turned = call_lines(["compare", *reversed(folders), "--fail-on", "worse"], capsys)
    assert turned[0] == 0


def test_show_reports_how_much_of_a_trial_was_undelivered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with make_results(tmp_path / "cut") as results:
        results.add_trial(dataclasses.replace(COMPLETE, undelivered_bytes=5_000_000), {})
    status, out, _ = call_lines(["results", "show", str(tmp_path / "cut")], capsys)
    assert status == 0
    assert "complete, 5 MB undelivered" in " ".join(" ".join(out).split())
