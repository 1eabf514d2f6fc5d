"""The report renders what study answers: it calls no statistics of its own and chooses no single reading."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pathlab.report

REPORT = Path(pathlab.report.__file__).parent
#: Functions of numpy, scipy and the standard library that make a statistic of several values.
STATISTICS = {
    *("average", "corrcoef", "cov", "curve_fit", "fit", "histogram", "linregress", "mean", "median"),
    *("nanmean", "nanmedian", "nanpercentile", "nanquantile", "nanstd", "nanvar", "percentile", "polyfit"),
    *("quantile", "quantiles", "std", "stdev", "var", "variance"),
}
#: Functions of study that make one figure of the values of several trials, which the caller chose.
SPREADS = {"measure_records", "measure_spread"}
#: Functions that choose one of several values.
CHOICES = {"max", "min", "sorted"}
PLACES = {"argmax", "argmin", "nanargmax", "nanargmin"}
#: Where a choice is one of drawing: which of many trials are shown as points, the extent of a picture.
DRAWING = {"base/points.py", "hosts/lab_figure.py"}
#: Where a choice is one of words: a number of trials or a name, or which candidate a sentence is about.
WORDS = {
    *("base/inputs.py", "base/phrases.py", "datagrams/datagram_answers.py", "messages/message_curves.py"),
    *("messages/message_table.py", "messages/message_text.py", "multipath/multipath_remarks.py"),
    *("multipath/multipath_text.py", "technologies/technology_text.py"),
}
#: Folders without sentences on trials.
FORMS = {"explorer", "formats", "plots"}
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


def find_choices(tree: ast.AST) -> Iterator[str]:
    """Where a module chooses among readings: by a key, of a bare list, or by one attribute of each.

    What is counted or sorted by the number of its members, by streams or by name is no reading.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pathlab.study"):
            yield from {alias.name for alias in node.names} & SPREADS
        elif isinstance(node, ast.Attribute) and node.attr in PLACES:
            yield f"{ast.unparse(node.value)}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CHOICES:
            keys = [one.value for one in node.keywords if one.arg == "key"]
            read = {one.attr for key in keys for one in ast.walk(key) if isinstance(one, ast.Attribute)}
            chosen = node.args[0] if len(node.args) == 1 else None
            bare = isinstance(chosen, ast.Name) and not keys
            each = isinstance(chosen, ast.GeneratorExp) and isinstance(chosen.elt, ast.Attribute)
            if node.func.id == "sorted":
                if read - {"name", "streams"}:
                    yield ast.unparse(node)
            elif keys or bare or each:
                yield ast.unparse(node)


def read_report(search: Callable[[ast.AST], Iterator[str]]) -> dict[str, list[str]]:
    files = {str(path.relative_to(REPORT)): path for path in sorted(REPORT.rglob("*.py"))}
    assert len(files) > 100
    return {
        name: found
        for name, path in files.items()
        if (found := sorted(search(ast.parse(path.read_text(encoding="utf-8")))))
    }


def test_the_report_computes_no_statistic() -> None:
    assert read_report(find_statistics) == {}


def test_topics_choose_no_single_reading() -> None:
    modules = {name for name in read_report(find_choices) if name.partition("/")[0] not in FORMS}
    assert modules == DRAWING | WORDS


@pytest.mark.parametrize(
    "line",
    [
        "far = max(known, key=lambda cell: abs(known[cell]))",
        "least = int(np.nanargmin(capacities))",
        "text = f'{min(known)} to {max(known)}'",
        "best = sorted(cells, key=lambda cell: -(cell.throughput.median or 0.0))",
        "low = min(one.median for one in spreads)",
        "from pathlab.study.base.answer import Spread, measure_spread",
    ],
)
def test_a_choice_is_seen(line: str) -> None:
    assert list(find_choices(ast.parse(line)))


@pytest.mark.parametrize(
    "line", ["most = max(1, count)", "width = max(len(name) for name in names)", "names = sorted(names)"]
)
def test_a_layout_is_no_choice(line: str) -> None:
    assert not list(find_choices(ast.parse(line)))


def test_a_statistic_is_seen() -> None:
    source = "import statistics\nimport numpy as np\nx = np.median([1])\n"
    source += "from pathlab.analysis.estimators.quantiles import quartiles\n"
    assert sorted(find_statistics(ast.parse(source))) == ["np.median", "quartiles", "statistics"]
