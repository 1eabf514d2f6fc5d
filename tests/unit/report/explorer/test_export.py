"""The page with its data inside: what fits, what is left out, and that the page says so.

That a browser shows it is tested in ``tests/browser/test_exported.py``.
"""

import base64
import gzip
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pathlab.escaping import escape_controls
from pathlab.report.explorer.documents import collect_documents, order_rows
from pathlab.report.explorer.export import SPARE_BYTES, ExportedPage, choose_columns, export_page
from pathlab.report.explorer.page import DOCUMENTS_ID, LEFT_OUT_ID, TABLE_ID, render_exported
from pathlab.report.explorer.verdict_document import read_verdicts
from pathlab.report.formats.forms import RESULTS_FORMS
from pathlab.report.topics import list_answers
from pathlab.store.saved_views import save_view
from pathlab.study.analyses import StudiedResults
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import parse_view
from tests.builders.explored import make_explored
from tests.builders.packed import read_header, read_table
from tests.builders.results import write_results

ROLES = ("identity", "factor", "condition", "measured")
#: Of a file without trials.
BARE_BYTES = len(render_exported("x", b"", b"", ()).encode()) + SPARE_BYTES


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("exported")
    return (
        write_results(make_explored(cycles=2, streams=(1, 4)), place / "first"),
        write_results(make_explored(cycles=1, streams=(1, 4), seed=2, hostile=True), place / "second"),
    )


@pytest.fixture(scope="module")
def results(folders: tuple[Path, Path]) -> ExploredResults:
    return ExploredResults.open(folders)


@pytest.fixture(scope="module")
def page(results: ExploredResults) -> ExportedPage:
    return export_page(results)


def read_part(page: str, name: str) -> bytes:
    found = re.search(rf'id="{name}">([A-Za-z0-9+/=]*)</script>', page)
    return gzip.decompress(base64.b64decode(found[1]))


def read_left_out(page: str) -> tuple[str, ...]:
    found = re.search(rf'id="{LEFT_OUT_ID}">(.*)</script>', page)
    return tuple(json.loads(found[1]))


def test_small_results_are_inside_as_a_whole(
    results: ExploredResults, page: ExportedPage, folders: tuple[Path, Path]
) -> None:
    table, written = (read_part(page.text, name) for name in (TABLE_ID, DOCUMENTS_ID))
    header, _ = read_header(table)
    assert [one["name"] for one in header["columns"]] == [one.name for one in results.columns]
    assert header["trials"] == len(results) == 24
    found = read_table(table)
    for name, relative in (("throughput_bits_per_s", 1e-4), ("trial", 0), ("streams", 0), ("cycle", 0)):
        np.testing.assert_allclose(found[name], results.numbers(name), rtol=relative)
    np.testing.assert_allclose(found["started_utc"], results.numbers("started_utc"), atol=0.0006)
    assert read_left_out(page.text) == page.left_out
    assert len(page.left_out) == 1  # that measures are rounded
    documents = json.loads(written)
    assert set(documents["trials"]) == {results.name_trial(row) for row in range(len(results))}
    assert {name.split()[0] for name in documents["courses"]} <= set(documents["trials"])
    for name, details in documents["trials"].items():
        held = {key.split()[1] for key in documents["courses"] if key.split()[0] == name}
        assert held == {one["series"] for one in details["courses"]}
    for text in (page.text, table.decode(errors="replace"), written.decode()):
        assert str(folders[0].parent) not in text  # where the results were is not told


def test_verdicts_and_saved_views_are_inside(tmp_path: Path) -> None:
    folder = write_results(make_explored(cycles=7, streams=(1, 4)), tmp_path / "results")
    plain = "x=streams&y=throughput_bits_per_s&colour=window_bytes&where.path=west%20%E2%86%92%20east"
    save_view(folder, "by window", f"{plain}&stat=mean&scale-y=log10&against=difference&baseline=65536")
    save_view(folder, "of other results", "x=nosuch&baseline=1")
    results = ExploredResults.open([folder])
    documents = json.loads(read_part(export_page(results, BARE_BYTES).text, DOCUMENTS_ID))
    assert [one["name"] for one in documents["views"]] == ["by window", "of other results"]
    assert documents["views"][0]["results"] == "A"
    first = "x=streams&y=throughput_bits_per_s&colour=window_bytes&facet=path"
    head, where = plain.split("&where.")
    assert set(documents["verdicts"]) == {
        f"{first}&baseline=65536",
        f"{first}&baseline=262144",
        f"{head}&baseline=65536&where.{where}",
    }
    for key, verdicts in documents["verdicts"].items():
        assert verdicts == read_verdicts(results, parse_view(key, results))
    assert len(documents["published"]) > 1


