"""The report renders what study answers: it calls no statistics of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pathlab.report

REPORT = Path(pathlab.report.__file__).parent
#: Functions of numpy, scipy and the standard library that make a statistic of several values.
STATISTICS = {
    *("average", "corrcoef", "cov", "curve_fit", "fit", "histogram", "linregress", "mean", "median"),
    *("nanmean", "nanmedian", "nanpercentile", "nanquantile", "nanstd", "nanvar", "percentile", "polyfit"),
    *("quantile", "quantiles", "std", "stdev", "var", "variance"),
}
#: Functions of analysis that state a rule and compute nothing of trials.
RULES = {"list_thresholds", "median_interval_minimum"}


def find_statistics(tree: ast.AST) -> Iterator[str]:
    """What a module of the report computes, or imports to compute with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in STATISTICS and isinstance(node.value, ast.Name):
            if node.value.id in ("np", "numpy", "statistics", "stats"):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names}
            if node.module.startswith("pathlab.analysis"):
                yield from (name for name in names - RULES if name[0].islower())
            elif node.module.partition(".")[0] in ("scipy", "statsmodels", "statistics"):
                yield node.module
        elif isinstance(node, ast.Import):
            tops = {alias.name.partition(".")[0] for alias in node.names}
            yield from tops & {"scipy", "statsmodels", "statistics"}


def test_the_report_computes_no_statistic() -> None:
    files = sorted(REPORT.rglob("*.py"))
    assert len(files) > 50
    found = {
        str(path.relative_to(REPORT)): names
        for path in files
        if (names := sorted(find_statistics(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert found == {}


def test_a_statistic_is_seen() -> None:
    source = "import statistics\nimport numpy as np\nx = np.median([1])\n"
    source += "from pathlab.analysis.estimators.quantiles import quartiles\n"
    assert sorted(find_statistics(ast.parse(source))) == ["np.median", "quartiles", "statistics"]
