"""The page: the answer first, complete, self-contained, safe to open, and honest where there is nothing."""

import itertools
import json
import re
from dataclasses import replace

import pytest

from pathlab.report.base.blocks import Question, Report, Section, TableBlock, list_blocks, list_figures
from pathlab.report.base.tables import (
    build_hosts_table,
    build_journal_table,
    build_table,
    flatten_facts,
    format_setting,
)
from pathlab.report.formats.html import (
    COLUMNS_UPRIGHT,
    ROWS_SHOWN,
    STATIC_FIGURES,
    Shape,
    render_html,
    render_page,
    tie_units,
    tie_units_on_paper,
)
from pathlab.report.formats.report_json import describe_report
from pathlab.report.report_builder import build_document, gather_inputs
from pathlab.report.runs.method import build_appendices
from pathlab.store.records import JournalRecord
from pathlab.table_columns import list_table_columns
from tests.builders.pages import PageReader
from tests.builders.results import SyntheticResults, make_campaign, make_hosts, make_quickstart
from tests.builders.trials import make_failed, make_trial

KIB = 1024


def render_flat(report: Report) -> str:
    """The page on paper without pictures, styles and scripts."""
    return render_page(report, draw=lambda _: "", sheet="", scripts=(), shape=Shape(flat=True))


@pytest.fixture(scope="module")
def report() -> Report:
    results = make_quickstart(cycles=6)
    results.records[2] = make_failed(results.records[2], reason="connection <refused> & closed")
    return build_document(results)


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return render_html(report)


@pytest.fixture(scope="module")
def small() -> Report:
    """One combination, measured once."""
    return build_document(make_quickstart(cycles=1, levels=[(1, 64 * KIB)]))


def test_page_is_well_formed_and_needs_nothing_else(page: str, report: Report) -> None:
    reader = PageReader(page)
    assert (reader.open, reader.misplaced) == ([], [])
    ids = reader.list_values("id")
    assert len(ids) == len(set(ids))
    assert {section.key for section in report.sections} <= set(ids)
    assert {"iframe", "img", "object", "form", "noscript"}.isdisjoint(tag for tag, _ in reader.elements)
    references = reader.list_values("src", "href", "xlink:href", "data", "action")
    assert [one for one in references if not one.startswith(("#", "data:"))] == []
    assert {one[1:] for one in references if one.startswith("#")} <= set(ids)
    style = page[page.index("<style>") : page.index("</style>")]
    assert "@import" not in style
    assert "url(" not in style
    assert "default-src 'none'" in page[: page.index("<style>")]


def test_page_begins_with_the_answer_and_goes_on_in_order(page: str, report: Report) -> None:
    shown = ["The recommended combination over time", "All combinations"]
    assert PageReader(page).list_texts("h2") == [
        "The answer",
        "Contents",
        *shown,
        *Question,
        "Not decided yet",
    ]
    asked = [section.title for section in report.sections if section.question is Question.METHOD]
    assert asked == ["Trials, hosts and definitions", "Trials that failed", "Appendices"]
    assert page.index('class="lead"') < page.index("<nav") < page.index('id="method"')


@pytest.mark.parametrize(
    "text",
    [
        *("seed 20260101", "measured by PathLab 0.1.0", "The plan, row by row (48)", "1 of 48 trials failed"),
        *("connection &lt;refused&gt; &amp; closed", "Example CPU &lt;4 GHz&gt;"),
        "name = &#34;quickstart&#34;",
        "40 Mbit/s, 20 ms each way, queue of 250 kB, MTU 1500 bytes",
        "Excluded from medians, fits and recommendations: 1 failed",
    ],
)
def test_page_tells_plan_seed_versions_hosts_and_failures(page: str, text: str) -> None:
    assert text in page.replace("\u00a0", " ")


def test_a_page_of_sixteen_trials_is_below_a_megabyte_and_a_half() -> None:
    assert len(render_html(build_document(make_quickstart(cycles=2))).encode()) < 1_500_000


