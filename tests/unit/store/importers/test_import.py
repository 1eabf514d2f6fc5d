"""What comes in: figures as the other program counted them, null for what it did not, with their origin."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pathlab.store.imported_trial import ImportedTrial
from pathlab.store.importing import read_file, store_files
from pathlab.store.results import Results
from pathlab.store.series_columns import SERIES_KINDS
from pathlab.study.analyses import Study
from tests.builders.foreign_files import (
    BEGIN_S,
    TEXTS,
    change,
    make_crusader,
    make_flent,
    make_iperf3,
    make_iperf3_bidir,
    make_iperf3_udp,
    make_json_stream,
    make_pscheduler,
    make_transfer,
    write_sample,
)
from tests.builders.results import make_quickstart
from tests.builders.stored import COMPLETE, make_results

STARTED = datetime.datetime.fromtimestamp(BEGIN_S, datetime.UTC).isoformat(timespec="milliseconds")


def read(tmp_path: Path, node: Any) -> list[ImportedTrial]:
    path = tmp_path / "given.json"
    path.write_text(node if isinstance(node, str) else json.dumps(node), encoding="utf-8")
    return list(read_file(path).trials)


def column(trial: ImportedTrial, kind: str, name: str) -> list[Any]:
    values: list[Any] = trial.series[kind][name].to_pylist()
    return values


def test_iperf3_tcp(tmp_path: Path) -> None:
    (trial,) = read(tmp_path, make_iperf3())
    record = trial.record
    assert (trial.program, trial.program_version, trial.part) == ("iperf3", "3.12", "forward")
    assert (record.path_source, record.path_destination) == ("192.0.2.1", "192.0.2.2")
    assert (record.started_utc, record.status, record.engine_version) == (STARTED, "complete", "iperf3 3.12")
    assert (record.streams, record.mss_bytes, record.congestion_sender) == (2, 1448, "cubic")
    assert record.window_requested_bytes == 65_536
    assert (record.window_granted_sender_bytes, record.window_granted_receiver_bytes) == (131_072, None)
    assert (record.warmup_ns, record.duration_ns, record.interval_ns) == (10**9, 2 * 10**9, 10**9)
    assert (record.steady_ns, record.received_steady_bytes) == (2 * 10**9, 4000)
    assert record.throughput_bits_per_s == 16_000
    assert (record.retransmitted_segments, record.retransmitted_steady_segments) == (6, 4)
    assert record.fairness_jain == 1.0
    assert record.flags == ("imported",)
    assert record.loaded_sent is None
    assert record.sender_cpu_user_s is None
    assert trial.settings == {
        "streams": 2,
        "window_bytes": 65_536,
        "congestion": "cubic",
        "duration_ns": 2 * 10**9,
        "warmup_ns": 10**9,
    }
    assert trial.details["cpu_utilization_percent"]["remote_total"] == 20.0
    kind = "sender_intervals"
    assert list(trial.series) == [kind]
    assert column(trial, kind, "phase") == ["warmup"] * 2 + ["steady"] * 4
    assert column(trial, kind, "start_ns") == [n * 10**9 for n in (0, 0, 1, 1, 2, 2)]
    assert column(trial, kind, "stream") == [0, 1] * 3
    assert column(trial, kind, "bytes") == [1000, 1001] * 3
    assert column(trial, kind, "total_retrans_segments") == [1, 1, 2, 2, 3, 3]
    assert column(trial, kind, "snd_cwnd_bytes") == [14_480] * 6
    assert column(trial, kind, "rtt_us") == [40_000] * 6


def test_iperf3_interval_across_the_end_of_the_warm_up(tmp_path: Path) -> None:
    """Seen in 3.12 on a busy machine: the begin is told as how long before the clock was set back."""
    node = make_iperf3(streams=1)
    (stream,) = node["intervals"][1]["streams"]
    stream |= {"start": 0.25, "end": 1, "seconds": 1.25}
    (trial,) = read(tmp_path, node)
    assert column(trial, "sender_intervals", "start_ns") == [0, 10**9, 225 * 10**7]
    assert column(trial, "sender_intervals", "end_ns") == [10**9, 225 * 10**7, 325 * 10**7]


def test_iperf3_reverse_and_the_servers_view_name_the_same_path(tmp_path: Path) -> None:
    (reverse,) = read(tmp_path, make_iperf3(reverse=1))
    assert reverse.part == "reverse"
    assert (reverse.record.path_source, reverse.record.path_destination) == ("192.0.2.2", "192.0.2.1")
    assert list(reverse.series) == ["receiver_intervals"]
    assert reverse.record.window_granted_receiver_bytes == 131_072
    server = make_iperf3()
    server["start"]["accepted_connection"] = {"host": "192.0.2.2", "port": 1}
    server["end"]["sum_sent"]["bytes"] = 0
    (trial,) = read(tmp_path, server)
    assert trial.details["role"] == "server"
    assert (trial.record.path_source, trial.record.path_destination) == ("192.0.2.2", "192.0.2.1")
    assert trial.record.received_steady_bytes == 4000
    assert list(trial.series) == ["receiver_intervals"]


@pytest.mark.parametrize("named", [True, False])
def test_iperf3_bidir_is_two_trials(tmp_path: Path, named: bool) -> None:
    forward, reverse = read(tmp_path, make_iperf3_bidir(named=named))
    assert (forward.part, reverse.part) == ("forward", "reverse")
    assert (forward.record.path_source, reverse.record.path_source) == ("192.0.2.1", "192.0.2.2")
    assert (forward.record.received_steady_bytes, reverse.record.received_steady_bytes) == (2000, 600)
    assert (forward.record.retransmitted_segments, reverse.record.retransmitted_segments) == (2, 7)
    assert column(forward, "sender_intervals", "bytes") == [1000, 1000]
    assert column(reverse, "receiver_intervals", "bytes") == [300, 300]
    assert forward.settings["direction"] == reverse.settings["direction"] == "both"


def test_iperf3_udp_new_and_old(tmp_path: Path) -> None:
    (new,) = read(tmp_path, make_iperf3_udp(received=1700))
    assert new.settings["transport"] == "udp"
    assert (new.record.received_steady_bytes, new.record.throughput_bits_per_s) == (1700, 6800)
    assert (new.record.udp_sent_packets, new.record.udp_lost_packets) == (20, 3)
    assert new.record.udp_jitter_ns == 500_000
    assert column(new, "sender_intervals", "packets") == [10, 10]
    (old,) = read(tmp_path, make_iperf3_udp(received=None))
    assert (old.record.udp_sent_packets, old.record.udp_lost_packets) == (20, 3)
    assert old.record.received_steady_bytes is None
    assert old.record.throughput_bits_per_s == 8000
    assert old.record.flags == ("imported", "sender-counted")


def test_iperf3_3_1_without_what_came_later(tmp_path: Path) -> None:
    node = make_iperf3(version="iperf 3.1.3")
    for key in ("sock_bufsize", "sndbuf_actual", "rcvbuf_actual"):
        del node["start"][key]
    for interval in node["intervals"]:
        for stream in interval["streams"]:
            for key in ("snd_wnd", "rttvar", "pmtu", "sender"):
                del stream[key]
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        del node["end"][key]
    (trial,) = read(tmp_path, node)
    assert trial.program_version == "3.1.3"
    assert trial.record.throughput_bits_per_s == 16_000
    assert trial.record.window_requested_bytes is None
    assert trial.record.congestion_sender is None
    assert "pmtu_bytes" not in trial.series["sender_intervals"].column_names


def test_iperf3_minus_one_and_nan_are_not_known(tmp_path: Path) -> None:
    node = make_iperf3()
    node["intervals"][0]["streams"][0] |= {"rtt": -1, "pmtu": -1}
    node["end"]["sum_sent"]["retransmits"] = -1
    text = json.dumps(node).replace('"mean_rtt": 40000', '"mean_rtt": -nan').replace("-nan", "NaN")
    (trial,) = read(tmp_path, text)
    assert column(trial, "sender_intervals", "rtt_us")[0] is None
    assert trial.record.retransmitted_steady_segments is None
    assert "kernel_rtt_us" not in trial.details


def test_iperf3_repeated_keys_are_counted(tmp_path: Path) -> None:
    text = json.dumps(make_iperf3_udp(received=1700))
    text = (
        text.replace('"end": {', '"end": {"sum": {"bytes": 1}, ', 1) if '"end": {"streams"' in text else text
    )
    (trial,) = read(tmp_path, text)
    assert trial.details["repeated_keys"] == 1
    assert trial.record.throughput_bits_per_s == 6800


def test_iperf3_stream_is_the_same_trial(tmp_path: Path) -> None:
    (streamed,) = read(tmp_path, make_json_stream(make_iperf3()))
    (whole,) = read(tmp_path, make_iperf3())
    assert streamed.record == whole.record
    assert streamed.series["sender_intervals"].equals(whole.series["sender_intervals"])


@pytest.mark.parametrize("cut", [0, 30])
def test_iperf3_stream_that_was_cut_off_is_an_interrupted_trial(tmp_path: Path, cut: int) -> None:
    lines = make_json_stream(make_iperf3()).splitlines(keepends=True)
    (trial,) = read(tmp_path, "".join(lines[:-1]) + lines[-1][:cut])
    assert (trial.record.status, trial.record.failed_stage) == ("interrupted", "controller")
    assert trial.record.throughput_bits_per_s is None
    assert trial.series["sender_intervals"].num_rows == 6


def test_iperf3_error_in_the_middle_is_a_failed_trial(tmp_path: Path) -> None:
    node = make_iperf3()
    node["end"] = {}
    node["error"] = "control socket has closed unexpectedly"
    (trial,) = read(tmp_path, node)
    assert trial.record.status == "failed"
    assert trial.record.failure == "iperf3: control socket has closed unexpectedly"
    assert trial.record.throughput_bits_per_s is None
    assert trial.record.received_steady_bytes is None


def test_irtt(tmp_path: Path) -> None:
    (trial,) = read_file(write_sample(tmp_path, "irtt")).trials
    record = trial.record
    assert (record.path_source, record.path_destination) == ("192.0.2.1", "2001:db8::2")
    assert record.started_utc == "2023-11-14T22:13:20.123+00:00"
    assert (record.streams, record.throughput_bits_per_s) == (0, None)
    assert (record.unloaded_sent, record.unloaded_received) == (4, 2)
    assert (record.unloaded_rtt_min_ns, record.unloaded_rtt_median_ns) == (200_000, 200_001.5)
    assert record.loaded_sent is None
    kind = "unloaded_probes"
    assert column(trial, kind, "sent_ns") == [0, 10**7, 2 * 10**7, 3 * 10**7]
    assert column(trial, kind, "rtt_ns") == [200_000, None, None, 200_003]
    assert column(trial, kind, "intended_ns") == [None] * 4
    assert column(trial, kind, "send_delay_ns") == [120_000, None, None, 120_000]


def test_a_timed_transfer(tmp_path: Path) -> None:
    (trial,) = read(tmp_path, make_transfer())
    record = trial.record
    assert (trial.program, record.status) == ("transfer", "complete")
    assert (record.path_source, record.path_destination) == ("a", "b")
    assert (record.throughput_bits_per_s, record.received_steady_bytes) == (20e6, 10_000_000)
    assert record.steady_ns == 4 * 10**9
    assert record.started_utc == "2026-11-22T10:00:00.000+00:00"
    assert record.flags == ("imported", "sender-counted")
    assert (trial.settings["transfer_bytes"], "duration_ns" in trial.settings) == (10_000_000, False)
    assert trial.details == {"command": "client b"}
    (failed,) = read(tmp_path, change(make_transfer(), "exit_status", 7))
    assert (failed.record.status, failed.record.throughput_bits_per_s) == ("failed", None)
    assert failed.record.failure == "the command ended with status 7"


def test_flent_reads_raw_values_of_both_directions(tmp_path: Path) -> None:
    up, down = read_file(write_sample(tmp_path, "flent")).trials
    assert (up.part, up.record.path_source, up.record.path_destination) == ("forward", "here", "192.0.2.2")
    assert (down.part, down.record.path_source) == ("reverse", "192.0.2.2")
    assert up.settings["direction"] == "both"
    assert up.record.throughput_bits_per_s == pytest.approx(8e6)
    assert down.record.throughput_bits_per_s == pytest.approx(16e6)
    assert up.record.flags == ("imported", "sender-counted")
    assert (up.record.received_steady_bytes, down.record.received_steady_bytes) == (None, 4_000_000)
    assert down.record.flags == ("imported",)
    assert column(up, "sender_intervals", "bytes") == [500_000] * 4
    assert column(up, "sender_intervals", "start_ns") == [10**9 + n * 5 * 10**8 for n in range(4)]
    assert (up.record.unloaded_rtt_median_ns, up.record.loaded_rtt_median_ns) == (40e6, 90e6)
    assert (up.record.loaded_sent, up.record.loaded_received) == (None, 4)
    assert up.details["ping_series"] == "Ping (ms) ICMP"
    assert up.details["probes_after_the_load"] == 2


def test_flent_of_pings_alone(tmp_path: Path) -> None:
    node = make_flent()
    node["raw_values"] = {"Ping (ms) ICMP": node["raw_values"]["Ping (ms) ICMP"]}
    (trial,) = read(tmp_path, node)
    assert (trial.part, trial.record.streams, trial.record.unloaded_received) == ("probes", 0, 8)


def test_pscheduler_prefers_what_is_left_in_diags(tmp_path: Path) -> None:
    (trial,) = read_file(write_sample(tmp_path, "pscheduler")).trials
    assert trial.program == "pscheduler"
    assert trial.details["tool"] == "iperf3 3.12"
    assert trial.details["cpu_utilization_percent"]["host_total"] == 10.0
    assert trial.record.warmup_ns == 10**9
    assert trial.series["sender_intervals"].num_rows == 6


def test_pscheduler_rows_without_diags(tmp_path: Path) -> None:
    (trial,) = read(tmp_path, make_pscheduler(diags=False))
    record = trial.record
    assert (record.path_source, record.path_destination) == ("ps1.example", "ps2.example")
    assert (record.started_utc, record.engine_version) == (STARTED, "pscheduler: iperf3")
    assert record.throughput_bits_per_s == 15_000  # the receiver's, not the sender's 16,000
    assert record.flags == ("imported",)
    assert (record.streams, record.window_requested_bytes, record.retransmitted_segments) == (2, 65_536, 4)
    assert (record.duration_ns, record.steady_ns) == (2 * 10**9, 2 * 10**9)
    assert column(trial, "sender_intervals", "bytes") == [1000] * 4


def test_pscheduler_rtt(tmp_path: Path) -> None:
    (trial,) = read_file(write_sample(tmp_path, "pscheduler-rtt")).trials
    assert (trial.record.unloaded_sent, trial.record.unloaded_received) == (3, 2)
    assert trial.record.unloaded_rtt_mean_ns == 41e6
    assert column(trial, "unloaded_probes", "rtt_ns") == [40_000_000, None, 42_000_000]


def test_crusader_counts_differences_per_phase(tmp_path: Path) -> None:
    down, up = read_file(write_sample(tmp_path, "crusader")).trials
    assert (down.part, down.record.path_source, down.record.path_destination) == (
        "reverse",
        "server",
        "client",
    )
    assert (up.part, up.record.path_source) == ("forward", "client")
    assert (down.record.streams, down.record.received_steady_bytes) == (2, 6000)
    assert down.record.throughput_bits_per_s == 6000 * 8 / 2
    assert up.record.received_steady_bytes == 1000
    assert (down.record.loaded_sent, down.record.unloaded_sent, down.record.unloaded_received) == (4, 4, 3)
    assert down.record.unloaded_rtt_median_ns == 40_000_000
    assert down.program_version == "0.3.2"


def test_a_crusader_server_that_could_not_follow_is_host_limited(tmp_path: Path) -> None:
    down, _ = read(tmp_path, {**make_crusader(), "server_overload": True})
    assert down.record.flags == ("imported", "host-limited")


@pytest.mark.parametrize("name", TEXTS)
def test_every_import_is_stored_with_its_origin_and_drawn(tmp_path: Path, name: str) -> None:
    path = write_sample(tmp_path, name)
    file = read_file(path)
    with make_results(tmp_path / "into") as results:
        results.add_trial(COMPLETE, {})
        numbers = store_files(results, [file])
    with Results.open(tmp_path / "into") as results:
        origins = results.origins()
        assert list(origins) == numbers
        for number, trial in zip(numbers, file.trials, strict=True):
            assert origins[number].file_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
            assert origins[number].file_name == f"{name}.json"
            record = results.record(number)
            assert "imported" in record.flags
            assert results.plan()[record.plan_row].settings == trial.settings
            for kind, table in trial.series.items():
                assert kind in SERIES_KINDS
                assert results.series_table(number, kind).equals(table)
        assert [row.row for row in results.unfinished()] == [1]  # the campaign's own, and no imported one
        media = [one.medium for one in Study(results).conditions()]
        assert len(media) >= 2
        assert media.count("imported") == len(media) - 1


def test_the_labs_truth_is_not_held_against_other_programs() -> None:
    results = make_quickstart(levels=[(1, 65_536)])
    (own,) = Study(results).conditions()
    assert own.direct_link is not None
    flags = ("imported",)
    results.records[0] = dataclasses.replace(results.records[0], flags=flags, engine_version="iperf3 3.12")
    both = {one.medium: one.direct_link for one in Study(results).conditions()}
    assert both == {"lab": own.direct_link, "imported": None}


def test_files_of_one_condition_become_cycles_in_the_order_of_time(tmp_path: Path) -> None:
    paths = []
    for number, offset_s in enumerate((20, 0, 10)):
        node = change(make_iperf3(), "start.timestamp.timesecs", BEGIN_S + offset_s)
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(node))
    with make_results(tmp_path / "into") as results:
        store_files(results, [read_file(path, source="a", destination="b") for path in paths])
        records = results.records()
    assert [record.cycle for record in records] == [0, 1, 2]
    assert [record.started_utc for record in records] == sorted(record.started_utc for record in records)
    assert {(record.path_source, record.path_destination) for record in records} == {("a", "b")}


def test_renaming_turns_around_with_the_direction(tmp_path: Path) -> None:
    path = tmp_path / "reverse.json"
    path.write_text(json.dumps(make_iperf3(reverse=1)))
    (trial,) = read_file(path, source="west", destination="east").trials
    assert (trial.record.path_source, trial.record.path_destination) == ("east", "west")