def test_markup_of_results_is_text_of_the_page(page: ExportedPage) -> None:
    """Only our own scripts: markup of a title or a failure neither ends an element nor begins one."""
    assert "window.hit" in read_part(page.text, TABLE_ID).decode(errors="replace")
    assert not re.search(r"<script>window\.hit|<img src=x", page.text)
    assert page.text.count("</script>") == render_exported("x", b"", b"", ()).count("</script>")


@pytest.mark.parametrize("room_bytes", [0, 2_000, 4_000])
def test_columns_take_the_room_that_there_is_in_their_order(
    results: ExploredResults, room_bytes: int
) -> None:
    chosen = choose_columns(results, room_bytes)
    ranked = sorted(results.columns, key=lambda one: ROLES.index(one.role))
    names = [column.name for column in ranked if column.name != "flags"]
    least = sum(column.role == "identity" for column in ranked) - 1
    assert least <= len(chosen.kept) < len(names)
    assert [*chosen.kept, *(column.name for column in chosen.dropped)] == names
    assert len(chosen.kept) == least or len(chosen.table) <= room_bytes


@pytest.mark.parametrize(("spare_bytes", "columns_left_out"), [(7_000, True), (20_000, False)])
def test_what_does_not_fit_is_left_out_and_said(
    results: ExploredResults, spare_bytes: int, columns_left_out: bool
) -> None:
    limit = BARE_BYTES + spare_bytes
    small = export_page(results, limit)
    header, _ = read_header(read_part(small.text, TABLE_ID))
    said = read_left_out(small.text)
    assert said == small.left_out
    missing = len(results.columns) - len(header["columns"])
    assert bool(missing) == columns_left_out
    assert any(re.match(rf"{missing} columns? left out ", text) for text in said) == columns_left_out
    assert len(small.text.encode()) <= limit
    details = len(json.loads(read_part(small.text, DOCUMENTS_ID))["trials"])
    assert details < len(results)
    assert any(f"first {details} of 24" in text for text in said) == bool(details)
    assert len(said) == 2 + columns_left_out


@pytest.mark.parametrize("room_bytes", [0, 3_000, 10_000])
def test_documents_take_no_more_than_their_room(results: ExploredResults, room_bytes: int) -> None:
    found = collect_documents(results, room_bytes, {"published": [1]})
    documents: dict[str, Any] = json.loads(gzip.decompress(found.content))
    assert documents["published"] == [1]
    assert len(found.content) <= room_bytes + 200  # what is always there, and the end
    assert found.detailed == len(documents["trials"])
    first = [results.name_trial(row) for row in order_rows(results)[: found.detailed]]
    assert list(documents["trials"]) == first
    charted = list(dict.fromkeys(name.split()[0] for name in documents["courses"]))
    with_series = [name for name in first if documents["trials"][name]["courses"]]
    assert charted == with_series[: len(charted)]


def test_trials_of_several_results_come_in_turn(results: ExploredResults) -> None:
    names = [results.name_trial(row) for row in order_rows(results)]
    assert (names[:5], names[-1]) == (["A:1", "B:1", "A:2", "B:2", "A:3"], "A:16")


def test_the_file_is_written_by_its_form(folders: tuple[Path, Path], tmp_path: Path) -> None:
    form = RESULTS_FORMS["explorer"]
    out = form.write(folders[1:], tmp_path / "new" / "x.html")
    again = form.write(folders[1:], tmp_path / "again.html")
    assert out.read_bytes() == again.read_bytes()
    header, _ = read_header(read_part(out.read_text(encoding="utf-8"), TABLE_ID))
    assert [source["path"] for source in header["sources"]] == ["second"]


def test_the_answers_of_the_report_come_first_on_the_page_and_need_no_script(
    folders: tuple[Path, Path], page: ExportedPage
) -> None:
    alone = export_page(ExploredResults.open(folders[:1])).text
    expected = []
    for folder in folders:
        with StudiedResults.open(folder) as stored:
            expected.append(list_answers(stored))
    (first, *_), (second, *_) = expected
    body = unescape(alone[alone.index("<main>") :])
    assert body.index(first.lead) < min(body.index("data-panel"), body.index("<script"))
    assert all(remark in body for answer in expected[0] for remark in answer.remarks)
    assert any("Confidence: " in remark for answer in expected[0] for remark in answer.remarks)
    both = unescape(page.text)
    assert f"A: {first.lead}" in both
    assert f"B: {escape_controls(second.lead)}" in both
