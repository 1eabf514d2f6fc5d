"""Technologies against their own benchmarks: round trips through adapters, TCP against sockperf, as ratios.

``python benchmarks/technologies.py --help`` says how; README.md alongside it says what the columns mean.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import csv
import functools
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comparisons import Group, Measure, Row
from messages import measure_round_trips, plan_ping
from outcome import echo, keep_json, translate_faults
from rounds import HEADING, Comparison, parse_arguments, report_row, run_group, start_store
from testbeds import open_testbed
from transfers import Bench

from pathlab.campaign.technologies import list_technologies
from pathlab.remote.jobs import EngineJob
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from pathlab.store.hdr_histogram import Histogram
from tools import WARMUP_NS, Candidate, Load, Tool, TransferError, find_tools

ADDRESS = "127.0.0.1"
SIZE_BYTES = 64
START_S = 120.0  # the program may have to be built first
GRACE_S = 10.0
REDIS_PER_S, ZEROMQ_PER_S = 150_000, 60_000  # requests told in advance, for a run of about the wanted length
SOURCE = Path(__file__).with_name("bare_zeromq.c")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """What one run says; one request at a time, so that the mean is the reciprocal of the rate.

    Who else used the cores is not known: servers are in namespaces of their own.
    """

    mean_ns: float
    p50_ns: float | None = None
    is_quiet: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where both ends run: the agent, the core of each, and the length of a run."""

    session: Session
    folder: Path
    seconds: int
    asking_core: int
    answering_core: int

    @contextlib.contextmanager
    def serve(self, name: str) -> Iterator[tuple[EngineJob, int]]:
        """The answering end of a technology, and its port."""
        settings = {"address": ADDRESS, "bytes": SIZE_BYTES, "cores": [self.answering_core]}
        server = self.session.start_adapter(
            name, "answer", settings, seconds=START_S + self.seconds + GRACE_S
        )
        try:
            yield server, server.wait_for("listening", START_S)["port"]
        finally:
            server.command("stop")
            server.wait(GRACE_S)

    def run(self, *words: str) -> str:
        """What a program prints that asks. Raises TransferError with its last line where it fails."""
        command = ["taskset", "--cpu-list", str(self.asking_core), *words]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=self.seconds * 10 + GRACE_S, check=False
        )
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise TransferError(f"{words[0]}: {lines[-1] if lines else f'exit status {done.returncode}'}")
        return done.stdout


Asker = Callable[[Place, str], RoundTrips]  # of a technology


def ask_by_adapter(place: Place, name: str) -> RoundTrips:
    """As a trial does it. The mean is that of the steady window, with all that the loop does besides."""
    settings: dict[str, Any] = {"address": ADDRESS, "bytes": SIZE_BYTES, "cores": [place.asking_core]}
    settings |= {"warmup_ns": WARMUP_NS, "duration_ns": place.seconds * 10**9}
    with place.serve(name) as (server, port):
        seconds = START_S + place.seconds + GRACE_S
        client = place.session.start_adapter(name, "ask", settings | {"port": port}, seconds=seconds)
        client.wait_for("ready", START_S)
        for job in (server, client):
            job.command("go")
        result = client.wait_for("result", place.seconds + GRACE_S)
        client.wait(GRACE_S)
    if not result["complete"]:
        raise TransferError(f"{name}: {result['reason']}")
    steady = result["phases"]["steady"]
    histogram = Histogram.decode(base64.b64decode(result["messages"]["round_trip_ns"]["hdr"]))
    return RoundTrips(
        mean_ns=(steady["end_ns"] - steady["start_ns"]) / sum(steady["messages"]),
        p50_ns=histogram.quantile_ns(0.5),
    )


def read_number(program: str, pattern: str, text: str) -> float:
    """The pattern's group as a number. Raises TransferError where the program did not print it."""
    match = re.search(pattern, text)
    if match is None:
        raise TransferError(f"{program} did not print {pattern}")
    return float(match[1])


def parse_redis_benchmark(text: str) -> RoundTrips:
    """The last line of its CSV: its latencies have steps of 1 us, its rate has none."""
    rows = list(csv.reader(text.splitlines()))
    try:
        return RoundTrips(mean_ns=1e9 / float(rows[-1][1]))
    except (IndexError, ValueError) as error:
        raise TransferError(f"redis-benchmark printed no rate: {text.strip()[-200:]}") from error


