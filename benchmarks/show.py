"""What `pathlab results show` takes of a large results file: time, CPU, memory, and how much it prints.

``python benchmarks/show.py [--shape PATHSxCYCLES] [--results FOLDER]``. The file is made up as
by `analysis.py`.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from outcome import echo

from analysis import Shape, build_file

TARGET_CPU_S = 20.0
CALLS = ((), ("--offset", "50000"), ("--limit", "0"), ("--json",))


def measure(folder: Path, words: tuple[str, ...]) -> tuple[float, float, int, int]:
    """Seconds, CPU seconds, the largest resident memory of any call so far and bytes printed, of one call."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pathlab", "results", "show", str(folder), *words]
    done = subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, cpu_s, after.ru_maxrss * 1024, len(done.stdout)


def report(folder: Path) -> None:
    """One line for each call."""
    for words in CALLS:
        seconds, cpu_s, peak_bytes, printed = measure(folder, words)
        verdict = "within" if cpu_s < TARGET_CPU_S else "BEYOND"
        name = " ".join(words) or "(as it comes)"
        echo(
            f"{name:16} {seconds:8.2f} {cpu_s:8.2f} {peak_bytes / 1e6:8.0f} {printed / 1e3:10.1f}  {verdict}"
        )


def main() -> None:
    """Build the file, unless one is given, and measure every call."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--shape", default="1x1000", metavar="PATHSxCYCLES", help="98 trials each (1x1000)")
    parser.add_argument("--results", type=Path, help="show these results instead")
    options = parser.parse_args()
    headings = f"{'options':16} {'s':>8} {'CPU-s':>8} {'peak MB':>8} {'printed kB':>10}"
    echo(f"{headings}  target {TARGET_CPU_S:.0f} CPU-s")
    if options.results:
        report(options.results)
        return
    paths, _, cycles = options.shape.partition("x")
    with tempfile.TemporaryDirectory(prefix="pathlab-benchmark-") as folder:
        build_file(Path(folder), Shape(paths=int(paths), cycles=int(cycles)), seed=7)
        report(Path(folder))


if __name__ == "__main__":
    main()
