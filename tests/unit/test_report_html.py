"""The page: complete, self-contained, safe to open, written as a whole or not at all."""

from __future__ import annotations

import errno
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.report.html import choose_trial, render_report, tie_units, write_report
from pathlab.report.summary import summarise
from pathlab.report.tables import flatten_facts, format_setting, tabulate_hosts, tabulate_journal
from pathlab.store.records import JournalRecord
from tests.unit.synthetic_results import (
    SyntheticResults,
    make_campaign,
    make_failed,
    make_hosts,
    make_quickstart,
    make_series,
    make_trial,
)

KIB = 1024
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Outline(HTMLParser):
    """Collects ids, headings, references and tags left open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.references: list[str] = []
        self.headings: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in {"src", "href", "xlink:href", "data", "action"} and value:
                self.references.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.fixture(scope="module")
def page() -> str:
    results = make_quickstart()
    results.records[2] = make_failed(results.records[2], reason="connection <refused> & closed")
    return render_report(results)


def test_page_is_well_formed_and_ids_are_unique(page: str) -> None:
    outline = Outline(page)
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert len(outline.ids) > 100


def test_page_needs_nothing_else(page: str) -> None:
    outline = Outline(page)
    assert not outline.tags & {"script", "link", "iframe", "img", "object", "form"}
    assert outline.references
    assert all(reference.startswith("#") for reference in outline.references)
    assert {reference[1:] for reference in outline.references} <= set(outline.ids)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_page_begins_with_the_answer_and_goes_on_in_order(page: str) -> None:
    assert Outline(page).headings == [
        "What was found",
        "How it was measured",
        "Results: west → east",
        "What the analyses say",
        "Trials that failed",
        "Hosts",
    ]
    assert page.index("The highest throughput was") < page.index("How it was measured")


def test_page_tells_plan_seed_versions_and_failures(page: str) -> None:
    assert "seed 20260101" in page
    assert "PathLab 0.1.0" in page
    assert "The plan, row by row (16)" in page
    assert "connection &lt;refused&gt; &amp; closed" in page
    assert "Example CPU &lt;4 GHz&gt;" in page
    assert "name = &#34;quickstart&#34;" in page
    assert "undecided, n=2" in page
    assert "40 Mbit/s, 20 ms each way, queue of 250 kB, MTU 1500 bytes" in page.replace("\u00a0", " ")


def test_page_holds_every_trial_once(page: str) -> None:
    drawn = [int(number) for number in re.findall(r">Trial (\d+), cycle", page)]
    assert sorted(drawn) == [number for number in range(1, 17) if number != 3]
    assert len(page.encode()) < 5_000_000


def test_titles_of_the_campaign_cannot_inject() -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB)], title="<script>alert(1)</script>")
    page = render_report(results)
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_fallback_is_loud_in_text_and_in_figures() -> None:
    environment = {"lab": None, "fallback": "user namespaces are closed"}
    page = render_report(make_quickstart(cycles=1, levels=[(2, 64 * KIB)], environment=environment))
    assert page.index("Loopback fallback: user namespaces are closed") < page.index("What was found")
    assert page.count("LOOPBACK FALLBACK") >= 3
    assert "emu-packet" not in page


@pytest.mark.parametrize("kind", ["nothing", "failures"])
def test_results_without_a_complete_trial_give_a_page_that_says_so(kind: str) -> None:
    failed = [make_failed(make_trial(1, 64 * KIB, cycle=0, row=0), reason="no route")]
    results = SyntheticResults(make_campaign(), [], failed if kind == "failures" else [], {})
    page = render_report(results)
    assert Outline(page).open == []
    assert "No trial completed" in page
    assert "<svg" not in page
    assert ("no route" in page) is (kind == "failures")


def test_large_campaigns_leave_figures_out_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathlab.report.html.FIGURE_BUDGET_BYTES", 150_000)
    page = render_report(make_quickstart(cycles=2))
    drawn = len(re.findall(r">Trial (\d+), cycle", page))
    assert 0 <= drawn < 16
    assert f"{16 - drawn} further trials have no figure here" in page


def test_write_report_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB)])
    out = tmp_path / "new" / "report.html"
    assert write_report(results, out) == out
    out.write_text("old")
    write_report(results, out)
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [entry.name for entry in out.parent.iterdir()] == ["report.html"]


def test_full_disk_keeps_the_old_page_and_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")

    def fill(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlab.report.html.os.fsync", fill)
    with pytest.raises(StoreError, match=r"report\.html' cannot be written: No space left") as caught:
        write_report(make_quickstart(cycles=1, levels=[(1, 64 * KIB)]), out)
    assert caught.value.hint
    assert out.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_report(make_quickstart(cycles=1, levels=[(1, 64 * KIB)]), tmp_path)


def test_representative_trial_is_nearest_to_the_median() -> None:
    results = make_quickstart(cycles=5, levels=[(1, 64 * KIB)])
    (cell,) = summarise(results).cells
    ordered = sorted(cell.trials, key=lambda trial: trial.record.throughput_bits_per_s or 0)
    assert choose_trial(cell) == ordered[2]


def test_small_formats() -> None:
    assert (
        tie_units("38.6 Mbit/s at 40 ms, 8 × 64 KiB, 5 %")
        == "38.6\u00a0Mbit/s at 40\u00a0ms, 8\u00a0×\u00a064\u00a0KiB, 5\u00a0%"
    )
    assert tie_units("2 seconds") == "2 seconds"
    assert format_setting("window_bytes", 65536) == "64 KiB"
    assert format_setting("window_bytes", None) == "auto"
    assert format_setting("duration_ns", 2_500_000_000) == "2.5 s"
    assert format_setting("streams", 8) == "8"
    assert flatten_facts({"a": {"b": 1, "c": None}, "d": [1, 2], "e": True}) == {
        "a.b": "1",
        "a.c": "–",
        "d": "1, 2",
        "e": "yes",
    }


def test_host_facts_stand_side_by_side() -> None:
    table = tabulate_hosts(make_hosts())
    assert [heading.label for heading in table.headings] == ["Fact", "east", "west"]
    assert ("cpu.cores", "4", "2") in table.rows
    assert ("cpu.model", "–", "Example CPU <4 GHz>") in table.rows


def test_series_of_the_model_agree_with_its_record() -> None:
    record = make_trial(4, 64 * KIB, cycle=0, row=0)
    received = make_series(record)["receiver_intervals"]
    steady = received[received["phase"] == "steady"]["bytes"].sum()
    assert record.received_steady_bytes == pytest.approx(int(steady), rel=1e-4)


def test_the_journal_is_told_in_its_order_and_left_out_where_there_is_none() -> None:
    entries = [
        JournalRecord(
            recorded_utc="2026-01-02T03:04:05.678+00:00",
            kind=kind,
            plan_row=row,
            text=f"text of <{kind}>",
            facts={},
        )
        for kind, row in (("started", None), ("clock-jump", 4))
    ]
    quiet = SyntheticResults(make_campaign(), [], [make_failed(make_trial(1, 64 * KIB, cycle=0, row=0))], {})
    told = SyntheticResults(
        make_campaign(), [], [make_failed(make_trial(1, 64 * KIB, cycle=0, row=0))], {}, journal=entries
    )
    assert "What happened to the run" not in render_report(quiet)
    page = render_report(told)
    assert page.index("text of &lt;started&gt;") < page.index("text of &lt;clock-jump&gt;")
    assert tabulate_journal(entries).rows[1] == (
        "2026-01-02 03:04:05 UTC",
        "clock jump",
        "5",
        "text of <clock-jump>",
    )
