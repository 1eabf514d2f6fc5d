"""``pathlab plan CAMPAIGN``: the rows in their order, and what they will take, without sending a packet."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from pathlab.campaign.budget import estimate_campaign, estimate_trial_bytes, estimate_trial_ns
from pathlab.campaign.load import load_campaign
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import plan_rows
from pathlab.units import format_bytes, format_time


@click.command(name="plan")
@click.argument("campaign")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of the campaign file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON lines.")
def command(campaign: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Show the plan of CAMPAIGN: its trials in their order, the time and the bytes they will take."""
    model = load_campaign(campaign, overrides)
    if as_json:
        _print_json(model)
    else:
        _print_table(model, Console(highlight=False))


def _print_json(model: Campaign) -> None:
    for row in plan_rows(model):
        line = {
            "row": row.row,
            "cycle": row.cycle,
            "source": row.path_source,
            "destination": row.path_destination,
            **row.settings,
            "estimate_ns": estimate_trial_ns(model, row),
            "bytes_max": estimate_trial_bytes(model, row),
        }
        click.echo(json.dumps(line))


def _bytes_text(size_bytes: int | None) -> str:
    return "unknown" if size_bytes is None else format_bytes(size_bytes)


def _print_table(model: Campaign, console: Console) -> None:
    table = Table(title=f"{model.title}: plan of '{model.name}', seed {model.seed}", title_justify="left")
    for heading in ("order", "cycle", "path", "streams", "window", "congestion", "time", "bytes at most"):
        table.add_column(heading, justify="left" if heading in ("path", "congestion") else "right")
    for row in plan_rows(model):
        table.add_row(
            str(row.row + 1),
            str(row.cycle + 1),
            f"{row.path_source} to {row.path_destination}",
            str(row.streams),
            "auto" if row.window_bytes is None else format_bytes(row.window_bytes),
            row.congestion or "default",
            format_time(estimate_trial_ns(model, row)),
            _bytes_text(estimate_trial_bytes(model, row)),
        )
    estimate = estimate_campaign(model)
    console.print(table)
    console.print(
        f"{estimate.trials} trials, about {format_time(estimate.time_ns)} (every wait at its cap: "
        f"{format_time(estimate.time_max_ns)})."
    )
    if estimate.bytes_max is None:
        console.print(
            "Bytes sent: unknown, as neither a link rate nor a round-trip time is known beforehand."
        )
    else:
        console.print(f"Bytes sent: at most {format_bytes(estimate.bytes_max)}.")
