"""``pathlab compare A B …``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.names import COMPARED_METRICS, MARGIN_RATIO, METRICS, UNDECIDED, WORSE
from pathlab.cli.commands.options import PATH


@click.command(name="compare")
@click.argument("results", nargs=-1, required=True, type=PATH, metavar="A B...")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    type=click.Choice(METRICS),
    default=COMPARED_METRICS,
    show_default=True,
    help="What to compare; may be repeated.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=MARGIN_RATIO,
    show_default=True,
    help="Share below which a difference does not matter.",
)
@click.option("--any-path", is_flag=True, help="Compare whatever the hosts are called.")
@click.option(
    "--unchanged",
    type=PATH,
    help="A again, without any change: the noise floor is how far it differs, not how far halves do.",
)
@click.option(
    "--fail-on",
    type=click.Choice([WORSE, UNDECIDED]),
    help="End with status 6 where a row is worse; undecided: also where one is undecided.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--report",
    type=PATH,
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
    """Compare results B and others with A for each combination: better, worse, equivalent or undecided."""
    from pathlab.cli import compare as action
    from pathlab.study.comparison.rows import ComparisonRules

    rules = ComparisonRules(metrics=tuple(dict.fromkeys(metrics)), margin_ratio=margin, any_path=any_path)
    return action.compare(
        results, rules, unchanged=unchanged, fail_on=fail_on, as_json=as_json, report=report
    )
