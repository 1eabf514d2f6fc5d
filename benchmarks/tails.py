"""How long 10^7 round trips take from the stored histograms to the drawn tail, by the report's own code.

``python benchmarks/tails.py --help`` says how; README.md alongside it says what is measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from outcome import echo, keep_json, translate_faults

from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyPlot
from pathlab.report.messages.latency_figures import draw_tails
from pathlab.report.plots.markup import render_figure
from pathlab.store.hdr_histogram import Histogram, HistogramLayout
from pathlab.study.analyses import StudiedResults
from pathlab.study.messages.round_trips import read_tail

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.builders.messages import RATES, TCP, make_message_results
from tests.builders.results import SyntheticResults, write_results

TRIALS, INTERVALS, ROUND_TRIPS = 20, 100, 5_000  # 10^7 together
INTERVAL_NS, MEDIAN_NS, SIGMA = 10**8, 20_000, 0.5
SIZE_BYTES, RATE_PER_S = 64, RATES[1]
TARGET_S = 1.0


def make_series(rng: np.random.Generator) -> pd.DataFrame:
    """The round trips of a trial: a histogram for each interval, as the engine writes them."""
    rows = []
    for number in range(INTERVALS):
        values = rng.lognormal(np.log(MEDIAN_NS), SIGMA, ROUND_TRIPS).astype(np.int64)
        histogram = Histogram.count_values(values, HistogramLayout())
        rows.append(
            {
                "phase": "steady",
                "start_ns": number * INTERVAL_NS,
                "end_ns": (number + 1) * INTERVAL_NS,
                "stream": 0,
                "count": values.size,
                "min_ns": int(values.min()),
                "max_ns": int(values.max()),
                "mean_ns": float(values.mean()),
                "histogram": histogram.encode(compressed=False),
            }
        )
    return pd.DataFrame(rows)


def build_file(folder: Path) -> None:
    """A results file with that many trials of one combination."""
    rng = np.random.default_rng(1)
    made = make_message_results((TCP,), sizes=(SIZE_BYTES,), rates=(RATE_PER_S,), cycles=TRIALS)
    series = {trial_id: {"round_trips": make_series(rng)} for trial_id in range(1, TRIALS + 1)}
    write_results(SyntheticResults(made.campaign, made.plan(), made.records, series, made.hosts()), folder)


def measure(folder: Path) -> dict[str, float]:
    """Round trips, seconds to read and merge them, and seconds to draw them, of a file just opened."""
    with StudiedResults.open(folder) as results:
        condition = results.message_latency()[0].condition
        inputs = ReportInputs(results)
        begin = time.perf_counter()
        tail = read_tail(results, range(1, TRIALS + 1))
        merged = time.perf_counter()
        inputs.answers("message_tails")
        answered = time.perf_counter()
        plot = LazyPlot(
            name="tails",
            title="Round trips",
            condition="one combination",
            draw=lambda: draw_tails(inputs, condition, ("tcp",), SIZE_BYTES, RATE_PER_S),
        )
        drawn = render_figure(plot.build(), "tails")
        ended = time.perf_counter()
    if "<svg" not in drawn:
        raise SystemExit("benchmarks: the figure of the tails is empty")
    return {"round_trips": tail.n, "merge_s": merged - begin, "draw_s": ended - answered}


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 also where the target is missed, 2 for a wrong option."""
    parser = argparse.ArgumentParser(prog="benchmarks/tails.py", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5, help="runs in one process (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run, as JSON")
    options = parser.parse_args(arguments)
    if options.repetitions < 1:
        parser.error("--repetitions starts at 1")
    stored: dict[str, list[dict[str, float]]] = {"runs": []}
    echo(f"{'round trips':>12}{'merge s':>9}{'draw s':>9}{'both s':>9}")
    with tempfile.TemporaryDirectory(prefix="pathlab-tails-") as name, keep_json(stored, options.json):
        folder = Path(name) / "results"
        build_file(folder)
        for _ in range(options.repetitions):
            run = measure(folder)
            both_s = run["merge_s"] + run["draw_s"]
            stored["runs"].append(run)
            echo(f"{run['round_trips']:>12,.0f}{run['merge_s']:>9.2f}{run['draw_s']:>9.2f}{both_s:>9.2f}")
        middle_s = median(run["merge_s"] + run["draw_s"] for run in stored["runs"])
        echo(f"median {middle_s:.2f} s, target {TARGET_S:g} s: {'met' if middle_s < TARGET_S else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
