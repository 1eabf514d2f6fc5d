"""Several links in the report: the answer first, no wrong "no", each statement once."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from pathlab.report.answer_table import format_row
from pathlab.report.formats.terminal import render_summary
from pathlab.report.inputs import ReportInputs
from pathlab.report.multipath_remarks import name_settings
from pathlab.report.multipath_text import describe_multipath
from pathlab.report.sections.chapters import find_plot, list_lazy_plots
from pathlab.study.analyses import Study
from pathlab.study.registry import ANALYSES
from tests.builders.multipath import SINGLES, UNEQUAL, Bonds, make_multipath_results
from tests.golden.conftest import Say
from tests.unit.report.sections.test_multipath_chapter import study


def test_variants_of_a_bond_that_the_slow_link_holds_are_one_sentence(say: Say) -> None:
    levels = (*SINGLES, "round-robin")
    texts = describe_multipath(study(rates=UNEQUAL, levels=levels, streams=(1,), reordering=(3, 127)))
    (collapse,) = [text for text in texts if "as much over the slow link" in text]
    say(collapse)


def test_a_link_that_was_not_measured_alone_is_named_as_the_reason(say: Say) -> None:
    lead = describe_multipath(study(levels=("link-1", "round-robin"), streams=(1,)))[0]
    say(lead)


def test_links_of_an_existing_bond_are_not_asked_for(say: Say) -> None:
    """Levels link-1 and so on are refused for hosts outside a lab."""
    lead = describe_multipath(study(levels=("existing",), streams=(1,)))[0]
    say(lead)


def test_lab_limited_trials_are_a_reason_once(say: Say) -> None:
    lead = describe_multipath(study(rates=UNEQUAL, limited=(*SINGLES, "round-robin", "mptcp")))[0]
    say(lead)


def test_reordering_is_stated_for_each_level_of_the_threshold(say: Say) -> None:
    texts = describe_multipath(study(reordering=(3, 127), streams=(1, 8)))
    said = [text for text in texts if text.startswith("Reordering as TCP saw it, ")]
    say(sorted(said))


def test_no_difference_between_thresholds_only_where_the_data_show_it(say: Say) -> None:
    levels = (*SINGLES, "round-robin")
    shown = " ".join(describe_multipath(study(levels=levels, reordering=(3, 127), streams=(1,))))
    say(shown)
    few = " ".join(describe_multipath(study(levels=levels, reordering=(3, 127), streams=(1,), cycles=3)))
    say(few)


def test_a_polarised_hash_is_named(say: Say) -> None:
    texts = " ".join(describe_multipath(study(good_hash=False, streams=(4, 16))))
    say(texts)


def test_failing_links_count_those_that_never_recovered(say: Say) -> None:
    (text, *_) = describe_multipath(study(failover=True, streams=(1,)))
    say(text)


def test_combinations_of_a_sentence_have_different_names(say: Say) -> None:
    windows = (None, 256 * 1024)
    texts = describe_multipath(study(good_hash=False, streams=(4, 16), windows=windows))
    (polarised,) = [text for text in texts if "is polarised" in text]
    say(polarised)
    lead = describe_multipath(study(rates=UNEQUAL, windows=windows))[0]
    say(lead)
    texts = describe_multipath(study(failover=True, streams=(4,), windows=windows))
    starts = [text.partition(", link-1")[0] for text in texts if text.startswith("When a link fails")]
    say(sorted(starts))


def test_the_window_is_named_where_not_each_has_the_same_verdict(say: Say) -> None:
    rows = study(levels=(*SINGLES, "round-robin"), windows=(None, 256 * 1024), cycles=2).multipath()
    assert name_settings(rows, rows) == "1 and 8 streams"
    (auto,) = [one for one in rows if one.streams == 1 and one.window_bytes is None]
    eight = [one for one in rows if one.streams == 8]
    say(name_settings([auto], rows))
    say(name_settings([*eight, auto], rows))


def test_a_rate_that_only_the_returned_link_brought_back_is_said_to_be_that(say: Say) -> None:
    results = make_multipath_results(Bonds(failover=True, streams=(1,)))
    for place, record in enumerate(results.records):
        if record.failover_recovery_ns is not None:
            results.records[place] = replace(record, failover_returned_at_ns=record.failover_at_ns)
    (text, *_) = describe_multipath(Study(results))
    mptcp = next(part for part in text.split("; ") if part.startswith("mptcp"))
    say(mptcp)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_has_the_answer_first_and_fits(say: Say, width: int) -> None:
    console = Console(file=StringIO(), width=width, legacy_windows=False)
    render_summary(study(rates=UNEQUAL), (), console)
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    say(lines[0])
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    say(text)


def test_shares_of_messages_are_named_as_that_and_have_units_as_everywhere(say: Say) -> None:
    found = study(levels=(*SINGLES, "round-robin"), messages_per_s=5000, streams=(1,), cycles=2)
    (lazy,) = [one for one in list_lazy_plots(ReportInputs(found)) if one.name.startswith("member-shares")]
    say(lazy.condition)
    (answer,) = found.member_shares()
    assert "link-1 50 %, link-2 50 %" in format_row(ANALYSES["member_shares"], answer)


def test_round_trips_are_compared_with_the_first_link(say: Say) -> None:
    (text, *_) = describe_multipath(study(messages_per_s=5000, streams=(1,)))
    say(text)


def test_rows_of_the_shares_have_a_name_each(say: Say) -> None:
    inputs = ReportInputs(study(streams=(1, 8), windows=(None, 256 * 1024), cycles=2))
    plot = find_plot(inputs, "member-shares-1")
    assert plot is not None
    labels = plot.panels[0].y.tick_labels or ()
    assert len(labels) == len({*labels}) == 16
    say(labels)
