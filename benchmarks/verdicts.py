"""How often the limit verdict names the true cause: a confusion table over emulated links.

``python benchmarks/verdicts.py --help`` says how; README.md alongside it says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from outcome import echo, translate_faults

from pathlab.analysis.verdicts.limits import Limit
from pathlab.campaign.load import CampaignText, load_campaign
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.store.records import CampaignRecord, PlanRecord
from pathlab.store.usable import parse_flags, serialize_flags
from pathlab.study.analyses import StudiedResults, Study

RIGHT_RATIO = 0.90
UNDECIDED = "undecided"
LAB_LIMITED, PACING = "lab-limited", "pacing_bits_per_s"
HEAD = """
format = 1
name = "{name}"
title = "{name}"
seed = 1
cycles = {cycles}
[trial]
warmup = "1s"
duration = "{seconds}s"
[probes]
interval = "20ms"
unloaded = 30
"""
LAB = """
[[paths]]
source = "a"
destination = "b"
[lab]
hosts = ["a", "b"]
[[lab.links]]
between = ["a", "b"]
rate = "{rate}Mbit/s"
delay = "{delay}ms"
queue = "{queue}kB"
loss = "{loss}%"
"""
LOCAL = """
[[paths]]
source = "local"
destination = "local"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that limits a flow, made so by factors and link; ``expected`` are the right verdicts."""

    name: str
    expected: tuple[Limit, ...]
    factors: str
    place: str
    hog: int | None = None  # a core that something else keeps busy
    least_s: int = 0  # steady window that its round trips need, so that a rate can be called flat


def make_link(*, rate: int, delay: int, queue: int, loss: float = 0) -> str:
    """A lab of one link: Mbit/s, ms one way, kB of queue, per cent of loss."""
    return LAB.format(rate=rate, delay=delay, queue=queue, loss=loss)


WIDE = make_link(rate=100, delay=10, queue=500)
CAUSES = (
    Cause(
        name="receive-buffer-64k",
        expected=(Limit.RECEIVER_WINDOW,),
        factors='streams = 2\nwindow_sender = "4MiB"\nwindow_receiver = "64KiB"\ncongestion = "cubic"',
        place=WIDE,
    ),
    Cause(
        name="send-buffer-64k",
        expected=(Limit.SEND_BUFFER,),
        factors='streams = 2\nwindow_sender = "64KiB"\nwindow_receiver = "4MiB"\ncongestion = "cubic"',
        place=WIDE,
    ),
    Cause(
        name="both-buffers-64k",
        expected=(Limit.RECEIVER_WINDOW, Limit.SEND_BUFFER),
        factors='streams = 1\nwindow = "64KiB"\ncongestion = "cubic"',
        place=WIDE,
    ),
    Cause(
        name="random-loss-reno",
        expected=(Limit.CONGESTION,),
        factors='streams = 1\nwindow = "4MiB"\ncongestion = "reno"',
        place=make_link(rate=100, delay=10, queue=500, loss=0.5),
    ),
    Cause(
        name="random-loss-8-streams",
        expected=(Limit.CONGESTION,),
        factors='streams = 8\nwindow = "256KiB"\ncongestion = "reno"',
        place=make_link(rate=200, delay=10, queue=500, loss=1),
    ),
    Cause(
        name="random-loss-32-streams",
        expected=(Limit.CONGESTION,),
        factors='streams = 32\nwindow = "256KiB"\ncongestion = "reno"',
        place=make_link(rate=400, delay=20, queue=1000, loss=1),
    ),
    Cause(
        name="bottleneck-queue",
        expected=(Limit.PATH_CAPACITY,),
        factors='streams = 4\nwindow = "1MiB"\ncongestion = "cubic"',
        place=make_link(rate=30, delay=20, queue=200),
    ),
    Cause(
        name="many-windows",
        expected=(Limit.PATH_CAPACITY,),
        factors='streams = 12\nwindow = "64KiB"\ncongestion = "cubic"',
        place=make_link(rate=30, delay=20, queue=600),
        least_s=4,
    ),
    Cause(
        name="sender-paces-itself",
        expected=(Limit.APPLICATION,),
        factors='streams = 2\nwindow = "1MiB"\npacing = "8Mbit/s"\ncongestion = "cubic"',
        place=WIDE,
    ),
    Cause(
        name="pinned-busy-core",
        expected=(Limit.HOST_CPU,),
        factors='streams = 2\ncpus = "0"',
        place=LOCAL,
        hog=0,
    ),
)


class View:
    """Results as the benchmark classifies them: with or without the settings of link and pacing.

    With ``lab_limited``, trials with that flag, such as those of a busy machine, are classified as well.
    """

    def __init__(self, source: StudiedResults, *, blind: bool, lab_limited: bool) -> None:
        self._source, self._blind, self._lab_limited = source, blind, lab_limited

    @property
    def campaign(self) -> CampaignRecord:
        """The campaign; blind: its lab left out, as over real hosts."""
        result = self._source.campaign
        return replace(result, environment={}) if self._blind else result

    def plan(self) -> list[PlanRecord]:
        """The plan; blind: without the rate that the sender was set to."""
        result = self._source.plan()
        if not self._blind:
            return result
        return [
            replace(row, settings={key: item for key, item in row.settings.items() if key != PACING})
            for row in result
        ]

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
        """Series of a trial; blind: without the settings of its ends."""
        hidden = ("settings",) if self._blind else ()
        return self._source.series_tables(
            trial_id, {kind: names for kind, names in columns.items() if kind not in hidden}
        )

    def trials(self) -> pd.DataFrame:
        """The trials, without that flag where they are classified nonetheless."""
        frame = self._source.trials()
        if self._lab_limited:
            frame["flags"] = [
                serialize_flags(flag for flag in parse_flags(text) if flag != LAB_LIMITED)
                for text in frame["flags"]
            ]
        return frame

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


@contextmanager
def keep_busy(core: int | None) -> Iterator[None]:
    """Keep a core busy with something that is not the traffic, at ordinary priority."""
    if core is None:
        yield
        return
    process = multiprocessing.get_context("fork").Process(target=_spin, args=(core,), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _spin(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        sum(range(10_000))


def run_cause(cause: Cause, options: argparse.Namespace) -> dict[str, Any]:
    """The verdicts of some trials, with the lab's line known and not, and their evidence."""
    seconds = max(options.seconds, cause.least_s)
    text = HEAD.format(name=cause.name, cycles=options.runs, seconds=seconds) + cause.place
    text += f"[factors]\n{cause.factors}\n"
    campaign = load_campaign(CampaignText(text=text, label=cause.name))
    with tempfile.TemporaryDirectory(prefix="pathlab-verdicts-") as scratch:
        folder = Path(scratch) / "results"
        with keep_busy(cause.hog):
            run_campaign(CampaignSource(campaign=campaign, text=text), folder, lambda _event: None)
        with StudiedResults.open(folder) as results:
            views = [View(results, blind=blind, lab_limited=options.lab_limited) for blind in (False, True)]
            knowing, blind = (list_verdicts(Study(view)) for view in views)
            trials = results.trials()
            return {
                "cause": cause.name,
                "verdicts": [verdict["limit"] for verdict in knowing],
                "verdicts_blind": [verdict["limit"] for verdict in blind],
                "evidence": [verdict["evidence"] for verdict in blind],
                "left_out": options.runs - len(knowing),
                "lab_limited": sum(LAB_LIMITED in parse_flags(text) for text in trials["flags"]),
                "failures": trials["failure"].dropna().tolist(),
            }


