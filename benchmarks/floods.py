"""The cost of unauthenticated peers for a running trial: half-open ones, a slow loris, a flood of connects.

See ``python benchmarks/floods.py --help``; README.md in this folder explains the columns.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from machine import (
    CoreTime,
    counts_softirq_apart,
    find_ksoftirqd,
    read_core_time,
    unexplained_s,
)
from outcome import echo, keep_json, translate_faults
from rounds import DECIDING_RUNS
from testbeds import TESTBEDS, Program, Testbed, open_testbed, wait_until
from unauthenticated_peers import KINDS

from tools import PORT, Candidate, Load, Tool, TransferError, find_tools

TARGET_RATIO = 0.99
UNEXPLAINED_RATIO = 0.03  # share of the cores' time that other processes may use
STREAMS = 16
ATTEMPTS = 4  # for each trial, until no other process has used the cores
_SETTLE_NS = 200_000_000  # of each segment, left out of the rates
_SEGMENTS = ("peers", "dummy", "alone")
_LEAD_S = 2.0  # for the peers to start and to find the port
_END_TIMEOUT_S = 30.0
_IDLE_RATIO = 0.15
_IDLE_SAMPLE_S = 0.2
_IDLE_TIMEOUT_S = 20.0
_FOLDER = Path(__file__).parent
_HEADING = (
    f"{'path/peers':<22}{'alone':>8}{'dummy':>8}{'with':>8}{'with/dummy':>12}{'[min, max]':>16}"
    f"{'target':>9}  {'':<10}{'with/alone':>11}{'[min, max]':>16}"
    f"{'CPU':>7}{'begun/s':>9}{'rejected':>13}  cycles"
)


class DisturbedError(Exception):
    """Other processes used the cores; the text states how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A segment of the trial: the concurrent work, and the receiver's rate."""

    cycle: int
    segment: str  # one of _SEGMENTS
    rate_bits_per_s: float
    cpu_ratio: float  # of one core, used by the peers or by the dummy
    begun_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One trial with its peers."""

    segments: tuple[Segment, ...]
    rejected: int
    begun: int
    unexplained_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The rate with peers over that of another segment of the same cycle."""

    ratio: float
    least: float
    most: float


def read_segments(marks: list[dict[str, Any]], records: list[dict[str, Any]]) -> tuple[Segment, ...]:
    """Rates of the marked segments, from the receiver's intervals within them.

    The warm-up cycle is left out. Raises DisturbedError where a segment holds no interval.
    """
    start_ns = next(record["monotonic_ns"] for record in records if record["type"] == "start")
    intervals = [record for record in records if record["type"] == "interval"]
    segments = []
    for mark in marks:
        if mark["cycle"] < 0:
            continue
        first_ns, last_ns = mark["begin_ns"] + _SETTLE_NS - start_ns, mark["end_ns"] - start_ns
        inside = [
            interval
            for interval in intervals
            if interval["start_ns"] >= first_ns and interval["end_ns"] <= last_ns
        ]
        span_ns = sum(item["end_ns"] - item["start_ns"] for item in inside)
        if span_ns == 0:
            raise DisturbedError("the cores were so busy that the trial ended before its peers did")
        length_s = (mark["end_ns"] - mark["begin_ns"]) / 1e9
        segments.append(
            Segment(
                cycle=mark["cycle"],
                segment=mark["segment"],
                rate_bits_per_s=sum(sum(item["bytes"]) for item in inside) * 8e9 / span_ns,
                cpu_ratio=mark["cpu_s"] / length_s,
                begun_per_s=mark["begun"] / length_s,
            )
        )
    return tuple(segments)


