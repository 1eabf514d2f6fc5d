"""What a comparison says: its sentences, its table at every width, its JSON."""

from __future__ import annotations

import dataclasses
import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from pathlab.report.sections.comparison_changes import format_change
from pathlab.report.sections.comparison_table import render_comparison
from pathlab.report.sections.comparison_text import describe_comparison
from pathlab.study.comparison.rows import (
    ComparisonRow,
    ComparisonRules,
    ResultsComparison,
    compare_results,
)
from tests.builders.comparisons import compare, make_results
from tests.builders.results import make_quickstart


def test_json_holds_every_row_and_the_table_every_verdict() -> None:
    found = compare(make_results(seed=1), make_results(seed=2, rate=0.9), metrics=("throughput", "cpu"))
    node = json.loads(json.dumps(describe_comparison(found), allow_nan=False))
    assert (node["type"], node["version"], node["baseline"]) == ("pathlab-comparison", 1, "r0")
    assert node["verdicts"] == {"better": 0, "worse": 2, "equivalent": 2, "undecided": 0}
    row = node["rows"][0]
    assert (row["streams"], row["window_bytes"], row["metric"], row["unit"]) == (
        1,
        65_536,
        "throughput",
        "bit/s",
    )
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    assert row["verdict"] == "worse"


def render(found: ResultsComparison, width: int) -> str:
    out = io.StringIO()
    render_comparison(found, Console(file=out, width=width))
    return out.getvalue()


def make_changed() -> ResultsComparison:
    """Eight combinations: two slower, one with two trials, the rest alike; names longer than a terminal."""
    levels = [(streams, window) for streams in (1, 2, 4, 8) for window in (65_536, 262_144)]
    base = make_quickstart(cycles=12, levels=levels)
    sides = []
    for seed, slow in ((1, 1.0), (2, 0.82)):
        rng = np.random.default_rng(seed)
        records = [
            dataclasses.replace(
                one,
                throughput_bits_per_s=(one.throughput_bits_per_s or 0.0)
                * float(np.exp(rng.normal(0, 0.002)))
                * (slow if one.streams == 4 else 1.0),
            )
            for one in base.records
            if seed == 1 or one.cycle < 2 or (one.streams, one.window_requested_bytes) != (8, 65_536)
        ]
        sides.append(base.copy(trials=records, series={}))
    labels = (f"/srv/{'long-' * 14}before", "/srv/after")
    return compare_results(
        list(zip(labels, sides, strict=True)), ComparisonRules(metrics=("throughput", "idle-rtt"))
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_has_fewer_columns_and_no_cut_text(width: int) -> None:
    text = render(make_changed(), width)
    assert "…" not in text
    lines = text.splitlines()
    assert f"Before: /srv/{'long-' * 14}before" in lines
    assert max(len(line.rstrip()) for line in lines if "/srv/" not in line) <= width
    (row,) = [line for line in lines if line.startswith("4 × 256 KiB") and "−18" in line]
    assert row.split()[-1] == "worse"
    assert ("Before" in text.split("Throughput, ")[1].split("1 × 64")[0]) == (width > 60)


def set_interval(row: ComparisonRow, low: float, high: float) -> ComparisonRow:
    """The row with an interval of its ratio that ends there."""
    interval = dataclasses.replace(row.change.interval, low=math.log(low), high=math.log(high))
    return dataclasses.replace(row, change=dataclasses.replace(row.change, interval=interval))


@pytest.mark.parametrize(
    ("low", "high", "printed"),
    [
        (1.0004, 1.12, "+0.04 to +12.0 %"),  # better: +0.0 would say that no change is possible
        (0.9, 0.99996, "−10.0 to −0.004 %"),
        (0.953, 1.0502, "−4.7 to +5.02 %"),  # undecided: +5.0 would be equivalent
        (0.9521, 1.04, "−4.8 to +4.0 %"),
        (0.9524, 1.04, "−4.76 to +4.0 %"),
        (1 / 1.05, 1.0, "−4.8 to 0.0 %"),
    ],
)
def test_a_printed_interval_ends_on_the_side_that_its_verdict_says(
    low: float, high: float, printed: str
) -> None:
    row = set_interval(compare(make_results(seed=1), make_results(seed=2)).rows[0], low, high)
    assert format_change(row, 0.05)[1] == printed