def test_every_figure_stands_once_with_its_sentence_and_its_numbers(page: str, report: Report) -> None:
    plots = list(list_figures(report))
    names = [plot.name for plot in plots]
    assert len(names) == len(set(names)) > 10
    assert re.findall(r'<figure class="plot" id="figure-([^"]+)"', page) == names
    described = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    drawn = [plot for plot in plots if plot.empty is None]
    assert [json.loads(text)["name"] for text in described] == [one.name for one in drawn]
    assert all(plot.sentence for plot in drawn)
    assert 0 < page.count('class="plot-still"') <= STATIC_FIGURES


def test_titles_of_the_campaign_cannot_inject() -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB)], title="<script>alert(1)</script>")
    failed = [make_failed(record, reason="</script><script>alert(2)") for record in results.records]
    results.records = [*failed, make_trial(1, 64 * KIB)]
    page = render_html(build_document(results))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_fallback_is_loud_before_the_answer_and_in_figures() -> None:
    environment = {"lab": None, "fallback": "user namespaces are closed"}
    results = make_quickstart(cycles=1, levels=[(2, 64 * KIB)], environment=environment)
    results.change_trials(flags=("loopback-fallback",))
    page = render_html(build_document(results))
    assert page.index("Loopback fallback: user namespaces are closed") < page.index("<h2>The answer")
    assert page.count("LOOPBACK FALLBACK") >= 2
    assert "emu-packet" not in page


@pytest.mark.parametrize("failed", [False, True])
def test_results_without_a_complete_trial_give_a_page_that_says_so(failed: bool) -> None:
    trials = [make_failed(make_trial(1, 64 * KIB), reason="no route")] if failed else []
    report = build_document(SyntheticResults(make_campaign(), [], trials, {}))
    page = render_html(report)
    assert PageReader(page).misplaced == []
    assert "Nothing can be recommended: no trial completed" in page
    assert list(list_figures(report)) == []
    assert "<script" not in page  # nothing to draw, so no library either
    assert ("no route" in page) is failed


def test_one_trial_gives_honest_figures_and_the_same_page_twice(small: Report) -> None:
    """One point: no interval, no fit; nothing fails and nothing is made up."""
    page = render_html(small)
    assert "Probably 1" in page.replace("\u00a0", " ")
    assert not re.search(r"\bnan\b", page[: page.index("<script>")], re.IGNORECASE)
    assert render_html(build_document(make_quickstart(cycles=1, levels=[(1, 64 * KIB)]))) == page


def test_a_long_table_is_cut_in_the_page_alone_and_says_so(small: Report) -> None:
    first = make_quickstart(cycles=1, levels=[(1, 64 * KIB)]).plan()[0]
    plan = [replace(first, row=number) for number in range(ROWS_SHOWN + 7)]
    inputs = gather_inputs(SyntheticResults(make_campaign(), plan, [], {}))
    long = replace(small, sections=build_appendices(inputs))
    page = render_page(long, draw=lambda _: "", sheet="", scripts=(), shape=Shape())
    assert f"The first {ROWS_SHOWN} of {len(plan)} rows" in page
    tables = [block for block in list_blocks(long.sections[0].blocks) if isinstance(block, TableBlock)]
    assert {table.name: len(table.rows) for table in tables}["plan"] == len(plan)


def test_on_paper_a_heading_goes_with_its_wide_table_and_stands_once(small: Report) -> None:
    labels = [f"column {number}" for number in range(COLUMNS_UPRIGHT + 1)]
    table = build_table("wide", "", list_table_columns(labels), [tuple(labels)])
    wide = Section(key="wide", title="A wide table", blocks=(table,))
    page = render_flat(replace(small, sections=(*small.sections, wide)))
    headings = re.findall(r"<h[234]([^>]*)>([^<]*)</h[234]>", page)
    assert [title for after, title in headings if after == ' class="wide"'] == ["A wide table"]
    titles = [title for _, title in headings]
    assert not [title for title, after in itertools.pairwise(titles) if title == after]


