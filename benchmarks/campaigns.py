"""What a campaign costs besides its traffic: gaps between trials, share of the wall time, size of the store.

``python -m benchmarks.campaigns [SECONDS]`` (of each trial; 20 by default, which takes seven minutes)
runs over an emulated link of 100 Mbit/s and 10 ms: trials of 20 streams for the gaps and of 8 streams
for the store; then a few rows of the shipped sweep in its own lab, whose round trip of 160 ms every
connection takes twice. Gaps are from a trial's last unloaded probe to the next one's first byte; drain
and probes are what the plan requests.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np

from pathlab.campaign.load import build_campaign, load_campaign
from pathlab.campaign.model import Campaign
from pathlab.remote.hosts import RemoteAccess
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.runner.events import Event, RateNow, TrialEnded, TrialStarted
from pathlab.store.results import Results

NS_PER_S = 1_000_000_000
TRIALS = 5
SWEEP_TRIALS = 4
GAP_MAX_S = 0.3
SHARE_MIN_RATIO = 0.97
GROWTH_MAX_BYTES = 150_000
LAB = {
    "hosts": ["a", "b"],
    "links": [{"between": ["a", "b"], "rate": "100Mbit/s", "delay": "5ms", "queue_time": "20ms"}],
}


@dataclass
class Watch:
    """When each trial was started, carried its first byte, had ended; and how large the store was then."""

    folder: Path
    started_s: list[float] = field(default_factory=list)
    first_byte_s: dict[int, float] = field(default_factory=dict)
    ended_s: list[float] = field(default_factory=list)
    store_bytes: list[int] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        now_s = time.monotonic()
        if isinstance(event, TrialStarted):
            self.started_s.append(now_s)
        elif isinstance(event, RateNow):
            self.first_byte_s.setdefault(event.row, now_s - event.elapsed_ns / NS_PER_S)
        elif isinstance(event, TrialEnded):
            self.ended_s.append(now_s)
            self.store_bytes.append(sum(path.stat().st_size for path in self.folder.glob("results.db*")))


def describe_trials(streams: int, seconds: float) -> Campaign:
    """Trials of one number of streams."""
    data: dict[str, Any] = {
        "format": 1,
        "name": "overhead",
        "title": "overhead",
        "seed": 1,
        "cycles": TRIALS,
        "paths": [{"source": "a", "destination": "b"}],
        "factors": {"streams": streams, "window": "64KiB", "congestion": "cubic"},
        "trial": {"warmup": "0s", "duration": f"{seconds:g}s", "interval": "100ms"},
        "probes": {"interval": "1s" if seconds >= 20 else "100ms", "payload": "100B", "unloaded": 5},
        "lab": LAB,
    }
    return build_campaign(data, label="overhead")


def describe_sweep(seconds: float) -> Campaign:
    """Some rows of the sweep as it ships, but for the length of its trials and its surveys."""
    chosen = ["design=fraction", f"points={SWEEP_TRIALS}", "cycles=1", "survey=none"]
    return load_campaign("streams-sweep", [*chosen, f"trial.duration={seconds:g}s"])


def run_trials(folder: Path, campaign: Campaign, access: RemoteAccess | None = None) -> Watch:
    """Run a campaign and return what was seen."""
    watch = Watch(folder)
    outcome = run_campaign(CampaignSource(campaign=campaign, text="", access=access), folder, watch)
    if outcome.missing:
        raise click.ClickException(f"{outcome.missing} trials failed")
    return watch


def read_lengths_s(folder: Path) -> Iterator[tuple[float, float]]:
    """Since each trial's first byte: the end of traffic and drain, and the return of the last probe."""
    with Results.open(folder) as results:
        for number in results.trials()["trial_id"]:
            traffic = results.series(int(number), "sender_intervals")["end_ns"].max()
            probes = results.series(int(number), "unloaded_probes")
            last = (probes["sent_ns"] + probes["rtt_ns"].fillna(0)).max()
            yield traffic / NS_PER_S, last / NS_PER_S


def measure_gaps(watch: Watch) -> tuple[list[float], float]:
    """Seconds from each trial's end to the next one's first byte, and the share of traffic and drain.

    The share is of the time from the first to the last trial's first byte, less the probes after the traffic.
    """
    lengths = list(read_lengths_s(watch.folder))
    starts = [watch.first_byte_s[row] for row in sorted(watch.first_byte_s)]
    gaps = [later - start - end for (start, later), (_, end) in zip(pairwise(starts), lengths, strict=False)]
    probes_s = sum(end - traffic for traffic, end in lengths[:-1])
    share = sum(traffic for traffic, _ in lengths[:-1]) / (starts[-1] - starts[0] - probes_s)
    return gaps, share


def main(seconds: float) -> int:
    """Print the figures, and return 0 when all are within their limits."""
    with tempfile.TemporaryDirectory(prefix="pathlab-benchmark-") as scratch:
        gaps, share = measure_gaps(run_trials(Path(scratch) / "gaps", describe_trials(20, seconds)))
        stored = run_trials(Path(scratch) / "store", describe_trials(8, seconds))
        growth = [later - before for before, later in pairwise(stored.store_bytes)]
        sweep_gaps, sweep_share = measure_gaps(run_trials(Path(scratch) / "sweep", describe_sweep(seconds)))
    gap, size = float(np.median(gaps)), float(np.mean(growth))
    checked = seconds >= 20  # shorter trials are for trying this out
    gap_text = f"median {1000 * gap:.0f} ms, largest {1000 * max(gaps):.0f} ms"
    sweep_text = f"{100 * sweep_share:.2f} % (gaps: median {1000 * np.median(sweep_gaps):.0f} ms)"
    lines = (
        (f"gap between trials of 20 streams: {gap_text}", gap < GAP_MAX_S),
        (f"traffic and drain of the wall time without probes: {100 * share:.2f} %", share >= SHARE_MIN_RATIO),
        (f"the same in the sweep, at 160 ms: {sweep_text}", sweep_share >= SHARE_MIN_RATIO),
        (f"store: {size / 1000:.0f} kB a trial of 8 streams", size * 20 / seconds < GROWTH_MAX_BYTES),
    )
    for text, within in lines:
        verdict = f"{'within' if within else 'BEYOND'} the limit" if checked else "not checked below 20 s"
        click.echo(f"{text}: {verdict}")
    return 0 if all(within for _, within in lines) or not checked else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0))
