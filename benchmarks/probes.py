"""Round trips of pathlab-engine ping on idle and on fully loaded cores, side by side.

A busy host must not inflate what the probe reads: the p50 under load is to stay within 30 us of the p50
of the same path with idle cores. ``python benchmarks/probes.py --help`` says how.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from machine import find_ksoftirqd, read_core_time
from outcome import echo, keep_json, translate_faults
from testbeds import TESTBEDS, Program, Testbed, open_testbed, wait_until

from pathlab.remote.engine import engine_version, find_engine

LIMIT_NS = 30_000
DECIDING_RUNS = 5
METHODS = ("icmp", "udp", "tcp")
_TOKEN = "50617468" * 4
_PORT = 5212
_INTERVAL_NS = 5_000_000
_TIMEOUT_NS = 2_000_000_000
_IDLE_RATIO = 0.25  # at most so busy counts as idle; the probes themselves cost something
_LOADED_RATIO = 0.95
_ATTEMPTS = 4
_START_TIMEOUT_S = 10.0
_SAMPLE_S = 0.2
_SPIN = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
"""


class ProbeError(Exception):
    """Probes that were refused; the text is the engine's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run of probes."""

    p50_ns: int
    answered: int
    sent: int
    busy_ratio: float  # of all cores while it ran
    method: str
    stamps: dict[str, int]  # probes by what their round trip was taken from


@dataclass(slots=True, kw_only=True)
class Pairs:
    """Runs of one method on one testbed, by repetition; None where the cores were never as required."""

    idle: list[Sample | None] = field(default_factory=list)
    loaded: list[Sample | None] = field(default_factory=list)
    thrown_away: list[Sample] = field(default_factory=list)
    refusal: str | None = None


