"""How long the report of a results file takes, how much memory, and how large its page is.

``python benchmarks/report.py --help`` says how; README.md alongside it says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcome import echo

from analysis import Shape, build_file
from pathlab.report.base.blocks import list_figures
from pathlab.report.formats.forms import FORMS
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.study.analyses import StudiedResults

#: One cycle, a campaign of a couple of hundred cycles, one over several paths, and one of 98,000 trials.
SHAPES = ("1x1", "1x200", "8x25", "1x1000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The limits of a report of at most this many trials."""

    trials: int
    seconds: float
    peak_bytes: int
    page_bytes: int


TARGETS = (
    Target(trials=50, seconds=5.0, peak_bytes=10**9, page_bytes=15 * 10**6),
    Target(trials=20_000, seconds=60.0, peak_bytes=10**9, page_bytes=15 * 10**6),
    Target(trials=100_000, seconds=120.0, peak_bytes=10**9, page_bytes=15 * 10**6),
)


def measure(folder: Path, form: str) -> dict[str, Any]:
    """One report in this process, from opening the file to the last byte: seconds by step, peak, size."""
    spent: dict[str, float] = {}
    begin = before = time.perf_counter()

    def mark(step: str) -> None:
        nonlocal before
        now = time.perf_counter()
        spent[step], before = now - before, now

    with StudiedResults.open(folder) as results:
        inputs = gather_inputs(results)
        mark("reading")
        report = arrange_report(inputs)
        mark("chapters")
        page = FORMS[form].write(report, folder / f"report{FORMS[form].ending}")
        mark("writing")
    return {
        "total_s": time.perf_counter() - begin,
        "cpu_s": time.process_time(),
        "steps_s": spent,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "page_bytes": page.stat().st_size,
        "figures": sum(1 for _ in list_figures(report)),
    }


def measure_apart(folder: Path, form: str) -> dict[str, Any]:
    """As ``measure``, in a process of its own; ``command_s`` counts its start and its imports as well."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--measure", str(folder), "--form", form],
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result | {"command_s": time.perf_counter() - begin}


def classify(trials: int, result: dict[str, Any]) -> str:
    """Within or beyond the smallest target for this number of trials."""
    target = next((item for item in TARGETS if trials <= item.trials), None)
    if target is None:
        return ""
    kept = (
        result["command_s"] < target.seconds
        and result["peak_bytes"] < target.peak_bytes
        and result["page_bytes"] < target.page_bytes
    )
    return "within" if kept else "BEYOND"


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="benchmarks/report.py", description=__doc__)
    parser.add_argument(
        "--shape",
        action="append",
        metavar="PATHSxCYCLES",
        help=f"a file, 98 cells a path and cycle; repeatable (default {', '.join(SHAPES)})",
    )
    parser.add_argument("--form", choices=list(FORMS), default="html", help="form of the report")
    parser.add_argument("--results", type=Path, help="report these results instead, such as a quickstart's")
    parser.add_argument("--details", action="store_true", help="the time of each step as well")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures, as JSON")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def report_file(name: str, trials: int, result: dict[str, Any], *, details: bool) -> None:
    """One line for a file, and one for each step if requested."""
    echo(
        f"{name:>12} {trials:8d} {result['figures']:8d} {result['command_s']:8.2f} {result['cpu_s']:8.2f} "
        f"{result['peak_bytes'] / 1e6:8.0f} {result['page_bytes'] / 1e6:8.2f}  {classify(trials, result)}"
    )
    if details:
        for step, seconds in result["steps_s"].items():
            echo(f"{'':13}{step:22}{seconds:8.2f} s")


def main(arguments: Sequence[str]) -> int:
    """Build and measure the requested files."""
    options = parse_arguments(arguments)
    if options.measure:
        echo(json.dumps(measure(options.measure, options.form)))
        return 0
    stored: list[dict[str, Any]] = []
    echo(f"{'file':>12} {'trials':>8} {'figures':>8} {'s':>8} {'CPU-s':>8} {'peak MB':>8} {'page MB':>8}")
    if options.results:
        with StudiedResults.open(options.results) as results:
            trials = len(results.trials())
        apart = measure_apart(options.results, options.form)
        report_file(options.results.name, trials, apart, details=options.details)
        stored.append({"file": options.results.name, "trials": trials, **apart})
    for text in options.shape or (() if options.results else SHAPES):
        paths, _, cycles = text.partition("x")
        shape = Shape(paths=int(paths), cycles=int(cycles))
        with tempfile.TemporaryDirectory(prefix="pathlab-benchmark-") as folder:
            build_file(Path(folder), shape, seed=7)
            apart = measure_apart(Path(folder), options.form)
        report_file(text, shape.trials, apart, details=options.details)
        stored.append({"file": text, "trials": shape.trials, **apart})
    for target in TARGETS:
        echo(
            f"target: {target.trials} trials in less than {target.seconds:.0f} s, "
            f"{target.peak_bytes / 1e6:.0f} MB and a page of {target.page_bytes / 1e6:.0f} MB"
        )
    if options.json:
        options.json.write_text(json.dumps(stored, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
