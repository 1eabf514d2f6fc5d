"""Several links in the report: the answer first, no wrong "no", each statement once."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pathlab.report.base.answer_table import format_row
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.chapters import list_lazy_plots
from pathlab.report.multipath.multipath_remarks import name_settings
from pathlab.report.multipath.multipath_text import describe_multipath
from pathlab.study.analyses import Study
from pathlab.study.base.registry import ANALYSES
from tests.builders.multipath import SINGLES, UNEQUAL, Bonds, make_multipath_results
from tests.builders.sections import draw
from tests.golden.conftest import Say

WINDOWS = (None, 256 * 1024)
TURNS = (*SINGLES, "round-robin")


@cache
def study(**changes: Any) -> Study:
    """The same changes give the same study, which tests only read."""
    return Study(make_multipath_results(replace(Bonds(), **changes)))


#: How links and trials differ from equal links, each alone and by every bond, with 1 and 8 streams, 8 cycles.
SITUATIONS: Mapping[str, dict[str, Any]] = {
    "unequal links": {"rates": UNEQUAL},
    "unequal links, few cycles": {"rates": UNEQUAL, "cycles": 3},
    "variants of a bond that the slow link holds": {
        **{"rates": UNEQUAL, "levels": TURNS, "streams": (1,), "reordering": (3, 127)}
    },
    "a link not measured alone": {"levels": ("link-1", "round-robin"), "streams": (1,), "cycles": 6},
    "an existing bond": {"levels": ("existing",), "streams": (1,), "cycles": 6},
    "lab-limited trials": {"rates": UNEQUAL, "limited": (*TURNS, "mptcp")},
    "all bonds at two thresholds": {"reordering": (3, 127), "cycles": 6},
    "levels of the threshold": {"levels": TURNS, "reordering": (3, 127), "streams": (1,)},
    "levels of the threshold, few cycles": {
        **{"levels": TURNS, "reordering": (3, 127), "streams": (1,), "cycles": 3}
    },
    "a polarised hash": {"good_hash": False, "streams": (4, 16), "levels": (*SINGLES, "ecmp-l3", "ecmp-l4")},
    "a polarised hash, two windows": {
        **{"good_hash": False, "streams": (4, 16), "windows": WINDOWS, "levels": (*SINGLES, "ecmp-l4")}
    },
    "two windows": {"rates": UNEQUAL, "windows": WINDOWS, "cycles": 6},
    "failing links": {"failover": True, "streams": (1,), "cycles": 6},
    "failing links, two windows": {
        **{"failover": True, "streams": (4,), "windows": WINDOWS, "levels": (*SINGLES, "mptcp")}
    },
    "messages": {"messages_per_s": 5000, "streams": (1,)},
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_situation_is_stated(say: Say, situation: str) -> None:
    texts = describe_multipath(study(**SITUATIONS[situation]))
    assert len(set(texts)) == len(texts)
    say(texts)


def test_the_window_is_named_where_not_each_has_the_same_verdict(say: Say) -> None:
    rows = study(levels=TURNS, windows=WINDOWS, cycles=2).multipath()
    assert name_settings(rows, rows) == "1 and 8 streams"
    (auto,) = [one for one in rows if one.streams == 1 and one.window_bytes is None]
    say(name_settings([auto], rows))
    say(name_settings([*(one for one in rows if one.streams == 8), auto], rows))


def test_a_rate_that_only_the_returned_link_brought_back_is_said_to_be_that(say: Say) -> None:
    results = make_multipath_results(Bonds(failover=True, streams=(1,)))
    results.change_trials(
        lambda one: replace(one, failover_returned_at_ns=one.failover_recovery_ns and one.failover_at_ns)
    )
    (text, *_) = describe_multipath(Study(results))
    say(text)


def test_shares_of_messages_are_named_as_that_and_have_units_as_everywhere(say: Say) -> None:
    found = study(levels=TURNS, messages_per_s=5000, streams=(1,), cycles=2)
    (lazy,) = [one for one in list_lazy_plots(ReportInputs(found)) if one.name.startswith("member-shares")]
    say(lazy.condition)
    (answer,) = found.member_shares()
    say(format_row(ANALYSES["member_shares"], answer))


def test_rows_of_the_shares_have_a_name_each(say: Say) -> None:
    plot = draw(ReportInputs(study(windows=WINDOWS, cycles=2)), "member-shares-1")
    labels = plot.panels[0].y.tick_labels or ()
    assert len(labels) == len({*labels}) == 16
    say(labels)
