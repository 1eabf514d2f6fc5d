"""``pathlab measure HOST [HOST]``: a single trial between two hosts, at once."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from pathlab.campaign.load import build_campaign
from pathlab.campaign.model import LOCAL, Campaign
from pathlab.cli.live import LiveView
from pathlab.errors import HostError, PartialCampaign
from pathlab.report.text import render_trial
from pathlab.runner.campaign import CampaignSource, run_campaign
from pathlab.store.results import Results


@click.command(name="measure")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST [HOST]")
@click.option(
    "--streams", type=click.IntRange(1, 4096), default=1, show_default=True, help="TCP connections."
)
@click.option("--window", default="auto", show_default=True, help="Socket buffer per stream, such as 256K.")
@click.option(
    "--time", "duration", default="10s", show_default=True, help="Steady window; a bare number is seconds."
)
@click.option("--warmup", default="1s", show_default=True, help="Traffic before the steady window.")
@click.option("--interval", default="100ms", show_default=True, help="Length of one record.")
@click.option("--congestion", default="default", show_default=True, help="Congestion control, such as cubic.")
@click.option("--probe-interval", default="20ms", show_default=True, help="Time between two RTT probes.")
@click.option("--unloaded", default=50, show_default=True, help="RTT probes after the traffic.")
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Keep the results, with all series, in this folder."
)
def command(hosts: tuple[str, ...], as_json: bool, out: Path | None, **settings: Any) -> None:
    """Measure once from the first HOST to the second (from this machine when one is named).

    A HOST is `local`, this machine.
    """
    if len(hosts) > 2:
        raise click.UsageError(f"two hosts at most, {len(hosts)} given")
    source, destination = hosts if len(hosts) == 2 else (LOCAL, hosts[0])
    campaign = _campaign(source, destination, settings)
    console = Console(stderr=as_json, highlight=False)
    with tempfile.TemporaryDirectory(prefix="pathlab-") as scratch:
        folder = out or Path(scratch) / "measure"
        with LiveView(console, quiet=as_json) as view:
            outcome = run_campaign(CampaignSource(campaign=campaign, text=""), folder, view)
        _show(folder, as_json, console)
    if outcome.complete < outcome.rows:
        reason = "ended by a signal" if outcome.interrupted else "failed"
        raise PartialCampaign(f"the trial {reason}", hint="the reason stands above")


def _campaign(source: str, destination: str, settings: dict[str, Any]) -> Campaign:
    for host in (source, destination):
        if host != LOCAL:
            raise HostError(
                "unknown host", host=host, stage="connect", hint=f"known here: {LOCAL} (this machine)"
            )
    duration = settings["duration"]
    data: dict[str, Any] = {
        "format": 1,
        "name": "measure",
        "title": f"{source} to {destination}",
        "seed": 0,
        "paths": [{"source": source, "destination": destination}],
        "factors": {
            "streams": settings["streams"],
            "window": settings["window"],
            "congestion": settings["congestion"],
        },
        "trial": {
            "warmup": settings["warmup"],
            "duration": f"{duration}s" if duration.replace(".", "", 1).isdigit() else duration,
            "interval": settings["interval"],
        },
        "probes": {"interval": settings["probe_interval"], "unloaded": settings["unloaded"]},
    }
    return build_campaign(data, label="measure")


def _show(folder: Path, as_json: bool, console: Console) -> None:
    with Results.open(folder) as results:
        trials = results.trials()
        trial_id = int(trials["trial_id"].iloc[-1])
        if as_json:
            click.echo(json.dumps(results.export_record(trial_id), indent=2))
        else:
            render_trial(results.records()[-1], results, trial_id, console)
