"""What goes out: every figure as it is stored, empty where nothing was measured, whole or not at all."""

from __future__ import annotations

import base64
import csv
import dataclasses
import datetime
import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import iperf3
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from pathlab.errors import StoreError, UsageError
from pathlab.store.exporters.flent import PING
from pathlab.store.exporting import list_formats, load_format, select_trials
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import column_types
from pathlab.study.streams import read_probe_trace
from tests.builders.series import make_end_intervals, make_probes
from tests.builders.stored import CAMPAIGN, COMPLETE, LOADED, ODD, PLAN, STEADY_NS, fill_results, make_results
from tests.unit.store.hdr_format import read_log


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Results]:
    with Results.open(fill_results(tmp_path / "stored")) as opened:
        yield opened


def read_families(path: Path) -> list[Metric]:
    """The families of an OpenMetrics file as Prometheus' own parser reads them."""
    text = path.read_text(encoding="utf-8")
    return list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def export(results: Results, name: str, out: Path, *trials: int, with_series: bool = True) -> Path:
    load_format(name).export(select_trials(results, trials, with_series=with_series), out)
    return out


def test_parquet_holds_types_units_and_nulls(results: Results, tmp_path: Path) -> None:
    out = export(results, "parquet", tmp_path / "out")
    trials = pa.parquet.read_table(out / "trials.parquet")
    described = ["trial_id", *column_types(TrialRecord)]
    assert trials.column_names[: len(described)] == described
    assert trials["received_steady_bytes"].to_pylist() == [9_007_199_254_740_993, None, 9_007_199_254_740_993]
    assert trials["window_requested_bytes"].to_pylist() == [65_536, None, None]
    assert trials["flags"].to_pylist() == [["lab", "window-short"], [], ["imported"]]
    assert trials["failure"].to_pylist() == [None, ODD, None]
    assert trials["planned_streams"].to_pylist() == [4, 1, 1]
    assert trials.schema.field("throughput_bits_per_s").metadata[b"unit"] == b"bit/s"
    assert b"received" in trials.schema.field("received_steady_bytes").metadata[b"description"]
    probes = pa.parquet.read_table(out / "series_loaded_probes.parquet")
    assert probes.column_names == ["trial_id", *LOADED.column_names]
    assert probes.drop_columns(["trial_id"]).equals(LOADED)
    intervals = pa.parquet.read_table(out / "series_sender_intervals.parquet")
    assert intervals["trial_id"].to_pylist() == [1] * 16
    assert intervals.schema.field("phase").type == pa.string()
    raw = pa.parquet.read_table(out / "series_sender_tcp_info_raw.parquet")
    assert raw["tcp_info"].to_pylist() == [b"\x00\xff", b"\x01"]
    assert pa.parquet.read_table(out / "origins.parquet")["file_name"].to_pylist() == ["run.json"]
    assert pa.parquet.read_table(out / "plan.parquet").num_rows == 2


