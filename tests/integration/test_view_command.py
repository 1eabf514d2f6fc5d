"""``pathlab view`` as a user runs it: tables, files, views by name, refusals."""

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pathlab.store.saved_views import save_view
from tests.builders.explored import MARKUP, make_explored
from tests.builders.results import SyntheticResults, make_campaign, write_results
from tests.command_line import call_lines

DATA = Path(__file__).parents[1] / "data"
VIEW = "x=streams&y=throughput_bits_per_s&colour=window_bytes&where.path=west%20%E2%86%92%20east"
Show = Callable[..., list[str]]


@pytest.fixture(scope="module")
def explored() -> SyntheticResults:
    """A view needs no series."""
    return make_explored(series=False)


@pytest.fixture(scope="module")
def folder(explored: SyntheticResults, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(explored, tmp_path_factory.mktemp("view") / "results")


@pytest.fixture(scope="module")
def counted(explored: SyntheticResults) -> int:
    """Trials of the first path that count: complete, and not at the limit of the lab."""
    return sum(
        record.status == "complete"
        and "lab-limited" not in record.flags
        and record.path_destination == "east"
        for record in explored.records
    )


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
    summary = next(line for line in lines if "counted" in line)
    assert summary.startswith(f"{counted} of 64 selected trials counted; not counted: 4 failed, ")
    assert summary.endswith(". 64 of 128 not selected.")
    heading = next(place for place, line in enumerate(lines) if line.startswith("Window"))
    assert lines[heading].split()[:3] == ["Window", "Streams", "Throughput"]
    rows = [line.split() for line in lines[heading + 1 : heading + 9]]
    assert {row[0] + row[1] for row in rows} == {"64KiB", "256KiB"}
    assert [row[2] for row in rows] == ["1", "2", "4", "8"] * 2
    assert sum("undecided" in row for row in rows) == 1
    assert sum(int(row[-1]) for row in rows) == counted
    assert any("1 point is undecided" in line for line in lines)


def test_without_a_view_it_is_the_one_that_the_explorer_opens_with(folder: Path, show: Show) -> None:
    lines = show(folder)
    assert lines == show(folder, "x=streams&y=throughput_bits_per_s&colour=window_bytes&facet=path")
    assert {"west → east", "west → south"} < set(lines)


def test_several_results_are_named_in_tables_that_fit_the_terminal(
    folder: Path, show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster = write_results(make_explored(cycles=2, speed=2.0, seed=2, series=False), tmp_path / "fast")
    monkeypatch.setenv("COLUMNS", "60")
    lines = show(folder, faster, "y=throughput_bits_per_s,drtt_ns&colour=results")
    assert max(map(len, lines)) <= 60
    assert sum("95 % CI" in line for line in lines) == 2
    assert not any("Not shown in" in line for line in lines)
    assert [line[:2] for line in lines if line[:2] in ("A:", "B:")] == ["A:", "B:"]
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


def test_a_figure_is_drawn_also_without_trials(folder: Path, tmp_path: Path, show: Show) -> None:
    out, empty = tmp_path / "view.PDF", tmp_path / "view.svg"
    show(folder, VIEW, "--output", out)
    assert out.read_bytes().startswith(b"%PDF-")
    show(folder, f"{VIEW}&where.cycle=100..", "--output", empty)
    assert "no trial is selected" in empty.read_text(encoding="utf-8")
    assert any("0 of 0 selected trials counted" in line for line in show(folder, f"{VIEW}&where.cycle=100.."))


def test_a_saved_view_and_an_address_of_the_page_are_views(
    folder: Path, show: Show, capsys: pytest.CaptureFixture[str]
) -> None:
    save_view(folder, "rate by window", VIEW)
    expected = show(folder, VIEW)
    assert show(folder, "rate by window") == expected
    assert show(folder, f"http://127.0.0.1:8000/?open=1#{VIEW}") == expected
    for mistake, nearest in (("rate by windw", "'rate by window'"), ("x=strems", "'streams'")):
        status, out, err = call_lines(["view", str(folder), mistake], capsys)
        assert (status, out) == (2, [])
        assert nearest in "\n".join(err)
        assert [line.startswith("  fix: ") for line in err] == [False, True]


def test_results_without_a_trial_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_results(SyntheticResults(make_campaign(), [], []), tmp_path / "empty")
    status, out, (error, fix) = call_lines(["view", str(tmp_path / "empty")], capsys)
    assert (status, out) == (5, [])
    assert f"'{tmp_path}/empty'" in error
    assert fix.startswith("  fix: ")


def test_of_several_results_a_damaged_one_is_named_and_the_others_are_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = write_results(SyntheticResults(make_campaign(), [], []), tmp_path / "damaged")
    with closing(sqlite3.connect(damaged / "results.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'format_version'")
    status, out, (line,) = call_lines(["view", str(folder), str(damaged), VIEW], capsys)
    assert status == 0
    assert line.startswith(f"{damaged}: ")
    assert "has format 99" in line
    assert any("selected trials counted" in line for line in out)


def test_results_of_the_first_format_are_shown(show: Show, tmp_path: Path) -> None:
    (tmp_path / "results.db").write_bytes((DATA / "results-format-1.db").read_bytes())
    assert any("counted" in line for line in show(tmp_path))


def test_markup_and_controls_in_names_stay_text(tmp_path: Path, show: Show) -> None:
    hostile = write_results(make_explored(cycles=1, hostile=True, series=False), tmp_path / "hostile")
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


def test_without_a_usable_trial_the_view_says_how_to_count_them(tmp_path: Path, show: Show) -> None:
    made = make_explored(cycles=2, destinations=("east",), series=False)
    limited = sum(record.status == "complete" for record in made.records)
    made.change_trials(flags=("lab", "lab-limited"))
    folder = write_results(made, tmp_path / "unusable")
    assert any("provisional" in line for line in show(folder))
    lines = show(folder, "count=all")
    assert f"{limited} lab-limited" in next(line for line in lines if line.startswith("Unusable trials"))
    assert "usable" not in lines[0]
