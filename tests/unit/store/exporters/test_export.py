"""What goes out is what other programs read, whole or not at all; ``tests/golden/store`` has whole files."""

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
from pathlab.store.exporters import FORMAT_NAMES, flent
from pathlab.store.exporting import load_format, select_trials
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import column_types
from pathlab.study.flows.streams import read_probe_trace
from tests.builders.series import make_end_intervals, make_probes
from tests.builders.stored import (
    CAMPAIGN,
    COMPLETE,
    FAILED,
    LOADED,
    ODD,
    ORIGIN,
    PLAN,
    STEADY_NS,
    fill_results,
    make_results,
)
from tests.unit.store.hdr_format import read_log

BEGIN_S = datetime.datetime.fromisoformat(COMPLETE.started_utc).timestamp()
COUNTS = ("pathlab_usable_trials", "pathlab_unusable_trials", "pathlab_last_usable_trial_timestamp_seconds")
USABLE = dataclasses.replace(COMPLETE, flags=("lab",))
BOTH_ENDS = {
    "sender_intervals": make_end_intervals(sender=True),
    "receiver_intervals": make_end_intervals(sender=False),
}
#: Of a trial of 4 s, whose sender was busy for a tenth of them.
CPU: dict[str, Any] = {
    "sender_cpu_user_s": 0.1,
    "sender_cpu_system_s": 0.3,
    "received_total_bytes": 10_000_000,
    "throughput_bits_per_s": 20e6,
}


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Results]:
    with Results.open(fill_results(tmp_path / "stored")) as opened:
        yield opened


def read_families(path: Path) -> list[Metric]:
    """The families of an OpenMetrics file as Prometheus' own parser reads them."""
    text = path.read_text(encoding="utf-8")
    return list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def read_iperf3(folder: Path, number: int = 1) -> Any:
    """A trial as iperf3's own Python library reads it."""
    return iperf3.TestResult((folder / f"trial-{number}.json").read_text(encoding="utf-8"))


def read_flent(folder: Path) -> Any:
    return json.loads(gzip.decompress((folder / "trial-1.flent.gz").read_bytes()))


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
    assert trials["flags"].to_pylist() == ["lab;window-short", "", "imported"]
    assert trials["usable"].to_pylist() == [False, False, True]
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


def test_series_can_be_left_out(results: Results, tmp_path: Path) -> None:
    folder = export(results, "parquet", tmp_path / "out", with_series=False)
    assert not list(folder.glob("series_*"))
    lines = export(results, "jsonl", tmp_path / "out.jsonl", with_series=False)
    assert '"type": "series"' not in lines.read_text(encoding="utf-8")


def test_iperf3s_own_python_reader_reads_a_trial(results: Results, tmp_path: Path) -> None:
    out = export(results, "iperf3", tmp_path / "out")
    read = read_iperf3(out)
    assert read.error is None
    assert (read.num_streams, read.type, read.duration, read.omit) == (4, "client", 2.0, 1.0)
    assert read.received_bytes == COMPLETE.received_steady_bytes
    node = json.loads(read.text)
    # 7 (and a stream's own number) were retransmitted during the warm-up, 2 in the steady window
    assert [interval["sum"]["retransmits"] for interval in node["intervals"]] == [34, 0, 8]
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


def test_iperf3s_own_python_reader_has_our_figures(tmp_path: Path) -> None:
    """Every figure that iperf3's binding names, of TCP and of UDP, is that of the stored trial."""
    tcp = dataclasses.replace(COMPLETE, **CPU, received_steady_bytes=500_000)
    udp = dataclasses.replace(
        tcp, plan_row=1, udp_sent_packets=25_896, udp_lost_packets=97, udp_jitter_ns=12_345.5
    )
    planned = tuple(
        dataclasses.replace(PLAN[0], row=row, settings={**PLAN[0].settings, "transport": transport})
        for row, transport in enumerate(("tcp", "udp"))
    )
    with Results.create(tmp_path / "stored", CAMPAIGN, planned) as results:
        for record in (tcp, udp):
            results.add_trial(record, BOTH_ENDS)
        out = export(results, "iperf3", tmp_path / "out")
    first, second = (read_iperf3(out, number) for number in (1, 2))
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


