"""Debian's own iperf3, irtt and Flent: what they write is imported, what is exported they open."""

import contextlib
import gzip
import itertools
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pathlab.store.exporting import load_format, select_trials
from pathlab.store.importing import read_file, store_files
from pathlab.store.results import Results
from tests.builders.stored import fill_results, make_results
from tests.patience import PATIENCE_S
from tests.require import require

LOOPBACK = "127.0.0.1"


def find_program(name: str) -> str:
    found = shutil.which(name)
    require(found, f"the program {name} (Debian: apt-get install {name})")
    return str(found)


def choose_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serve(command: Sequence[str], listening: str) -> Iterator[None]:
    """Run a server until the block ends; it is up once it has printed ``listening``."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            seen = []
            for line in server.stdout:
                seen.append(line)
                if listening in line:
                    break
            assert listening in "".join(seen), seen
            yield
        finally:
            server.kill()


def run(command: Sequence[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def iperf3_outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A client's TCP test with a warm-up, a bidirectional one and one of UDP, as files."""
    program, port = find_program("iperf3"), str(choose_port())
    folder = tmp_path_factory.mktemp("iperf3")
    runs = {
        "tcp": ["-P", "2", "-O", "1", "-w", "64K", "-b", "40M"],
        "bidir": ["--bidir", "-b", "40M"],
        "udp": ["-u", "-b", "4M"],
    }
    with serve([program, "-s", "-B", LOOPBACK, "-p", port, "--forceflush"], "listening"):
        for name, options in runs.items():
            client = [program, "-c", LOOPBACK, "-p", port, "-t", "1", "-i", "0.5", "--json", *options]
            (folder / f"{name}.json").write_text(run(client), encoding="utf-8")
    refused = [program, "-c", LOOPBACK, "-p", "1", "--json"]  # no server has this port here
    done = subprocess.run(refused, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    (folder / "error.json").write_text(done.stdout, encoding="utf-8")
    return {path.stem: path for path in folder.iterdir()}


def test_iperf3_tcp_agrees_with_its_own_sums(iperf3_outputs: dict[str, Path]) -> None:
    (trial,) = read_file(iperf3_outputs["tcp"]).trials
    reported = json.loads(iperf3_outputs["tcp"].read_text(encoding="utf-8"))
    received = reported["end"]["sum_received"]
    assert trial.record.received_steady_bytes == received["bytes"]
    assert trial.record.throughput_bits_per_s == pytest.approx(received["bits_per_second"], rel=1e-6)
    assert (trial.record.streams, trial.record.window_requested_bytes) == (2, 65_536)
    assert trial.record.retransmitted_steady_segments == reported["end"]["sum_sent"]["retransmits"]
    rows = trial.series["sender_intervals"].to_pylist()
    steady = sum(row["bytes"] for row in rows if row["phase"] == "steady")
    counted = sum(i["sum"]["bytes"] for i in reported["intervals"] if not i["sum"]["omitted"])
    assert steady == counted > 0
    assert {row["phase"] for row in rows} == {"warmup", "steady"}
    for stream in (0, 1):
        own = [row for row in rows if row["stream"] == stream]
        assert [row["start_ns"] for row in own] == sorted(row["start_ns"] for row in own)
        gaps = [b["start_ns"] - a["end_ns"] for a, b in itertools.pairwise(own)]
        assert max(abs(gap) for gap in gaps) < 400_000_000  # less than an interval, whatever held iperf3 up


def test_iperf3_bidir_udp_and_error(iperf3_outputs: dict[str, Path], tmp_path: Path) -> None:
    reported = json.loads(iperf3_outputs["bidir"].read_text(encoding="utf-8"))["end"]
    forward, reverse = read_file(iperf3_outputs["bidir"]).trials
    assert forward.record.received_steady_bytes == reported["sum_received"]["bytes"]
    assert reverse.record.received_steady_bytes == reported["sum_received_bidir_reverse"]["bytes"]
    (datagrams,) = read_file(iperf3_outputs["udp"]).trials
    received = json.loads(iperf3_outputs["udp"].read_text(encoding="utf-8"))["end"]["sum_received"]
    assert datagrams.record.throughput_bits_per_s == pytest.approx(received["bits_per_second"], rel=1e-6)
    assert datagrams.details["datagrams"]["packets"] > 0
    with pytest.raises(Exception, match="iperf3 measured nothing: unable to connect"):
        read_file(iperf3_outputs["error"])


def test_an_exported_trial_comes_back_from_iperf3s_shape(
    iperf3_outputs: dict[str, Path], tmp_path: Path
) -> None:
    with make_results(tmp_path / "first") as results:
        number = store_files(results, [read_file(iperf3_outputs["tcp"])])[0]
        before = results.record(number)
        load_format("iperf3").export(select_trials(results), tmp_path / "out")
    (back,) = read_file(tmp_path / "out" / f"trial-{number}.json").trials
    for name in ("started_utc", "streams", "window_requested_bytes", "received_steady_bytes", "warmup_ns"):
        assert getattr(back.record, name) == getattr(before, name)
    assert back.record.throughput_bits_per_s == pytest.approx(before.throughput_bits_per_s)


def test_irtt_agrees_with_its_own_statistics(tmp_path: Path) -> None:
    program, out = find_program("irtt"), tmp_path / "irtt.json"
    address = f"{LOOPBACK}:{choose_port()}"
    with serve([program, "server", "-b", address], "starting IPv4 listener"):
        run([program, "client", "-q", "-i", "10ms", "-d", "200ms", "-o", str(out), address])
    (trial,) = read_file(out).trials
    stats = json.loads(out.read_text(encoding="utf-8"))["stats"]
    assert trial.record.unloaded_sent == stats["packets_sent"]
    assert trial.record.unloaded_received == stats["packets_received"] > 0
    assert trial.record.unloaded_rtt_min_ns == stats["rtt"]["min"]
    assert trial.record.unloaded_rtt_mean_ns == pytest.approx(stats["rtt"]["mean"], abs=1)
    sent = trial.series["unloaded_probes"]["sent_ns"].to_pylist()
    assert sent[0] == 0
    assert sent == sorted(sent)


def test_flents_own_file_is_read(tmp_path: Path) -> None:
    """Flent pings by ICMP and, through irtt's server on its usual port, by UDP."""
    flent, irtt = find_program("flent"), find_program("irtt")
    find_program("ping")
    with serve([irtt, "server", "-b", f"{LOOPBACK}:2112"], "starting IPv4 listener"):
        run([flent, "ping", "-H", LOOPBACK, "-l", "1", "-s", "0.2", "-D", str(tmp_path)], cwd=tmp_path)
    (path,) = tmp_path.glob("*.flent.gz")
    (trial,) = read_file(path).trials
    reported = json.loads(gzip.decompress(path.read_bytes()))
    own = reported["raw_values"]["Ping (ms) ICMP"]
    assert trial.record.unloaded_received == len(own)
    assert trial.record.unloaded_rtt_min_ns == pytest.approx(min(point["val"] for point in own) * 1e6)
    assert trial.program_version == reported["metadata"]["FLENT_VERSION"]
    assert trial.record.path_destination == LOOPBACK


def test_flent_opens_what_is_exported(tmp_path: Path) -> None:
    flent = find_program("flent")
    with Results.open(fill_results(tmp_path / "stored")) as results:
        load_format("flent").export(select_trials(results), tmp_path / "out")
    path = tmp_path / "out" / "trial-1.flent.gz"
    summary = run([flent, "-i", str(path), "-f", "summary"], cwd=tmp_path)
    assert "Summary of tcp_nup test run from 2026-01-02 03:05:00" in summary
    assert "TCP upload::4" in summary
    assert "Ping (ms) ICMP" in summary
    (line,) = [line for line in summary.splitlines() if "TCP upload sum" in line]
    assert line.split(":")[1].split()[3] == "Mbits/s"
    with Results.open(tmp_path / "stored") as results:
        load_format("csv").export(select_trials(results), tmp_path / "csv")
    assert run([flent, "-i", str(path), "-f", "csv"], cwd=tmp_path).count("\n") >= 5