def test_csv_is_tidy_and_empty_where_nothing_was_measured(results: Results, tmp_path: Path) -> None:
    out = export(results, "csv", tmp_path / "out")
    with (out / "trials.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["trial_id"] for row in rows] == ["1", "2", "3"]
    assert rows[0]["received_steady_bytes"] == "9007199254740993"
    assert rows[0]["flags"] == "lab;window-short"
    assert rows[1]["failure"] == ODD
    assert rows[1]["throughput_bits_per_s"] == ""
    assert rows[2]["path_source"] == ODD
    assert float(rows[0]["throughput_bits_per_s"]) == COMPLETE.throughput_bits_per_s
    with (out / "series_loaded_probes.csv").open(newline="", encoding="utf-8") as file:
        assert [row["rtt_ns"] for row in csv.DictReader(file)] == ["40000001", "", "40000003"]
    with (out / "series_sender_tcp_info_raw.csv").open(newline="", encoding="utf-8") as file:
        assert base64.b64decode(next(csv.DictReader(file))["tcp_info"]) == b"\x00\xff"


def test_json_lines_tell_everything(results: Results, tmp_path: Path) -> None:
    out = export(results, "jsonl", tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    kinds = [line["type"] for line in lines]
    assert kinds[:5] == ["export", "campaign", "host", "plan", "plan"]
    trials = [line for line in lines if line["type"] == "trial"]
    assert [trial["trial_id"] for trial in trials] == [1, 2, 3]
    assert trials[0]["throughput_bits_per_s"] == COMPLETE.throughput_bits_per_s
    assert trials[1]["throughput_bits_per_s"] is None
    assert trials[2]["origin"]["file_sha256"] == "ef" * 32
    series = {(line["trial_id"], line["kind"]): line["columns"] for line in lines if line["type"] == "series"}
    assert series[1, "loaded_probes"]["rtt_ns"] == [40_000_001, None, 40_000_003]
    assert series[1, "sender_tcp_info_raw"]["tcp_info"] == ["AP8=", "AQ=="]
    assert set(series) == {
        (1, "loaded_probes"),
        (1, "receiver_intervals"),
        (1, "sender_intervals"),
        (1, "sender_tcp_info_raw"),
        (3, "unloaded_probes"),
    }


def test_series_can_be_left_out(results: Results, tmp_path: Path) -> None:
    folder = export(results, "parquet", tmp_path / "out", with_series=False)
    assert not list(folder.glob("series_*"))
    lines = export(results, "jsonl", tmp_path / "out.jsonl", with_series=False)
    assert '"type": "series"' not in lines.read_text(encoding="utf-8")


def test_iperf3s_own_python_reader_reads_a_trial(results: Results, tmp_path: Path) -> None:
    out = export(results, "iperf3", tmp_path / "out")
    read = iperf3.TestResult((out / "trial-1.json").read_text(encoding="utf-8"))
    assert read.error is None
    assert (read.protocol, read.num_streams, read.type) == ("TCP", 4, "client")
    assert (read.duration, read.omit) == (2.0, 1.0)
    assert read.received_bytes == COMPLETE.received_steady_bytes
    assert read.sent_bytes == sum(1000 * index + stream for index in (2, 3) for stream in range(4))
    node = json.loads(read.text)
    # 7 (and a stream's own number) were retransmitted during the warm-up, 2 in the steady window
    assert [interval["sum"]["retransmits"] for interval in node["intervals"]] == [34, 0, 8]
    assert read.retransmits == 8
    assert node["end"]["streams"][2]["sender"]["retransmits"] == 2
    assert read.local_cpu_total is None  # without the bytes of the whole trial
    assert [interval["sum"]["omitted"] for interval in node["intervals"]] == [True, False, False]
    assert node["intervals"][1]["streams"][2]["bytes"] == 2002
    assert node["intervals"][1]["streams"][2]["bits_per_second"] == pytest.approx(2002 * 80)
    assert node["intervals"][1]["streams"][0]["snd_cwnd"] == 10 * 1448
    assert node["end"]["streams"][0]["sender"]["max_rtt"] == 40_002
    failed = json.loads((out / "trial-2.json").read_text(encoding="utf-8"))
    assert failed["error"] == ODD
    assert failed["end"]["sum_received"]["bytes"] is None
    assert failed["intervals"] == []


def test_a_reversed_trial_is_the_clients_view_of_what_it_received(tmp_path: Path) -> None:
    settings = {**PLAN[0].settings, "direction": "reverse", "transport": "mptcp"}
    planned = (dataclasses.replace(PLAN[0], settings=settings), PLAN[1])
    with Results.create(tmp_path / "stored", CAMPAIGN, planned) as results:
        series = {
            "sender_intervals": make_end_intervals(sender=True),
            "receiver_intervals": make_end_intervals(sender=False),
        }
        trial = dataclasses.replace(
            COMPLETE,
            sender_cpu_user_s=0.1,
            sender_cpu_system_s=0.3,
            receiver_cpu_user_s=None,
            received_total_bytes=10_000_000,  # 4 s of
            throughput_bits_per_s=20e6,
        )
        results.add_trial(trial, series)
        out = export(results, "iperf3", tmp_path / "out")
        flent = export(results, "flent", tmp_path / "flent")
    node = json.loads(gzip.decompress((flent / "trial-1.flent.gz").read_bytes()))
    assert (node["metadata"]["NAME"], node["metadata"]["TEST_PARAMETERS"]) == (
        "tcp_ndown",
        {"download_streams": "4"},
    )
    assert {name for name in node["raw_values"] if name != PING} == {
        f"TCP download::{stream}" for stream in (1, 2, 3, 4)
    }
    read = iperf3.TestResult((out / "trial-1.json").read_text(encoding="utf-8"))
    assert read.reverse
    assert read.protocol == "MPTCP"
    assert (read.remote_cpu_user, read.remote_cpu_total) == pytest.approx((2.5, 10.0))
    assert read.local_cpu_total is None
    assert {stream["sender"] for i in read.json["intervals"] for stream in i["streams"]} == {False}
    assert read.json["intervals"][1]["sum"]["bytes"] == 4 * 2000 + 6
    assert read.json["end"]["sum_received"]["sender"] is False
    assert read.json["start"]["sndbuf_actual"] is None


def test_iperf3s_own_python_reader_has_our_figures(tmp_path: Path) -> None:
    """Every figure that iperf3's binding names, of TCP and of UDP, is that of the stored trial."""
    series = {
        "sender_intervals": make_end_intervals(sender=True),
        "receiver_intervals": make_end_intervals(sender=False),
    }
    cpu: dict[str, Any] = {
        "sender_cpu_user_s": 0.1,
        "sender_cpu_system_s": 0.3,
        "received_total_bytes": 10_000_000,
    }
    tcp = dataclasses.replace(COMPLETE, **cpu, throughput_bits_per_s=20e6, received_steady_bytes=500_000)
    datagrams: dict[str, Any] = {
        "udp_sent_packets": 25_896,
        "udp_lost_packets": 97,
        "udp_jitter_ns": 12_345.5,
    }
    udp = dataclasses.replace(tcp, **datagrams)
    planned = tuple(
        dataclasses.replace(PLAN[0], row=row, settings={**PLAN[0].settings, "transport": transport})
        for row, transport in enumerate(("tcp", "udp"))
    )
    with Results.create(tmp_path / "stored", CAMPAIGN, planned) as results:
        for row, record in enumerate((tcp, udp)):
            results.add_trial(dataclasses.replace(record, plan_row=row), series)
        out = export(results, "iperf3", tmp_path / "out")
    first, second = (
        iperf3.TestResult((out / f"trial-{number}.json").read_text(encoding="utf-8")) for number in (1, 2)
    )
    sent_bytes = sum(1000 * index + stream for index in (2, 3) for stream in range(4))
    assert (first.protocol, second.protocol) == ("TCP", "UDP")
    assert (first.received_bytes, first.sent_bytes, first.retransmits) == (500_000, sent_bytes, 8)
    assert first.received_bps == pytest.approx(500_000 * 8e9 / (COMPLETE.steady_ns or 0))
    assert first.sent_bps == pytest.approx(sent_bytes * 8 / 0.2)  # two intervals of 100 ms
    assert first.received_Mbps == pytest.approx(first.received_bps / 1e6)
    assert (first.local_cpu_user, first.local_cpu_total) == pytest.approx((2.5, 10.0))  # of 4 s
    assert (second.packets, second.lost_packets) == (25_896, 97)
    assert second.lost_percent == pytest.approx(100 * 97 / 25_896)
    assert second.jitter_ms == pytest.approx(0.0123455)
    assert (second.bytes, second.bps) == (sent_bytes, first.sent_bps)
    assert second.seconds == pytest.approx(0.2)
    assert second.json["end"]["sum_received"]["bytes"] == 500_000


def test_flent_files_hold_rates_and_pings(results: Results, tmp_path: Path) -> None:
    out = export(results, "flent", tmp_path / "out")
    assert sorted(path.name for path in out.iterdir()) == ["trial-1.flent.gz", "trial-3.flent.gz"]
    node = json.loads(gzip.decompress((out / "trial-1.flent.gz").read_bytes()))
    assert (node["version"], node["metadata"]["NAME"]) == (4, "tcp_nup")
    lengths = {name: len(values) for name, values in node["results"].items()}
    assert set(lengths.values()) == {len(node["x_values"])}
    assert set(lengths) >= {"TCP upload::1", "TCP upload::4", "TCP upload sum", "TCP upload avg", PING}
    raw = node["raw_values"]["TCP upload::1"]
    begin_s = datetime.datetime.fromisoformat(COMPLETE.started_utc).timestamp()
    assert [point["t"] - begin_s for point in raw] == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=1e-6)
    assert [point["val"] for point in raw] == pytest.approx([0.08, 0.16, 0.24, 0.32])
    pings = node["raw_values"][PING]
    assert [ping["seq"] for ping in pings] == [0, 2]
    assert [ping["val"] for ping in pings] == pytest.approx([40.000001, 40.000003])
    sums = dict(zip(node["x_values"], node["results"]["TCP upload sum"], strict=True))
    assert sums[0.2] == pytest.approx(sum((2000 + stream) * 80 / 1e6 for stream in range(4)))
    assert sums[0.0] is None


def test_flent_files_of_a_trial_by_amount_have_the_measured_length(tmp_path: Path) -> None:
    with make_results(tmp_path / "stored") as stored:
        record = dataclasses.replace(COMPLETE, warmup_ns=10**9, duration_ns=0, steady_ns=2_000_000_123)
        stored.add_trial(record, {"receiver_intervals": make_end_intervals(sender=False)})
        out = export(stored, "flent", tmp_path / "out")
    meta = json.loads(gzip.decompress((out / "trial-1.flent.gz").read_bytes()))["metadata"]
    assert meta["LENGTH"] == meta["TOTAL_LENGTH"] == 3.000000123


def test_hdr_logs_read_back_with_tags_and_times(results: Results, tmp_path: Path) -> None:
    loaded, unloaded = read_log(export(results, "hdr", tmp_path / "out.hlog"))
    assert (loaded.tag, sum(loaded.values.values())) == ("trial-1-loaded", 2)
    assert (unloaded.tag, sum(unloaded.values.values())) == ("trial-3-unloaded", 4)
    assert [*loaded.values] == [pytest.approx(40_000_001, rel=1e-3)]
    assert loaded.max_ms == pytest.approx(40, rel=1e-3)
    begin_s = datetime.datetime.fromisoformat(COMPLETE.started_utc).timestamp()
    assert loaded.start_s == pytest.approx(begin_s + 0.150, abs=1e-3)
    assert loaded.length_s == pytest.approx(0.040, abs=1e-3)


def test_loaded_rtts_of_an_hdr_log_are_those_of_the_steady_window(tmp_path: Path) -> None:
    """The probes of warm-up and drain have series rows, and are in no column and no other figure."""
    probes = make_probes(21)  # 0 to 400 ms, the second one lost
    inside = [n for n in range(21) if STEADY_NS[0] <= 20_000_000 * n + 17 < STEADY_NS[1]]
    with make_results(tmp_path / "stored") as results:
        series = {"sender_intervals": make_end_intervals(sender=True), "loaded_probes": probes}
        results.add_trial(COMPLETE, series)
        (log,) = read_log(export(results, "hdr", tmp_path / "out.hlog"))
        trace = read_probe_trace(results, 1, "loaded_probes")
    assert len(inside) == 10
    assert sum(log.values.values()) == 10
    assert trace is not None
    assert trace.rtt_ns[~np.isnan(trace.rtt_ns)].tolist() == [40_000_001 + n for n in inside]


def test_openmetrics_is_what_prometheus_reads(results: Results, tmp_path: Path) -> None:
    out = export(results, "openmetrics", tmp_path / "out.txt")
    assert out.read_text(encoding="utf-8").endswith("# EOF\n")
    families = {family.name: family for family in read_families(out)}
    rates = families["pathlab_throughput_bits_per_second"]
    assert (rates.type, rates.unit) == ("gauge", "bits_per_second")
    first, last = rates.samples
    assert first.value == COMPLETE.throughput_bits_per_s
    assert first.labels["window_bytes"] == "65536"
    assert first.labels["program"] == "pathlab"
    assert (last.labels["source"], last.labels["window_bytes"], last.labels["program"]) == (
        ODD,
        "auto",
        "iperf3",
    )
    times = [COMPLETE.started_utc, "2026-01-02T03:07:00.250+00:00"]
    assert [float(str(sample.timestamp)) for sample in (first, last)] == [
        datetime.datetime.fromisoformat(time).timestamp() for time in times
    ]
    assert families["pathlab_loaded_rtt_min_seconds"].samples[0].value == pytest.approx(0.0401)
    assert "pathlab_fairness_jain" not in families  # never measured here
    values = [sample.value for family in families.values() for sample in family.samples]
    assert all(math.isfinite(value) for value in values)


def test_openmetrics_names_the_units_of_messages(tmp_path: Path) -> None:
    record = dataclasses.replace(COMPLETE, messages_per_s=2000.5, sender_cpu_ns_per_message=250.0)
    with make_results(tmp_path / "stored") as stored:
        stored.add_trial(dataclasses.replace(record, round_trip_p99_9_ns=7_000_000), {})
        families = {one.name: one for one in read_families(export(stored, "openmetrics", tmp_path / "out"))}
    found = {
        name: (family.unit, family.samples[0].value)
        for name, family in families.items()
        if "message" in name or "round_trip" in name
    }
    assert found == {
        "pathlab_messages_per_second": ("per_second", 2000.5),
        "pathlab_sender_cpu_seconds_per_message": ("seconds_per_message", pytest.approx(2.5e-7)),
        "pathlab_round_trip_p99_9_seconds": ("seconds", 0.007),
    }


def test_openmetrics_without_times(results: Results, tmp_path: Path) -> None:
    out = tmp_path / "out.prom"
    load_format("openmetrics").export(select_trials(results, with_timestamps=False), out)
    families = read_families(out)
    assert {sample.timestamp for family in families for sample in family.samples} == {None}


@pytest.mark.parametrize("name", list_formats())
def test_what_is_there_already_stays(results: Results, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        export(results, name, out)
    assert out.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "stored"}


@pytest.mark.parametrize("name", list_formats())
def test_a_place_that_cannot_be_written_is_an_error(results: Results, tmp_path: Path, name: str) -> None:
    """Which of the system's reasons is named depends on the version of Python."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        export(results, name, tmp_path / "file" / "out")
