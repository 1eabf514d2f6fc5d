"""One combination in words: what it carried, what that cost, and what limited it."""

from __future__ import annotations

from pathlab.analysis.estimators.interval import Undecided
from pathlab.report.base.names import format_limit_name, shorten_levels
from pathlab.report.base.phrases import format_bounded_time, format_ci, format_count, format_reason
from pathlab.report.base.rate_text import describe_candidate_rate, shorten_candidate_rate
from pathlab.study.base.answer import Spread
from pathlab.study.flows.candidates import Candidate
from pathlab.units import NOT_MEASURED, format_rate, format_time


def format_expected(item: Candidate, line_bits_per_s: float | None) -> str:
    """The throughput to expect: the median with its interval, or with the number of trials."""
    text = format_rate(item.throughput_bits_per_s.median)
    if item.over_line and line_bits_per_s is not None:
        return f"at most {format_rate(line_bits_per_s)} (measured {text}, more than the link can carry)"
    if not item.has_one_rate:
        return describe_candidate_rate(item)
    interval = item.throughput_bits_per_s.interval
    if interval.decided:
        unit = text.partition(" ")[2]  # once, where both ends have the same
        ends = format_ci(interval, format_rate)
        return f"{text} ({ends.removesuffix(f' {unit}') if ends.count('bit/s') == 1 else ends})"
    trials = format_count(item.n, "trial")
    if interval.undecided is Undecided.PROVISIONAL:
        return f"about {text} ({trials})"
    if interval.undecided is Undecided.TOO_CORRELATED:
        return f"about {text} ({trials}, {explain_no_interval(item)})"
    return (
        f"about {text} (only {format_count(item.n, 'usable trial' if item.n < item.complete else 'trial')})"
    )


def shorten_expected(candidate: Candidate, line_bits_per_s: float | None) -> str:
    """The throughput to expect; without an interval its median and the number of trials."""
    if not candidate.has_one_rate and not candidate.over_line:
        return shorten_candidate_rate(candidate)
    if candidate.over_line or candidate.throughput_bits_per_s.interval.decided:
        return format_expected(candidate, line_bits_per_s)
    return (
        f"about {format_rate(candidate.throughput_bits_per_s.median)} ({format_count(candidate.n, 'trial')})"
    )


def explain_no_interval(candidate: Candidate) -> str:
    """Why the median of a combination has no confidence interval."""
    if candidate.throughput_bits_per_s.interval.undecided is Undecided.PROVISIONAL:
        return "provisional"
    if candidate.throughput_bits_per_s.interval.undecided is Undecided.TOO_CORRELATED:
        return "no confidence interval: they drift or step"
    return "too few for a confidence interval"


def format_rise(spread: Spread) -> str:
    """DRTT with its interval, or that it was not measured."""
    if spread.median is None and spread.above_ns is None:
        return "not measured"
    text = format_bounded_time(spread.median, spread.above_ns)
    if not spread.interval.decided:
        return f"{text} ({format_count(spread.n, 'trial')})"
    return f"{text} ({format_ci(spread.interval, format_time)})"


def format_cpu(candidate: Candidate) -> str:
    """CPU seconds per GB at the sender and at the receiver: ``0.21 / 2``."""
    ends = candidate.sender_cpu_s_per_gb, candidate.receiver_cpu_s_per_gb
    if all(end.median is None for end in ends):
        return "not measured"
    return " / ".join(NOT_MEASURED if end.median is None else f"{end.median:.2g}" for end in ends)


def name_limit(candidate: Candidate) -> str:
    """What limited a combination, or why that is not known."""
    if candidate.limit is not None:
        return shorten_limit(candidate)
    missing = (
        "every trial was lab-limited" if candidate.provisional else "what would show it was not measured"
    )
    return f"undecided ({format_reason(candidate.limit_undecided) if candidate.limit_undecided else missing})"


def shorten_limit(candidate: Candidate) -> str:
    """What limited a combination, without the reason where that is not known."""
    if candidate.limit is None:
        return "undecided"
    return format_limit_name(candidate.limit, at_requested_rate=candidate.at_requested_rate)


def describe_climb(candidate: Candidate) -> str:
    """The queue of a combination was still growing when its trials ended."""
    climb, name = candidate.climb, shorten_levels(candidate.streams, candidate.window_bytes)
    counted = "" if climb is None else f" ({climb.rising} of {format_count(climb.classified, 'trial')})"
    least_ns = candidate.drtt_ns.above_ns if candidate.drtt_ns.median is None else candidate.drtt_ns.median
    more = "more delay" if least_ns is None else f"more than {format_time(least_ns)} of added delay"
    return (
        f"With {name} the RTT was still rising at the end of the steady window{counted}. The queue had not "
        f"filled, so longer trials would show {more}."
    )