class Host:
    """Runs trials among unauthenticated peers, with their files in a separate folder."""

    def __init__(self, testbed: Testbed, tool: Tool, folder: Path, rate: str | None) -> None:
        self._testbed, self._tool, self._folder = testbed, tool, folder
        self._pace = () if rate is None else ("--rate", rate)
        self._ksoftirqd = find_ksoftirqd()
        self._softirq_apart = counts_softirq_apart()

    def receive(self, kind: str, cycles: int, segment_s: float) -> Visit:
        """Run one trial. Raises TransferError (an end refuses) or DisturbedError (other processes ran)."""
        seconds = math.ceil(_LEAD_S + 1.1 * (cycles + 1) * len(_SEGMENTS) * segment_s)
        load = Load(seconds=seconds, congestion="cubic")
        candidate = Candidate(
            label=kind,
            tool="engine",
            streams=STREAMS,
            flags=("--interval", "50ms", "--tcp-info", "none", *self._pace),
        )
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            costs = [folder / f"{side}.json" for side in ("receiver", "sender", "peers")]
            python = [sys.executable, "-I", "-S"]
            ends = [
                [self._tool.path, *side(self._testbed.address, candidate, load)]
                for side in (self._tool.receiver, self._tool.sender)
            ]
            peers = [
                *python,
                str(_FOLDER / "unauthenticated_peers.py"),
                kind,
                self._testbed.address,
                str(PORT),
            ]
            commands = [
                [*python, str(_FOLDER / "meter.py"), str(cost), *command]
                for cost, command in zip(costs, [*ends, [*peers, str(cycles), str(segment_s)]], strict=True)
            ]
            self._await_idle_cores()
            before = read_core_time(self._ksoftirqd)
            texts = self._run(commands, folder, load)
            spent = read_core_time(self._ksoftirqd).since(before)
            processes_s = sum(json.loads(cost.read_text(encoding="ascii"))["cpu_s"] for cost in costs)
        self._tool.parse(texts[0], texts[1], candidate)  # both ends have a complete result, or this raises
        records, marks = ([json.loads(line) for line in text.splitlines()] for text in (texts[0], texts[2]))
        return Visit(
            segments=read_segments(marks, records),
            rejected=records[-1]["rejected"],
            begun=sum(mark["begun"] for mark in marks) + 1,  # plus the one that found the port
            unexplained_ratio=self._check_others(spent, processes_s),
        )

    def _run(self, commands: list[list[str]], folder: Path, load: Load) -> list[str]:
        """The output of receiver, sender and peers. The sender starts once the port is open."""
        testbed = self._testbed
        with (
            Program(testbed, testbed.receiver, commands[0], folder) as receiver,
            Program(testbed, testbed.sender, commands[2], folder) as peers,
        ):
            self._await_listener(receiver)
            with Program(testbed, testbed.sender, commands[1], folder) as sender:
                for program in (sender, receiver, peers):
                    if program.wait(load.seconds + _END_TIMEOUT_S) != 0:
                        raise TransferError(program.describe_end())
                return [program.output() for program in (receiver, sender, peers)]

    def _await_listener(self, receiver: Program) -> None:
        wait_until(lambda: receiver.status() is not None or self._testbed.listens(PORT), _END_TIMEOUT_S)
        if receiver.status() is not None:
            raise TransferError(receiver.describe_end())

    def _await_idle_cores(self) -> None:
        """Wait a little for other processes to end; a disturbed trial is discarded anyway."""

        def is_idle() -> bool:
            before = read_core_time(self._ksoftirqd)
            time.sleep(_IDLE_SAMPLE_S)
            return read_core_time(self._ksoftirqd).since(before).busy_ratio < _IDLE_RATIO

        wait_until(is_idle, _IDLE_TIMEOUT_S)

    def _check_others(self, spent: CoreTime, processes_s: float) -> float:
        """The share of the cores' time that other processes used. Raises DisturbedError above the limit."""
        others_s = unexplained_s(spent, processes_s, softirq_apart=self._softirq_apart)
        ratio = others_s / (spent.task_s + spent.softirq_s + spent.idle_s)
        if ratio > UNEXPLAINED_RATIO:
            raise DisturbedError(f"{ratio:.1%} of the cores' time was used by other processes")
        return ratio


def compare(visits: Sequence[Visit], against: str) -> Comparison:
    """Rates with peers over those of the other segment, cycle by cycle."""
    ratios = []
    for visit in visits:
        rates = {(segment.cycle, segment.segment): segment.rate_bits_per_s for segment in visit.segments}
        cycles = sorted({segment.cycle for segment in visit.segments})
        ratios += [rates[cycle, "peers"] / rates[cycle, against] for cycle in cycles]
    return Comparison(ratio=median(ratios), least=min(ratios), most=max(ratios))