def ask_by_redis_benchmark(place: Place, name: str) -> RoundTrips:
    """One client, the command that the adapter sends."""
    with place.serve(name) as (_, port):
        shape = ["-c", "1", "-n", str(REDIS_PER_S * place.seconds), "--csv"]
        words = ["-h", ADDRESS, "-p", str(port), "-a", "pathlab", *shape, "ECHO", "x" * SIZE_BYTES]
        return parse_redis_benchmark(place.run("redis-benchmark", *words))


def parse_pgbench(text: str) -> RoundTrips:
    """Its rate, without the time to connect."""
    return RoundTrips(mean_ns=1e9 / read_number("pgbench", r"tps = ([\d.]+)", text))


def ask_by_pgbench(place: Place, name: str) -> RoundTrips:
    """One client, the adapter's statement, prepared, with a literal of as many bytes."""
    script = place.folder / "select.sql"
    script.write_text(f"select '\\x{'78' * SIZE_BYTES}'::bytea;\n", encoding="ascii")
    with place.serve(name) as (_, port):
        shape = ["-n", "-M", "prepared", "-c", "1", "-T", str(place.seconds), "-f", str(script)]
        return parse_pgbench(
            place.run("pgbench", *shape, "-h", ADDRESS, "-p", str(port), "-U", "pathlab", "pathlab")
        )


def parse_h2load(text: str) -> RoundTrips:
    """Its rate. Raises TransferError where a request failed."""
    if read_number("h2load", r"(\d+) failed", text) > 0:
        raise TransferError("h2load: requests failed")
    return RoundTrips(mean_ns=1e9 / read_number("h2load", r"finished in [^,]*, ([\d.]+) req/s", text))


def ask_by_h2load(place: Place, name: str) -> RoundTrips:
    """One client with one request at a time."""
    content = place.folder / "content"
    content.write_bytes(b"x" * SIZE_BYTES)
    version = ["--h1"] if name == "http1" else []
    with place.serve(name) as (_, port):
        shape = ["-c1", "-m1", "-t1", f"-D{place.seconds}", "-d", str(content)]
        return parse_h2load(place.run("h2load", *version, *shape, f"http://{ADDRESS}:{port}/echo"))


def parse_bare_zeromq(text: str) -> RoundTrips:
    """The program's rate."""
    return RoundTrips(mean_ns=1e9 / read_number("bare_zeromq", r"messages_per_s=([\d.]+)", text))


def ask_by_bare_zeromq(program: str, place: Place, name: str) -> RoundTrips:
    """Our own loop without recording, against the adapter's server."""
    with place.serve(name) as (_, port):
        return parse_bare_zeromq(place.run(program, ADDRESS, str(port), str(SIZE_BYTES), str(place.seconds)))


def parse_remote_lat(text: str) -> RoundTrips:
    """Its average latency, which is half a round trip."""
    return RoundTrips(mean_ns=2e3 * read_number("remote_lat", r"average latency: ([\d.]+)", text))


def ask_by_remote_lat(folder: Path, place: Place, _name: str) -> RoundTrips:
    """ZeroMQ's own programs, both ends."""
    with socket.socket() as free:
        free.bind((ADDRESS, 0))
        endpoint = f"tcp://{ADDRESS}:{free.getsockname()[1]}"
    words = [endpoint, str(SIZE_BYTES), str(ZEROMQ_PER_S * place.seconds)]
    server_words = ["taskset", "--cpu-list", str(place.answering_core), str(folder / "local_lat"), *words]
    with subprocess.Popen(server_words, stdout=subprocess.DEVNULL) as server:
        try:
            return parse_remote_lat(place.run(str(folder / "remote_lat"), *words))
        finally:
            server.kill()


def find_askers(options: argparse.Namespace, folder: Path) -> tuple[dict[str, Asker], list[str]]:
    """Programs that are here, by name, and a line for each other."""
    askers: dict[str, Asker] = {"adapter": ask_by_adapter}
    missing = []
    for program, package, asker in (
        ("redis-benchmark", "redis-tools", ask_by_redis_benchmark),
        ("pgbench", "postgresql", ask_by_pgbench),
        ("h2load", "nghttp2-client", ask_by_h2load),
    ):
        if shutil.which(program):
            askers[program] = asker
        else:
            missing.append(f"{program} is missing (apt-get install {package})")
    program = str(folder / "bare_zeromq")
    build = ["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-o", program, str(SOURCE), "-lzmq"]
    if shutil.which("cc") and subprocess.run(build, capture_output=True, check=False).returncode == 0:
        askers["bare-zeromq"] = functools.partial(ask_by_bare_zeromq, program)
    else:
        missing.append("bare_zeromq does not build (apt-get install gcc libzmq3-dev)")
    if options.zmq_perf is None:
        missing.append("remote_lat is missing (--zmq-perf)")
    else:
        askers["remote_lat"] = functools.partial(ask_by_remote_lat, options.zmq_perf)
    return askers, missing