def test_units_are_tied_to_their_numbers(small: Report) -> None:
    tied = "38.6\u00a0Mbit/s at 40\u00a0ms, 8\u00a0×\u00a064\u00a0KiB, 5\u00a0%, 2 seconds"
    assert tie_units(tied.replace("\u00a0", " ")) == tied
    assert tie_units_on_paper("at 38.6 Mbit/s") == "at 38.6\u00a0Mbit/\u2060s"
    assert tie_units_on_paper("<b>\u202e") == "&lt;b&gt;\\u202e"  # hidden letters are shown
    page = render_flat(small)
    assert "Mbit/\u2060s" in page
    assert "\\u2060" not in page


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("window_bytes", 65536, "64 KiB"),
        ("window_bytes", None, "auto"),
        ("duration_ns", 2_500_000_000, "2.5 s"),
        ("streams", 8, "8"),
    ],
)
def test_settings_have_their_unit(name: str, value: int | None, text: str) -> None:
    assert format_setting(name, value) == text


def test_host_facts_stand_side_by_side() -> None:
    facts = flatten_facts({"a": {"b": 1, "c": None}, "d": [1, 2], "e": True})
    assert facts == {"a.b": "1", "a.c": "–", "d": "1, 2", "e": "yes"}
    table = build_hosts_table("Hosts", make_hosts())
    assert [column.heading for column in table.columns] == ["Fact", "east", "west"]
    assert ("cpu.cores", "4", "2") in table.rows
    assert ("cpu.model", "–", "Example CPU <4 GHz>") in table.rows


def test_the_journal_is_told_in_its_order_and_left_out_where_there_is_none(page: str) -> None:
    now = "2026-01-02T03:04:05.678+00:00"
    entries = [
        JournalRecord(recorded_utc=now, kind=kind, plan_row=row, text=f"text of <{kind}>", facts={})
        for kind, row in (("started", None), ("clock-jump", 4))
    ]
    failed = [make_failed(make_trial(1, 64 * KIB))]
    told = render_html(build_document(SyntheticResults(make_campaign(), [], failed, {}, journal=entries)))
    assert "Journal (" not in page
    assert told.index("text of &lt;started&gt;") < told.index("text of &lt;clock-jump&gt;")
    last = ("2026-01-02 03:04:05 UTC", "clock jump", "5", "text of <clock-jump>")
    assert build_journal_table("Journal", entries).rows[1] == last


@pytest.mark.parametrize(
    "changes",
    [
        {"throughput_bits_per_s": float("nan"), "loaded_rtt_mean_ns": float("inf")},
        {"throughput_bits_per_s": -1.0, "unloaded_rtt_mean_ns": -5.0, "loaded_received": 99},
        {"throughput_bits_per_s": 1e300, "received_total_bytes": -7, "window_requested_bytes": 0},
        {"throughput_bits_per_s": 0.0, "started_utc": "never", "steady_ns": 0, "fairness_jain": 2.0},
        {"throughput_bits_per_s": None, "sender_cpu_user_s": float("nan"), "flags": ("", "unheard-of")},
    ],
)
def test_impossible_figures_of_imported_trials_end_no_report(changes: dict[str, object]) -> None:
    """A third of the trials is broken: the rest is reported, and no impossible number is recommended."""
    results = make_quickstart(cycles=6, levels=[(1, 64 * KIB), (2, 64 * KIB)])
    results.records = [
        replace(record, **changes) if record.cycle % 3 == 0 else record  # type: ignore[arg-type]
        for record in results.records
    ]
    report = build_document(results)
    chosen = [one for answer in report.recommendations if (one := answer.result.recommended) is not None]
    assert all(10e6 < (one.throughput_bits_per_s.median or 0) < 40e6 for one in chosen)
    assert PageReader(render_html(report)).misplaced == []
    json.dumps(describe_report(report), allow_nan=False)
