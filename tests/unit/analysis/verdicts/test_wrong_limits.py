"""Situations in which a limit would be wrong, and that no limit contradicts the figures of its own trial."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading
from pathlab.analysis.verdicts.limits import Limit, classify_limits
from pathlab.analysis.verdicts.loss_laws import estimate_loss_window, ignores_losses
from pathlab.report.trials.limit_text import format_limit
from pathlab.study.flows.trial_limit import describe_limit
from tests.builders.limits import PLAIN, QUIET, read

SEGMENT_BYTES = 1448


def lose(
    lost: float, *, of: float = 20_000, share: float = 1.0, streams: int = 1, spurious: float = 0, **flow: Any
) -> FlowReading:
    """Streams over 20 ms that each lose some of ``of`` segments and carry ``share`` of what that allows."""
    congestion = flow.get("congestion", "cubic")
    law = congestion if congestion in ("reno", "cubic") else "reno"
    window = estimate_loss_window(law, max(lost - spurious, 1) / of, 20e6)
    rate = share * window * SEGMENT_BYTES * 8e9 / 20e6
    stream = replace(
        PLAIN,
        rate_bits_per_s=rate,
        sent_bytes=of * SEGMENT_BYTES,
        retransmitted_bytes=lost * SEGMENT_BYTES,
        spurious_segments=spurious,
        rtt_ns=20.2e6,
        rtt_min_ns=20e6,
    )
    figures = {
        "streams": (stream,) * streams,
        "throughput_bits_per_s": rate * streams,
        "rtt_loaded_ns": 20.1e6,
        "rtt_unloaded_ns": 20e6,
        "rtt_standing_ns": 0.0,
        "rate_spread_ratio": 0.3,
        "congestion": "cubic",
    }
    return replace(QUIET, **{**figures, **flow})


def queue(rise_ns: float, forward_share: float | None, **flow: Any) -> FlowReading:
    """A flow at a steady rate over 20 ms, with a queue of which a share lies on the way of the data."""
    stream = replace(PLAIN, rate_bits_per_s=30e6, rtt_ns=20e6 + rise_ns, rtt_min_ns=20e6)
    figures = {
        "streams": (stream,),
        "throughput_bits_per_s": 30e6,
        "rtt_loaded_ns": 20e6 + rise_ns,
        "rtt_unloaded_ns": 20e6,
        "rtt_standing_ns": 0.7 * rise_ns,
        "forward_rise_ns": None if forward_share is None else forward_share * rise_ns,
        "congestion": "cubic",
    }
    return replace(QUIET, **{**figures, **flow})


def hold(flight: float, offered: float, **flow: Any) -> FlowReading:
    """A flow that the receiver's window holds: what is in flight and what is offered, of 4 MB at most."""
    rtt_ns = flow.pop("rtt_ns", 160e6)
    reading = read(1, flight * 4e6 * 8e9 / rtt_ns, receiver_limited_s=19.0, rtt_ns=rtt_ns)
    stream = replace(reading.streams[0], offered_bytes=offered * 4e6, offered_most_bytes=4e6)
    return replace(reading, streams=(stream,), **flow)


