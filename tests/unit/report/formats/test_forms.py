"""The report's other forms, and its file: whole or not at all."""

import errno
import importlib
import os
import re
import zlib
from ctypes.util import find_library
from pathlib import Path

import pytest

from pathlab.errors import StoreError, UsageError
from pathlab.report.base.blocks import Report, list_figures
from pathlab.report.formats.forms import FORMS, choose_forms, load_libraries, place_form
from pathlab.report.formats.html import Shape, render_page
from pathlab.report.formats.markdown import escape_markdown, render_markdown, write_markdown
from pathlab.report.formats.output_file import write_whole
from pathlab.report.formats.pdf import render_pdf
from pathlab.report.report_builder import build_document
from tests.builders.results import make_quickstart
from tests.builders.trials import make_failed
from tests.require import require

KIB = 1024


@pytest.fixture(scope="module")
def report() -> Report:
    """A small one: each figure of it is drawn several times here."""
    results = make_quickstart(cycles=1, levels=[(2, 64 * KIB)], title="A | B <i>*emphasis*</i>")
    failed = make_failed(results.records[0], reason="`quoted` | <b>reason</b>")
    results.records.append(failed)
    return build_document(results)


def test_markdown_says_everything_and_its_figures_are_there(report: Report, tmp_path: Path) -> None:
    out = write_markdown(report, tmp_path / "new" / "report.md")
    text = out.read_text(encoding="utf-8")
    assert text.startswith("# A \\| B \\<i\\>\\*emphasis\\*\\</i\\>\n")
    for section in (report.opening, *report.sections):
        assert f"\n{'###' if section.question else '##'} {escape_markdown(section.title)}\n" in text
    drawn = {plot.name for plot in list_figures(report) if plot.empty is None}
    assert drawn
    linked = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert {Path(one).name for one in linked} == {f"{name}.svg" for name in drawn}
    tables = re.findall(r"\[Data \(CSV\)\]\(([^)]*)\)", text)
    assert {Path(one).name for one in tables} == {f"{name}.csv" for name in drawn}
    assert all((out.parent / one).read_text(encoding="utf-8").startswith("panel,series,") for one in tables)
    for one in linked:
        picture = (out.parent / one).read_text(encoding="utf-8")
        assert picture.startswith("<svg")
        assert "currentColor" not in picture
    assert sorted(path.name for path in out.parent.iterdir()) == ["report-figures", "report.md"]


def test_rows_of_markdown_tables_have_as_many_cells_as_their_heads(report: Report) -> None:
    tables = re.findall(r"(?:^\|.*\|$\n?)+", render_markdown(report, "figures"), re.MULTILINE)
    assert len(tables) > 2
    for table in tables:
        counts = {len(re.findall(r"(?<!\\)\|", row)) for row in table.strip().splitlines()}
        assert len(counts) == 1


def read_streams(document: bytes) -> list[bytes]:
    """The compressed contents of a PDF."""
    found = re.findall(rb"stream\n(.*?)\nendstream", document, re.DOTALL)
    return [zlib.decompress(stream) for stream in found if stream[:1] == b"x"]


def test_sixteen_trials_fit_on_eight_pages_and_nothing_is_fetched(caplog: pytest.LogCaptureFixture) -> None:
    require(find_library("pangoft2-1.0"), "Pango (apt-get install libpangoft2-1.0-0)")
    report = build_document(make_quickstart(cycles=2))
    document = render_pdf(report)
    assert document.startswith(b"%PDF-")
    assert caplog.text == ""  # such as that a figure could not be read
    inside = read_streams(document)
    assert 4 < len(re.findall(rb"/Type\s*/Page\b", b"".join((document, *inside)))) <= 8
    attached = sum(part.count(b"/FileAttachment") for part in inside)
    assert 0 < attached <= sum(plot.empty is None for plot in list_figures(report))
    assert sum(part.count(b" l\n") for part in inside) > 20 * attached  # lines of axes and grids