def plan_groups() -> tuple[Group, ...]:
    """The comparisons of one placement, with the targets."""
    pairs = (
        ("redis-echo", "redis-benchmark", 1.03),
        ("postgresql-select", "pgbench", 1.03),
        ("zeromq", "bare-zeromq", 1.03),
        ("zeromq", "remote_lat", 1.03),
        ("http1", "h2load", None),
        ("http2", "h2load", None),
    )
    mean = functools.partial(Measure, title="mean us", quantity="mean_ns", unit=1e3)
    ours, sockperf = plan_ping("tcp", "block")
    trips = Row(ours=ours, against=sockperf, measures=measure_round_trips(1.02)[:1])
    return (
        Group(name="tcp/sockperf", rows=(trips,)),
        *(
            Group(
                name=f"{name}/{peer}",
                rows=(
                    Row(
                        ours=Candidate(label=name, tool="adapter", flags=(name,), message_bytes=SIZE_BYTES),
                        against=Candidate(label=peer, tool=peer, flags=(name,), message_bytes=SIZE_BYTES),
                        measures=(mean(at_most=target),),
                    ),
                ),
            )
            for name, peer, target in pairs
        ),
    )


class TechnologyBench:
    """Runs askers by the agent, and the engine's and sockperf's transfers as other benchmarks do."""

    def __init__(self, place: Place, load: Load) -> None:
        self._place, self._transfers = place, Bench(load, place.folder)

    def carry(self, testbed: Any, tool: Tool | Asker, candidate: Candidate) -> Any:
        """One run: a Transfer or RoundTrips. Raises TransferError with the program's own words."""
        if isinstance(tool, Tool):
            return self._transfers.carry(testbed, tool, candidate)
        return tool(self._place, candidate.flags[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is the same for all placements."""

    tools: Mapping[str, Tool | Asker]
    folder: Path
    quiet_s: float
    stored: dict[str, Any]


def run_placement(
    name: str, cores: tuple[int, int], groups: Sequence[Group], options: argparse.Namespace, run: Run
) -> None:
    """All groups of a placement, printed as they end and added to what is stored."""
    load = Load(seconds=options.seconds, congestion=options.congestion, quiet_s=run.quiet_s, cores=cores)
    with Session(LocalTransport(), host="local") as session, open_testbed("loopback") as testbed:
        place = Place(
            session=session,
            folder=run.folder,
            seconds=options.seconds,
            asking_core=cores[0],
            answering_core=cores[1],
        )
        bench = TechnologyBench(place, load)
        for group in groups:
            series = run_group(bench, testbed, group, run.tools, options.repetitions)
            for row in group.rows:
                run.stored["rows"] += report_row(name, group, row, series)
            run.stored["runs"] += [
                {"group": f"{name}/{group.name}", **asdict(candidate), **asdict(runs)}
                for candidate, runs in series.items()
            ]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--zmq-perf", type=Path, metavar="FOLDER", help="folder with ZeroMQ's local_lat and remote_lat"
    )


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 also where a target is missed, 2 for a wrong option, 3 where it cannot run."""
    cores = sorted(os.sched_getaffinity(0))
    placements = {"one-core": (cores[-1], cores[-1]), "two-cores": (cores[0], cores[-1])}
    comparison = Comparison(
        program="benchmarks/technologies.py",
        about=__doc__,
        groups=dict.fromkeys(placements, plan_groups()),
        seconds=1,
        quiet_s=0.1,
    )
    options = parse_arguments(comparison, arguments, add_options)
    if not comparison.check_names(options.only):
        return 2
    tools, missing = find_tools("sockperf")
    with tempfile.TemporaryDirectory(prefix="pathlab-bench-") as folder:
        askers, lacking = find_askers(options, Path(folder))
        stored = start_store(options, tools, missing + lacking)
        stored["technologies"] = {name: technology.title for name, technology in list_technologies().items()}
        run = Run(tools={**tools, **askers}, folder=Path(folder), quiet_s=comparison.quiet_s, stored=stored)
        echo(HEADING)
        with keep_json(stored, options.json):
            for name, pair in placements.items():
                chosen = [group for place, group in comparison.list_groups(options.only) if place == name]
                if chosen:
                    run_placement(name, pair, chosen, options, run)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