def report(name: str, visits: Sequence[Visit], discarded: int) -> dict[str, Any]:
    """Print one kind's line; returns it for the JSON file."""
    every = [segment for visit in visits for segment in visit.segments]
    by_name = {kind: [item for item in every if item.segment == kind] for kind in _SEGMENTS}
    rates = {kind: median(item.rate_bits_per_s for item in ones) for kind, ones in by_name.items()}
    cycles = len(by_name["peers"])
    dummy, alone = compare(visits, "dummy"), compare(visits, "alone")
    verdict = "undecided" if cycles < DECIDING_RUNS else "met" if dummy.ratio >= TARGET_RATIO else "MISSED"
    cpu_ratio = median(item.cpu_ratio for item in by_name["peers"])
    begun_per_s = median(item.begun_per_s for item in by_name["peers"])
    rejected, begun = sum(visit.rejected for visit in visits), sum(visit.begun for visit in visits)
    spans = [f"[{item.least:.3f}, {item.most:.3f}]" for item in (dummy, alone)]
    echo(
        f"{name:<22}{rates['alone'] / 1e9:>8.2f}{rates['dummy'] / 1e9:>8.2f}{rates['peers'] / 1e9:>8.2f}"
        f"{dummy.ratio:>12.3f}{spans[0]:>16}{f'>= {TARGET_RATIO:.2f}':>9}  {verdict:<10}"
        f"{alone.ratio:>11.3f}{spans[1]:>16}{cpu_ratio:>7.1%}{begun_per_s:>9.0f}"
        f"{f'{rejected}/{begun}':>13}  {cycles}" + (f", {discarded} trials discarded" if discarded else "")
    )
    return {
        "row": name,
        "rates_bits_per_s": rates,
        "with_over_dummy": asdict(dummy),
        "with_over_alone": asdict(alone),
        "target_ratio": TARGET_RATIO,
        "verdict": verdict,
        "peers_cpu_ratio": cpu_ratio,
        "dummy_cpu_ratio": median(item.cpu_ratio for item in by_name["dummy"]),
        "begun_per_s": begun_per_s,
        "cycles": cycles,
        "discarded": discarded,
    }


def run_kind(host: Host, name: str, kind: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row from the requested number of undisturbed trials; returns its values for the JSON file."""
    visits: list[Visit] = []
    disturbances: list[str] = []
    while len(visits) < options.trials and len(disturbances) < ATTEMPTS * options.trials:
        try:
            visits.append(host.receive(kind, options.cycles, options.seconds))
        except DisturbedError as error:
            disturbances.append(str(error))
        except TransferError as error:
            echo(f"{name:<22}refused: {error}")
            return {"row": name, "refused": str(error)}
    if not visits:
        echo(f"{name:<22}no trial: {disturbances[-1]}")
        return {"row": name, "with_over_dummy": None, "discarded": len(disturbances)}
    return {**report(name, visits, len(disturbances)), "trials": [asdict(visit) for visit in visits]}


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of this script."""
    parser = argparse.ArgumentParser(prog="benchmarks/floods.py", description=__doc__)
    parser.add_argument("--trials", type=int, default=3, help="trials of each kind (default 3)")
    parser.add_argument("--cycles", type=int, default=4, help="comparisons within one trial (default 4)")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="length of one segment; three are a cycle (default 1.0)"
    )
    parser.add_argument("--rate", help="pace the trial, such as 10Gbit/s; else the cores are its limit")
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help="such as 'veth/*'; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="every segment and every ratio, as JSON")
    options = parser.parse_args(arguments)
    if options.trials < 1 or options.cycles < 1 or not 0.5 <= options.seconds <= 60:
        parser.error("--trials and --cycles start at 1, --seconds goes from 0.5 to 60")
    if options.json is not None and not options.json.resolve().parent.is_dir():
        parser.error(f"--json: the folder of '{options.json}' does not exist")
    return options


def choose(only: list[str] | None) -> list[tuple[str, str]]:
    """Places and kinds that match a pattern, in their order."""
    return [
        (testbed, kind)
        for testbed in TESTBEDS
        for kind in KINDS
        if only is None or any(fnmatch.fnmatch(f"{testbed}/{kind}", pattern) for pattern in only)
    ]


def run_all(options: argparse.Namespace, tool: Tool, stored: dict[str, Any]) -> None:
    """Every chosen kind on every testbed, printed as it ends and added to ``stored``."""
    chosen = choose(options.only)
    echo(_HEADING)
    with tempfile.TemporaryDirectory(prefix="pathlab-bench-") as folder:
        for name in TESTBEDS:
            kinds = [kind for testbed, kind in chosen if testbed == name]
            if not kinds:
                continue
            with open_testbed(name) as testbed:
                host = Host(testbed, tool, Path(folder), options.rate)
                for kind in kinds:
                    stored["rows"].append(run_kind(host, f"{name}/{kind}", kind, options))


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 also where the target is missed, 2 for a wrong option, 3 where it cannot run."""
    options = parse_arguments(arguments)
    if not choose(options.only):
        names = ", ".join(f"{testbed}/{kind}" for testbed in TESTBEDS for kind in KINDS)
        sys.stderr.write(f"benchmarks: no row is called {', '.join(options.only)}\n  fix: one of {names}\n")
        return 2
    tool = find_tools()[0]["engine"]
    machine = f"{' '.join(os.uname()[i] for i in (0, 2, 4))}, {os.cpu_count()} cores"
    stored: dict[str, Any] = {"machine": machine, "version": tool.version, "rows": []}
    echo(f"{tool.version}: {STREAMS} streams, Gbit/s, with unauthenticated peers; {machine}")
    with keep_json(stored, options.json):
        run_all(options, tool, stored)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
