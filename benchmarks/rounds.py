"""Candidates that are run in turn, and the table of their ratios."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from comparisons import MEMORY_LIMIT_BYTES, RECORD_BYTES, Group, Row
from outcome import echo, keep_json
from testbeds import Testbed, open_testbed
from transfers import ATTEMPTS, Bench, Transfer

from tools import Candidate, Load, Tool, TransferError

DECIDING_RUNS = 5
INTERFACE_TOLERANCE_RATIO = 0.03
HEADING = (
    f"{'group':<36}{'ours : against':<46}{'quantity':<11}{'ours':>9}{'against':>9}"
    f"{'ratio':>8}{'[min, max]':>16}{'target':>9}  {'':<10}{'runs'}"
)


@dataclass(slots=True, kw_only=True)
class Series:
    """The runs of one candidate: by repetition, None where none was quiet; or what it was refused with."""

    transfers: list[Transfer | None] = field(default_factory=list)
    thrown_away: list[Transfer] = field(default_factory=list)
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Ours over theirs. Medians of the runs, and of the ratios of successive runs."""

    ours: float
    against: float
    ratio: float
    least: float
    most: float
    runs: int


def run_group(
    bench: Bench, testbed: Testbed, group: Group, tools: dict[str, Tool], repetitions: int
) -> dict[Candidate, Series]:
    """All runs of a group, interleaved; every other round in the opposite order."""
    there = [candidate for candidate in group.candidates if candidate.tool in tools]
    series = {candidate: Series() for candidate in there}
    for repetition in range(repetitions):
        for candidate in there if repetition % 2 == 0 else reversed(there):
            if series[candidate].refusal is None:
                _repeat_until_quiet(bench, testbed, tools[candidate.tool], candidate, series[candidate])
    return series


def _repeat_until_quiet(
    bench: Bench, testbed: Testbed, tool: Tool, candidate: Candidate, series: Series
) -> None:
    for _ in range(ATTEMPTS):
        try:
            transfer = bench.carry(testbed, tool, candidate)
        except TransferError as error:
            series.refusal = str(error)
            return
        if transfer.is_quiet:
            series.transfers.append(transfer)
            return
        series.thrown_away.append(transfer)
    series.transfers.append(None)


def compare(ours: Series, against: Series, quantity: str) -> Ratio | None:
    """The ratio of an attribute of Transfer; None when no repetition has both."""
    pairs = [
        (float(getattr(transfer, quantity)), float(getattr(other, quantity)))
        for transfer, other in zip(ours.transfers, against.transfers, strict=False)
        if transfer is not None and other is not None
    ]
    if not pairs:
        return None
    ratios = [item / other for item, other in pairs]
    return Ratio(
        ours=median(item for item, _ in pairs),
        against=median(other for _, other in pairs),
        ratio=median(ratios),
        least=min(ratios),
        most=max(ratios),
        runs=len(ratios),
    )


def classify(ratio: Ratio, at_least: float | None, at_most: float | None) -> tuple[str, str]:
    """The target as text, and whether it is met; too few runs decide nothing."""
    if at_least is None and at_most is None:
        return "", ""
    target = f">= {at_least:.2f}" if at_least is not None else f"<= {at_most:.2f}"
    if ratio.runs < DECIDING_RUNS:
        return target, "undecided"
    met = ratio.ratio >= at_least if at_least is not None else ratio.ratio <= (at_most or 0.0)
    return target, "met" if met else "MISSED"