def list_verdicts(study: Study) -> list[dict[str, Any]]:
    """Limit and evidence of every classified trial; evidence of the first stream."""
    return [
        {
            "limit": str(trial.verdict.flow.limit or UNDECIDED),
            "evidence": {item.name: item.value for item in trial.verdict.streams[0].evidence},
        }
        for answer in study.limits(None)
        for trial in answer.result.trials
    ]


def report_table(result: Sequence[dict[str, Any]], causes: Sequence[Cause], key: str) -> int:
    """The confusion table, and how many were right."""
    words = sorted({word for item in result for word in item[key]})
    echo(f"{'cause':22}" + "".join(f"{word:>21}" for word in words) + f"{'right':>8}   should be")
    total = 0
    for cause, item in zip(causes, result, strict=True):
        counts = Counter(item[key])
        right = sum(counts[str(limit)] for limit in cause.expected)
        total += right
        cells = "".join(f"{counts[word] or '':>21}" for word in words)
        left = f"   {item['left_out']} left out" if item["left_out"] else ""
        left += f"   lab-limited {item['lab_limited']}" if item["lab_limited"] else ""
        echo(f"{cause.name:22}{cells}{right:>8}   {' or '.join(cause.expected)}{left}")
    return total


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="benchmarks/verdicts.py", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="trials of each cause (default 10)")
    parser.add_argument("--seconds", type=int, default=3, help="steady window of a trial (default 3)")
    parser.add_argument(
        "--lab-limited", action="store_true", help="classify lab-limited trials as well (a busy machine)"
    )
    parser.add_argument("--only", action="append", metavar="CAUSE", help="this cause alone; repeatable")
    parser.add_argument("--json", type=Path, metavar="FILE", help="verdicts and evidence, as JSON")
    return parser.parse_args(arguments)


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run the causes and print the table."""
    options = parse_arguments(arguments)
    causes = [cause for cause in CAUSES if not options.only or cause.name in options.only]
    result = []
    for cause in causes:
        result.append(run_cause(cause, options))
        echo(f"{cause.name}: {', '.join(result[-1]['verdicts'])}")
        for reason in sorted(set(result[-1]["failures"])):
            echo(f"  failed: {reason}")
    runs = options.runs * len(causes)
    for key, title in (("verdicts", "what was set is known"), ("verdicts_blind", "from measurements alone")):
        echo(f"\n{title}:")
        right = report_table(result, causes, key)
        verdict = "reached" if right >= RIGHT_RATIO * runs else "MISSED"
        echo(f"{right} of {runs} right; target {100 * RIGHT_RATIO:.0f} %: {verdict}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
