"""Verdicts on the page: which view is asked for, and how an answer is shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scripts.explorations import make_results, open_table
from tests.scripts.host import ScriptHost

PLAIN = "x=streams&y=throughput_bits_per_s&colour=window_bytes"
ASKED = f"{PLAIN}&baseline=65536"


@pytest.fixture
def opened(scripts: ScriptHost) -> ScriptHost:
    return open_table(scripts, make_results(2))


def ask(scripts: ScriptHost, text: str) -> str | None:
    found: str | None = scripts.evaluate(
        "(text) => pathlabExplorer.verdicts.writeQuestion(explore(text).view)", text
    )
    return found


@pytest.mark.parametrize(
    "beside",
    [
        *("stat=mean", "range=extremes", "scale-x=linear", "scale-y=log10", "dots=off", "against=difference"),
        *("min-x=1", "max-x=8", "min-y=0", "max-y=50", "overlay=table", "trial=A:3"),
        "trial=A:3&series=loaded_probes.rtt_ns",
    ],
)
def test_what_is_beside_the_trials_asks_for_the_same_verdicts(opened: ScriptHost, beside: str) -> None:
    assert ask(opened, f"{ASKED}&{beside}") == ASKED


@pytest.mark.parametrize("chosen", ["facet=path", "count=all", "where.streams=1,2", "text=west"])
def test_other_trials_or_levels_ask_for_other_verdicts(opened: ScriptHost, chosen: str) -> None:
    assert ask(opened, f"{ASKED}&{chosen}") == ask(opened, f"{ASKED}&{chosen}&stat=mean") != ASKED


def test_without_a_baseline_nothing_is_asked(opened: ScriptHost) -> None:
    assert ask(opened, PLAIN) is None
    assert ask(opened, "x=streams&y=throughput_bits_per_s&colour=none") is None


def make_table(after: str, last: str) -> dict[str, Any]:
    return {
        "title": "Throughput",
        "after": after,
        "columns": ["Combination", "Change", last],
        "rows": [["4 × 64 KiB", "+3 %", "better"], ["8 × 64 KiB", "±0 %", "undecided"]],
        "verdicts": ["better", "undecided"],
    }


def list_tables(scripts: ScriptHost, *tables: dict[str, Any]) -> list[dict[str, Any]]:
    asked = "(tables) => pathlabExplorer.verdicts.listTables({ tables })"
    found: list[dict[str, Any]] = scripts.evaluate(asked, list(tables))
    return found


def test_verdicts_in_the_last_column_have_their_class(scripts: ScriptHost) -> None:
    judged, plain = (list_tables(scripts, make_table("B", last))[0] for last in ("Verdict", "Trials"))
    assert [[kind for _, kind in row] for row in judged["rows"]] == [
        [None, None, "verdict better"],
        [None, None, "verdict undecided"],
    ]
    assert [[text for text, _ in row] for row in judged["rows"]] == make_table("B", "Verdict")["rows"]
    assert {kind for row in plain["rows"] for _, kind in row} == {None}


def test_a_title_says_what_is_compared_where_several_are(scripts: ScriptHost) -> None:
    first, same, other = (make_table(after, "Verdict") for after in "BBC")
    assert [one["title"] for one in list_tables(scripts, first, same)] == ["Throughput", "Throughput"]
    titles = [one["title"] for one in list_tables(scripts, first, other)]
    assert titles == ["B: Throughput", "C: Throughput"]


def test_a_refusal_ends_with_one_stop(scripts: ScriptHost) -> None:
    texts = ["no metric", "no metric.", "no metric (of levels)"]
    found = scripts.evaluate("(all) => all.map(pathlabExplorer.verdicts.formatRefusal)", texts)
    assert [text.removeprefix("No verdicts: ") for text in found] == ["no metric.", *texts[1:]]