LATE = {"rtt_ns": 400e6}
WINDOW, READER = Limit.RECEIVER_WINDOW, Limit.RECEIVING_APPLICATION
LOSSES, CAPACITY, RATE, BACK = Limit.CONGESTION, Limit.PATH_CAPACITY, Limit.RATE_LIMIT, Limit.RETURN_PATH
#: What would be named wrongly, the reading, and the limit (None: undecided).
SITUATIONS: list[tuple[str, FlowReading, Limit | None]] = [
    # losses
    ("one resent segment", lose(1), None),
    ("one resent segment of few", lose(1, of=1000), None),
    ("nine lost segments", lose(9), None),
    ("ten lost segments", lose(10), LOSSES),
    ("few of each of many streams", lose(3, streams=8), LOSSES),
    ("one of each of eight streams", lose(1, streams=8), None),
    ("resent, but nothing was lost (DSACK)", lose(40, spurious=38), None),
    ("most of it was lost", lose(60, spurious=20), LOSSES),
    ("the losses allow clearly more", lose(20, share=0.3), None),
    ("losses in bursts: more is carried than by single ones", lose(200, share=3.0), LOSSES),
    ("losses so many that timeouts dominate", lose(2000, congestion="reno"), LOSSES),
    ("CUBIC over a long path carries more than Reno", lose(20, congestion="reno", share=2.0), LOSSES),
    ("BBR ignores losses", lose(200, congestion="bbr"), None),
    ("BBR of another version", lose(200, congestion="bbr2"), None),
    ("a congestion control without a law", lose(200, congestion="htcp"), None),
    ("the congestion control is not known", lose(200, congestion=None), None),
    (
        "losses at a full line are the path's",
        lose(200, line_bits_per_s=lose(200).throughput_bits_per_s),
        CAPACITY,
    ),
    # a policer: a steady rate, losses, no queue
    ("a policer", lose(200, streams=4, rate_spread_ratio=0.02), RATE),
    ("BBR at a policer", lose(3000, congestion="bbr", rate_spread_ratio=0.01), RATE),
    ("BBR on a path that loses at random", lose(200, congestion="bbr", rate_spread_ratio=0.05), RATE),
    ("BBR that may heed so many losses", lose(3000, congestion="bbr", rate_spread_ratio=0.09), None),
    ("a policer, whatever the sender", lose(200, streams=4, congestion=None, rate_spread_ratio=0.02), RATE),
    ("the rate swings", lose(200, streams=4, rate_spread_ratio=0.12), LOSSES),
    ("as steady as chance leaves many streams", lose(200, streams=32, rate_spread_ratio=0.04), LOSSES),
    ("a steady rate with one loss", lose(1, rate_spread_ratio=0.01), None),
    ("a steady rate, and the losses allow more", lose(20, share=0.3, rate_spread_ratio=0.01), None),
    # a queue, there or back
    ("a queue on the way there", queue(199e6, 0.98), CAPACITY),
    ("a queue on the way back", queue(199e6, 0.01), BACK),
    ("a queue on the way back, an uneven rate", queue(199e6, 0.01, rate_spread_ratio=0.3), BACK),
    ("a queue on either way", queue(199e6, 0.4), None),
    ("the line is full, the queue on the way back", queue(199e6, 0.01, line_bits_per_s=31e6), CAPACITY),
    ("BBR needs no queue on the way there", queue(199e6, 0.01, congestion="bbr"), None),
    ("a queue on the way back, the sender not known", queue(199e6, 0.01, congestion=None), None),
    ("which way has it was not measured", queue(199e6, None), CAPACITY),
    ("too small a queue to find its way", queue(4e6, 0.0), CAPACITY),
    ("two seconds of queue, no probe came back", queue(2e9, 0.98, rtt_loaded_ns=None), CAPACITY),
    ("two seconds of queue on the way back", queue(2e9, 0.01, rtt_loaded_ns=None), BACK),
    (
        "a sender that keeps a rate beside it",
        queue(199e6, 0.01, requested_bits_per_s=30e6),
        Limit.APPLICATION,
    ),
    # a receiver that does not read
    ("a small window", hold(0.9, 0.95), WINDOW),
    ("unread data fills the window", hold(0.02, 0.01), READER),
    ("a reader that reads now and then", hold(0.2, 0.3), READER),
    ("a reader nearly as fast as the window", hold(0.6, 0.6), WINDOW),
    ("a window that is offered but not used", hold(0.2, 0.9), WINDOW),
    ("acknowledgements of a closed window come late", hold(0.2, 0.01, rtt_loaded_ns=None, **LATE), READER),
    ("the rate asked for is reached", hold(0.02, 0.01, requested_bits_per_s=4e6), Limit.APPLICATION),
]


@pytest.mark.parametrize(
    ("reading", "limit"), [row[1:] for row in SITUATIONS], ids=[row[0] for row in SITUATIONS]
)
def test_what_would_be_wrong_is_not_named(reading: FlowReading, limit: Limit | None) -> None:
    assert classify_limits(reading).flow.limit is limit


def test_what_is_undecided_says_why() -> None:
    reasons = {name: classify_limits(reading).flow.undecided for name, reading, _ in SITUATIONS}
    assert reasons["one resent segment"] is Undecided.NO_EVIDENCE
    assert reasons["BBR ignores losses"] is Undecided.NO_EVIDENCE
    assert reasons["the congestion control is not known"] is Undecided.NOT_MEASURED
    assert reasons["a queue on either way"] is Undecided.CONFLICTING_EVIDENCE


@pytest.mark.parametrize(
    ("congestion", "loss", "rtt_ns", "segments"),
    [
        ("reno", 1e-6, 100e6, 1225),  # Mathis: sqrt(1.5 / p)
        ("Cubic", 1e-6, 10e6, 1225),  # RFC 9438, table 1: its Reno-friendly region
        ("cubic", 1e-6, 100e6, 5922),  # RFC 9438, table 2 (C = 0.4) has 5919: 1.054 (RTT / p)^(3/4)
        ("reno", 0.05, 20e6, 2.35),  # Padhye et al.: timeouts
        ("reno", 0.0, 20e6, float("inf")),
        ("vegas", 0.01, 20e6, None),
        (None, 0.01, 20e6, None),
    ],
)
def test_the_laws_of_losses(
    congestion: str | None, loss: float, rtt_ns: float, segments: float | None
) -> None:
    found = estimate_loss_window(congestion, loss, rtt_ns)
    assert found is None if segments is None else found == pytest.approx(segments, rel=0.05)


