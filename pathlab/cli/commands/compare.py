"""Compare results with each other, combination by combination."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.cli.declaration import argument, declare, flag, json_flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.names import COMPARISON_ENDINGS
from pathlab.cli.values import STORED_PATH, CheckedPath, check_writable
from pathlab.errors import ExitStatus
from pathlab.report.plots.figure_file import check_comparison_file
from pathlab.study.measures import METRICS

with DeferredImports() as libraries:
    import json

    from pathlab.cli.console import TerminalConsole
    from pathlab.report.comparison.comparison_table import render_comparison
    from pathlab.report.comparison.comparison_text import describe_comparison
    from pathlab.report.report_builder import choose_comparison_form, write_comparison
    from pathlab.store.results import Results
    from pathlab.study.comparison.rows import ChangeVerdict, ComparisonRules, compare_results

#: Verdicts of ``pathlab.study.comparison.rows.ChangeVerdict`` that a caller can ask for.
FAIL_ON = ("worse", "undecided")


def _check_page(page: Path, option: str) -> None:
    check_comparison_file(page, COMPARISON_ENDINGS)
    check_writable(page, option)


def compare(
    results: tuple[Path, ...],
    *,
    metrics: tuple[str, ...],
    margin: float,
    any_path: bool,
    ignored: tuple[str, ...],
    unchanged: Path | None,
    flagged: bool,
    fail_on: str | None,
    as_json: bool,
    report: Path | None,
) -> int:
    """Compare results B and others with A for each combination: better, worse, equivalent or undecided."""
    libraries.load()
    if report is not None:
        choose_comparison_form(report)  # needs a library that may be missing
    rules = ComparisonRules(
        metrics=tuple(dict.fromkeys(metrics)),
        margin_ratio=margin,
        any_path=any_path,
        ignored=ignored,
        flagged=flagged,
    )
    with contextlib.ExitStack() as stack:
        opened = [(str(path), stack.enter_context(Results.open(path))) for path in results]
        again = None if unchanged is None else stack.enter_context(Results.open(unchanged))
        result = compare_results(opened, rules, unchanged=again)
    if as_json:
        click.echo(json.dumps(describe_comparison(result), indent=2, allow_nan=False))
    else:
        render_comparison(result, TerminalConsole())
    if report is not None:
        click.echo(str(write_comparison(result, report)), err=as_json)
    worse = result.count(ChangeVerdict.WORSE) > 0
    undecided = result.count(ChangeVerdict.UNDECIDED) > 0 or bool(result.unusable)
    refused = {None: False, "worse": worse, "undecided": worse or undecided}[fail_on]
    return ExitStatus.FOUND if refused else ExitStatus.DONE


command = declare(
    "compare",
    compare,
    argument("results", nargs=-1, required=True, type=STORED_PATH, metavar="A B..."),
    option(
        "--metric",
        "metrics",
        multiple=True,
        type=click.Choice(list(METRICS)),
        metavar="NAME",
        help=f"What to compare: {', '.join(METRICS)}; may be repeated. Default: throughput and loaded-rtt; "
        "of UDP flows packets and udp-loss; of messages round-trip-p99, cpu-message and, where no rate was "
        "offered, messages.",
    ),
    option(
        "--margin",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=MARGIN_RATIO,
        help="Share below which a difference does not matter.",
    ),
    flag("--any-path", help="Ignore host names when matching combinations."),
    option(
        "--ignore",
        "ignored",
        multiple=True,
        metavar="SETTING",
        help="Match combinations without a setting that was changed on purpose, such as window or pacing. "
        "May be repeated.",
    ),
    option(
        "--unchanged",
        type=STORED_PATH,
        help="A again, without any change: the noise floor is how far it differs, not how far halves do.",
    ),
    flag(
        "--all",
        "flagged",
        help="Count flagged trials too, as of a machine that was too busy; every number is provisional then.",
    ),
    option(
        "--fail-on",
        type=click.Choice(FAIL_ON),
        help="End with status 6 where a row is worse; undecided: also where one is undecided, or where a "
        "combination has no usable trial on one side. Status 7: no trial is usable.",
    ),
    json_flag("Print JSON."),
    option(
        "--report",
        type=CheckedPath(_check_page),
        metavar="FILE",
        help="Write the comparison as a page as well: .html, .md or .pdf.",
    ),
)
