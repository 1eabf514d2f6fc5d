"""``pathlab report`` and ``compare --report`` as a user runs them: files, last lines, refusals."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from pathlab.store.results import Results
from tests.builders.results import SyntheticResults, make_campaign, make_quickstart
from tests.builders.trials import make_failed, make_trial
from tests.command_line import call_lines

KIB = 1024


def store(results: SyntheticResults, folder: Path) -> Path:
    """Put results in memory into a folder, series of complete trials included."""
    with Results.create(folder, results.campaign, results.plan()) as stored:
        for host in results.hosts():
            stored.add_host(host)
        for number, record in enumerate(results.records, 1):
            kinds = results.series_kinds(number) if record.status == "complete" else ()
            tables = {
                kind: pa.Table.from_pandas(results.series(number, kind), preserve_index=False)
                for kind in kinds
            }
            stored.add_trial(record, tables)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return store(make_quickstart(cycles=1, levels=[(1, 64 * KIB), (2, 64 * KIB)]), tmp_path / "results")


def test_report_says_the_answer_and_its_path_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call_lines(["report", str(folder)], capsys)
    assert (status, err, out[-1]) == (0, [], str(folder / "report.html"))
    assert out[0].startswith("Tentatively, use 2 streams")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Tentatively, use 2" in page.replace("\u00a0", " ")


def test_several_forms_go_beside_each_other(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out_file = tmp_path / "not" / "there" / "path.html"
    arguments = ["report", str(folder), "--quiet", "--out", str(out_file)]
    status, out, err = call_lines([*arguments, "--format", "json", "--format", "md"], capsys)
    assert (status, err) == (0, [])
    assert out == [str(out_file.with_suffix(ending)) for ending in (".json", ".md")]
    assert json.loads(Path(out[0]).read_text(encoding="utf-8"))["document"] == "pathlab-report"
    assert (out_file.parent / "path-figures").is_dir()
    assert not out_file.exists()


def test_a_single_figure_is_written_by_its_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = call_lines(["report", str(folder), "--figure", "list"], capsys)
    assert status == 0
    name = out[0].split("\t")[0]
    place = tmp_path / "one.svg"
    status, out, _ = call_lines(["report", str(folder), "--figure", name, "--out", str(place)], capsys)
    assert (status, out) == (0, [str(place)])
    assert "<svg" in place.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--style", "x.mplstyle"], "--style is for a single figure"),
        (["--figure", "trial-1", "--format", "pdf"], "--figure takes its form from --out"),
        (["--format", "md", "--out", "x.pdf"], "'x.pdf' ends as pdf but --format says md"),
        (["--format", "docx"], "'docx' is not one of"),
    ],
)
def test_contradictions_are_one_line_and_a_fix(
    folder: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = call_lines(["report", str(folder), *arguments], capsys)
    assert status == 2
    assert words in err[0]
    assert err[1].startswith("  fix: ")
    assert len(err) == 2


@pytest.mark.parametrize("kind", ["none", "failed"])
def test_results_without_a_finished_trial_give_an_honest_page(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [make_failed(make_trial(1, 64 * KIB, cycle=0, row=0))] if kind == "failed" else []
    plan = make_quickstart(cycles=1, levels=[(1, 64 * KIB)]).plan()
    folder = store(SyntheticResults(make_campaign(), plan, records, {}), tmp_path / "results")
    status, out, err = call_lines(["report", str(folder)], capsys)
    assert (status, err) == (0, [])
    assert any("No trial completed" in line for line in out)
    assert "Nothing can be recommended" in (folder / "report.html").read_text(encoding="utf-8")


def make_newer(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / "results.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'format_version'")


def cut_off(folder: Path) -> None:
    database = folder / "results.db"
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 3])
    for rest in folder.glob("results.db-*"):
        rest.unlink()


def leave_half_an_import(folder: Path) -> None:
    (folder / "results.db").rename(folder / "results.db.new")


def write_something_else(folder: Path) -> None:
    (folder / "results.db").write_bytes(b"not a database at all" * 100)


def put_a_folder_there(folder: Path) -> None:
    (folder / "results.db").unlink()
    (folder / "results.db").mkdir()


#: Command lines that read results; the folder comes behind the first word.
READERS = [["report"], ["report", "--format", "explorer"], ["view"], ["view", "--output", "x.csv"]]


@pytest.mark.parametrize("reader", READERS, ids=" ".join)
@pytest.mark.parametrize(
    "spoil", [make_newer, cut_off, leave_half_an_import, write_something_else, put_a_folder_there]
)
def test_what_cannot_be_read_is_one_line_that_names_the_file(
    spoil: object, reader: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(spoil)
    spoil(folder)
    status, out, err = call_lines([reader[0], str(folder), *reader[1:]], capsys)
    assert status == 5
    assert out == []
    assert str(folder) in err[0] or "has format 99" in err[0]
    assert [line.startswith("  fix: ") for line in err] == [False, True]
    assert not list(folder.glob("*.html"))


@pytest.fixture
def locked(folder: Path) -> Iterator[Path]:
    for rest in folder.glob("results.db-*"):
        rest.unlink()
    with contextlib.closing(sqlite3.connect(folder / "results.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")
        yield folder


@pytest.mark.parametrize("reader", READERS, ids=" ".join)
def test_a_locked_database_is_named(
    locked: Path, reader: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pathlab.store.database.BUSY_TIMEOUT_S", 0.05)
    status, _, err = call_lines([reader[0], str(locked), *reader[1:]], capsys)
    assert status == 5
    assert "is locked by another process" in err[0]


def test_an_out_below_a_file_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    status, _, err = call_lines(
        ["report", str(folder), "--quiet", "--out", str(tmp_path / "file" / "x.html")], capsys
    )
    assert status == 5
    assert f"'{tmp_path}/file/x.html' cannot be written" in err[0]
    assert err[1].startswith("  fix: ")


def test_a_full_disk_leaves_the_summary_and_announces_no_report(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlab.report.formats.output_file.os.fsync", fill)
    status, out, err = call_lines(["report", str(folder), "--out", str(tmp_path / "x.html")], capsys)
    assert status == 5
    assert "cannot be written: No space left on device" in err[0]
    assert out  # the summary
    assert "Report:" not in out


def test_a_comparison_is_a_page_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(store(make_quickstart(cycles=5, levels=[(1, 64 * KIB)]), tmp_path / name)) for name in "ab"]
    page = tmp_path / "compared.html"
    metrics = ["--metric", "throughput", "--metric", "drtt", "--metric", "loss"]
    status, out, err = call_lines(["compare", *names, *metrics, "--report", str(page)], capsys)
    assert (status, err, out[-1]) == (0, [], str(page))
    assert "No verdict: 5 trials per side are too few (6 needed)." in page.read_text(encoding="utf-8")
    status, _, err = call_lines(["compare", *names, "--report", str(tmp_path / "x.docx")], capsys)
    assert status == 2
    assert "does not end in .html, .md or .pdf" in err[0]


def test_a_pdf_without_its_extra_ends_before_anything_is_analysed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    monkeypatch.setattr("pathlab.cli.report.gather_inputs", pytest.fail)
    monkeypatch.setattr("pathlab.cli.compare.compare_results", pytest.fail)
    for command in (
        ["report", str(folder), "--format", "html", "--format", "pdf", "--out", str(tmp_path / "a")],
        ["compare", str(folder), str(folder), "--report", str(tmp_path / "a.pdf")],
    ):
        assert call_lines(command, capsys) == (
            2,
            [],
            [
                "pathlab: a PDF needs the package 'weasyprint', which is not installed",
                "  fix: pip install 'pathlab[pdf]', or write HTML",
            ],
        )
    assert not list(tmp_path.glob("a*"))
