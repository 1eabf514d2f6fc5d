"""Columns, series and flags of UDP flows, from what engines and agents state."""

from dataclasses import asdict

import pytest

from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.datagram_record import HostDrops
from pathlab.runner.trial.series import build_series
from pathlab.store.flags import Flag
from pathlab.store.series_columns import SERIES, find_column_fault
from tests.builders.datagram_ends import (
    DATAGRAM_BYTES,
    STEP_NS,
    build_udp_record,
    make_host_sample,
    make_udp_receiver,
    make_udp_sender,
    make_udp_spec,
)

#: Every 100 ms from before the steady window until after it.
QUIET = [make_host_sample(n * STEP_NS) for n in range(1, 13)]


def test_both_ends_counts_of_the_steady_window_are_the_columns() -> None:
    record = build_udp_record(make_udp_sender(), make_udp_receiver(), counters=QUIET)
    columns = {name: value for name, value in asdict(record).items() if name.startswith("udp_")}
    assert columns == {
        "udp_offered_packets_per_s": 2000.0,
        "udp_sent_packets": 2000,
        "udp_sent_packets_per_s": 2000.0,
        "udp_refused_packets": 3,
        "udp_pacing_error_median_ns": 1_500.0,
        "udp_pacing_error_p99_ns": 40_000.0,
        "udp_pacing_error_max_ns": 900_000.0,
        "udp_received_packets": 1990,
        "udp_received_packets_per_s": 1980.0,
        "udp_lost_packets": 10,
        "udp_lost_host_packets": 4,
        "udp_lost_path_packets": 6,
        "udp_duplicate_packets": 2,
        "udp_reordered_packets": 5,
        "udp_foreign_packets": 7,
        "udp_jitter_ns": 4000,
        "udp_reorder_extent_max_packets": 301,
        "udp_late_time_max_ns": 90_111,
        "udp_n_reordered_3_packets": 2,
    }
    assert (record.datagram_bytes, record.throughput_bits_per_s) == (
        DATAGRAM_BYTES,
        1980 * 8 * DATAGRAM_BYTES,
    )
    assert record.sender_cpu_ns_per_packet == pytest.approx(10 * 8_000_000 / 2000)
    assert record.receiver_cpu_ns_per_packet == pytest.approx(10 * 8_000_000 / 1980)
    assert (record.undelivered_bytes, record.window_effective_bytes) == (None, None)


def test_of_both_directions_each_end_has_the_cost_of_the_counted_one() -> None:
    """native/PROTOCOL.md: the first threads of an end receive, the others send."""
    sender, receiver = make_udp_sender(), make_udp_receiver()
    idle = {"user_ns": 1_000_000, "system_ns": 0, "waiting_ns": 0, "spun_ns": 0}
    for end, place in ((sender, 0), (receiver, 1)):
        for one in (one for one in end if one["type"] == "interval"):
            one["workers"] = [*one["workers"][:place], idle, *one["workers"][place:]]
    record = build_udp_record(sender, receiver, spec=make_udp_spec(direction="both"))
    assert record.sender_cpu_ns_per_packet == pytest.approx(10 * 8_000_000 / 2000)
    assert record.receiver_cpu_ns_per_packet == pytest.approx(10 * 8_000_000 / 1980)


def test_what_was_not_stated_leaves_its_columns_empty() -> None:
    record = build_udp_record(make_udp_sender(), [])
    assert (record.udp_sent_packets, record.udp_sent_packets_per_s) == (2000, 2000)
    assert (record.udp_received_packets, record.udp_lost_packets, record.udp_jitter_ns) == (None,) * 3
    assert (record.udp_lost_host_packets, record.udp_lost_path_packets) == (None, None)
    assert record.udp_n_reordered_3_packets is None
    record = build_udp_record([], make_udp_receiver())
    assert (record.udp_sent_packets, record.datagram_bytes, record.udp_lost_packets) == (None, None, 10)
    stream = build_udp_record(make_udp_sender(), make_udp_receiver(), spec=make_udp_spec(transport="tcp"))
    assert (stream.udp_sent_packets, stream.datagram_bytes, stream.udp_lost_host_packets) == (None,) * 3


