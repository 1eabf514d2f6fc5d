"""Several links in the report: the answer first, no wrong "no", each statement once."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from pathlab.report.answer_table import format_row
from pathlab.report.blocks import TableBlock, list_blocks, list_figures
from pathlab.report.formats.terminal import render_summary
from pathlab.report.inputs import ReportInputs
from pathlab.report.multipath_remarks import name_settings
from pathlab.report.multipath_text import describe_multipath
from pathlab.report.plots.model import Plot
from pathlab.report.report_builder import arrange_report
from pathlab.report.sections.chapters import find_plot, list_lazy_plots
from pathlab.study.analyses import Study
from pathlab.study.registry import ANALYSES
from tests.builders.multipath import SINGLES, UNEQUAL, Bonds, make_multipath_results
from tests.builders.results import make_quickstart


def study(**changes: Any) -> Study:
    return Study(make_multipath_results(replace(Bonds(), **changes)))


def test_the_answer_is_first_and_says_yes_no_and_why_it_is_undecided() -> None:
    lead, *remarks = describe_multipath(study(rates=UNEQUAL))
    assert lead.startswith("Is the bond worth it? Yes with ")
    assert "mptcp" in lead.partition("; no with ")[0]
    assert "no with round-robin" in lead
    assert "less than the best link alone" in lead
    assert "undecided with" in lead
    assert lead.count("more cycles would decide") == 1
    collapse = [text for text in remarks if "as much over the slow link as over the fast one" in text]
    assert len(collapse) == 1
    assert "2 × the slowest, 2 × 19." in collapse[0]


def test_variants_of_a_bond_that_the_slow_link_holds_are_one_sentence() -> None:
    levels = (*SINGLES, "round-robin")
    texts = describe_multipath(study(rates=UNEQUAL, levels=levels, streams=(1,), reordering=(3, 127)))
    (collapse,) = [text for text in texts if "as much over the slow link" in text]
    assert collapse.startswith("round-robin, tcp reordering 3 and round-robin, tcp reordering 127 carry ")


def test_few_cycles_never_say_no() -> None:
    lead, *remarks = describe_multipath(study(rates=UNEQUAL, cycles=3))
    assert lead.startswith("Is the bond worth it? Undecided with ")
    assert "no with" not in lead
    assert lead.count("3 cycles, 6 needed") == 1
    assert not any("slow link" in text for text in remarks)


def test_a_link_that_was_not_measured_alone_is_named_as_the_reason() -> None:
    lead = describe_multipath(study(levels=("link-1", "round-robin"), streams=(1,)))[0]
    assert "not every link was measured alone: add bond levels link-1, link-2" in lead


def test_links_of_an_existing_bond_are_not_asked_for() -> None:
    """Levels link-1 and so on are refused for hosts outside a lab."""
    lead = describe_multipath(study(levels=("existing",), streams=(1,)))[0]
    assert lead.startswith(
        "Is the bond worth it? Undecided with existing (the links of a bond that hosts have"
    )
    assert "add bond levels" not in lead


def test_lab_limited_trials_are_a_reason_once() -> None:
    lead = describe_multipath(study(rates=UNEQUAL, limited=(*SINGLES, "round-robin", "mptcp")))[0]
    assert "no with" not in lead
    assert lead.count("only lab-limited trials; repeat on an idle machine") == 1


def test_each_statement_is_made_once() -> None:
    texts = " ".join(describe_multipath(study(reordering=(3, 127))))
    for statement in (
        "GRO was on at the receiver",
        "include headers and acknowledgements",
        "super-packets of several segments",
        "more streams cannot help",
        "6 streams between one pair of hosts use 90 % of all links",
    ):
        assert texts.count(statement) == 1, statement


def test_reordering_is_stated_for_each_level_of_the_threshold() -> None:
    texts = describe_multipath(study(reordering=(3, 127), streams=(1, 8)))
    said = [text for text in texts if text.startswith("Reordering as TCP saw it, ")]
    assert sorted(said) == sorted(
        f"Reordering as TCP saw it, tcp_reordering {level}: round-robin 400 times per trial, 50 % of "
        "retransmissions spurious."
        for level in (3, 127)
    )


def test_no_difference_between_thresholds_only_where_the_data_show_it() -> None:
    levels = (*SINGLES, "round-robin")
    shown = " ".join(describe_multipath(study(levels=levels, reordering=(3, 127), streams=(1,))))
    assert "tcp_reordering 127 against 3: no difference (within ±5 %) in 1 of 1 combination." in shown
    few = " ".join(describe_multipath(study(levels=levels, reordering=(3, 127), streams=(1,), cycles=3)))
    assert "tcp_reordering 127 against 3: undecided in 1 of 1 combination (3 cycles, 6 needed)." in few


def test_a_polarised_hash_is_named() -> None:
    texts = " ".join(describe_multipath(study(good_hash=False, streams=(4, 16))))
    assert "ecmp-l4 with 4 and 16 streams is polarised" in texts
    assert "a link was idle in 16 of 16 trials" in texts


def test_failing_links_count_those_that_never_recovered() -> None:
    (text, *_) = describe_multipath(study(failover=True, streams=(1,)))
    assert text.startswith("When a link fails silently, ")
    assert "round-robin falls to 0 % of its rate and is not recovered in 6 of 8 trials" in text
    assert "mptcp falls to 40 % of its rate and is back to 90 % of the other links after" in text


def test_combinations_of_a_sentence_have_different_names() -> None:
    windows = (None, 256 * 1024)
    texts = describe_multipath(study(good_hash=False, streams=(4, 16), windows=windows))
    (polarised,) = [text for text in texts if "is polarised" in text]
    assert polarised.startswith("ecmp-l4 with 4 and 16 streams is polarised")
    lead = describe_multipath(study(rates=UNEQUAL, windows=windows))[0]
    assert "ecmp-l4 with 8 streams (" in lead  # of both windows
    assert "window" not in lead
    texts = describe_multipath(study(failover=True, streams=(4,), windows=windows))
    starts = [text.partition(", link-1")[0] for text in texts if text.startswith("When a link fails")]
    assert sorted(starts) == [
        f"When a link fails silently with 4 streams, window {window}" for window in ("256 KiB", "auto")
    ]


def test_the_window_is_named_where_not_each_has_the_same_verdict() -> None:
    rows = study(levels=(*SINGLES, "round-robin"), windows=(None, 256 * 1024), cycles=2).multipath()
    assert name_settings(rows, rows) == "1 and 8 streams"
    (auto,) = [one for one in rows if one.streams == 1 and one.window_bytes is None]
    eight = [one for one in rows if one.streams == 8]
    assert name_settings([auto], rows) == "1 stream (window auto)"
    assert name_settings([*eight, auto], rows) == "1 (window auto) and 8 streams"


def test_a_rate_that_only_the_returned_link_brought_back_is_said_to_be_that() -> None:
    results = make_multipath_results(Bonds(failover=True, streams=(1,)))
    for place, record in enumerate(results.records):
        if record.failover_recovery_ns is not None:
            results.records[place] = replace(record, failover_returned_at_ns=record.failover_at_ns)
    (text, *_) = describe_multipath(Study(results))
    mptcp = next(part for part in text.split("; ") if part.startswith("mptcp"))
    assert "in 8 of 8 trials only once the link was back" in mptcp


def test_round_trips_are_compared_with_the_first_link() -> None:
    (text, *_) = describe_multipath(study(messages_per_s=5000, streams=(1,)))
    assert text.startswith("Median round trip of 1 KiB messages at 5 k/s: link-1 ")
    assert "round-robin 24" in text
    assert "× link-1, 95 % CI" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_has_the_answer_first_and_fits(width: int) -> None:
    console = Console(file=StringIO(), width=width, legacy_windows=False)
    render_summary(study(rates=UNEQUAL), (), console)
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("Is the bond worth it?")
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert "Several links: west → east (lab)" in text
    assert "round-robin" in text


def test_the_chapter_has_figures_and_tables() -> None:
    inputs = ReportInputs(study(rates=UNEQUAL))
    report = arrange_report(inputs)
    (chapter,) = [one for one in report.sections if one.key == "multipath"]
    tables = {block.name for block in list_blocks(chapter.blocks) if isinstance(block, TableBlock)}
    assert tables == {
        "multipath-table",
        "member-shares-table",
        "subflow-shares-table",
        "streams-needed-table",
    }
    figures = [block.name for block in list_blocks(chapter.blocks) if isinstance(block, Plot)]
    assert figures == ["member-shares-1", "hash-streams-1"]
    assert "multipath-1" in [figure.name for figure in list_figures(report)]
    for lazy in list_lazy_plots(inputs):
        if lazy.name.startswith(("multipath", "member-shares", "hash-streams")):
            plot = find_plot(inputs, lazy.name)
            assert plot is not None
            assert plot.panels


def test_rows_of_the_shares_have_a_name_each() -> None:
    inputs = ReportInputs(study(streams=(1, 8), windows=(None, 256 * 1024), cycles=2))
    plot = find_plot(inputs, "member-shares-1")
    assert plot is not None
    labels = plot.panels[0].y.tick_labels or ()
    assert len(labels) == len({*labels}) == 16
    assert "ecmp-l4, 8 streams, window 256 KiB" in labels


def test_shares_of_messages_are_named_as_that_and_have_units_as_everywhere() -> None:
    found = study(levels=(*SINGLES, "round-robin"), messages_per_s=5000, streams=(1,), cycles=2)
    (lazy,) = [one for one in list_lazy_plots(ReportInputs(found)) if one.name.startswith("member-shares")]
    assert lazy.condition == "west → east (lab), 1 KiB messages"
    (answer,) = found.member_shares()
    assert "link-1 50 %, link-2 50 %" in format_row(ANALYSES["member_shares"], answer)


def test_ordinary_results_have_neither_the_chapter_nor_the_answer() -> None:
    found = Study(make_quickstart(cycles=2))
    assert describe_multipath(found) == ()
    assert not {"multipath", "tcp-reordering"} & {
        one.key for one in arrange_report(ReportInputs(found)).sections
    }
