"""How accurate the lab is: goodput, round trips, losses and the emulator's CPU against what was set.

``python benchmarks/fidelity.py --help`` says how; README.md alongside it says what the columns mean.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from outcome import echo, translate_faults

from pathlab.analysis.estimators.loss import probe_loss
from pathlab.analysis.estimators.payload import full_segment, payload_rate
from pathlab.errors import HostError
from pathlab.lab.lab import Lab
from pathlab.lab.namespaces import LabProcess
from pathlab.lab.topology import Link, Topology
from pathlab.lab.verdict import evaluate_lab, take_snapshot
from pathlab.remote.engine import find_engine

MTU_BYTES = 1500
GOODPUT_RATIO = 0.005
IDLE_P50_NS, IDLE_P99_NS = 25_000, 400_000
LOADED_RATIO = 0.03
EMULATOR_CORES = 0.75
LOSS_SEEDS = (1, 2, 3, 4, 5)
LOSS_PROBES = 100_000
_PORT = 5213
_TOKEN = "50617468" * 4
_MINIMUM_QUEUE_BYTES, _MINIMUM_QUEUE_NS = 150_000, 4_000_000
_WAIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One link and a number of streams over it."""

    rate_bits_per_s: int
    rtt_ns: int
    streams: int

    @property
    def name(self) -> str:
        """As ``--only`` takes it."""
        rate = f"{self.rate_bits_per_s // 10**6}M"
        return f"{rate}/{self.rtt_ns // 10**6}ms/{self.streams}"

    @property
    def queue_bytes(self) -> int:
        """One product of rate and round trip, no less than 150 kB and 4 ms."""
        product = self.rate_bits_per_s * self.rtt_ns // (8 * 10**9)
        shortest = self.rate_bits_per_s * _MINIMUM_QUEUE_NS // (8 * 10**9)
        return max(product, shortest, _MINIMUM_QUEUE_BYTES)

    @property
    def least_rtt_ns(self) -> int:
        """Of a probe of 84 bytes: delays and serialising."""
        return self.rtt_ns + 2 * (84 * 8 * 10**9 // self.rate_bits_per_s)

    @property
    def topology(self) -> Topology:
        """Two hosts and the link."""
        link = Link(
            between=("a", "b"),
            rate_bits_per_s=self.rate_bits_per_s,
            delay_ns=self.rtt_ns // 2,
            queue_bytes=self.queue_bytes,
        )
        return Topology(hosts=("a", "b"), links=(link,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One run of a cell."""

    goodput_bits_per_s: float
    idle_p50_ns: int
    idle_p99_ns: int
    loaded_p99_ns: int
    retransmitted: int
    emulator_cores: float | None
    warnings: tuple[str, ...]  # the lab's own verdict


def plan_cells() -> list[Cell]:
    """The cells of the issue's figures, slow ones last."""
    cells = [
        Cell(rate_bits_per_s=rate, rtt_ns=rtt * 10**6, streams=streams)
        for rate in (30 * 10**6, 10**8, 10**9)
        for rtt in (1, 20, 160)
        for streams in (1, 16)
    ]
    return [
        *cells,
        *(Cell(rate_bits_per_s=5 * 10**9, rtt_ns=20 * 10**6, streams=streams) for streams in (1, 16)),
    ]


class Bench:
    """Engines inside a lab, with their records in files."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        self._folder = folder
        self._engine = str(find_engine())

    def start(self, host: str, name: str, *words: str) -> LabProcess:
        """An engine of the lab; its records go to a file of that name."""
        null = os.open(os.devnull, os.O_RDWR)
        out = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            argv = [self._engine, words[0], "--output", "json", *words[1:]]
            return self._lab.namespaces.spawn(host, argv, (null, out, null))
        finally:
            os.close(null)
            os.close(out)

    def records(self, name: str) -> list[dict[str, Any]]:
        """The records of that engine so far."""
        text = (self._folder / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def finish(self, process: LabProcess, name: str) -> list[dict[str, Any]]:
        """Its records once it has ended."""
        if process.wait(_WAIT_S) is None:
            raise HostError(f"{name} did not end", host="lab", stage="engine")
        return self.records(name)

    def probe_idle(self, cell: Cell) -> list[int]:
        """Round trips of 300 probes on the idle link, ns, in order of length."""
        address = cell.topology.address("b", "a")
        # No round trip is a multiple of the interval: an answer would wait while a probe is handed over.
        return round_trips(self.ping(address, "--count", "300", "--interval", "5.3ms"))

    def ping(self, address: str, *words: str) -> list[dict[str, Any]]:
        """Probes from a to b, to their end."""
        return self.finish(self.start("a", "ping", "ping", "--address", address, *words), "ping")


def round_trips(records: Sequence[dict[str, Any]]) -> list[int]:
    """Answered round trips in order of length, ns."""
    return sorted(r["rtt_ns"] for r in records if r["type"] == "probe" and r["rtt_ns"] is not None)


def percentile(values: Sequence[int], ratio: float) -> int:
    """Of sorted values."""
    return values[min(len(values) - 1, int(ratio * len(values)))]


def measure(cell: Cell, seconds: float, backend: str) -> Reading:
    """One run: probes, traffic with probes, counters."""
    warmup_s = 3 if cell.rtt_ns < 10**8 else 12
    with (
        Lab(cell.topology, engine=find_engine(), backend=backend) as lab,
        tempfile.TemporaryDirectory() as folder,
    ):
        bench, address = Bench(lab, Path(folder)), cell.topology.address("b", "a")
        idle = bench.probe_idle(cell)
        common = ["--token", _TOKEN, "--congestion", "cubic", "--warmup", f"{warmup_s}s"]
        common += [
            "--duration",
            f"{int(seconds * 1000)}ms",
            "--streams",
            str(cell.streams),
            "--port",
            str(_PORT),
        ]
        receiver = bench.start("b", "receiver", "receive", "--bind", address, *common)
        before = take_snapshot(lab)
        sender = bench.start("a", "sender", "send", "--address", address, *common)
        probes = str(int((warmup_s + seconds) / 0.02))
        prober = bench.start(
            "a", "probes", "ping", "--address", address, "--count", probes, "--interval", "20ms"
        )
        sent = bench.finish(sender, "sender")
        received = bench.finish(receiver, "receiver")
        after = take_snapshot(lab)
        loaded = bench.finish(prober, "probes")
        steady = received[-1]["phases"]["steady"]
        inside = [r for r in loaded if r["type"] == "probe" and (r["sent_ns"] or 0) > warmup_s * 10**9]
        verdict = evaluate_lab(before, after, cell.rtt_ns)
        return Reading(
            goodput_bits_per_s=sum(steady["bytes"]) * 8e9 / (steady["end_ns"] - steady["start_ns"]),
            idle_p50_ns=percentile(idle, 0.5),
            idle_p99_ns=percentile(idle, 0.99),
            loaded_p99_ns=percentile(round_trips(inside), 0.99),
            retransmitted=sum(sent[-1]["tcp_info"]["total_retrans_segments"]),
            emulator_cores=verdict.emulator_cores,
            warnings=verdict.reasons,
        )


def measure_idle(cell: Cell, backend: str) -> tuple[int, int]:
    """p50 and p99 of the idle round trip in one run, ns."""
    with (
        Lab(cell.topology, engine=find_engine(), backend=backend) as lab,
        tempfile.TemporaryDirectory() as folder,
    ):
        idle = Bench(lab, Path(folder)).probe_idle(cell)
        return percentile(idle, 0.5), percentile(idle, 0.99)


def report_idle(cell: Cell, readings: Sequence[tuple[int, int]]) -> None:
    """One line: medians with the least and the greatest, less what is set."""
    texts = []
    for column in zip(*readings, strict=True):
        excess_us = [(value - cell.least_rtt_ns) / 1000 for value in column]
        texts.append(f"{median(excess_us):8.0f} [{min(excess_us):.0f}, {max(excess_us):.0f}]")
    echo(f"{cell.name:16}" + "   ".join(texts))


def report_cell(cell: Cell, readings: Sequence[Reading]) -> None:
    """One line of medians, with what is within the limits."""
    expected = payload_rate(cell.rate_bits_per_s, full_segment(MTU_BYTES))
    errors = [reading.goodput_bits_per_s / expected - 1 for reading in readings]
    full_ns = cell.rtt_ns + cell.queue_bytes * 8 * 10**9 // cell.rate_bits_per_s
    p50_ns = median(reading.idle_p50_ns for reading in readings) - cell.least_rtt_ns
    p99_ns = median(reading.idle_p99_ns for reading in readings) - cell.least_rtt_ns
    loaded = median(reading.loaded_p99_ns for reading in readings) / full_ns - 1
    cores = [reading.emulator_cores for reading in readings if reading.emulator_cores is not None]
    warnings = sum(bool(reading.warnings) for reading in readings)
    echo(
        f"{cell.name:16} {100 * median(errors):+8.2f} [{100 * min(errors):+.2f}, {100 * max(errors):+.2f}]"
        f"{'':2}{p50_ns / 1000:8.0f} {p99_ns / 1000:8.0f} {100 * loaded:+9.1f} "
        f"{median(cores) if cores else float('nan'):7.2f} "
        f"{int(median(reading.retransmitted for reading in readings)):8d}   {warnings} of {len(readings)}"
    )
    for reason in sorted({reason for reading in readings for reason in reading.warnings}):
        echo(f"{'':16} lab-limited: {reason}")


def count_losses(seed: int, loss_ratio: float, probes: int) -> tuple[int, tuple[int, ...]]:
    """Probes lost on a link with random loss, and which: the n-th packet of a seed meets the same fate."""
    link = Link(
        between=("a", "b"), rate_bits_per_s=10**9, delay_ns=10**6, queue_bytes=10**6, loss_ratio=loss_ratio
    )
    topology = Topology(hosts=("a", "b"), links=(link,), seed=seed)
    with Lab(topology, engine=find_engine()) as lab, tempfile.TemporaryDirectory() as folder:
        bench = Bench(lab, Path(folder))
        records = bench.ping(topology.address("b", "a"), "--count", str(probes), "--interval", "500us")
    lost = tuple(r["sequence"] for r in records if r["type"] == "probe" and r["rtt_ns"] is None)
    return len(lost), lost


def report_losses(probes: int) -> dict[str, Any]:
    """Losses of several seeds together against their binomial interval, and one seed twice."""
    stored: dict[str, Any] = {}
    echo()
    for loss_ratio in (0.001, 0.01, 0.05):
        expected = 1 - (1 - loss_ratio) ** 2  # both directions
        lost = 0
        for seed in LOSS_SEEDS:
            lost_of_seed, first = count_losses(seed, loss_ratio, probes // len(LOSS_SEEDS))
            lost += lost_of_seed
        _, second = count_losses(LOSS_SEEDS[-1], loss_ratio, probes // len(LOSS_SEEDS))
        result = probe_loss(probes, probes - lost)
        interval = result.interval_ratio
        within = "within" if interval.contains(expected) else "OUTSIDE"
        alike = "the same losses" if first == second else "OTHER LOSSES"
        echo(
            f"loss {100 * loss_ratio:g} % each way: {100 * lost / probes:.3f} % of {probes} probes, "
            f"{len(LOSS_SEEDS)} seeds; set: "
            f"{100 * expected:.3f} %, {within} its 95 % interval; the same seed again: {alike}"
        )
        stored[str(loss_ratio)] = {"lost": lost, "probes": probes, "same": first == second}
    return stored


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="benchmarks/fidelity.py", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5, help="runs of each cell (default 5)")
    parser.add_argument("--seconds", type=float, default=5, help="steady window of one run (default 5)")
    parser.add_argument("--backend", default="auto", help="netem, tun, packet; default: as the lab chooses")
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help="cells such as '100M/*'; repeatable"
    )
    parser.add_argument("--idle", action="store_true", help="only the idle round trips")
    parser.add_argument("--losses", action="store_true", help="only the losses")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run, as JSON")
    options = parser.parse_args(arguments)
    if not any(map(is_chosen(options.only), plan_cells())):
        known = ", ".join(cell.name for cell in plan_cells())
        parser.error(f"--only: no cell is called {', '.join(options.only)}; the cells are {known}")
    return options


def is_chosen(only: list[str] | None) -> Callable[[Cell], bool]:
    """Whether a cell is requested."""
    return lambda cell: only is None or any(fnmatch.fnmatch(cell.name, pattern) for pattern in only)


def print_idle(options: argparse.Namespace) -> int:
    """Idle round trips of every link."""
    echo("idle RTT - set, us, medians [min, max]")
    echo("rate/rtt/streams      p50                  p99")
    stored = {}
    for cell in filter(is_chosen(options.only), plan_cells()):
        if cell.streams == 1:
            readings = [measure_idle(cell, options.backend) for _ in range(options.repetitions)]
            report_idle(cell, readings)
            stored[cell.name] = readings
    if options.json is not None:
        options.json.write_text(json.dumps(stored, indent=1), encoding="utf-8")
    return 0


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run every cell in turn, and print."""
    options = parse_arguments(arguments)
    stored: dict[str, Any] = {}
    system = os.uname()
    echo(f"{system.sysname} {system.release}, {os.cpu_count()} cores; cubic; {options.repetitions} runs each")
    if options.idle:
        return print_idle(options)
    if options.losses:
        report_losses(LOSS_PROBES)
        return 0
    echo("                 goodput error, %         idle RTT - set, us   loaded   emulator  segments   lab-")
    echo(
        "rate/rtt/streams   median [min, max]              p50      p99   p99, %     cores    resent  limited"
    )
    for cell in filter(is_chosen(options.only), plan_cells()):
        readings = [measure(cell, options.seconds, options.backend) for _ in range(options.repetitions)]
        report_cell(cell, readings)
        stored[cell.name] = [asdict(reading) for reading in readings]
    if options.only is None:
        stored["losses"] = report_losses(LOSS_PROBES)
    if options.json is not None:
        options.json.write_text(json.dumps(stored, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
