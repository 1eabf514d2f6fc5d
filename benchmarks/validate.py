"""PathLab's engine against iperf3 over an emulated path of 100 Mbit/s and 20 ms, interleaved.

Prints the ratio of the throughputs with its interval at 1, 4 and 16 streams, and whether it lies within 0.98
to 1.02. ``python -m benchmarks.validate [CYCLES]``; seven cycles take about seven minutes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from pathlab.campaign.load import build_campaign
from pathlab.cli.commands.validate import ENGINES, build_campaign_tables
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.runner.events import Event, TrialEnded
from pathlab.store.results import Results
from pathlab.study.comparison.engine_ratio import compare_engines

LIMITS = (0.98, 1.02)
LAB = {
    "hosts": ["a", "b"],
    "links": [{"between": ["a", "b"], "rate": "100Mbit/s", "delay": "10ms", "queue_time": "40ms"}],
}


def main(cycles: int) -> int:
    """Measure, print, and return 0 when every ratio is within the limits."""
    options = {"streams": "1,4,16", "cycles": cycles, "warmup": "2s", "duration": "5s"}
    tables = build_campaign_tables("a", "b", {**options, "congestion": "cubic", "lab": None})
    campaign = build_campaign({**tables, "lab": LAB}, label="validate")
    with tempfile.TemporaryDirectory(prefix="pathlab-benchmark-") as scratch:
        folder = Path(scratch) / "validate"
        run_campaign(CampaignSource(campaign=campaign, text=""), folder, show)
        with Results.open(folder) as results:
            records = results.records()
            engines = {row.row: str(row.settings["engine"]) for row in results.plan()}
    ratios = compare_engines(records, [engines[record.plan_row] for record in records], pair=ENGINES)
    within = True
    for ratio in ratios:
        low, high = ratio.interval.low, ratio.interval.high
        bounds = "undecided" if low is None or high is None else f"{low:.4f} to {high:.4f}"
        inside = ratio.ratio is not None and LIMITS[0] <= ratio.ratio <= LIMITS[1]
        within &= inside
        word = "within" if inside else "OUTSIDE"
        click.echo(
            f"{ratio.streams:>3} streams, {ratio.pairs} pairs: ratio {ratio.ratio or float('nan'):.4f}, "
            f"95 % {bounds}: {word} {LIMITS[0]} to {LIMITS[1]}"
        )
    return 0 if within and ratios else 1


def show(event: Event) -> None:
    """A line for each trial."""
    if isinstance(event, TrialEnded):
        rate = event.record.throughput_bits_per_s
        flags = ", ".join(event.record.flags)
        text = event.record.failure if rate is None else f"{rate / 1e6:.2f} Mbit/s"
        click.echo(f"{event.settings['engine']:>7} {event.record.streams:>3}  {text}  {flags}")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 7))
