"""What a campaign costs besides its traffic: gaps between trials, share of the wall time, size of the store.

``python -m benchmarks.campaigns [SECONDS]`` (of each trial, 20 by default) runs over an emulated link of 100
Mbit/s and 10 ms: trials of 20 streams for the gaps and of 8 streams for the store. Gaps are from a trial's
last unloaded probe to the next one's first byte; drain and probes are what the plan asked for.
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

from pathlab.campaign.load import build_campaign
from pathlab.runner.campaign import CampaignSource, run_campaign
from pathlab.runner.events import Event, RateNow, TrialEnded, TrialStarted
from pathlab.store.results import Results

NS_PER_S = 1_000_000_000
TRIALS = 5
GAP_MAX_S = 0.3
SHARE_MIN_RATIO = 0.97
GROWTH_MAX_BYTES = 100_000
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


def run_trials(folder: Path, streams: int, seconds: float) -> Watch:
    """Run the trials of one number of streams and return what was seen."""
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
    watch = Watch(folder)
    campaign = build_campaign(data, label="overhead")
    outcome = run_campaign(CampaignSource(campaign=campaign, text=""), folder, watch)
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


def main(seconds: float) -> int:
    """Print the figures, and return 0 when all are within their limits."""
    with tempfile.TemporaryDirectory(prefix="pathlab-benchmark-") as scratch:
        folder = Path(scratch) / "gaps"
        watch = run_trials(folder, 20, seconds)
        lengths = list(read_lengths_s(folder))
        starts = [watch.first_byte_s[row] for row in sorted(watch.first_byte_s)]
        gaps = [
            later - start - end for (start, later), (_, end) in zip(pairwise(starts), lengths, strict=False)
        ]
        probes_s = sum(end - traffic for traffic, end in lengths)
        wall_s = watch.ended_s[-1] - watch.started_s[0] - probes_s
        share = sum(traffic for traffic, _ in lengths) / wall_s
        stored = run_trials(Path(scratch) / "store", 8, seconds)
        growth = [later - before for before, later in pairwise(stored.store_bytes)]
    gap, size = float(np.median(gaps)), float(np.mean(growth))
    enough = share >= SHARE_MIN_RATIO or seconds < 20  # shorter trials are for trying this out
    gap_text = f"median {1000 * gap:.0f} ms, largest {1000 * max(gaps):.0f} ms"
    lines = (
        (f"gap between trials of 20 streams: {gap_text}", gap < GAP_MAX_S),
        (f"traffic and drain of the wall time without probes: {100 * share:.2f} %", enough),
        (f"store: {size / 1000:.0f} kB a trial of 8 streams", size * 20 / seconds < GROWTH_MAX_BYTES),
    )
    for text, within in lines:
        click.echo(f"{text}: {'within' if within else 'BEYOND'} the limit")
    return 0 if all(within for _, within in lines) else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0))
