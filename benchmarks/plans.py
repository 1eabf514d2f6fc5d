"""How long it takes to make a plan of 100,000 rows, for plans of several shapes; the target is 3 s.

``python benchmarks/plans.py [--repetitions N] [--json FILE]``. Per shape: checking the tables, making the
rows, estimating time and bytes; the median of the repetitions, and the slowest whole one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from pathlab.campaign.budget import estimate_campaign
from pathlab.campaign.load import build_campaign
from pathlab.campaign.order import plan_rows

TARGET_S = 3.0
KEYS = ("load_s", "plan_s", "estimate_s", "whole_s", "cpu_s")
HOSTS = [f"h{number}" for number in range(51)]
PATH = {"rtt": "40ms", "capacity": "1Gbit/s"}
WINDOWS = "16KiB..800KiB step 16KiB"  # 50 levels

#: Changes to a campaign over one path, by the plan's shape.
SHAPES: dict[str, dict[str, Any]] = {
    "100 cells, 1000 cycles": {"factors": {"streams": "1..100"}, "cycles": 1000},
    "10,000 cells, 10 cycles": {"factors": {"streams": "1..200", "window": WINDOWS}, "cycles": 10},
    "100,000 cells": {
        "factors": {"streams": "1..200", "window": WINDOWS, "congestion": [f"c{n}" for n in range(10)]}
    },
    "constraints over 200,000 cells": {
        "factors": {"streams": "1..400", "window": WINDOWS, "congestion": [f"c{n}" for n in range(10)]},
        "where": ["streams * window <= 64MiB and streams <= 200", "window >= 16KiB"],
    },
    "50 paths, 2000 cells": {"factors": {"streams": "1..40", "window": WINDOWS}, "paths": 50},
    "the same, as many at once as can be": {
        "factors": {"streams": "1..40", "window": WINDOWS},
        "paths": 50,
        "concurrency": 25,
    },
    "half of 200,000 at random": {
        "factors": {"streams": "1..400", "window": WINDOWS, "congestion": [f"c{n}" for n in range(10)]},
        "design": "fraction",
        "fraction": "50%",
    },
    "Latin hypercube of 10,000, 10 cycles": {
        "factors": {"streams": "1..4000", "window": WINDOWS},
        "design": "lhs",
        "points": 10_000,
        "cycles": 10,
    },
    "hours and control rows": {
        "factors": {"streams": "1..200", "window": WINDOWS},
        "cycles": 9,
        "block": "cycle+hour",
        "control": {"every": 10},
    },
}


def make_tables(changes: dict[str, Any]) -> dict[str, Any]:
    """The tables of a campaign file."""
    count = changes.get("paths", 1)
    at_once = changes.get("concurrency", 1) > 1  # from one host alone, nothing could run alongside it
    sources = [HOSTS[(n + 25) % 50] if at_once else HOSTS[50] for n in range(count)]
    paths = [{"source": sources[n], "destination": HOSTS[n], **PATH} for n in range(count)]
    return {
        "format": 1,
        "name": "big",
        "title": "Big",
        "seed": 1,
        "hosts": {name: {"transport": "local"} for name in HOSTS},
        **changes,
        "paths": paths,
    }


def time_shape(changes: dict[str, Any]) -> dict[str, float]:
    """Rows, and seconds of each step."""
    tables = make_tables(changes)
    start, cpu_start = time.perf_counter(), time.process_time()
    campaign = build_campaign(tables, label="big")
    loaded = time.perf_counter()
    rows = plan_rows(campaign)
    planned = time.perf_counter()
    estimate_campaign(campaign, rows)
    ended = time.perf_counter()
    return {
        "rows": len(rows),
        "load_s": loaded - start,
        "plan_s": planned - loaded,
        "estimate_s": ended - planned,
        "whole_s": ended - start,
        "cpu_s": time.process_time() - cpu_start,
    }


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Time every shape in turn, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=3, help="times that each plan is made (3)")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    arguments = parser.parse_args()
    headings = ("rows", "load s", "plan s", "bytes s", "whole s", "CPU-s", "slowest")
    _print_line(
        f"{'shape':38}" + "".join(f"{heading:>9}" for heading in headings) + f"  target {TARGET_S:g} s"
    )
    figures = {}
    for shape, changes in SHAPES.items():
        runs = [time_shape(changes) for _ in range(max(1, arguments.repetitions))]
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        slowest_s = max(run["whole_s"] for run in runs)
        figures[shape] = median | {"slowest_s": slowest_s}
        figures = "".join(f"{median[key]:>9.2f}" for key in KEYS)
        verdict = "met" if slowest_s < TARGET_S else "missed"
        _print_line(f"{shape:38}{median['rows']:>9.0f}{figures}{slowest_s:>9.2f}  {verdict}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
