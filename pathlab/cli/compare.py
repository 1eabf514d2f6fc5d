"""``pathlab compare A B …``: what changed between results, for people and for CI."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import click
from rich.console import Console

from pathlab.report.comparison_metrics import METRICS
from pathlab.report.comparison_results import Change, Rules, compare_results
from pathlab.report.comparison_text import describe_comparison, render_comparison
from pathlab.report.page.comparison import write_comparison
from pathlab.store.results import Results

FOUND_STATUS = 6
_DEFAULTS = Rules()


@click.command(name="compare")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="A B...")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    type=click.Choice(list(METRICS)),
    default=_DEFAULTS.metrics,
    show_default=True,
    help="What to compare; may be repeated.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=_DEFAULTS.margin_ratio,
    show_default=True,
    help="Share below which a difference does not matter.",
)
@click.option("--any-path", is_flag=True, help="Compare whatever the hosts are called.")
@click.option(
    "--unchanged",
    type=click.Path(path_type=Path),
    help="A again, without any change: the noise floor is how far it differs, not how far halves do.",
)
@click.option(
    "--fail-on",
    type=click.Choice([str(Change.WORSE), str(Change.UNDECIDED)]),
    help="End with status 6 where a row is worse; undecided: also where one is undecided.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the comparison as a page as well: .html, .md or .pdf.",
)
def command(
    results: tuple[Path, ...],
    metrics: tuple[str, ...],
    margin: float,
    any_path: bool,
    unchanged: Path | None,
    fail_on: str | None,
    as_json: bool,
    report: Path | None,
) -> int:
    """Compare results B and others with A, condition by condition: better, worse, equivalent or undecided."""
    rules = Rules(metrics=tuple(dict.fromkeys(metrics)), margin_ratio=margin, any_path=any_path)
    with contextlib.ExitStack() as stack:
        opened = [(str(path), stack.enter_context(Results.open(path))) for path in results]
        again = None if unchanged is None else stack.enter_context(Results.open(unchanged))
        found = compare_results(opened, rules, unchanged=again)
    if as_json:
        click.echo(json.dumps(describe_comparison(found), indent=2, allow_nan=False))
    else:
        render_comparison(found, Console(highlight=False))
    if report is not None:
        click.echo(str(write_comparison(found, report)), err=as_json)
    refused = {None: 0, "worse": found.count(Change.WORSE)}.get(
        fail_on, found.count(Change.WORSE) + found.count(Change.UNDECIDED)
    )
    return FOUND_STATUS if refused else 0
