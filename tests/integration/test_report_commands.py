"""``pathlab report`` and ``compare --report`` as a user runs them: files, last lines, refusals."""

import dataclasses
import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.runner.campaign.run import RunOutcome
from pathlab.store.records import TrialRecord
from tests.builders.comparisons import make_results
from tests.builders.results import SyntheticResults, make_campaign, make_quickstart, write_results
from tests.builders.trials import make_failed
from tests.command_line import call_lines

KIB = 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(
        make_quickstart(cycles=1, levels=[(1, 64 * KIB), (2, 64 * KIB)]), tmp_path / "results"
    )


def test_report_says_the_answer_and_its_path_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call_lines(["report", str(folder)], capsys)
    assert (status, err, out[-1]) == (0, [], str(folder / "report.html"))
    assert out[0].startswith("Probably 2 streams")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Probably 2" in page.replace("\u00a0", " ")


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


def test_results_without_a_trial_give_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = SyntheticResults(make_campaign(), make_quickstart(cycles=1).plan(), [])
    folder = write_results(empty, tmp_path / "results")
    status, out, err = call_lines(["report", str(folder)], capsys)
    assert (status, err, out[-1]) == (0, [], str(folder / "report.html"))


def cut_off(folder: Path) -> None:
    database = folder / "results.db"
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 3])
    for rest in folder.glob("results.db-*"):
        rest.unlink()


def leave_half_an_import(folder: Path) -> None:
    (folder / "results.db").rename(folder / "results.db.new")


def put_a_folder_there(folder: Path) -> None:
    (folder / "results.db").unlink()
    (folder / "results.db").mkdir()


@pytest.mark.parametrize(
    ("reader", "spoil"),
    [
        (["report"], cut_off),
        (["report"], leave_half_an_import),
        (["report"], put_a_folder_there),
        (["report", "--format", "explorer"], cut_off),
        (["view"], cut_off),
        (["view", "--output", "x.csv"], cut_off),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_the_file(
    reader: list[str], spoil: Callable[[Path], None], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder)
    status, out, err = call_lines([reader[0], str(folder), *reader[1:]], capsys)
    assert (status, out) == (5, [])
    assert str(folder) in err[0]
    assert [line.startswith("  fix: ") for line in err] == [False, True]
    assert not list(folder.glob("*.html"))


def test_a_full_disk_leaves_the_summary_and_announces_no_report(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlab.files.os.fsync", fill)
    status, out, err = call_lines(["report", str(folder), "--out", str(tmp_path / "x.html")], capsys)
    assert status == 5
    assert "cannot be written: No space left on device" in err[0]
    assert out  # the summary
    assert "Report:" not in out


def test_a_comparison_is_a_page_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [
        str(write_results(make_quickstart(cycles=5, levels=[(1, 64 * KIB)]), tmp_path / name))
        for name in "ab"
    ]
    page = tmp_path / "compared.html"
    metrics = ["--metric", "throughput", "--metric", "drtt", "--metric", "loss"]
    status, out, err = call_lines(["compare", *names, *metrics, "--report", str(page)], capsys)
    assert (status, err, out[-1]) == (0, [], str(page))
    assert "No verdict: 5 trials" in page.read_text(encoding="utf-8")
    status, _, err = call_lines(["compare", *names, "--report", str(tmp_path / "x.docx")], capsys)
    assert status == 2
    assert "does not end in .html, .md or .pdf" in err[0]


@pytest.mark.parametrize(
    ("form", "begins"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG"), ("csv", b"")]
)
def test_a_figure_has_the_format_that_is_named(
    form: str,
    begins: bytes,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["report", str(folder), "--figure", "throughput-streams-1", "--format", form]
    for options, name in (([], f"throughput-streams-1.{form}"), (["--out", f"own.{form}"], f"own.{form}")):
        status, out, err = call_lines([*words, *options], capsys)
        assert (status, out) == (0, [name]), err
        assert (tmp_path / name).read_bytes().startswith(begins)


def flag(one: TrialRecord) -> TrialRecord:
    return dataclasses.replace(one, flags=("lab-limited",))


@pytest.mark.parametrize(
    ("spoil", "options", "status"),
    [
        (flag, [], 7),
        (make_failed, ["--fail-on", "worse"], 7),
        (flag, ["--all"], 0),
        (
            lambda one: dataclasses.replace(flag(one), throughput_bits_per_s=1e6),
            ["--all", "--fail-on", "worse"],
            6,
        ),
        (lambda one: flag(one) if one.streams == 4 else one, ["--fail-on", "worse"], 0),
        (lambda one: flag(one) if one.streams == 4 else one, ["--fail-on", "undecided"], 6),
        (lambda one: one, ["--fail-on", "undecided"], 0),
        (lambda one: one, ["--metric", "speed"], 2),
    ],
)
def test_a_gate_tells_not_measurable_from_worse_and_from_wrong_use(
    spoil: Callable[[TrialRecord], TrialRecord],
    options: list[str],
    status: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, after = make_results(seed=1), make_results(seed=2)
    after.change_trials(spoil)
    names = [str(write_results(one, tmp_path / name)) for name, one in (("a", before), ("b", after))]
    found, out, err = call_lines(["compare", *names, *options], capsys)
    assert found == status, err
    assert (out == []) == (status in (2, 7))
    if status == 7:
        assert len(err) == 2  # the reason, and what to do


@pytest.mark.parametrize("given", [[], ["--quiet"], ["--json-events"]])
@pytest.mark.parametrize(("flagged", "status"), [(20, 7), (19, 0)])
def test_a_run_without_a_usable_trial_ends_with_a_status_of_its_own(
    flagged: int,
    status: int,
    given: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, results = tmp_path / "results", make_results(seed=1)
    results.records[:flagged] = map(flag, results.records[:flagged])

    def store(_source: object, out: Path, _emit: object) -> RunOutcome:
        write_results(results, out)
        return RunOutcome(folder=out, rows=20, complete=20, failed=0, interrupted=False)

    monkeypatch.setattr("pathlab.cli.commands.run.run_campaign", store)
    words = ["run", "quickstart", "--set", "cycles=10", "--out", str(folder), *given]
    ended, out, err = call_lines(words, capsys)
    assert ended == status, err
    assert str(folder / "report.html") in out[-1]  # what was measured is reported all the same
    assert len(err) == (2 if status else 0)
    if status:
        assert "of 20 trials none is usable (20 lab-limited)" in err[0]
        assert "pathlab run quickstart --new --wait-idle=10m --set=cycles=10" in err[1]


def test_a_pdf_without_its_extra_ends_before_anything_is_analysed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    monkeypatch.setattr("pathlab.cli.commands.report.gather_inputs", pytest.fail)
    monkeypatch.setattr("pathlab.cli.commands.compare.compare_results", pytest.fail)
    for command in (
        ["report", str(folder), "--format", "html", "--format", "pdf", "--out", str(tmp_path / "a")],
        ["compare", str(folder), str(folder), "--report", str(tmp_path / "a.pdf")],
    ):
        status, out, (error, fix) = call_lines(command, capsys)
        assert (status, out) == (2, [])
        assert "weasyprint" in error
        assert fix.startswith("  fix: pip install ")
    assert not list(tmp_path.glob("a*"))
