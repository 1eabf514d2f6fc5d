"""The curves of curves.js are those of Python: the same exploration of the same table, view and rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from pathlab.study.analyses import Study
from pathlab.study.exploration.curves import build_from_rows
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.filtering import select_rows
from pathlab.study.exploration.view import CHANGES, RANGES, View
from pathlab.study.exploration.view_text import parse_view
from tests.builders.results import make_quickstart
from tests.builders.tables import MadeColumn, MadeTable, make_table
from tests.length import choose_runs
from tests.scripts.explorations import build_in_scripts, list_differences
from tests.scripts.host import ScriptHost

NOISES = ("normal", "log-normal", "ties", "equal", "drift", "zero", "large")
#: Of trials: none, one, about every minimum of an estimate, and many.
COUNTS = (0, 1, 2, 5, 6, 7, 9, 10, 11, 39, 40, 41, 150)
#: Of these noises also of many more.
NOISES_OF_MANY = ("normal", "ties", "zero")
STATISTICS = ("median", "mean", "min", "max", "iqr", "p5", "p50", "p90", "p99.9")
DISTRIBUTIONS = ("cdf", "ccdf", "histogram")
XS = ("streams", "window", "congestion", "rtt", "started_utc", "cycle", "flags")
YS = ("throughput", "rtt", "duration", "cycle")
COLUMNS: tuple[str | None, ...] = (None, "congestion", "window", "streams", "results", "flags")


def check(
    scripts: ScriptHost, table: MadeTable | ExploredResults, views: list[tuple[View, np.ndarray]]
) -> None:
    """Both build the same of every view."""
    found = build_in_scripts(scripts, table, [(view, rows.tolist()) for view, rows in views])
    assert len(found) == len(views)
    for (view, rows), theirs in zip(views, found, strict=True):
        ours: dict[str, Any] = build_from_rows(table, view, rows).to_json()
        differences = list(list_differences(ours, theirs))
        assert not differences, f"{view}: {differences[:5]}"


def make_view(**given: Any) -> View:
    return View(**{"x": "streams", "y": ("throughput",), **given})


@pytest.mark.parametrize("noise", NOISES)
def test_estimates_are_equal(scripts: ScriptHost, noise: str) -> None:
    for count in (*COUNTS, *([900] if noise in NOISES_OF_MANY else [])):
        table = make_table(np.random.default_rng([count, len(noise)]), count, noise=noise, levels=3)
        x, every = "duration" if count % 2 else "streams", np.arange(count)
        kinds = zip((*STATISTICS, *DISTRIBUTIONS), cycle(("interval", *RANGES)), strict=False)
        check(scripts, table, [(make_view(x=x, statistic=one, range=shown), every) for one, shown in kinds])


def test_views_are_equal(scripts: ScriptHost) -> None:
    """Any axes, colours, panels and selections, in any order of start."""
    rng = np.random.default_rng(7)
    for run in range(choose_runs(7, short=2)):
        count = int(rng.integers(50, 700))
        table = make_table(rng, count, noise=NOISES[run % len(NOISES)], levels=int(rng.integers(1, 9)))
        if run % 2:
            table.values["started_utc"] = rng.permutation(table.values["started_utc"])
            table.values["started_utc"][rng.random(count) < 0.05] = np.nan
        views = []
        for _ in range(12):
            columns = [
                str(one) for one in rng.choice(["throughput", "rtt", "duration", "cycle"], 4, replace=False)
            ]
            view = make_view(
                x=str(
                    rng.choice(["streams", "window", "congestion", "rtt", "started_utc", "cycle", "flags"])
                ),
                y=tuple(columns[: int(rng.integers(1, 5))]),
                colour=COLUMNS[rng.integers(len(COLUMNS))],
                facet=COLUMNS[rng.integers(len(COLUMNS))],
                statistic=str(rng.choice((*STATISTICS, *DISTRIBUTIONS, "course"))),
                range=str(rng.choice(RANGES)),
                scale_x=(None, "linear", "log2")[rng.integers(3)],
                scale_y=(None, "log10")[rng.integers(2)],
                min_x=(None, 1.5)[rng.integers(2)],
                dots=bool(rng.integers(2)),
                count=("usable", "all")[rng.integers(2)],
            )
            views.append((view, np.flatnonzero(rng.random(count) < rng.choice([0.1, 0.7, 1.0]))))
        check(scripts, table, views)


BASELINES = {
    "congestion": ("bbr", "cubic", "()"),
    "window": ("65536", "1048576", "()"),
    "streams": ("1", "4"),
    "results": ("A", "B"),
    "flags": ("busy-core",),
}


@pytest.mark.parametrize("noise", NOISES)
def test_comparisons_with_a_baseline_are_equal(scripts: ScriptHost, noise: str) -> None:
    """Of pairs and of groups, of few and of many trials, of what can be 0."""
    rng = np.random.default_rng([13, len(noise)])
    for count in (0, 1, 8, 30, 120, 121, 123, *([500, 1500] if noise in NOISES_OF_MANY else [])):
        table = make_table(rng, count, noise=noise, levels=2 + count % 3)
        # The order was drawn in all of the results, in the first of them, in none.
        drawn = (count % 4 != 3, count % 4 in (0, 2))
        table.sources = tuple(
            replace(source, order_drawn=one) for source, one in zip(table.sources, drawn, strict=True)
        )
        views = [
            make_view(
                x=x,
                colour=colour,
                baseline=baseline,
                against=against,
                y=("throughput", "rtt")[: 1 + count % 2],
            )
            for x, (colour, baselines) in zip(cycle(("duration", "streams")), BASELINES.items(), strict=False)
            for baseline in baselines
            for against in CHANGES
        ]
        if count > 400:
            views = views[:: 1 + count // 400]
        check(scripts, table, [(view, np.arange(count)) for view in views])


def test_many_levels_and_many_trials_are_limited_alike(scripts: ScriptHost) -> None:
    count = 2**16
    rng = np.random.default_rng(11)
    table = MadeTable(count=count)
    table.add(MadeColumn(name="started_utc", label="start", kind="time", role="identity"), np.arange(count))
    table.add(MadeColumn(name="streams", label="streams"), rng.permutation(count))
    table.add(MadeColumn(name="duration", label="duration"), np.full(count, 2.0))
    table.add(MadeColumn(name="throughput", label="throughput", role="measured"), rng.normal(size=count))
    every = np.arange(count)
    views = [
        (make_view(), every),
        (make_view(x="duration"), every),
        (make_view(x="duration", statistic="mean", colour="streams"), every),
        (make_view(x="duration", facet="streams"), every),
        (make_view(x="duration", statistic="p99", range="interval"), every),
    ]
    check(scripts, table, views)


def test_outliers_leave_ranks_equal(scripts: ScriptHost) -> None:
    """Outliers that leave all others in one part of the range."""
    rng = np.random.default_rng(17)
    for top in (1e6, 1e18, 1e150):
        table = MadeTable(count=60)
        table.add(MadeColumn(name="started_utc", label="start", kind="time", role="identity"), np.arange(60))
        table.add(MadeColumn(name="duration", label="duration"), np.full(60, 2.0))
        values = rng.normal(size=60)
        values[::20] = top
        table.add(MadeColumn(name="throughput", label="throughput", role="measured"), values)
        kinds = ("median", "p50", "min", "max")
        check(scripts, table, [(make_view(x="duration", statistic=one), np.arange(60)) for one in kinds])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.3, 1.0])
def test_long_memory_is_seen_alike(scripts: ScriptHost, share: float) -> None:
    """A slow drift of a share of the spread needs many lags, which come from a Fourier transform."""
    count = 4000
    rng = np.random.default_rng(5)
    table = MadeTable(count=count)
    table.add(MadeColumn(name="started_utc", label="start", kind="time", role="identity"), np.arange(count))
    table.add(MadeColumn(name="duration", label="duration"), np.full(count, 2.0))
    drift = np.sin(np.arange(count) / 400) * np.sqrt(2 * share)
    noise = rng.normal(size=count) * np.sqrt(1 - share)
    table.add(MadeColumn(name="throughput", label="throughput", role="measured"), drift + noise)
    check(scripts, table, [(make_view(x="duration", statistic=one), np.arange(count)) for one in STATISTICS])


def test_autotuned_windows_provisional_points_and_results_are_alike(scripts: ScriptHost) -> None:
    """A missing level on each axis, combinations without a usable trial, and results with one title."""
    levels = [(1, 262144), (1, None), (4, 262144), (4, None)]
    sources = [make_quickstart(cycles=7, levels=levels), make_quickstart(cycles=3, levels=levels)]
    for flags in (("lab-limited",), ("lab-limited", "host-limited")):
        source = make_quickstart(cycles=7, levels=levels)
        source.records[2:] = [replace(trial, flags=("lab", *flags)) for trial in source.records[2:]]
        sources.append(source)
    for given in ([sources[0]], [sources[2]], [sources[3]], sources):
        found = ExploredResults.of(*map(Study, given))
        texts = (
            *("", "colour=none", "x=window_bytes", "x=window_bytes&colour=results&stat=p90&count=all"),
            *("x=streams&colour=window_bytes&baseline=()", "x=started_utc", "x=cycle&colour=streams"),
            *("x=window_bytes&colour=streams&baseline=1&against=difference", "colour=results&facet=none"),
            *(
                "stat=cdf",
                "x=path&colour=window_bytes",
                "x=streams&colour=window_bytes&where.window_bytes=()",
            ),
        )
        views = [parse_view(text, found) for text in texts]
        check(scripts, found, [(view, select_rows(found, view)) for view in views])
