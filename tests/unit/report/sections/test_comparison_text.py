"""What a comparison says: its table at every width, its JSON, its printed intervals."""

import dataclasses
import math

import pytest

from pathlab.report.sections.comparison_changes import format_change
from pathlab.report.sections.comparison_table import render_comparison
from pathlab.study.comparison.rows import ComparisonRow, ResultsComparison
from tests.builders.comparisons import compare, make_changed, make_results
from tests.builders.printed import print_text


@pytest.fixture(scope="module")
def changed() -> ResultsComparison:
    return make_changed()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_has_fewer_columns_and_no_cut_text(changed: ResultsComparison, width: int) -> None:
    text = print_text(lambda console: render_comparison(changed, console), width)
    assert "…" not in text
    lines = text.splitlines()
    assert f"Before: /srv/{'long-' * 14}before" in lines
    assert max(len(line.rstrip()) for line in lines if "/srv/" not in line) <= width
    (row,) = [line for line in lines if line.startswith("4 × 256 KiB") and "−18" in line]
    assert row.split()[-1] == "worse"
    assert ("Before" in text.split("Throughput, ")[1].split("1 × 64")[0]) == (width > 60)


@pytest.fixture(scope="module")
def row() -> ComparisonRow:
    return compare(make_results(seed=1), make_results(seed=2)).rows[0]


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
    row: ComparisonRow, low: float, high: float, printed: str
) -> None:
    interval = dataclasses.replace(row.change.interval, low=math.log(low), high=math.log(high))
    ended = dataclasses.replace(row, change=dataclasses.replace(row.change, interval=interval))
    assert format_change(ended)[1] == printed
