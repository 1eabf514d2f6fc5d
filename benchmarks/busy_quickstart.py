"""Whether a quickstart alongside busy loops recommends what an idle one does, or decides nothing.

``python benchmarks/busy_quickstart.py --out FOLDER [--runs N] [--loops N] [--idle FOLDER]``. The idle answer
is measured first, or read from results (``--idle``). Confidence high and medium count as decided; of other
answers the combination is listed. Exit status 1: a run decided for another combination.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from outcome import echo, translate_faults

import pathlab
from pathlab.report.base.names import shorten_levels
from pathlab.study.flows.recommendation import Confidence, Recommendation

DECIDED = (Confidence.HIGH, Confidence.MEDIUM)
USABLE_STATUSES = (0, 7)  # 7: no trial was usable
SPIN = "while True: pass"


@contextlib.contextmanager
def keep_busy(loops: int) -> Iterator[None]:
    """Run this number of endless loops, on any core."""
    started = [subprocess.Popen([sys.executable, "-I", "-S", "-c", SPIN]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in started:
            loop.kill()
            loop.wait()


def run_quickstart(folder: Path) -> Recommendation:
    """Run the campaign as it ships, and read its answer."""
    words = [sys.executable, "-m", "pathlab", "run", "quickstart", "--out", str(folder)]
    status = subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode
    if status not in USABLE_STATUSES:
        raise SystemExit(f"{' '.join(words)}: exit status {status}")
    return read_answer(folder)


def read_answer(folder: Path) -> Recommendation:
    with pathlab.open(folder) as results:
        (answer,) = results.recommend()
    return answer.result


def name_answer(result: Recommendation) -> str:
    return "nothing" if result.recommended is None else shorten_levels(*result.recommended.levels)


def classify_answer(result: Recommendation, idle: str) -> str:
    """``same``, ``another``, or that nothing was decided, with what was named."""
    name = name_answer(result)
    if result.confidence in DECIDED:
        return "same" if name == idle else "another"
    return f"undecided ({'same' if name == idle else name} named)"


@translate_faults
def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the results of all runs")
    parser.add_argument("--runs", type=int, default=20, help="runs alongside the loops")
    parser.add_argument("--loops", type=int, default=2, help="busy loops alongside each run")
    parser.add_argument("--idle", type=Path, help="results of an idle quickstart")
    given = parser.parse_args(arguments)
    answer = read_answer(given.idle) if given.idle else run_quickstart(given.out / "idle")
    idle, counts = name_answer(answer), Counter[str]()
    echo(f"idle: {idle}, confidence {answer.confidence}")
    with keep_busy(given.loops):
        for number in range(1, given.runs + 1):
            answer = run_quickstart(given.out / f"busy-{number}")
            kind = classify_answer(answer, idle)
            counts[kind] += 1
            echo(f"run {number}: {name_answer(answer)}, confidence {answer.confidence}: {kind}")
    echo("; ".join(f"{count} of {given.runs} {kind}" for kind, count in counts.most_common()))
    return int(counts["another"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