@contextlib.contextmanager
def load_cores(seconds: float) -> Iterator[None]:
    """A busy loop on each core, for at most ``seconds``."""
    spin = [sys.executable, "-I", "-S", "-c", _SPIN]
    loops = [subprocess.Popen([*spin, str(core), str(seconds)]) for core in sorted(os.sched_getaffinity(0))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class Prober:
    """Runs ``pathlab-engine ping`` between the ends of a testbed."""

    def __init__(self, testbed: Testbed, engine: Path, count: int, folder: Path) -> None:
        self._testbed, self._engine, self._count, self._folder = testbed, engine, count, folder
        self._ksoftirqd = find_ksoftirqd()

    def collect(self, method: str, repetitions: int) -> Pairs:
        """All runs of a method: idle and loaded in turn, every other pair in the opposite order."""
        pairs = Pairs()
        try:
            with self._answer(method):
                for repetition in range(repetitions):
                    for loaded in (False, True) if repetition % 2 == 0 else (True, False):
                        self._repeat_until_as_requested(method, pairs, loaded)
        except ProbeError as error:
            pairs.refusal = str(error)
        return pairs

    @contextlib.contextmanager
    def _answer(self, method: str) -> Iterator[None]:
        """The receiver's echo for methods that need one. Raises ProbeError where it refuses."""
        if method == "icmp":
            yield
            return
        argv = [
            str(self._engine),
            "echo",
            "--bind",
            self._testbed.address,
            "--port",
            str(_PORT),
            "--token",
            _TOKEN,
            "--idle-timeout",
            "0",
        ]
        with Program(self._testbed, self._testbed.receiver, argv, self._folder) as program:
            wait_until(
                lambda: program.status() is not None or '"listening"' in program.output(), _START_TIMEOUT_S
            )
            if program.status() is not None:
                raise ProbeError(f"echo: {program.describe_end()}")
            yield

    def _repeat_until_as_requested(self, method: str, pairs: Pairs, loaded: bool) -> None:
        kept = pairs.loaded if loaded else pairs.idle
        for _ in range(_ATTEMPTS):
            if loaded:
                with load_cores(self._count * _INTERVAL_NS / 1e9 + 3 * _START_TIMEOUT_S):
                    self._await_cores(lambda busy: busy >= _LOADED_RATIO)
                    sample = self._probe(method)
            else:
                self._await_cores(lambda busy: busy <= _IDLE_RATIO)
                sample = self._probe(method)
            if sample.busy_ratio >= _LOADED_RATIO if loaded else sample.busy_ratio <= _IDLE_RATIO:
                kept.append(sample)
                return
            pairs.thrown_away.append(sample)
        kept.append(None)

    def _await_cores(self, fits: Callable[[float], bool]) -> None:
        """Wait a while until the cores are as required; the run itself shows whether they stayed so."""

        def fit_now() -> bool:
            before = read_core_time(self._ksoftirqd)
            time.sleep(_SAMPLE_S)
            return fits(read_core_time(self._ksoftirqd).since(before).busy_ratio)

        wait_until(fit_now, _START_TIMEOUT_S)

    def _probe(self, method: str) -> Sample:
        """One run of probes. Raises ProbeError with the engine's message."""
        options = [
            "--address",
            self._testbed.address,
            "--count",
            str(self._count),
            "--interval-ns",
            str(_INTERVAL_NS),
        ]
        options += ["--timeout-ns", str(_TIMEOUT_NS), "--method", "auto" if method == "icmp" else method]
        if method != "icmp":
            options += ["--port", str(_PORT), "--token", _TOKEN]
        argv = [str(self._engine), "ping", *options]
        with Program(self._testbed, self._testbed.sender, argv, self._folder) as program:
            before = read_core_time(self._ksoftirqd)
            status = program.wait((self._count * _INTERVAL_NS + _TIMEOUT_NS) / 1e9 + _START_TIMEOUT_S)
            busy_ratio = read_core_time(self._ksoftirqd).since(before).busy_ratio
            if status != 0:
                raise ProbeError(program.describe_end())
            records: list[dict[str, Any]] = [json.loads(line) for line in program.output().splitlines()]
        return summarise(records, busy_ratio)


def summarise(records: list[dict[str, Any]], busy_ratio: float) -> Sample:
    """The result of the records of one run. Raises ProbeError when no probe was answered."""
    answered = [record for record in records if record["type"] == "probe" and record["rtt_ns"] is not None]
    if not answered:
        raise ProbeError("no probe was answered")
    return Sample(
        p50_ns=round(median(record["rtt_ns"] for record in answered)),
        answered=len(answered),
        sent=records[-1]["sent"],
        busy_ratio=busy_ratio,
        method=records[-1]["method"],
        stamps=dict(Counter(record["stamps"] for record in answered)),
    )


def report(name: str, pairs: Pairs) -> dict[str, Any]:
    """Print one method's line; returns it for the JSON file."""
    if pairs.refusal is not None:
        echo(f"{name:<16}refused: {pairs.refusal}")
        return {"row": name, "refused": pairs.refusal}
    both = [(i, b) for i, b in zip(pairs.idle, pairs.loaded, strict=True) if i is not None and b is not None]
    thrown = f", {len(pairs.thrown_away)} thrown away" if pairs.thrown_away else ""
    if not both:
        echo(f"{name:<16}no pair of runs with the cores as required{thrown}")
        return {"row": name, "difference_ns": None, "pairs": 0}
    differences = [loaded.p50_ns - idle.p50_ns for idle, loaded in both]
    difference = median(differences)
    verdict = "undecided" if len(both) < DECIDING_RUNS else "met" if abs(difference) <= LIMIT_NS else "MISSED"
    samples = [sample for pair in both for sample in pair]
    stamps = sum((Counter(sample.stamps) for sample in samples), Counter[str]())
    lost = sum(sample.sent - sample.answered for sample in samples)
    idle_ns, loaded_ns = median(idle.p50_ns for idle, _ in both), median(loaded.p50_ns for _, loaded in both)
    span = f"[{min(differences) / 1e3:+.1f}, {max(differences) / 1e3:+.1f}]"
    taken = ", ".join(f"{stamp} {count}" for stamp, count in stamps.most_common())
    echo(
        f"{name:<16}{samples[0].method:<15}{idle_ns / 1e3:>9.1f}{loaded_ns / 1e3:>9.1f}"
        f"{difference / 1e3:>+10.1f}{span:>18}{'30':>7}  {verdict:<10}{taken:<28}"
        f"{lost:>5}  {len(both)}{thrown}"
    )
    return {
        "row": name,
        "idle_p50_ns": idle_ns,
        "loaded_p50_ns": loaded_ns,
        "difference_ns": difference,
        "least_difference_ns": min(differences),
        "most_difference_ns": max(differences),
        "pairs": len(both),
        "verdict": verdict,
        "stamps": dict(stamps),
        "lost": lost,
    }


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of this script."""
    parser = argparse.ArgumentParser(prog="benchmarks/probes.py", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=DECIDING_RUNS, help="pairs of runs (default 5)")
    parser.add_argument("--count", type=int, default=400, help="probes of one run, 5 ms apart (default 400)")
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help="such as 'veth/*'; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run and every difference, as JSON")
    options = parser.parse_args(arguments)
    if options.repetitions < 1 or options.count < 1:
        parser.error("--repetitions and --count start at 1")
    if options.json is not None and not options.json.resolve().parent.is_dir():
        parser.error(f"--json: the folder of '{options.json}' does not exist")
    return options


def run_all(options: argparse.Namespace, engine: Path, stored: dict[str, Any]) -> None:
    """Every chosen method on every testbed, printed as it ends and added to ``stored``."""
    echo(
        f"{'path/method':<16}{'taken':<15}{'idle us':>9}{'load us':>9}{'more us':>10}"
        f"{'[min, max]':>18}{'limit':>7}  {'':<10}{'stamps':<28}{'lost':>5}  pairs"
    )
    with tempfile.TemporaryDirectory(prefix="pathlab-bench-") as folder:
        for name in TESTBEDS:
            methods = [method for method in METHODS if is_chosen(f"{name}/{method}", options.only)]
            if not methods:
                continue
            with open_testbed(name) as testbed:
                prober = Prober(testbed, engine, options.count, Path(folder))
                for method in methods:
                    pairs = prober.collect(method, options.repetitions)
                    stored["rows"].append(report(f"{name}/{method}", pairs))
                    stored["runs"].append({"row": f"{name}/{method}", **asdict(pairs)})


def is_chosen(name: str, only: list[str] | None) -> bool:
    """Whether a pattern of --only matches, or none was given."""
    return only is None or any(fnmatch.fnmatch(name, pattern) for pattern in only)


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 also where the limit is missed, 2 for a wrong option, 3 where it cannot run."""
    options = parse_arguments(arguments)
    names = [f"{testbed}/{method}" for testbed in TESTBEDS for method in METHODS]
    if not any(is_chosen(name, options.only) for name in names):
        sys.stderr.write(
            f"benchmarks: nothing is called {', '.join(options.only)}\n  fix: one of {', '.join(names)}\n"
        )
        return 2
    engine = find_engine()
    stored: dict[str, Any] = {
        "version": engine_version(engine),
        "limit_ns": LIMIT_NS,
        "rows": [],
        "runs": [],
    }
    echo(f"pathlab-engine {stored['version']} ping: p50 on idle cores and with a busy loop on each")
    with keep_json(stored, options.json):
        run_all(options, engine, stored)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
