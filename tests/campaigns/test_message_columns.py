"""What is stored of trials of messages that the real engine carried: each kind once, over loopback."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.runner.trial import probing
from pathlab.store.exporting import load_format, select_trials
from pathlab.store.hdr_histogram import Histogram
from pathlab.store.interval_histograms import read_round_trips
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.steady import read_window
from tests.integration.conducting import campaign_of, run
from tests.unit.store.hdr_format import read_log

pytestmark = pytest.mark.engine


def measure(folder: Path, **factors: Any) -> Results:
    """The results of one trial for each combination; all have to be complete."""
    campaign = campaign_of(factors={"streams": [1], "message": [64], **factors})
    outcome = run(campaign, folder)
    assert (outcome.failed, outcome.complete) == (0, outcome.complete)
    return Results.open(folder)


def check_counts(record: TrialRecord) -> None:
    """What holds for every transport that loses nothing."""
    assert record.messages_total
    assert (record.messages_missing, record.messages_out_of_order) == (0, 0)
    assert record.received_total_bytes == record.messages_total * 64
    assert record.throughput_bits_per_s is not None
    assert record.messages_per_s is not None
    assert record.sender_cpu_ns_per_message
    assert 0 <= (record.first_arrival_ns or 0) < (record.last_arrival_ns or 0)
    assert (record.send_calls or 0) > 0


def list_interval_counts(results: Results, trial_id: int, end: str) -> Iterator[tuple[str, int]]:
    for row in results.series_table(trial_id, f"{end}_intervals").to_pylist():
        yield row["phase"], row["messages"]


def test_messages_of_one_way(tmp_path: Path) -> None:
    transports = ["tcp", "udp", "unix", "pipe", "shared-memory"]
    # At a rate at which none is lost.
    with measure(tmp_path / "out", transport=transports, message_rate=[2000]) as results:
        for transport, (number, record) in zip(transports, results.records_by_id().items(), strict=True):
            check_counts(record)
            counts = [*list_interval_counts(results, number, "receiver")]
            assert sum(count for _, count in counts) == record.messages_total
            steady = sum(count for phase, count in counts if phase == "steady")
            rate = steady * 1e9 / (record.steady_ns or 1)
            assert record.messages_per_s == pytest.approx(rate)
            assert record.throughput_bits_per_s == pytest.approx(rate * 64 * 8)
            assert record.receiver_cpu_ns_per_message
            assert (record.round_trips, record.clock_cost_ns) == (None, None)
            of_tcp = (record.mss_bytes, record.congestion_sender, record.retransmitted_bytes)
            assert [value is not None for value in of_tcp] == [transport == "tcp"] * 3
            assert (record.retransmitted_steady_segments is None) == (transport != "tcp")


def test_messages_that_return(tmp_path: Path) -> None:
    rates = [None, 2000]
    with measure(tmp_path / "out", reply=[True], message_rate=["max", 2000]) as results:
        load_format("hdr").export(select_trials(results), tmp_path / "out.hlog")
        log = read_log(tmp_path / "out.hlog")
        records = results.records_by_id()
        assert {record.plan_row for record in records.values()} == set(range(len(rates)))
        for number, record in records.items():
            rate = rates[record.plan_row]
            check_counts(record)
            histogram = read_round_trips(results, number)
            assert (record.round_trips, record.round_trip_min_ns) == (histogram.count, histogram.exact.min_ns)
            assert record.round_trip_max_ns == histogram.exact.max_ns
            assert record.round_trip_mean_ns == pytest.approx(histogram.exact.mean_ns)
            assert record.round_trip_median_ns == histogram.stated_quantile_ns(0.5)
            assert record.round_trip_p99_ns == histogram.stated_quantile_ns(0.99)
            assert record.clock_cost_ns
            assert record.record_cost_ns
            assert record.offered_messages_per_s == rate
            assert (record.send_late_max_ns is None) == (rate is None)
            assert rate is not None or "rate-missed" not in record.flags
            window = read_window(results, number)
            rows = results.series_table(number, "round_trips").to_pylist()
            inside = [row for row in rows if row["phase"] == "steady"]
            assert inside[0]["start_ns"] == pytest.approx(window[0], abs=1e8)
            again = [Histogram.decode(row["histogram"]).count for row in inside]
            assert sum(again) == record.round_trips
            lines = [line for line in log if line.tag == f"trial-{number}-messages"]
            assert [sum(line.values.values()) for line in lines] == again


def test_one_program_is_both_ends(tmp_path: Path) -> None:
    with measure(tmp_path / "out", placement=["fused", "threaded"]) as results:
        fused, threaded = results.records()
    for record in (fused, threaded):
        check_counts(record)
        assert not {"host-limited", "busy-core", "undelivered-data"} & {*record.flags}
    assert (fused.receiver_cpu_ns_per_message, fused.receiver_cpu_user_s) == (None, None)
    assert threaded.receiver_cpu_ns_per_message
    assert threaded.receiver_cpu_user_s is not None


def test_a_rate_that_cannot_be_reached_is_marked(tmp_path: Path) -> None:
    with measure(tmp_path / "out", message_rate=[100_000_000]) as results:
        (record,) = results.records()
    check_counts(record)
    assert record.offered_messages_per_s == 100_000_000
    assert (record.messages_per_s or 0) < 99_000_000
    assert "rate-missed" in record.flags
    assert (record.send_late_max_ns or 0) > 0


def test_many_probes_are_kept_as_histograms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "PROBES_KEPT_MAX", 50)
    trial = {"warmup": "0ms", "duration": "300ms", "interval": "20ms", "drain": "2s"}
    probes = {"interval": "1ms", "unloaded": 100}
    campaign = campaign_of(factors={"streams": [1]}, trial=trial, probes=probes)
    assert run(campaign, tmp_path / "out").complete == 1
    with Results.open(tmp_path / "out") as results:
        (record,) = results.records()
        kinds = results.all_series_kinds()[1]
        loaded, unloaded = (
            results.series_table(1, f"{load}_probe_histograms").to_pylist() for load in ("loaded", "unloaded")
        )
        window = read_window(results, 1)
    assert {"loaded_probes", "unloaded_probes"}.isdisjoint(kinds)
    assert sum(row["sent"] for row in unloaded) == record.unloaded_sent == 100
    inside = [row for row in loaded if window[0] <= row["start_ns"] and row["end_ns"] <= window[1]]
    assert inside
    assert sum(row["sent"] for row in inside) == record.loaded_sent
    assert sum(row["lost"] for row in inside) == (record.loaded_sent or 0) - (record.loaded_received or 0)
    assert min(row["min_ns"] for row in inside) == record.loaded_rtt_min_ns
    for low, high in (
        (record.loaded_rtt_min_ns, record.loaded_rtt_median_ns),
        (record.unloaded_rtt_min_ns, record.unloaded_rtt_mean_ns),
    ):
        assert 0 < low <= high