def test_flent_files_of_a_trial_by_amount_have_the_measured_length(tmp_path: Path) -> None:
    with make_results(tmp_path / "stored") as stored:
        record = dataclasses.replace(COMPLETE, warmup_ns=10**9, duration_ns=0, steady_ns=2_000_000_123)
        stored.add_trial(record, {"receiver_intervals": make_end_intervals(sender=False)})
        out = export(stored, "flent", tmp_path / "out")
    meta = read_flent(out)["metadata"]
    assert meta["LENGTH"] == meta["TOTAL_LENGTH"] == 3.000000123


@pytest.mark.parametrize(("interval_ns", "steps"), [(0, 6), (1, 1002), (100_000_000, 6)])
def test_flent_files_have_bounded_steps(
    interval_ns: int, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a stated interval, steps are those of the intervals that were kept."""
    assert flent.STEPS_MAX <= 100_000
    monkeypatch.setattr(flent, "STEPS_MAX", 1000)
    with make_results(tmp_path / "stored") as stored:
        stored.add_trial(dataclasses.replace(COMPLETE, interval_ns=interval_ns), BOTH_ENDS)
        node = read_flent(export(stored, "flent", tmp_path / "out"))
    assert len(node["x_values"]) == pytest.approx(steps, abs=1)
    assert node["metadata"]["STEP_SIZE"] == node["x_values"][1]


def test_intervals_of_the_other_end_are_exported_and_named(tmp_path: Path) -> None:
    """Which trials these are; what a sender of UDP offered was not carried, and is left out."""
    offered = BOTH_ENDS["sender_intervals"].append_column("packets", BOTH_ENDS["sender_intervals"]["bytes"])
    planned = tuple(
        dataclasses.replace(PLAN[0], row=row, settings={**PLAN[0].settings, "direction": direction})
        for row, direction in enumerate(("forward", "reverse", "reverse", "forward"))
    )
    kept = ("sender_intervals", "sender_intervals", None, "receiver_intervals")
    with Results.create(tmp_path / "stored", CAMPAIGN, planned) as results:
        for row, kind in enumerate(kept):
            series = {"sender_intervals": offered} if kind is None else {kind: BOTH_ENDS[kind]}
            results.add_trial(dataclasses.replace(COMPLETE, plan_row=row), series)
        selection = select_trials(results)
        instead = {name: load_format(name).list_instead(selection) for name in ("flent", "iperf3", "csv")}
        left_out = load_format("flent").list_left_out(selection)
        flents = export(results, "flent", tmp_path / "flents")
        jsons = export(results, "iperf3", tmp_path / "jsons")
    assert instead == {
        "flent": {"sender_intervals": [1, 2]},
        "iperf3": {"sender_intervals": [2], "receiver_intervals": [4]},
        "csv": {},
    }
    assert left_out == [3]
    notes = {}
    for path in flents.iterdir():
        node = json.loads(gzip.decompress(path.read_bytes()))
        rates = [one["val"] for one in node["raw_values"][next(iter(node["results"]))]]
        assert max(rates) > 0
        notes[path.name] = node["metadata"]["NOTE"].endswith(flent.BY_SENDER)
    assert notes == {f"trial-{n}.flent.gz": n < 3 for n in (1, 2, 4)}
    counts = [len(json.loads((jsons / f"trial-{n}.json").read_text())["intervals"]) for n in (1, 2, 3, 4)]
    assert (counts[2], min(counts[:2] + counts[3:]) > 0) == (0, True)


def test_hdr_logs_read_back_with_tags_and_times(results: Results, tmp_path: Path) -> None:
    loaded, unloaded = read_log(export(results, "hdr", tmp_path / "out.hlog"))
    assert (loaded.tag, sum(loaded.values.values())) == ("trial-1-loaded", 2)
    assert (unloaded.tag, sum(unloaded.values.values())) == ("trial-3-unloaded", 4)
    assert [*loaded.values] == [pytest.approx(40_000_001, rel=1e-3)]
    assert loaded.max_ms == pytest.approx(40, rel=1e-3)
    assert loaded.start_s == pytest.approx(BEGIN_S + 0.150, abs=1e-3)
    assert loaded.length_s == pytest.approx(0.040, abs=1e-3)


def test_loaded_rtts_of_an_hdr_log_are_those_of_the_steady_window(tmp_path: Path) -> None:
    """The probes of warm-up and drain have series rows, and are in no column and no other figure."""
    probes = make_probes(21)  # 0 to 400 ms, the second one lost
    inside = [n for n in range(21) if STEADY_NS[0] <= 20_000_000 * n + 17 < STEADY_NS[1]]
    with make_results(tmp_path / "stored") as results:
        results.add_trial(COMPLETE, {**BOTH_ENDS, "loaded_probes": probes})
        (log,) = read_log(export(results, "hdr", tmp_path / "out.hlog"))
        trace = read_probe_trace(results, 1, "loaded_probes")
    assert len(inside) == 10
    assert sum(log.values.values()) == 10
    assert trace.rtt_ns[~np.isnan(trace.rtt_ns)].tolist() == [40_000_001 + n for n in inside]


def test_openmetrics_is_what_prometheus_reads(tmp_path: Path) -> None:
    other: dict[str, Any] = {
        "path_source": ODD,
        "window_requested_bytes": None,
        "started_utc": "2026-01-02T03:07:00.250+00:00",
    }
    with make_results(tmp_path / "stored") as results:
        results.add_trial(USABLE, {})
        results.add_trial(dataclasses.replace(USABLE, plan_row=1, **other), {}, origin=ORIGIN)
        out = export(results, "openmetrics", tmp_path / "out.txt")
    assert out.read_text(encoding="utf-8").endswith("# EOF\n")
    families = {family.name: family for family in read_families(out)}
    rates = families["pathlab_throughput_bits_per_second"]
    assert (rates.type, rates.unit) == ("gauge", "bits_per_second")
    first, last = rates.samples
    assert first.value == COMPLETE.throughput_bits_per_s
    assert (first.labels["window_bytes"], first.labels["program"]) == ("65536", "pathlab")
    wanted = {"source": ODD, "window_bytes": "auto", "program": "iperf3"}
    assert last.labels.items() >= wanted.items()
    assert [float(str(sample.timestamp)) for sample in (first, last)] == [BEGIN_S, BEGIN_S + 120.25]
    assert families["pathlab_loaded_rtt_min_seconds"].samples[0].value == pytest.approx(0.0401)
    assert "pathlab_fairness_jain" not in families  # never measured here
    values = [sample.value for family in families.values() for sample in family.samples]
    assert all(math.isfinite(value) for value in values)


def store_series(folder: Path) -> Path:
    """Two settings, four cycles a minute apart, two of one begun at once; one trial flagged, one failed."""
    rates = [10e6, 40e6, 20e6, 30e6]
    times = [(number, streams) for number in range(len(rates)) for streams in (1, 4)]
    with make_results(folder) as stored:
        for attempt, (number, streams) in enumerate(times, start=1):
            stored.add_trial(
                dataclasses.replace(
                    COMPLETE,
                    attempt=attempt,
                    streams=streams,
                    started_utc=f"2026-01-02T03:0{min(number, 2)}:00+00:00",
                    throughput_bits_per_s=rates[number] * streams,
                    flags=("lab", "lab-limited") if (number, streams) == (1, 1) else ("lab",),
                ),
                {},
            )
        like: dict[str, Any] = {"streams": 4, "window_requested_bytes": 65_536}
        stored.add_trial(dataclasses.replace(FAILED, congestion_requested=None, **like), {})
    return folder


def read_values(path: Path, name: str) -> dict[str, list[tuple[float, float]]]:
    """Value and time stamp of each point of a family, by streams; checks that labels name no trial."""
    found: dict[str, list[tuple[float, float]]] = {}
    for family in read_families(path):
        for sample in family.samples if family.name == name else ():
            assert not sample.labels.keys() & {"trial", "cycle", "flags"}
            point = (sample.value, float(str(sample.timestamp or 0)))
            found.setdefault(sample.labels["streams"], []).append(point)
    return found


def test_openmetrics_has_one_series_for_each_path_and_setting(tmp_path: Path) -> None:
    name = "pathlab_throughput_bits_per_second"
    with Results.open(store_series(tmp_path / "stored")) as results:
        timed = read_values(export(results, "openmetrics", tmp_path / "timed"), name)
        load_format("openmetrics").export(select_trials(results, with_timestamps=False), tmp_path / "now")
        left_out = load_format("openmetrics").list_left_out(select_trials(results))
    assert [value for value, _ in timed["1"]] == [10e6, 30e6]  # of two begun at once, the last one
    assert [value for value, _ in timed["4"]] == [40e6, 160e6, 120e6]
    for points in timed.values():
        stamps = [stamp for _, stamp in points]
        assert stamps == sorted(set(stamps))
    now = {one: read_values(tmp_path / "now", one) for one in (name, *COUNTS)}
    assert now == {
        name: {"1": [(20e6, 0)], "4": [(100e6, 0)]},
        "pathlab_usable_trials": {"1": [(3, 0)], "4": [(4, 0)]},
        "pathlab_unusable_trials": {"1": [(1, 0)], "4": [(1, 0)]},
        "pathlab_last_usable_trial_timestamp_seconds": {one: [(1767322920.0, 0)] for one in "14"},
    }
    assert left_out == [3, 9]


def test_openmetrics_of_trials_that_do_not_count_has_their_number_alone(tmp_path: Path) -> None:
    with make_results(tmp_path / "stored") as results:
        results.add_trial(dataclasses.replace(COMPLETE, flags=("lab-limited",)), {})
        assert read_families(export(results, "openmetrics", tmp_path / "timed")) == []
        load_format("openmetrics").export(select_trials(results, with_timestamps=False), tmp_path / "now")
    counts = {one.name: one.samples[0].value for one in read_families(tmp_path / "now") if one.samples}
    assert counts == {"pathlab_usable_trials": 0, "pathlab_unusable_trials": 1}


def test_openmetrics_names_the_units_of_messages(tmp_path: Path) -> None:
    record = dataclasses.replace(USABLE, messages_per_s=2000.5, sender_cpu_ns_per_message=250.0)
    with make_results(tmp_path / "stored") as stored:
        stored.add_trial(dataclasses.replace(record, round_trip_p99_9_ns=7_000_000), {})
        families = {one.name: one for one in read_families(export(stored, "openmetrics", tmp_path / "out"))}
    for name, unit, value in (
        ("messages_per_second", "per_second", 2000.5),
        ("sender_cpu_seconds_per_message", "seconds_per_message", pytest.approx(2.5e-7)),
        ("round_trip_p99_9_seconds", "seconds", 0.007),
    ):
        family = families[f"pathlab_{name}"]
        assert (family.unit, family.samples[0].value) == (unit, value)


def test_what_is_there_already_stays(results: Results, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("mine")
    for name in FORMAT_NAMES:
        with pytest.raises(UsageError, match="already exists"):
            export(results, name, out)
        with pytest.raises(StoreError, match="cannot be written"):
            export(results, name, out / "below")
    assert out.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "stored"}
