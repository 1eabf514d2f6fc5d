"""Trials of a campaign on real engines over loopback and in namespaces: requests against results."""

import datetime
import shutil
import socket
import threading
from pathlib import Path

import pytest

import pathlab
from pathlab.runner.events import Event, RttNow, TrialEnded
from pathlab.runner.hosts.environment import Environment
from tests.integration.conducting import AB, LAB, Watch, campaign_of, run, settings, stored
from tests.patience import PATIENCE_S
from tests.require import require, require_engine, require_namespaces

pytestmark = pytest.mark.engine


def test_every_factor_reaches_both_ends_and_is_read_back(tmp_path: Path) -> None:
    factors = {
        "streams": [2],
        "window_sender": ["64KiB"],
        "window_receiver": ["128KiB"],
        "write": ["20000B"],
        "direction": ["forward", "reverse", "both"],
        "dscp": ["LE"],
        "pacing": ["80Mbit/s"],
        "mss": ["1000B"],
        "no_delay": [True],
        "zero_copy": [True],
        "workers": [1],
        "cpus": ["0"],
        "family": ["ipv6"],
        "duration": ["200ms"],
        "warmup": ["20ms"],
    }
    outcome = run(campaign_of(factors=factors), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (3, 0)
    for number, record in enumerate(stored(tmp_path / "out"), start=1):
        assert (record.source_address, record.duration_ns, record.warmup_ns) == (
            "::1",
            200_000_000,
            20_000_000,
        )
        assert not [flag for flag in record.flags if flag.endswith(("-granted", "-short"))], record.flags
        assert record.throughput_bits_per_s
        assert record.window_requested_bytes == 64 * 1024
        assert record.window_granted_sender_bytes == 2 * 64 * 1024
        assert record.window_granted_receiver_bytes == 2 * 128 * 1024
        assert record.loaded_received
        reported = settings(tmp_path / "out", number)
        for name, value in {
            "transport": "tcp",
            "dscp": "1",
            "zero_copy": "yes",
            "worker_threads": "1",
        }.items():
            assert reported[name] == {"name": name, "requested": value, "sender": value, "receiver": value}
        assert reported["write_bytes"]["sender"] == "20000"
        assert [reported[f"cpus_{end}"][end] for end in ("sender", "receiver")] == ["0", "0"]
        assert reported["mss_bytes"]["sender"] == "988"  # less the timestamps
        assert reported["pacing_bits_per_s"]["sender"] == "80000000"
        assert reported["direction"]["requested"] == reported["direction"]["sender"]
    assert not (tmp_path / "out" / "captures").exists()  # unless they are requested
    with pathlab.open(tmp_path / "out") as results:
        back = results.series(3, "sender_intervals")
        assert back["bytes"].sum() > 0  # against the path
        assert back["sent_bytes"].sum() > 0
        trials = results.trials()
        assert trials["throughput_reverse_bits_per_s"].isna().tolist() == [True, True, False]
        steady = back[back["phase"] == "steady"]
        assert trials["received_reverse_steady_bytes"][2] == steady["bytes"].sum()


def test_iperf3_carries_a_trial_with_the_same_record(tmp_path: Path) -> None:
    """Also where it has to look for a free port of its host."""
    require(shutil.which("iperf3"), "iperf3 (apt-get install iperf3)")
    factors = {
        "streams": [2],
        "engine": ["iperf3"],
        "congestion": ["reno"],
        "mss": ["1000B"],
        "direction": ["forward", "reverse"],
        "window": ["128KiB"],
        "pacing": ["80Mbit/s"],
        "duration": ["300ms"],
        "warmup": ["100ms"],
    }
    paths = [{"source": "local", "destination": "far"}]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        hosts = {"far": {"transport": "local", "port_range": f"{port}-{min(port + 20, 65535)}"}}
        campaign = campaign_of(hosts=hosts, paths=paths, factors=factors)
        outcome = run(campaign, tmp_path / "out")
    assert (outcome.complete, outcome.missing) == (2, 0)
    for number, record in enumerate(stored(tmp_path / "out"), start=1):
        assert "iperf3" in record.flags
        assert str(record.engine_version).startswith("iperf ")
        assert record.window_granted_sender_bytes == 2 * 128 * 1024
        assert (record.congestion_sender, record.congestion_receiver) == ("reno", "reno")
        assert record.mss_bytes is None  # it states what was requested, and not what was granted
        assert record.interval_ns == 100_000_000  # its least; 20 ms are requested
        assert record.loaded_received
        assert record.unloaded_received
        assert record.sender_cpu_system_s is not None
        assert record.retransmitted_bytes is None  # iperf3 does not tell
        assert record.window_in_flight_max_bytes is None
        with pathlab.open(tmp_path / "out") as results:
            received = results.series(number, "receiver_intervals")
        assert set(received["phase"].astype(str)) >= {"warmup", "steady"}
        assert 0 < received["bytes"].sum() <= (record.received_total_bytes or 0)
        steady = received[received["phase"] == "steady"]["bytes"].sum()
        assert record.received_steady_bytes == steady > 0
        assert record.throughput_bits_per_s == pytest.approx(steady * 8e9 / (record.steady_ns or 1))


@pytest.mark.netns
def test_reverse_data_go_against_the_path(tmp_path: Path) -> None:
    require_namespaces()
    directions = ["forward", "reverse"]
    factors = {"streams": [1], "direction": directions, "transfer": ["200kB"]}
    assert run(campaign_of(lab=LAB, paths=AB, factors=factors), tmp_path / "out").complete == 2
    for number, record in enumerate(stored(tmp_path / "out"), start=1):
        with pathlab.open(tmp_path / "out") as results:
            lines = results.series_table(number, "lab_links").to_pylist()
        carried = {
            line["direction"]: line["value"]
            for line in lines
            if (line["link"], line["name"]) == (0, "delivered_bytes")
        }
        there, back = directions[number - 1], directions[number - 2]
        assert record.received_total_bytes == 200_000
        assert carried[there] > 200_000 > carried[back] > 0


@pytest.mark.netns
def test_pairs_without_a_common_host_run_at_once(tmp_path: Path) -> None:
    require_namespaces()
    paths = [*AB, {"source": "c", "destination": "d"}]
    under_way: set[int] = set()
    both, lock = threading.Event(), threading.Lock()

    def await_both(event: Event) -> None:
        """The first trial of a pair goes on when one of the other pair is under way."""
        with lock:
            if isinstance(event, RttNow):
                under_way.add(event.row)
                if len(under_way) == 2:
                    both.set()
            elif isinstance(event, TrialEnded):
                under_way.discard(event.record.plan_row)
        if isinstance(event, RttNow):
            both.wait(PATIENCE_S)

    campaign = campaign_of(lab=LAB, paths=paths, factors={"streams": [1, 2]}, concurrency=2)
    outcome = run(campaign, tmp_path / "out", Watch(at=await_both))
    assert (outcome.complete, outcome.failed) == (4, 0)
    assert both.is_set()
    spans: dict[str, list[tuple[datetime.datetime, int]]] = {}
    for record in stored(tmp_path / "out"):
        start = datetime.datetime.fromisoformat(record.started_utc)
        spans.setdefault(record.path_source, []).append((start, record.plan_row))
    assert {name: [row for _, row in sorted(pairs)] for name, pairs in spans.items()} == {
        "a": [0, 1],
        "c": [2, 3],
    }


def test_what_an_agent_says_beyond_the_protocol_is_reported() -> None:
    require_engine()
    watch = Watch()
    with Environment(campaign_of(), watch) as environment:
        environment.session("local").unexpected.append("message 'answer': unknown field 'mood'")
        assert watch.notices() == ""
    assert watch.notices().endswith(
        "unexpected message from its agent: message 'answer': unknown field 'mood'"
    )