def report_row(testbed: str, group: Group, row: Row, series: dict[Candidate, Series]) -> list[dict[str, Any]]:
    """Print a row's lines; returns them for the JSON file."""
    name, sides = f"{testbed}/{group.name}", f"{row.ours.label} : {row.against.label}"
    absent = [side.label for side in (row.ours, row.against) if side not in series]
    refusals = [
        f"{side.label}: {series[side].refusal}"
        for side in (row.ours, row.against)
        if side in series and series[side].refusal
    ]
    facts: dict[str, Any] = {"row": name, "ours": row.ours.label, "against": row.against.label}
    if absent:
        return []  # the missing peer is named at the top
    if refusals:
        echo(f"{name:<36}{sides:<46}refused: {'; '.join(refusals)}")
        return [{**facts, "refused": refusals}]
    ours, against = series[row.ours], series[row.against]
    thrown = len(ours.thrown_away) + len(against.thrown_away)
    lines = []
    for measure in row.measures:
        facts["quantity"] = measure.quantity
        ratio = compare(ours, against, measure.quantity)
        if ratio is None:
            echo(f"{name:<36}{sides:<46}{measure.title:<11}no quiet run on both sides ({thrown} thrown away)")
            lines.append({**facts, "ratio": None, "thrown_away": thrown})
            continue
        target, verdict = classify(ratio, measure.at_least, measure.at_most)
        span = f"[{ratio.least:.3f}, {ratio.most:.3f}]"
        echo(
            f"{name:<36}{sides:<46}{measure.title:<11}"
            f"{ratio.ours / measure.unit:>9.3f}{ratio.against / measure.unit:>9.3f}"
            f"{ratio.ratio:>8.3f}{span:>16}{target:>9}  {verdict:<10}{ratio.runs}"
            + (f", {thrown} thrown away" if thrown else "")
        )
        lines.append({**facts, **asdict(ratio), "target": target, "verdict": verdict, "thrown_away": thrown})
    return lines


def report_memory(
    testbed: str, group: Group, series: dict[Candidate, Series], seconds: int
) -> list[dict[str, Any]]:
    """Print the largest process's memory against its limit; returns it for the JSON file."""
    candidate = group.memory_of
    if candidate is None or candidate not in series:
        return []
    done = [run for run in series[candidate].transfers if run is not None]
    peaks = [run.peak_rss_bytes for run in done]
    if not peaks:
        return []
    intervals = seconds + 1  # 1 s each, and the drain
    limit = MEMORY_LIMIT_BYTES + RECORD_BYTES * candidate.streams * intervals
    verdict = ("met" if max(peaks) <= limit else "MISSED") if len(peaks) >= DECIDING_RUNS else "undecided"
    name = f"{testbed}/{group.name}"
    shown = ("<" if all(run.peak_rss_is_bound for run in done) else "") + f"{max(peaks) / 1e6:.1f}"
    echo(
        f"{name:<36}{candidate.label + ', the larger end, the worst run':<46}{'RSS MB':<11}{shown:>9}"
        f"{'':>33}{f'<= {limit / 1e6:.1f}':>9}  {verdict:<10}{len(peaks)}"
    )
    return [
        {"row": name, "quantity": "peak_rss_bytes", "value": max(peaks), "limit": limit, "verdict": verdict}
    ]


