"""``pathlab view`` as a user runs it: tables, files, views by name, refusals."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.store.results import Results
from pathlab.store.saved_views import save_view
from tests.builders.explored import MARKUP, make_explored
from tests.builders.results import make_campaign, write_results
from tests.command_line import call_lines

DATA = Path(__file__).parents[1] / "data"
VIEW = "x=streams&y=throughput_bits_per_s&colour=window_bytes&where.path=west%20%E2%86%92%20east"
Show = Callable[..., list[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_explored(), tmp_path_factory.mktemp("view") / "results")


@pytest.fixture(scope="module")
def counted() -> int:
    """Trials of the first path that count: complete, and not at the limit of the lab."""
    return sum(
        record.status == "complete"
        and "lab-limited" not in record.flags
        and record.path_destination == "east"
        for record in make_explored().records
    )


@pytest.fixture(scope="module")
def faster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_explored(cycles=6, speed=2.0, seed=2), tmp_path_factory.mktemp("view") / "fast")


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """The lines that a command line prints; it must succeed and complain of nothing."""

    def run(*words: str | Path) -> list[str]:
        status, out, err = call_lines(["view", *map(str, words)], capsys)
        assert (status, err) == (0, [])
        return out

    return run


def test_a_view_is_a_table_of_points_with_what_does_not_count(folder: Path, show: Show, counted: int) -> None:
    lines = show(folder, VIEW)
    assert lines[0] == "Throughput over Streams: median, 95 % confidence interval"
    summary = next(line for line in lines if "counted" in line)
    assert summary.startswith(f"{counted} of 64 selected trials counted; not counted: 4 failed, ")
    assert summary.endswith(". 64 of 128 not selected.")
    heading = next(place for place, line in enumerate(lines) if line.startswith("Window"))
    assert lines[heading].split() == [
        "Window",
        "Streams",
        "Throughput",
        "(Mbit/s)",
        "95",
        "%",
        "CI",
        "Trials",
    ]
    rows = [line.split() for line in lines[heading + 1 : heading + 9]]
    assert {row[0] + row[1] for row in rows} == {"64KiB", "256KiB"}
    assert [row[2] for row in rows] == ["1", "2", "4", "8"] * 2
    assert sum("undecided" in row for row in rows) == 1
    assert sum(int(row[-1]) for row in rows) == counted
    assert any("1 point is undecided" in line for line in lines)


def test_without_a_view_it_is_the_one_that_the_explorer_opens_with(folder: Path, show: Show) -> None:
    assert show(folder) == show(folder, "x=streams&y=throughput_bits_per_s&colour=window_bytes&facet=path")
    lines = show(folder)
    assert {"west → east", "west → south"} < set(lines)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_table_fits_the_terminal(
    folder: Path, faster: Path, columns: int, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = show(folder, faster, "y=throughput_bits_per_s,drtt_ns&colour=results")
    assert max(map(len, lines)) <= columns
    assert sum("95 % CI" in line for line in lines) == 2
    assert not any("Not shown in" in line for line in lines)


def test_several_results_are_named(folder: Path, faster: Path, show: Show) -> None:
    lines = show(folder, faster, f"{VIEW}&colour=results".replace("colour=window_bytes&", "", 1))
    assert [line[:2] for line in lines[:2]] == ["A:", "B:"]
    assert str(faster) in lines[1]
    assert {line.split()[0] for line in lines if line[:2] in ("A ", "B ")} == {"A", "B"}


def test_the_csv_has_the_numbers_of_the_table(folder: Path, tmp_path: Path, show: Show, counted: int) -> None:
    out = tmp_path / "new" / "view.csv"
    assert show(folder, VIEW, "--output", out) == [str(out)]
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 8
    assert {"facet", "measure", "curve", "value", "low", "high", "state", "trials"} < set(rows[0])
    assert sum(int(row["trials"]) for row in rows) == counted
    undecided = [row for row in rows if row["state"] == "undecided"]
    assert [(row["low"], row["high"]) for row in undecided] == [("", "")]


def test_the_json_says_view_and_results(folder: Path, tmp_path: Path, show: Show, counted: int) -> None:
    out = tmp_path / "view.json"
    show(folder, VIEW, "--output", out)
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["document"], document["version"], document["view"]) == ("pathlab-view", 1, VIEW)
    assert [one["label"] for one in document["results"]] == ["A"]
    curves = document["exploration"]["facets"][0]["curves"]
    assert sum(point["trials"] for curve in curves for point in curve["points"]) == counted


@pytest.mark.parametrize(("ending", "head"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF-")])
def test_figures_are_drawn(folder: Path, tmp_path: Path, ending: str, head: bytes, show: Show) -> None:
    out = tmp_path / f"view{ending.upper()}"
    show(folder, VIEW, "--output", out)
    assert out.read_bytes().startswith(head)


def test_a_figure_without_trials_says_so(folder: Path, tmp_path: Path, show: Show) -> None:
    out = tmp_path / "view.svg"
    show(folder, f"{VIEW}&where.cycle=100..", "--output", out)
    assert "no trial is selected" in out.read_text(encoding="utf-8")
    assert any("0 of 0 selected trials counted" in line for line in show(folder, f"{VIEW}&where.cycle=100.."))


def test_a_saved_view_and_an_address_of_the_page_are_views(
    tmp_path: Path, show: Show, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_results(make_explored(cycles=2), tmp_path / "results")
    save_view(folder, "rate by window", VIEW)
    expected = show(folder, VIEW)
    assert show(folder, "rate by window") == expected
    assert show(folder, f"http://127.0.0.1:8000/?open=1#{VIEW}") == expected
    status, _, err = call_lines(["view", str(folder), "rate by windw"], capsys)
    assert (status, err) == (
        2,
        ["pathlab: no view is saved as 'rate by windw'", "  fix: did you mean 'rate by window'?"],
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x=strems", "there is no column 'strems'; did you mean 'streams'?"),
        ("stat=medain", "stat: unknown 'medain'; did you mean 'median'?"),
        ("where.window_bytes=7", "'window_bytes' has no level '7'"),
        ("colour=window_bytes&baseline=7", "the baseline '7' is no level of 'window_bytes'"),
        ("min-x=low", "min-x: 'low' is not a number"),
        ("xx=streams", "a view has no key 'xx'"),
    ],
)
def test_a_mistake_in_a_view_is_one_line_with_the_nearest_name(
    folder: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = call_lines(["view", str(folder), text], capsys)
    assert (status, out) == (2, [])
    assert words in err[0]
    assert [line.startswith("  fix: ") for line in err] == [False, True]


def test_results_without_a_trial_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Results.create(tmp_path / "empty", make_campaign(), ()):
        pass
    status, out, err = call_lines(["view", str(tmp_path / "empty")], capsys)
    assert (status, out) == (5, [])
    assert err == [
        f"pathlab: no trial is stored in '{tmp_path}/empty'",
        "  fix: run the campaign first: pathlab run CAMPAIGN",
    ]


def test_of_several_results_a_damaged_one_is_named_and_the_others_are_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = write_results(make_explored(cycles=1), tmp_path / "damaged")
    with sqlite3.connect(damaged / "results.db") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'format_version'")
    connection.close()
    status, out, err = call_lines(["view", str(folder), str(damaged), VIEW], capsys)
    assert status == 0
    assert len(err) == 1
    assert err[0].startswith(f"{damaged}: cannot be read: ")
    assert "has format 99" in err[0]
    assert any("selected trials counted" in line for line in out)


def test_results_of_the_first_format_are_shown(show: Show, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "results.db").write_bytes((DATA / "results-format-1.db").read_bytes())
    assert any("counted" in line for line in show(old))


def test_markup_and_controls_in_names_stay_text(
    tmp_path: Path, show: Show, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = write_results(make_explored(cycles=2, hostile=True), tmp_path / "hostile")
    lines = show(hostile)
    shown = next(line for line in lines if "<img src=x" in line)
    assert "</script><script>window.hit=2</script>" in shown
    assert "\u202e" in MARKUP
    assert not any("\u202e" in line for line in lines)
    out = tmp_path / "view.svg"
    show(hostile, "facet=path&x=streams", "--output", out)
    drawn = out.read_text(encoding="utf-8")
    assert "<script" not in drawn
    assert "<img" not in drawn


def test_an_unfinished_file_leaves_the_old_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "view.csv"
    out.write_text("old")

    def fill(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("pathlab.report.formats.output_file.os.fsync", fill)
    status, _, err = call_lines(["view", str(folder), VIEW, "--output", str(out)], capsys)
    assert status == 5
    assert err[0] == f"pathlab: '{out}' cannot be written: No space left on device"
    assert out.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["view.csv"]
