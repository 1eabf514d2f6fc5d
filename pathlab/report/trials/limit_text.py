"""The limit of one trial in a sentence, with the figures that it was read from."""

from __future__ import annotations

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.limits import Limit
from pathlab.report.base.names import format_limit_name, shorten_levels
from pathlab.report.base.phrases import STALLED_TEXT
from pathlab.study.flows.trial_limit import SingleLimit
from pathlab.units import format_bytes, format_rate, format_ratio, format_time

#: From this share of what the windows carry over the probes' RTT on, that product explains a rate. It does
#: not where the ends delay TCP more than the path does, as on loopback.
EXPLAINING_RATIO = 0.5
#: What the figures of a host say, the plainest first.
HOST_FIGURES = {
    "busiest_core_ratio": "the busiest core was {} busy",
    "waiting_ratio": "the traffic waited for a core {} of the time",
    "engine_core_ratio": "a thread of the traffic used {} of a core",
    "ceiling_share_ratio": "the rate is {} of what the host carries over loopback",
}
#: What is said of a trial whose limit is undecided.
OPEN_FIGURES = {
    "windows_share_ratio": "the rate is {} of what the windows carry",
    "probe_rtt_rise_ns": "the RTT rose by {}",
    "forward_share_ratio": "{} of that on the forward path",
    "busiest_core_ratio": "the busiest core was {} busy",
}


def format_limit(result: SingleLimit) -> str:
    """``Limited by: the window (64 KiB / 40 ms = 13.1 Mbit/s)``, or why it is undecided."""
    limit = result.verdict.limit
    if result.verdict.undecided is Undecided.STALLED:
        return STALLED_TEXT
    if limit is None:
        reason = str(result.verdict.undecided).replace("-", " ")
        return (
            f"Limited by: undecided ({reason}; {_list_open(result)}). "
            "Measure with twice the streams: more rate points to windows or losses, the same to the path."
        )
    evidence = _describe_evidence(result, limit)
    name = format_limit_name(limit, at_requested_rate=result.verdict.at_requested_rate)
    return f"Limited by: {name}{f' ({evidence})' if evidence else ''}"


def _describe_evidence(result: SingleLimit, limit: Limit) -> str:
    if limit is Limit.HOST_CPU:
        return _describe_host(result)
    if limit is Limit.PATH_CAPACITY:
        return _describe_path(result)
    if limit is Limit.CONGESTION:
        return f"{_describe_losses(result)}, {_describe_queue(result)}"
    if limit is Limit.RATE_LIMIT:
        return _describe_rate_limit(result)
    if limit is Limit.RETURN_PATH:
        share = format_ratio(result.find("forward_share_ratio"))
        return f"the RTT rose by {format_time(_find_rise(result))}, {share} of that on the forward path"
    if limit is Limit.RECEIVING_APPLICATION:
        return _describe_unread(result)
    if result.verdict.at_requested_rate:
        return _compare(result, result.reading.requested_bits_per_s)
    if limit is Limit.APPLICATION:
        return f"it had nothing to send {format_ratio(result.idle_ratio)} of the time"
    return _describe_window(result)


def _describe_window(limit: SingleLimit) -> str:
    """The windows over the RTT, or how long the window of an end held the flow."""
    streams, window = len(limit.reading.streams), limit.reading.window_requested_bytes
    share = limit.find("windows_share_ratio")
    if limit.held_ratio is None or (share is not None and share >= EXPLAINING_RATIO):
        if limit.windows_bits_per_s is None:
            return ""
        windows = shorten_levels(streams, window).removeprefix("1 × ")
        return f"{windows} / {format_time(limit.windows_rtt_ns)} = {format_rate(limit.windows_bits_per_s)}"
    if limit.held_ratio < EXPLAINING_RATIO and window is not None:
        return f"the requested {shorten_levels(streams, window).removeprefix('1 × ')} were in flight"
    what = "was full" if limit.verdict.limit is Limit.SEND_BUFFER else "held the sender"
    return f"it {what} {format_ratio(limit.held_ratio)} of the time"


def _describe_path(limit: SingleLimit) -> str:
    if limit.met("line_share_ratio"):
        return f"{_compare(limit, limit.reading.line_bits_per_s)} that the lab's link leaves for data"
    rise = _find_rise(limit)
    if rise is None:
        return ""
    unknown = "" if limit.met("forward_share_ratio") else "; its direction was not measured"
    return f"at a steady rate, a queue adds {format_time(rise)} to the RTT{unknown}"


def _find_rise(limit: SingleLimit) -> float | None:
    rise = limit.find("probe_rtt_rise_ns")
    return limit.find("tcp_rtt_rise_ns") if rise is None else rise


def _describe_losses(limit: SingleLimit) -> str:
    lost = limit.find("resent_segments") or 0.0
    return f"{lost:.0f} segments were lost, {format_ratio(limit.loss_ratio)} of the data"


def _describe_queue(limit: SingleLimit) -> str:
    name = "tcp_rtt_rise_ns" if limit.find("probe_rtt_rise_ns") is None else "probe_rtt_rise_ns"
    if not limit.met(name):
        return "and no queue grew"
    return f"at an uneven rate with a queue of {format_time(limit.find(name))}"


def _describe_rate_limit(limit: SingleLimit) -> str:
    rate = f"steady at {format_rate(limit.reading.throughput_bits_per_s)}"
    if limit.met("line_share_ratio"):
        rate = f"{_compare(limit, limit.reading.line_bits_per_s)} that the lab's link leaves for data"
    return f"{rate}; {_describe_losses(limit)}, and no queue grew, as with a policer"


def _describe_unread(limit: SingleLimit) -> str:
    """Two windows that it offered: the usual and the largest."""
    usual, most = limit.offered_usual_bytes, limit.offered_bytes
    if usual is None or most is None:
        return "it left data unread"
    fell = f"fell from {format_bytes(most)} to {format_bytes(usual)}"
    return f"it left data unread: the window that it offers {fell}"


def _describe_host(limit: SingleLimit) -> str:
    met = [
        text.format(format_ratio(limit.find(name))) for name, text in HOST_FIGURES.items() if limit.met(name)
    ]
    return " and ".join(met[:2])


def _list_open(limit: SingleLimit) -> str:
    known = [
        text.format(format_time(value) if name.endswith("_ns") else format_ratio(min(1.0, value)))
        for name, text in OPEN_FIGURES.items()
        if (value := limit.find(name)) is not None
    ]
    return ", ".join(known) or "no figure was measured"


def _compare(limit: SingleLimit, bound_bits_per_s: float | None) -> str:
    return f"{format_rate(limit.reading.throughput_bits_per_s)} of {format_rate(bound_bits_per_s)}"
