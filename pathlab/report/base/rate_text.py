"""A rate in words where a median alone would mislead: several levels, slow hours, bursts, outages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pathlab.analysis.estimators.modes import Mode
from pathlab.analysis.verdicts.slow_hours import SlowHours
from pathlab.analysis.verdicts.steadiness import RatePart, Steadiness
from pathlab.report.base.phrases import format_count
from pathlab.study.base.answer import Spread
from pathlab.study.flows.candidates import Candidate
from pathlab.study.flows.steadiness import CellSteadiness
from pathlab.units import format_rate

SECOND_NS = 1e9
#: Alongside a single rate to expect.
NO_SINGLE_RATE = "no single rate to expect"
MARK = "not steady"


def format_median(spread: Spread) -> str:
    """The median rate; of several levels each of them: ``940 or 470 Mbit/s``."""
    return format_modes(spread.modes) if spread.modes else format_rate(spread.median)


def format_modes(modes: Sequence[Mode]) -> str:
    """The levels in short, that of the most trials first."""
    texts = [format_rate(mode.median) for mode in modes]
    unit = texts[-1].partition(" ")[2]
    if all(text.endswith(f" {unit}") for text in texts):
        texts = [text.removesuffix(f" {unit}") for text in texts[:-1]] + texts[-1:]
    return " or ".join((", ".join(texts[:-1]), texts[-1]))


def describe_modes(modes: Sequence[Mode]) -> str:
    """``14 of 21 trials near 940 Mbit/s, 7 near 470 Mbit/s``."""
    every = sum(mode.n for mode in modes)
    texts = [f"{mode.n} near {format_rate(mode.median)}" for mode in modes[1:]]
    return ", ".join((f"{modes[0].n} of {every} trials near {format_rate(modes[0].median)}", *texts))


def describe_hours(result: SlowHours) -> str:
    """``300 Mbit/s from 19:00 to 23:00 UTC (on 5 of 5 days), 900 Mbit/s at other times``; empty for none."""
    if result.first_hour is None:
        return ""
    return (
        f"{format_rate(result.slow_median)} from {result.first_hour:02}:00 to {result.end_hour:02}:00 UTC "
        f"(on {result.slow_days} of {result.days} days), {format_rate(result.other_median)} at other times"
    )


def format_steadiness(steadiness: Steadiness) -> str:
    """The rate of a trial with what its mean does not say; empty where the mean says it all."""
    if not steadiness.disturbed:
        return ""
    text = f"{format_rate(steadiness.mean_bits_per_s)} on average"
    if steadiness.steady is False:
        text += f", {MARK}: {_describe_course(steadiness)}"
    if steadiness.outages:
        pieces = "" if steadiness.outages == 1 else f" in {steadiness.outages} outages"
        text += f", {_format_seconds(steadiness.silent_ns)} without a byte{pieces}"
    return text


def _describe_course(result: Steadiness) -> str:
    if result.parts:
        first, second = result.parts
        return (
            f"{format_rate(first.bits_per_s)} {_describe_begin(first)}, then {format_rate(second.bits_per_s)}"
        )
    return (
        f"{format_rate(result.least_bits_per_s)} to {format_rate(result.most_bits_per_s)} in single seconds"
    )


def _describe_begin(part: RatePart) -> str:
    seconds = round(part.length_ns / SECOND_NS)
    return "in the first second" if seconds <= 1 else f"for {seconds} s"


def _format_seconds(length_ns: float) -> str:
    return format_count(round(length_ns / SECOND_NS), "second")


def describe_cell_steadiness(result: CellSteadiness) -> str:
    """That of the typical trial, with the number of trials that are so; empty where all have one rate."""
    if not result.disturbed or result.example is None:
        return ""
    count = result.unsteady if result.mostly_unsteady else result.silent
    by = {"receiver": "", "sender": ", by the sender's count", "both": ", some by the sender's count"}
    return f"{format_steadiness(result.example)} ({count} of {result.checked} trials{by[result.counted_by]})"


def describe_candidate_rate(candidate: Candidate) -> str:
    """What to expect of a combination whose median is no single rate; empty where it is one."""
    return "; ".join(_list_disturbances(candidate))


def _list_disturbances(candidate: Candidate) -> Iterator[str]:
    if candidate.steadiness is not None and candidate.steadiness.disturbed:
        yield describe_cell_steadiness(candidate.steadiness)
    if candidate.slow_hours is not None:
        yield describe_hours(candidate.slow_hours)
    elif candidate.throughput_bits_per_s.modes:
        yield f"{describe_modes(candidate.throughput_bits_per_s.modes)}, {NO_SINGLE_RATE}"


def shorten_candidate_rate(candidate: Candidate) -> str:
    """The same in a few words for a table: ``940 or 470 Mbit/s``, ``159 Mbit/s (not steady)``."""
    text, steadiness = format_median(candidate.throughput_bits_per_s), candidate.steadiness
    if steadiness is None or not steadiness.disturbed:
        return text
    return f"{text} ({MARK if steadiness.mostly_unsteady else 'with outages'})"


def explain_no_single_rate(candidate: Candidate) -> str:
    """Why no confidence in a single rate, and what to do; empty where the combination has one rate."""
    steadiness = candidate.steadiness
    if steadiness is not None and steadiness.mostly_unsteady:
        return "its rate is not steady. Longer trials show what lasts"
    if steadiness is not None and steadiness.disturbed:
        return "seconds without a byte. Find what interrupts the path"
    if candidate.slow_hours is not None:
        return "its rate depends on the hour. Compare trials of the same hours"
    if candidate.throughput_bits_per_s.modes:
        return "its rate has several levels. Find what differs between their trials, such as the route"
    return ""
