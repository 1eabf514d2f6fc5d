"""Results with levels that are hard to write, and views of them made by chance."""

from dataclasses import replace
from functools import cache

from hypothesis import strategies as st

from pathlab.study.analyses import Study
from pathlab.study.exploration.columns import ExploredColumn
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view import (
    CHANGES,
    COUNTS,
    RANGES,
    SCALES,
    STATISTICS,
    Filter,
    LevelFilter,
    RangeFilter,
    View,
)
from pathlab.study.exploration.view_text import show_level
from tests.builders.explored import MARKUP, make_explored

#: Levels that meet every sign with a meaning in a view's text.
HARD_LEVELS = (
    *("()", '""', "", "!a", "a,b", "a&b=c", "50 % of it", "%2C", "1..2", "a..b", "line\nbreak", "tab\there"),
    *(
        "Ünïcode → ΟΔΟΣ",
        "İstanbul",
        "emoji 🦊",
        "\u202ereversed",
        "eth2",
        "eth10",
        "eth010",
        "none",
        "#x",
        "+",
    ),
    *(MARKUP, "'quoted'", "a b", "\u0085\ufeff", "{}", "null", "NaN"),
)
WORDS = (
    "refused",
    "EAST",
    "lab",
    "→",
    "οδος",
    "i̇",
    "%",
    "<img",
    "eth",
    "a b",
    "  ",
    "nothing of it",
    "\ufeff",
)


@cache
def make_hard_results() -> ExploredResults:
    """Two results: several paths, failures, flags, factors of one alone, levels that are hard to write."""
    first, second = make_explored(cycles=3, hostile=True), make_explored(cycles=2, seed=2)
    for place, row in enumerate(first.plan()):
        level = HARD_LEVELS[place % len(HARD_LEVELS)]
        settings = {**row.settings, "test_parameters": level, "no_delay": place % 3 == 0}
        settings["pacing_bits_per_s"] = None if place % 4 == 0 else 40_000_000 * (place % 4) + place % 2
        first.plan()[place] = replace(row, settings=settings)
    first.records[3] = replace(first.records[3], started_utc="at no time", flags=())
    first.records[4] = replace(first.records[4], started_utc="1999-12-31T23:59:59.999999+00:00")
    return ExploredResults.of(Study(first), Study(second))


def views(results: ExploredResults) -> st.SearchStrategy[View]:
    """Views whose columns, levels and trials the results have."""
    by_kind = {
        kinds: [one.name for one in results.columns if one.kind in kinds]
        for kinds in (("number",), ("number", "category"), ("number", "category", "time"))
    }
    limits = st.none() | st.floats(allow_nan=False, allow_infinity=False)
    rows = st.integers(0, len(results) - 1)
    plain = st.builds(
        View,
        x=st.sampled_from(by_kind["number", "category", "time"]),
        y=st.lists(st.sampled_from(by_kind["number",]), min_size=1, max_size=4, unique=True).map(tuple),
        colour=st.none() | st.sampled_from(by_kind["number", "category"]),
        facet=st.none() | st.sampled_from(by_kind["number", "category"]),
        statistic=st.sampled_from((*STATISTICS, "p1", "p95", "p99")),
        range=st.sampled_from(RANGES),
        scale_x=st.none() | st.sampled_from(SCALES),
        scale_y=st.none() | st.sampled_from(SCALES),
        **dict.fromkeys(("min_x", "max_x", "min_y", "max_y"), limits),
        dots=st.booleans(),
        count=st.sampled_from(COUNTS),
        against=st.sampled_from(CHANGES),
        overlay=st.none() | st.text(st.characters(codec="utf-8"), min_size=1),
        where=filters(results),
        text=st.just("") | st.sampled_from(WORDS) | st.text(st.characters(codec="utf-8"), max_size=3),
        trial=st.none() | rows.map(results.name_trial),
        series=st.none() | st.just("sender_intervals.rtt_us"),
    )
    return plain.flatmap(lambda view: _add_baseline(results, view))


#: Views of the results with levels that are hard to write.
HARD_VIEWS = st.deferred(lambda: views(make_hard_results()))


def filters(results: ExploredResults) -> st.SearchStrategy[dict[str, Filter]]:
    """Filters of at most four columns."""

    def choose(names: list[str]) -> st.SearchStrategy[dict[str, Filter]]:
        return st.fixed_dictionaries({name: filters_of(results, results.column(name)) for name in names})

    names = st.sampled_from([one.name for one in results.columns])
    return st.lists(names, max_size=4, unique=True).flatmap(choose)


def filters_of(results: ExploredResults, column: ExploredColumn) -> st.SearchStrategy[Filter]:
    """Filters of a column by its levels, and by a range of its numbers."""
    known = results.flags if column.kind == "flags" else results.levels(column.name)
    levels = st.lists(st.sampled_from([*known, None]), max_size=5, unique=True)
    by_level = st.builds(LevelFilter, levels=levels.map(tuple), excluded=st.booleans())
    if not column.is_numeric:
        return by_level
    numbers = [float(one) for one in (*known, 0.0)]
    values = st.sampled_from(numbers) | st.floats(-1e9, 1e9)
    if column.kind == "time":
        values = st.sampled_from(numbers) | st.integers(0, 10**16).map(lambda one: one / 1e6)
    return by_level | st.tuples(st.none() | values, st.none() | values).map(_order_ends)


def _order_ends(ends: tuple[float | None, float | None]) -> Filter:
    low, high = ends
    if low is not None and high is not None:
        low, high = sorted((low, high))
    return RangeFilter(low=low, high=high)


def _add_baseline(results: ExploredResults, view: View) -> st.SearchStrategy[View]:
    if view.colour is None:
        return st.just(view)
    levels = [show_level(one) for one in (*results.levels(view.colour), None)]
    named = st.sampled_from([one for one in levels if one])
    return (st.none() | named).map(lambda baseline: replace(view, baseline=baseline))