def test_details_of_few_trials_are_not_printed(report: Report) -> None:
    for details in (False, True):
        shape = Shape(flat=True, details=details)
        page = render_page(report, draw=lambda _: "", sheet="", scripts=(), shape=shape)
        assert "Definitions and rules" in page
        assert ("Between two order statistics" in page) == details
        assert ("In the HTML report and in JSON only: " in page) != details


@pytest.mark.parametrize(
    ("error", "words", "hint"),
    [
        (ImportError("no module"), "package 'weasyprint'", "pip install weasyprint"),
        (OSError("libpango"), "Pango", "apt-get install libpango"),
    ],
)
def test_a_pdf_without_its_libraries_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, words: str, hint: str
) -> None:
    def refuse(name: str) -> None:
        assert name == "weasyprint"
        raise error

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(UsageError, match=words) as caught:
        load_libraries(FORMS)
    assert hint in (caught.value.hint or "")


def test_forms_are_chosen_by_name_else_by_the_ending() -> None:
    assert choose_forms((), None) == ("html",)
    assert choose_forms((), Path("x.PDF")) == ("pdf",)
    assert choose_forms((), Path("x.unknown")) == ("html",)
    assert choose_forms(("json", "md", "json"), Path("x.pdf")) == ("json", "md")


@pytest.mark.parametrize(
    ("form", "out", "several", "place"),
    [
        ("html", None, False, "results/report.html"),
        ("pdf", ".", True, "report.pdf"),
        ("md", "a/b.html", True, "a/b.md"),
        ("md", "a/v1.2", True, "a/v1.2.md"),
        ("html", "page.htm", False, "page.htm"),
        ("explorer", None, False, "results/explorer.html"),
        ("explorer", ".", True, "explorer.html"),
        ("explorer", "a/b.html", False, "a/b.html"),
        ("explorer", "a/b.html", True, "a/b-explorer.html"),
        ("explorer", "a/v1.2", True, "a/v1.2-explorer.html"),
    ],
)
def test_places_of_forms(form: str, out: str | None, several: bool, place: str) -> None:
    given = None if out is None else Path(out)
    assert place_form(form, Path("results"), given, several=several) == Path(place)


@pytest.mark.parametrize("form", ["explorer", "md"])
def test_an_ending_of_another_form_is_refused(form: str) -> None:
    with pytest.raises(UsageError, match=rf"'x\.pdf' ends as pdf but --format says {form}") as caught:
        place_form(form, Path("results"), Path("x.pdf"), several=False)
    assert caught.value.hint


def test_a_file_is_replaced_as_a_whole_and_its_folder_is_made(tmp_path: Path) -> None:
    out = tmp_path / "new" / "er" / "report.html"
    assert write_whole(out, b"first") == out
    write_whole(out, b"second")
    assert out.read_bytes() == b"second"
    assert [entry.name for entry in out.parent.iterdir()] == ["report.html"]
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "new", out.parent, out)]
    assert modes == [0o700, 0o700, 0o600]
    out.chmod(0o640)  # it is kept, as a user who publishes the file has chosen it
    write_whole(out, b"third")
    assert out.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("form", [name for name in FORMS if name != "pdf"])
def test_a_full_disk_keeps_the_old_file_and_is_one_clear_line(
    report: Report, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / f"report{FORMS[form].ending}"
    out.write_text("old")

    def fill(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlab.files.os.fsync", fill)
    with pytest.raises(StoreError, match=r"cannot be written: No space left") as caught:
        FORMS[form].write(report, out)
    assert caught.value.hint
    assert out.read_text() == "old"
    assert {entry for entry in tmp_path.rglob("*") if entry.is_file()} == {out}


def test_a_folder_in_the_way_and_a_file_as_folder_are_errors(tmp_path: Path) -> None:
    """Which of the system's reasons is named depends on the version of Python."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "report.html"):
        with pytest.raises(StoreError, match="cannot be written"):
            write_whole(place, b"")
