"""What the series of a trial say in a few rows: grants, TCP_INFO, cores, route, captures."""

import pandas as pd
import pytest

from pathlab.study.analyses import Study
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.trial_details import TrialDetails, read_trial_details
from tests.builders.explored import make_explored

SECOND_NS = 10**9


def read(**series: list[dict[str, object]]) -> TrialDetails:
    """The details of a trial of 1 stream with these series; warm-up 0.5 s, steady window 3 s."""
    made = make_explored(cycles=1, streams=(1,), windows=(65536,), destinations=("east",))
    frames = {kind: pd.DataFrame(rows) for kind, rows in series.items()}
    return read_trial_details(ExploredResults.of(Study(made.copy(series={1: frames}))), 0)


def test_settings_are_the_plans_and_what_both_ends_stated() -> None:
    found = read(
        settings=[
            {"name": "pacing_bits_per_s", "requested": "1000000", "sender": "990000", "receiver": None},
            {"name": "nodelay", "requested": "yes", "sender": "yes", "receiver": "no"},
            {"name": "dscp", "requested": None, "sender": None, "receiver": None},
            {"name": "encoding", "requested": "fixed", "sender": None, "receiver": None},
            {"name": "cork", "requested": "yes", "sender": None, "receiver": None},
            {"name": "adapter.io_threads", "requested": None, "sender": "2", "receiver": "4"},
        ]
    )
    readings = {one.name: one for one in found.readings}
    assert list(readings)[:3] == ["streams", "window_bytes", "congestion"]
    assert not {"dscp", "encoding"} & readings.keys()  # nobody asked for it, and no end stated it
    assert readings["cork"].requested == "yes"
    assert readings["window_bytes"].requested == 65536
    assert (readings["window_bytes"].sender, readings["window_bytes"].receiver) == (131072, 131072)
    pacing = readings["pacing_bits_per_s"]
    assert (pacing.requested, pacing.sender, pacing.receiver) == (10**6, 990000, None)
    assert not pacing.is_planned
    assert readings["adapter.io_threads"].requested is None
    assert readings["nodelay"].receiver == "no"


def test_tcp_figures_are_of_the_steady_window_alone() -> None:
    names = ("phase", "rtt_us", "snd_cwnd_segments", "total_retrans_segments", "busy_time_us")
    rows = [
        ("warmup", 9_000, 99, 5, 900_000),
        ("steady", 1_000, 10, 6, 1_400_000),
        ("steady", 3_000, 30, 9, 1_900_000),
        ("drain", 9_000, 99, 50, 1_900_000),
    ]
    found = read(
        sender_intervals=[
            {
                **{"index": index, "stream": 0, "snd_mss_bytes": 1000},
                **{"start_ns": index * SECOND_NS, "end_ns": (index + 1) * SECOND_NS},
                **dict(zip(names, row, strict=True)),
            }
            for index, row in enumerate(rows)
        ]
    )
    figures = {one.name: (one.least, one.median, one.most) for one in found.tcp}
    assert figures["rtt_ns"] == pytest.approx((1e6, 2e6, 3e6))
    assert figures["snd_cwnd_bytes"] == pytest.approx((10_000, 20_000, 30_000))
    assert figures["total_retrans_segments"] == pytest.approx(
        (4, 4, 4)
    )  # since the reading before the window
    assert figures["busy_ratio"] == pytest.approx((0.5, 0.5, 0.5))
    assert "receiver_limited_ratio" not in figures


def test_cores_are_the_mean_of_the_steady_window_the_busiest_first() -> None:
    found = read(
        receiver_cpu=[
            {
                **{"time_ns": end * SECOND_NS, "span_ns": SECOND_NS, "core": core},
                **{"idle_ratio": idle, "softirq_ratio": 0.25},
            }
            for end, idles in ((1, (0.0, 0.0)), (2, (0.9, 0.5)), (3, (0.9, 0.1)), (5, (0.0, 0.0)))
            for core, idle in enumerate(idles)
        ]
    )
    assert [(one.end, one.core) for one in found.cores] == [("receiver", 1), ("receiver", 0)]
    assert found.cores[0].mean_ratio == pytest.approx(0.7)  # the spans that lie within 0.5 s to 3.5 s
    assert found.cores[0].most_ratio == pytest.approx(0.9)
    assert found.cores[0].softirq_ratio == 0.25
    assert found.cores[0].steal_ratio is None


def test_a_hop_may_be_silent_or_have_several_addresses() -> None:
    found = read(
        route=[
            {"hop": 1, "address": "192.0.2.1", "fingerprint": "1:a"},
            {"hop": 2, "address": None, "fingerprint": "1:a"},
            {"hop": 3, "address": "192.0.2.3", "fingerprint": "1:a"},
            {"hop": 3, "address": "192.0.2.4", "fingerprint": "1:a"},
        ]
    )
    assert [(one.hop, one.addresses) for one in found.route] == [
        (1, ("192.0.2.1",)),
        (2, ()),
        (3, ("192.0.2.3", "192.0.2.4")),
    ]


def test_captures_are_those_that_were_requested() -> None:
    made = make_explored(cycles=1, streams=(1,), windows=(65536,), destinations=("east",))
    made.change_trials(
        capture_sender_sha256="0" * 64, capture_sender_packets=7, capture_receiver_missing="denied"
    )
    found = read_trial_details(ExploredResults.of(Study(made)), 0)
    assert [(one.end, one.packets, one.missing) for one in found.captures] == [
        ("sender", 7, None),
        ("receiver", None, "denied"),
    ]
    assert read().captures == ()