def report_deviations(series: dict[Candidate, Series]) -> None:
    """Name receivers whose count is not what their interface took, and modes that were fallen back from."""
    for candidate, runs in series.items():
        done = [run for run in runs.transfers if run is not None]
        for note in sorted({run.note for run in done if run.note}):
            echo(f"  note: {candidate.label}: {note}")
        if candidate.message_bytes > 0:  # headers, or no interface at all
            continue
        apart = [run.received_bytes / run.interface_bytes - 1 for run in done]
        if apart and abs(median(apart)) > INTERFACE_TOLERANCE_RATIO:
            echo(f"  warning: {candidate.label} counts {median(apart):+.1%} against what its interface took")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A benchmark: its groups, by the name of their testbed, and how long a transfer is unless told."""

    program: str
    about: str | None
    groups: dict[str, tuple[Group, ...]]
    seconds: int
    quiet_s: float  # CPU seconds of other work in a transfer that is kept
    cores: tuple[int, int] | None = None  # of senders and receivers

    def list_groups(self, only: list[str] | None) -> list[tuple[str, Group]]:
        """Testbeds and groups that match a pattern, in their order."""
        return [
            (testbed, group)
            for testbed, groups in self.groups.items()
            for group in groups
            if only is None or any(fnmatch.fnmatch(f"{testbed}/{group.name}", pattern) for pattern in only)
        ]

    def check_names(self, only: list[str] | None) -> bool:
        """Whether a pattern matches; an error names what there is."""
        if self.list_groups(only):
            return True
        names = ", ".join(f"{testbed}/{group.name}" for testbed, group in self.list_groups(None))
        sys.stderr.write(f"benchmarks: no group is called {', '.join(only or [])}\n  fix: one of {names}\n")
        return False


def parse_arguments(
    comparison: Comparison,
    arguments: Sequence[str],
    add_options: Callable[[argparse.ArgumentParser], None] = lambda _: None,
) -> argparse.Namespace:
    """The options of a benchmark, with those of its own."""
    parser = argparse.ArgumentParser(prog=comparison.program, description=comparison.about)
    parser.add_argument(
        "--repetitions", type=int, default=DECIDING_RUNS, help="rounds of each group (default 5)"
    )
    seconds = comparison.seconds
    parser.add_argument(
        "--seconds", type=int, default=seconds, help=f"length of one transfer (default {seconds})"
    )
    parser.add_argument(
        "--congestion", default="cubic", help="congestion control of every tool (default cubic)"
    )
    names = next(f"{testbed}/{group.name}" for testbed, group in comparison.list_groups(None))
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help=f"groups such as '{names}'; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run and every ratio, as JSON")
    add_options(parser)
    options = parser.parse_args(arguments)
    if options.repetitions < 1 or options.seconds < 1:
        parser.error("--repetitions and --seconds start at 1")
    if options.json is not None and not options.json.resolve().parent.is_dir():
        parser.error(f"--json: the folder of '{options.json}' does not exist")
    return options


def run_all(
    comparison: Comparison, options: argparse.Namespace, tools: dict[str, Tool], stored: dict[str, Any]
) -> None:
    """Every chosen group, printed as it ends and added to ``stored``."""
    load = Load(
        seconds=options.seconds,
        congestion=options.congestion,
        quiet_s=comparison.quiet_s,
        cores=comparison.cores,
    )
    chosen = comparison.list_groups(options.only)
    echo(HEADING)
    with tempfile.TemporaryDirectory(prefix="pathlab-bench-") as folder:
        bench = Bench(load, Path(folder))
        for name in comparison.groups:
            groups = [group for testbed, group in chosen if testbed == name]
            if not groups:
                continue
            with open_testbed(name) as testbed:
                for group in groups:
                    series = run_group(bench, testbed, group, tools, options.repetitions)
                    for row in group.rows:
                        stored["rows"] += report_row(name, group, row, series)
                    stored["rows"] += report_memory(name, group, series, options.seconds)
                    report_deviations(series)
                    for candidate, runs in series.items():
                        stored["runs"].append(
                            {"group": f"{name}/{group.name}", **asdict(candidate), **asdict(runs)}
                        )


def run_comparison(
    comparison: Comparison, arguments: Sequence[str], tools: dict[str, Tool], missing: list[str]
) -> int:
    """Run a benchmark; 0 also where a target is missed, 2 for a wrong option."""
    options = parse_arguments(comparison, arguments)
    if not comparison.check_names(options.only):
        return 2
    stored = start_store(options, tools, missing)
    with keep_json(stored, options.json):
        run_all(comparison, options, tools, stored)
    return 0


def start_store(options: argparse.Namespace, tools: dict[str, Tool], missing: list[str]) -> dict[str, Any]:
    """Print machine and versions; what the JSON file begins with."""
    machine = f"{' '.join(os.uname()[i] for i in (0, 2, 4))}, {os.cpu_count()} cores"
    echo(f"{machine}; {options.congestion}; {options.repetitions} x {options.seconds} s each")
    for tool in tools.values():
        echo(f"  {tool.name}: {tool.version}")
    for line in missing:
        echo(f"  {line}; its rows are left out")
    return {
        "realtime_s": int(time.time()),
        "machine": machine,
        "versions": {name: tool.version for name, tool in tools.items()},
        "missing": missing,
        "repetitions": options.repetitions,
        "seconds": options.seconds,
        "congestion": options.congestion,
        "rows": [],
        "runs": [],
    }
