"""``pathlab compare A B …``: what changed between results, for people and for CI."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import click

from pathlab.cli.commands.names import UNDECIDED, WORSE
from pathlab.cli.console import TerminalConsole
from pathlab.errors import ExitStatus
from pathlab.report.comparison.comparison_table import render_comparison
from pathlab.report.comparison.comparison_text import describe_comparison
from pathlab.report.report_builder import choose_comparison_form, write_comparison
from pathlab.store.results import Results
from pathlab.study.comparison.rows import ChangeVerdict, ComparisonRules, compare_results


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
    """Print how the other results differ from the first; the exit status that ``fail_on`` asks for."""
    if report is not None:
        choose_comparison_form(report)  # refuse the file before comparing
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
    refused = {None: False, WORSE: worse, UNDECIDED: worse or undecided}[fail_on]
    return ExitStatus.FOUND if refused else ExitStatus.DONE