@pytest.mark.parametrize(
    ("socket", "samples", "loss"),
    [
        (4, QUIET, (4, 6)),
        (4, [*QUIET, make_host_sample(5 * STEP_NS, softnet=3)], (7, 3)),
        # once, though a bond counts its member's
        (4, [*QUIET, make_host_sample(5 * STEP_NS, softnet=3, missed=2)], (9, 1)),
        (40, QUIET, (10, 0)),  # no more than was lost
        (4, [make_host_sample(STEP_NS, softnet=5), *QUIET[1:]], (4, 6)),  # before the window
        (4, [*QUIET, make_host_sample(STEP_NS + 1, softnet=5)], (9, 1)),
        # without a counter the part of the path is not known
        (4, [], (4, None)),
        (None, [], (None, None)),
        (4, [*QUIET, make_host_sample(5 * STEP_NS, softnet=None)], (4, None)),
    ],
)
def test_loss_of_the_receiving_host_is_what_its_counters_explain(
    socket: int | None, samples: list[dict[str, object]], loss: tuple[int | None, int | None]
) -> None:
    record = build_udp_record(make_udp_sender(), make_udp_receiver(socket_drops=socket), counters=samples)
    assert (record.udp_lost_host_packets, record.udp_lost_path_packets) == loss


def test_loss_that_one_counter_explains_needs_no_other() -> None:
    assert HostDrops(socket=12, backlog=None, ring=None).split_loss(10) == (10, 0)
    assert HostDrops(socket=None, backlog=None, ring=None).split_loss(0) == (None, 0)
    assert HostDrops(socket=0, backlog=0, ring=0).split_loss(0) == (0, 0)


@pytest.mark.parametrize(
    ("sent", "segments", "missed"),
    [((1000, 1000), 1, False), ((990, 989), 1, False), ((989, 988), 1, True), ((900, 989), 64, False)],
)
def test_a_sender_that_did_not_reach_the_offered_rate_is_flagged(
    sent: tuple[int, int], segments: int, missed: bool
) -> None:
    record = build_udp_record(make_udp_sender(sent, segments=segments), make_udp_receiver())
    assert (Flag.RATE_MISSED in record.flags) is missed


def test_as_fast_as_possible_misses_no_rate() -> None:
    record = build_udp_record(make_udp_sender((3, 3), offered_packets_per_s=None), make_udp_receiver((3, 3)))
    assert Flag.RATE_MISSED not in record.flags
    assert record.udp_offered_packets_per_s is None


@pytest.mark.parametrize(("drops", "limited"), [(0, False), (1, False), (2, True)])
def test_a_receiving_host_that_lost_0_1_percent_limits_the_trial(drops: int, limited: bool) -> None:
    receiver = make_udp_receiver(socket_drops=drops)
    record = build_udp_record(make_udp_sender(), receiver, counters=QUIET)
    assert (Flag.HOST_LIMITED in record.flags) is limited


def test_datagrams_of_each_interval_and_stream_are_kept() -> None:
    tables = build_series(TrialData(sender=make_udp_sender(), receiver=make_udp_receiver()))
    for kind in ("sender_datagrams", "receiver_datagrams", "datagram_histograms"):
        assert find_column_fault(kind, tables[kind]) is None
    sent, received = tables["sender_datagrams"], tables["receiver_datagrams"]
    assert sent.num_rows == received.num_rows == 22
    assert sent.slice(3, 1).to_pylist()[0] == {
        **{"index": 1, "start_ns": STEP_NS, "end_ns": 2 * STEP_NS, "phase": "steady", "stream": 1},
        **{"sent": 100, "refused": 1, "received": None, "lost": None, "duplicate": None},
        **{"reordered": None, "jitter_ns": None},
    }
    first, second = received.slice(2, 2).to_pylist()
    assert (first["received"], first["lost"], first["reordered"], first["jitter_ns"]) == (99, 1, 1, 3000)
    assert (second["received"], second["lost"], second["jitter_ns"]) == (100, 0, None)


def test_histograms_are_kept_bin_by_bin() -> None:
    tables = build_series(TrialData(sender=make_udp_sender(), receiver=make_udp_receiver()))
    rows = tables["datagram_histograms"].to_pylist()
    assert {"metric": "loss_runs", "low": 7, "high": 7, "count": 1} in rows
    assert {"metric": "reorder_density", "low": -1, "high": -1, "count": 4} in rows
    assert {"metric": "displaced_beyond", "low": 0, "high": 0, "count": 1} in rows
    metrics = {row["metric"] for row in rows}
    assert "occupied_beyond" not in metrics  # none
    meaning = SERIES["datagram_histograms"].columns["metric"].meaning
    assert all(metric in meaning for metric in metrics)


def test_a_flow_of_bytes_has_no_such_series() -> None:
    data = TrialData(sender=make_udp_sender(), receiver=make_udp_receiver())
    for end in (data.sender, data.receiver):
        for record in end:
            record.pop("datagrams", None)
    assert not {kind for kind in build_series(data) if "datagram" in kind}