def choose(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


STREAMS = st.builds(
    StreamReading,
    rate_bits_per_s=choose(None, 1e5, 5e6, 3e7),
    steady_s=choose(20.0),
    busy_s=choose(None, 5.0, 20.0),
    receiver_limited_s=choose(None, 0.0, 15.0),
    buffer_limited_s=choose(None, 0.0, 15.0),
    app_limited_ratio=choose(None, 0.0, 0.9),
    sent_bytes=choose(None, 3e6, 3e7),
    retransmitted_bytes=choose(None, 0.0, 1448.0, 2e4, 1e6),
    rtt_ns=choose(None, 20.1e6, 60e6, 2e9),
    rtt_min_ns=choose(None, 20e6),
    segment_bytes=choose(None, 1448.0),
    spurious_segments=choose(None, 0.0, 5.0),
    offered_bytes=choose(None, 0.0, 6e4),
    offered_most_bytes=choose(None, 6e4, 4e6),
)
FLOWS = st.builds(
    FlowReading,
    streams=st.lists(STREAMS, min_size=1, max_size=3).map(tuple),
    throughput_bits_per_s=choose(None, 5e6, 3e7),
    window_requested_bytes=choose(None, 65536, 4 << 20),
    rtt_loaded_ns=choose(None, 20.1e6, 60e6, 500e6),
    rtt_unloaded_ns=choose(None, 20e6),
    rtt_standing_ns=choose(None, 0.0, 30e6),
    rate_spread_ratio=choose(None, 0.02, 0.3),
    line_bits_per_s=choose(None, 3.1e7, 1e8),
    requested_bits_per_s=choose(None, 3.1e7),
    kernel_stamps=choose(None, True, False),
    rate_spans=choose(None, 20),
    congestion=choose(None, "reno", "cubic", "bbr", "bbr3", "htcp"),
    forward_rise_ns=choose(None, 0.0, 2e7, 4e7, 5e8),
    loss_synchrony_ratio=choose(None, 0.5, 3.0),
)


@settings(deadline=None, max_examples=400)
@given(FLOWS)
def test_a_limit_never_contradicts_its_own_figures(reading: FlowReading) -> None:
    verdict = classify_limits(reading)
    text = format_limit(describe_limit(reading))
    for one in verdict.streams:
        check(one.limit, {item.name: item.value for item in one.evidence}, reading)
    if verdict.flow.limit is None:
        assert text.startswith("Limited by: undecided")
        return
    assert verdict.flow.limit in {one.limit for one in verdict.streams}
    met = {item.name: item.met for item in verdict.flow.evidence}
    known = "tcp_rtt_rise_ns" if met["probe_rtt_rise_ns"] is None else "probe_rtt_rise_ns"
    assert not ("no queue grew" in text and met[known])
    assert not ("the path's capacity" in text and met["forward_share_ratio"] is False and "queue" in text)


def check(limit: Limit | None, values: dict[str, float | None], reading: FlowReading) -> None:
    """What must be so for each limit, from the figures themselves."""
    figures = {name: value for name, value in values.items() if value is not None}
    rise = figures.get("probe_rtt_rise_ns", figures.get("tcp_rtt_rise_ns", 0.0))
    forward, lost = reading.forward_rise_ns, reading.lost_segments or 0.0
    lines_met = figures.get("line_share_ratio", 0.0) >= 0.9
    if limit in (Limit.CONGESTION, Limit.RATE_LIMIT):
        assert lost >= 10
    if limit is Limit.CONGESTION:
        assert reading.congestion in ("reno", "cubic")
        assert figures["loss_law_share_ratio"] >= 0.5
    elif limit is Limit.RATE_LIMIT:
        assert figures["rate_spread_ratio"] <= 0.1
    elif limit is Limit.PATH_CAPACITY and not lines_met:
        assert figures["rate_spread_ratio"] <= 0.1
        assert rise > 0
        assert forward is None or rise < 5e6 or forward >= 0.5 * rise
    elif limit is Limit.RETURN_PATH:
        assert rise >= 5e6
        assert forward <= 0.25 * rise
        assert not ignores_losses(reading.congestion)
    elif limit in (Limit.RECEIVER_WINDOW, Limit.RECEIVING_APPLICATION):
        assert figures["receiver_limited_ratio"] >= 0.5
        assert (figures.get("unread_window_ratio", 0.0) >= 0.5) is (limit is Limit.RECEIVING_APPLICATION)
    elif limit is Limit.APPLICATION:
        idle = max(figures.get("idle_ratio", 0.0), figures.get("app_limited_ratio", 0.0))
        assert idle >= 0.5 or figures["requested_share_ratio"] >= 0.9
