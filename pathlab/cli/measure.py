"""``pathlab measure HOST [HOST]``: a single trial between two hosts, at once."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathlab.campaign.host_file import put_hosts
from pathlab.campaign.load import build_campaign
from pathlab.campaign.model import Campaign
from pathlab.cli.host_options import name_hosts, read_tables
from pathlab.errors import CampaignError, PartialCampaign, TrialError, UsageError
from pathlab.store.flags import Status
from pathlab.units import parse_time_ns

if TYPE_CHECKING:
    from rich.console import Console

    from pathlab.store.records import TrialRecord

LABEL = "measure"
#: Key of the campaign that a measurement runs, and the option that sets it.
OPTIONS = {
    "factors.window": "--window",
    "factors.congestion": "--congestion",
    "trial.duration": "--time",
    "trial.warmup": "--warmup",
    "trial.interval": "--interval",
    "probes.interval": "--probe-interval",
    "probes.unloaded": "--unloaded",
}


def measure(
    ends: tuple[str, str],
    hosts_file: Path | None,
    out: Path | None,
    *,
    wait_idle: str | None,
    accept_new_host_keys: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Measure once from one host to the other and print the trial; ``settings`` are the options by name."""
    campaign = _campaign(ends, settings, hosts_file)
    # Takes half a second, so after the checks.
    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.live import LiveView
    from pathlab.remote.hosts import build_access
    from pathlab.runner.campaign.folders import choose_folder
    from pathlab.runner.campaign.run import CampaignSource, run_campaign

    access = build_access(accept_new_host_keys=accept_new_host_keys)
    console = TerminalConsole(stderr=as_json)
    idle_ns = parse_time_ns(wait_idle or 0, bare_unit="s")
    source = CampaignSource(campaign=campaign, text="", access=access, wait_idle_ns=idle_ns)
    with tempfile.TemporaryDirectory(prefix="pathlab-") as scratch:
        folder = choose_folder(campaign, out=out or Path(scratch) / "measure", new=True)
        with LiveView(console, quiet=as_json, bar_only=True) as view:
            outcome = run_campaign(source, folder, view)
        record = _show(folder, as_json, console)
    if outcome.interrupted:
        raise PartialCampaign(
            f"the trial was {outcome.ended}", hint="what it measured until then is above; measure again"
        )
    if record.status != Status.COMPLETE:
        raise TrialError(
            record.failure or "the trial failed", hint="pathlab doctor shows what this host can do"
        )


def _campaign(ends: tuple[str, str], settings: dict[str, Any], hosts_file: Path | None) -> Campaign:
    tables = read_tables(hosts_file)
    named = name_hosts(ends, tables)
    (source, _), (destination, _) = named
    duration = settings["duration"]
    data: dict[str, Any] = {
        "format": 1,
        "name": "measure",
        "title": f"{source} to {destination}",
        "seed": 0,
        "retries": 0,
        "hosts": {name: table for name, table in named if table is not None},
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
    put_hosts(data, tables)  # those to be jumped through
    try:
        return build_campaign(data, label=LABEL)
    except CampaignError as error:
        raise UsageError(_in_words_of_options(error), hint="pathlab measure --help") from error


def _in_words_of_options(error: CampaignError) -> str:
    """The mistakes, each under the option that its value was given by."""
    lines = []
    for mistake in error.mistakes:
        key, _, text = mistake.removeprefix(f"{LABEL}:").partition(": ")
        lines.append(f"{OPTIONS.get(key, key)}: {text}")
    return "; ".join(lines)


def _show(folder: Path, as_json: bool, console: Console) -> TrialRecord:
    """Print the trial, unless it failed before anything was measured."""
    from pathlab.report.text import render_trial
    from pathlab.store.results import Results

    with Results.open(folder) as results:
        trial_id, record = list(results.records_by_id().items())[-1]
        if as_json:
            click.echo(json.dumps(results.export_record(trial_id), indent=2))
        elif record.status == Status.COMPLETE or record.received_total_bytes is not None:
            render_trial(record, results, trial_id, console)
        return record
