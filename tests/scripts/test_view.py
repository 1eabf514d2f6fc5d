"""View and filter of the page: text, rows and counts are those of Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pathlab.study.analyses import Study
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.filtering import count_levels, select_rows
from pathlab.study.exploration.number_text import format_exact_number, format_instant, parse_instant
from pathlab.study.exploration.view import LevelFilter, View, default_view
from pathlab.study.exploration.view_text import KEYS, format_view, read_view
from tests.builders.explored import make_explored
from tests.builders.messages import make_message_results
from tests.builders.multipath import make_multipath_results
from tests.builders.results import make_quickstart
from tests.builders.technologies import make_technology_results
from tests.builders.views import HARD_LEVELS, HARD_VIEWS, make_hard_results
from tests.length import choose_runs
from tests.scripts.explorations import open_table
from tests.scripts.host import ScriptHost

#: Many views in one call.
BATCH = settings(
    max_examples=choose_runs(12, short=6),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # smaller failures would take many minutes
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
READ = """(texts) => texts.map((text) => {
  const { view, filter } = pathlabExplorer;
  const found = view.parseView(text, table);
  return {
    view: found.view, mistakes: found.mistakes, text: view.formatView(found.view),
    rows: Array.from(filter.selectRows(table, found.view)),
    counts: Object.fromEntries(filter.countByLevel(table, found.view)),
  };
})"""


@pytest.fixture
def hard(scripts: ScriptHost) -> ScriptHost:
    return open_table(scripts, make_hard_results())


def describe_view(view: View) -> dict[str, Any]:
    """A view as the page has it."""
    where = {
        name: {"levels": list(one.levels), "except": one.excluded}
        if isinstance(one, LevelFilter)
        else {"low": one.low, "high": one.high}
        for name, one in view.where.items()
    }
    names = {"scale_x": "scaleX", "scale_y": "scaleY"}
    names |= {f"{end}_{axis}": f"{end}{axis.upper()}" for end in ("min", "max") for axis in "xy"}
    plain = {
        names.get(name, name): list(value) if isinstance(value, tuple) else value
        for name in View.__slots__
        if name != "where"
        for value in (getattr(view, name),)
    }
    described: dict[str, Any] = json.loads(json.dumps({**plain, "where": where}))
    return described


def read_numbers(value: Any) -> Any:
    """What came from the page, each number as the float that it is there."""
    if isinstance(value, dict):
        return {name: read_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [read_numbers(one) for one in value]
    return float(value) if type(value) is int else value


def check_texts(scripts: ScriptHost, results: ExploredResults, texts: list[str]) -> None:
    for text, found in zip(texts, scripts.evaluate(READ, texts), strict=True):
        view, mistakes = read_view(text, results)
        assert read_numbers(found["view"]) == describe_view(view)
        # which name is nearest each side may judge for itself
        heads = [
            [one.split("; did you mean")[0] for one in every]
            for every in (found["mistakes"], [m.message for m in mistakes])
        ]
        assert heads[0] == heads[1]
        assert found["text"] == format_view(view)
        assert found["rows"] == select_rows(results, view).tolist()
        counts = {name: one.tolist() for name, one in count_levels(results, view).items()}
        assert found["counts"] == counts


@BATCH
@given(st.lists(HARD_VIEWS, min_size=20, max_size=20))
def test_it_shows_the_trials_that_python_selects(hard: ScriptHost, chosen: list[View]) -> None:
    check_texts(hard, make_hard_results(), [format_view(view) for view in chosen])


PARTS = st.one_of(
    st.sampled_from(
        ("x=streams", "stat=p95", "min-x=1e3", "colour=none", "trial=B:2", "trial=B:02", "baseline=4")
    ),
    st.tuples(st.sampled_from(KEYS), st.text(max_size=4)).map("=".join),
    st.tuples(
        st.deferred(lambda: st.sampled_from([one.name for one in make_hard_results().columns])),
        st.text(st.sampled_from("!(),.%0123456789abcF-+eT:Z\"'~"), max_size=12),
    ).map(lambda pair: f"where.{pair[0]}={pair[1]}"),
    st.text(st.characters(codec="utf-8"), max_size=8),
)


@BATCH
@given(st.lists(st.lists(PARTS, max_size=4).map("&".join), min_size=30, max_size=30))
def test_it_refuses_the_parts_that_python_refuses(hard: ScriptHost, texts: list[str]) -> None:
    check_texts(hard, make_hard_results(), texts)


def test_long_texts_are_refused_alike(hard: ScriptHost) -> None:
    parts = ("{}=1", "{}", "x={}", "y={}", "stat={}", "where.{}=1", "where.status={}", "trial={}", "min-x={}")
    longs = ("é" * 5_000, "🦊" * 80, "🦊" * 81, "z" * 80)
    check_texts(hard, make_hard_results(), [part.format(long) for part in parts for long in longs])


def test_hard_levels_read_back(hard: ScriptHost) -> None:
    chosen = [
        View(x="streams", y=("drtt_ns",), where={"test_parameters": LevelFilter(levels=(level, None))})
        for level in HARD_LEVELS
    ]
    check_texts(hard, make_hard_results(), [format_view(view) for view in chosen])


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: [make_quickstart()], id="one path"),
        pytest.param(lambda: [make_explored(cycles=1)], id="two paths"),
        pytest.param(lambda: [make_quickstart(), make_quickstart()], id="two results"),
        pytest.param(
            lambda: [make_quickstart(levels=[(1, 65536), (1, None), (1, 131072)])], id="windows alone"
        ),
        pytest.param(
            lambda: [make_quickstart(levels=[(1, 65536), (1, None), (4, 65536), (4, None)])], id="autotuned"
        ),
        pytest.param(lambda: [make_message_results(cycles=1)], id="messages"),
        pytest.param(lambda: [make_technology_results(cycles=1)], id="technologies"),
        pytest.param(lambda: [make_multipath_results()], id="bonds"),
        pytest.param(lambda: [make_multipath_results(), make_message_results(cycles=1)], id="unlike results"),
    ],
)
def test_it_begins_with_the_view_of_python(scripts: ScriptHost, make: Callable[[], list[Any]]) -> None:
    found = ExploredResults.of(*(Study(one) for one in make()))
    open_table(scripts, found)
    assert scripts.evaluate("() => window.pathlabExplorer.view.presetView(table)") == describe_view(
        default_view(found)
    )
    check_texts(scripts, found, ["", "x=window_bytes", "colour=path", "facet=none"])


@BATCH
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=50, max_size=50),
    st.lists(st.floats(-7e10, 3e11), min_size=50, max_size=50),
)
def test_numbers_and_times_are_written_alike(
    hard: ScriptHost, numbers: list[float], times: list[float]
) -> None:
    assert hard.evaluate(
        "(all) => all.map((text) => String(Number(text)))", [repr(one) for one in numbers]
    ) == [format_exact_number(one) for one in numbers]
    texts = [format_instant(one) for one in times]
    assert (
        hard.evaluate(
            "(all) => all.map((text) => window.pathlabExplorer.view.formatInstant(Number(text)))",
            [repr(one) for one in times],
        )
        == texts
    )
    assert hard.evaluate("(all) => all.map(window.pathlabExplorer.view.parseInstant)", texts) == [
        parse_instant(text) for text in texts
    ]


def test_trials_that_come_later_are_filtered(scripts: ScriptHost) -> None:
    done, begun = make_explored(cycles=2), make_explored(cycles=2)
    begun.records = begun.records[:5]
    open_table(scripts, ExploredResults.of(Study(begun)))
    texts = ["where.streams=4,8&text=EAST", "where.throughput_bits_per_s=..10", "where.status=failed"]
    scripts.evaluate(READ, texts[:2])
    whole = ExploredResults.of(Study(done))
    rows = [
        {
            **{one.name: whole.texts(one.name)[row] for one in whole.columns if one.kind == "category"},
            **{
                one.name: value
                for one in whole.columns
                if one.is_numeric
                for value in (float(whole.numbers(one.name)[row]),)
                if value == value
            },
            "flags": [
                flag for place, flag in enumerate(whole.flags) if int(whole.flag_bits[row]) >> place & 1
            ],
        }
        for row in range(5, len(whole))
    ]
    scripts.evaluate("(rows) => table.append(rows)", rows)
    found = scripts.evaluate(READ, texts)
    for text, one in zip(texts, found, strict=True):
        view, _ = read_view(text, whole)
        assert one["rows"] == select_rows(whole, view).tolist()


def test_sixty_four_flags_are_filtered_and_counted_alike(scripts: ScriptHost) -> None:
    source = make_quickstart()
    for place, record in enumerate(source.records):
        flags = tuple(f"further-{number:02d}" for number in range(70) if number % 16 in (place, 15 - place))
        source.records[place] = replace(record, flags=flags)
    found = ExploredResults.of(Study(source))
    assert len(found.flags) == 64
    open_table(scripts, found)
    chosen = [f"where.flags={flag}" for flag in found.flags]
    check_texts(
        scripts, found, [*chosen, "where.flags=!further-00,further-31,other%20flags", "where.flags=()"]
    )
