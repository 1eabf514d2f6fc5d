"""What a campaign says, in plain words made from its numbers and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pathlab.analysis.loss import Loss
from pathlab.analysis.quantiles import median_interval_minimum
from pathlab.report.comparison import Comparison, compare_products
from pathlab.report.limits import Limit, judge_limit, window_rate_bits_per_s
from pathlab.report.summary import Cell, PathSummary, Spread, Summary
from pathlab.units import format_bytes, format_rate, format_ratio, format_time

SUFFICIENT_RATIO = 0.90
NEAR_RATIO = 0.98
COMPARISONS_SAID = 4  # more of them belong in a table, not in sentences


class Weight(StrEnum):
    """How a finding wants to be read."""

    ANSWER = "answer"
    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement. ``kind`` is a stable name for programs; ``text`` is a sentence or two."""

    kind: str
    weight: Weight
    text: str
    path: str | None = None


def findings(summary: Summary) -> tuple[Finding, ...]:
    """Everything worth saying about a campaign, warnings about its validity first."""
    said = _state_validity(summary)
    for path in summary.paths:
        if path.measured:
            said += _judge_path(path)
    return tuple(said)


def name_cell(cell: Cell, *, congestion: bool = False) -> str:
    """A cell in words: ``4 streams with a 64 KiB window each``."""
    each = " each" if cell.streams > 1 else ""
    streams = "1 stream" if cell.streams == 1 else f"{cell.streams} streams"
    asked = cell.window_asked_bytes
    window = "autotuned windows" if asked is None else f"a {format_bytes(asked)} window{each}"
    return f"{streams} with {window}" + (f" ({cell.congestion})" if congestion and cell.congestion else "")


def short_name(cell: Cell) -> str:
    """A cell in short: ``4 × 64 KiB``."""
    asked = cell.window_asked_bytes
    return f"{cell.streams} × {'auto' if asked is None else format_bytes(asked)}"


def format_spread_rate(spread: Spread) -> str:
    """Median rate with its interval, or with its range when the interval is undecided."""
    text = format_rate(spread.median)
    if spread.interval.decided:
        low, high = spread.interval.low, spread.interval.high
        return f"{text} (95 % interval {format_rate(low)} to {format_rate(high)})"
    if spread.n > 1:
        least, most = format_rate(spread.low), format_rate(spread.high)
        return f"{text} (median of {spread.n}{f'; {least} to {most}' if least != most else ''})"
    return f"{text} (one trial)"


def format_loss(loss: Loss) -> str:
    """Loss with counts and interval: ``0 of 40 probes lost (95 % interval 0 % to 8.76 %)``."""
    if loss.loss_ratio is None:
        return "no probes were sent"
    low, high = loss.interval_ratio.low, loss.interval_ratio.high
    return (
        f"{loss.lost} of {loss.sent} probes lost (95 % interval {format_ratio(low)} to {format_ratio(high)})"
    )


def _median(spread: Spread) -> float:
    """The median of a spread for ordering; measured cells always have one."""
    return spread.median if spread.median is not None else 0.0


def _state_validity(summary: Summary) -> list[Finding]:
    said = []
    if summary.fallback:
        reason = summary.fallback.strip().rstrip(".")
        said.append(
            _warn(
                "fallback",
                f"Loopback fallback: {reason}. The numbers describe this machine alone and no network.",
            )
        )
    if not summary.complete:
        said.append(_warn("empty", "No trial completed, so nothing was measured and no figure can be drawn."))
    if summary.failures:
        stages = sorted({trial.record.failed_stage or trial.record.status for trial in summary.failures})
        total = summary.complete + len(summary.failures)
        said.append(
            _warn(
                "failures",
                f"{len(summary.failures)} of {total} trials did not complete (stage: {', '.join(stages)}). "
                "They are listed with their reasons and are in no figure.",
            )
        )
    missing = summary.planned - summary.done
    if missing > 0:
        said.append(
            _warn(
                "partial",
                f"{missing} of {summary.planned} planned trials have no result; "
                "'pathlab run' on the same campaign measures them.",
            )
        )
    return said


def _judge_path(summary: PathSummary) -> list[Finding]:
    best = max(summary.measured, key=lambda cell: _median(cell.throughput_bits_per_s))
    said = [_state_best(summary, best)]
    said += _state_sufficient(summary, best)
    said += _state_limits(summary)
    said += _state_truth(summary, best)
    said += [_state_comparison(summary, found) for found in _select(compare_products(summary))]
    said += _state_windows(summary)
    said += _state_small_sample(summary)
    return said


def _state_best(summary: PathSummary, best: Cell) -> Finding:
    highest = _median(best.throughput_bits_per_s)
    text = (
        f"The highest throughput was {format_spread_rate(best.throughput_bits_per_s)}, reached by "
        f"{name_cell(best, congestion=True)}."
    )
    near = [
        cell
        for cell in summary.measured
        if cell is not best and _median(cell.throughput_bits_per_s) >= NEAR_RATIO * highest
    ]
    if near:
        text += f" Within {format_ratio(round(1 - NEAR_RATIO, 6))} of it: {_enumerate(near)}."
    rise = best.rise_mean_ns.median
    if rise is not None:
        idle, loaded = best.unloaded_mean_ns.median, best.loaded_mean_ns.median
        text += (
            f" It raised the average RTT by {format_time(rise)}, from {format_time(idle)} to "
            f"{format_time(loaded)}; under load {format_loss(best.loaded_loss)}."
        )
    return _say("highest", Weight.ANSWER, text, summary)


def _state_sufficient(summary: PathSummary, best: Cell) -> list[Finding]:
    """The smallest streams x window that reaches 90 % of the highest, and what it costs against that."""
    threshold = SUFFICIENT_RATIO * _median(best.throughput_bits_per_s)
    reaching = [
        cell
        for cell in summary.measured
        if cell.product_bytes is not None and _median(cell.throughput_bits_per_s) >= threshold
    ]
    if not reaching:
        return []
    least = min(reaching, key=lambda cell: (cell.product_bytes or 0, -_median(cell.throughput_bits_per_s)))
    share = _median(least.throughput_bits_per_s) / max(_median(best.throughput_bits_per_s), 1e-9)
    if least is best:
        text = f"No smaller streams × window than that ({short_name(best)}) came within 90 % of it."
        return [_say("sufficient", Weight.ANSWER, text, summary)]
    text = (
        f"The smallest streams × window that reaches 90 % of it is {name_cell(least)} "
        f"({format_bytes(least.product_bytes)} in all): {format_rate(least.throughput_bits_per_s.median)}, "
        f"{format_ratio(share)} of the highest."
    )
    rise, top = least.rise_mean_ns.median, best.rise_mean_ns.median
    if rise is not None and top is not None:
        text += (
            f" It raises the average RTT by {format_time(rise)} against {format_time(top)}; under load "
            f"{format_loss(least.loaded_loss)}, against {best.loaded_loss.lost} of {best.loaded_loss.sent}."
        )
    return [_say("sufficient", Weight.ANSWER, text, summary)]


def _state_limits(summary: PathSummary) -> list[Finding]:
    groups: dict[Limit, list[Cell]] = {}
    for cell in summary.measured:
        groups.setdefault(judge_limit(cell), []).append(cell)
    said = []
    if windowed := groups.get(Limit.WINDOW):
        widest = max(windowed, key=lambda cell: cell.product_bytes or 0)
        said.append(
            _say(
                "window-limited",
                Weight.NOTE,
                f"Limited by the window: {_enumerate(windowed)}. Throughput is close to streams × window / "
                f"RTT ({format_rate(widest.throughput_bits_per_s.median)} measured for {short_name(widest)}, "
                f"{format_rate(window_rate_bits_per_s(widest))} expected) and no queue built up.",
                summary,
            )
        )
    if full := groups.get(Limit.PATH):
        rises = [cell.rise_mean_ns.median for cell in full if cell.rise_mean_ns.median is not None]
        least, most = format_time(min(rises)), format_time(max(rises))
        said.append(
            _say(
                "path-full",
                Weight.NOTE,
                f"The path was full with {_enumerate(full)}: throughput stayed below streams × window / RTT "
                f"and the average RTT rose by {least}{f' to {most}' if least != most else ''}.",
                summary,
            )
        )
    if labs := groups.get(Limit.LAB):
        said.append(
            _say(
                "lab-limited",
                Weight.WARNING,
                f"With {_enumerate(labs)} the lab was beyond what it emulates truly (packets lost outside "
                "the links, late deliveries, no CPU time left): the numbers describe the lab, not the path.",
                summary,
            )
        )
    if hosts := groups.get(Limit.HOST):
        said.append(
            _say(
                "host-limited",
                Weight.WARNING,
                f"A host's busiest core had no time left with {_enumerate(hosts)}, and nothing else explains "
                "the rate: these numbers describe the host and not the path.",
                summary,
            )
        )
    return said


def _state_truth(summary: PathSummary, best: Cell) -> list[Finding]:
    truth = summary.truth
    if truth is None:
        return []
    said = []
    rate = _median(best.throughput_bits_per_s)
    text = (
        f"The lab's link is set to {format_rate(truth.rate_bits_per_s)}, which leaves "
        f"{format_rate(truth.goodput_bits_per_s)} for payload after headers. The highest throughput "
        f"differs from that by {_percent(rate / truth.goodput_bits_per_s - 1)}."
    )
    said.append(_say("lab-rate", Weight.NOTE, text, summary))
    if over := [cell for cell in summary.measured if dict(cell.flags).get("over-line-rate")]:
        text = (
            f"Trials with {_enumerate(over)} counted more than the link carries. After a loss, what waits "
            "behind the hole is counted when the hole is filled, so a short window can hold bytes that "
            "arrived before it: these rates are too high."
        )
        said.append(_say("over-line-rate", Weight.NOTE, text, summary))
    idle = [c.unloaded_median_ns.median for c in summary.measured if c.unloaded_median_ns.median is not None]
    if idle and truth.base_rtt_ns > 0:
        apart = max(abs(value - truth.base_rtt_ns) for value in idle)
        text = (
            f"Its round trip is set to {format_time(truth.base_rtt_ns)}; the cells' median unloaded RTTs "
            f"lie between {format_time(min(idle))} and {format_time(max(idle))}, "
            f"at most {format_time(apart)} away."
        )
        said.append(_say("lab-rtt", Weight.NOTE, text, summary))
    return said


def _select(found: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
    """The comparisons to say: the largest differences, in order of product."""
    weighed = sorted(found, key=lambda c: abs((c.ratio or 1) - 1), reverse=True)[:COMPARISONS_SAID]
    return tuple(c for c in found if c in weighed)


def _state_comparison(summary: PathSummary, found: Comparison) -> Finding:
    many, large = found.many, found.large
    head = (
        f"At equal streams × window ({format_bytes(many.product_bytes)}), {short_name(many)} carried "
        f"{format_rate(many.throughput_bits_per_s.median)} and {short_name(large)} "
        f"{format_rate(large.throughput_bits_per_s.median)}"
    )
    if found.ratio is None:
        return _say("equal-product", Weight.NOTE, f"{head}; no cycle holds both, so no verdict.", summary)
    head += f" ({_percent(found.ratio - 1)} for more streams, median within cycles)"
    low, high = found.interval_ratio.low, found.interval_ratio.high
    rises = many.rise_mean_ns.median, large.rise_mean_ns.median
    cost = ""
    if rises[0] is not None and rises[1] is not None:
        cost = f" Rise of the average RTT: {format_time(rises[0])} against {format_time(rises[1])}."
    if low is None or high is None:
        need = median_interval_minimum()
        verdict = f"undecided with n={found.pairs} cycle{'s' * (found.pairs != 1)}; an interval needs {need}"
    else:
        words = {
            "streams": "more streams win",
            "windows": "larger windows win",
            "no-difference-shown": "no difference shown",
        }[found.verdict]
        verdict = f"{words} (95 % interval of the ratio {low:.3f} to {high:.3f}, n={found.pairs} cycles)"
    return _say("equal-product", Weight.NOTE, f"{head}: {verdict}.{cost}", summary)


def _state_windows(summary: PathSummary) -> list[Finding]:
    short = [cell for cell in summary.measured if cell.short_windows]
    if not short:
        return []
    least = min(
        size
        for cell in short
        for size in (cell.window_granted_sender_bytes, cell.window_granted_receiver_bytes)
        if size is not None
    )
    text = (
        f"The kernel granted less than the window asked for with {_enumerate(short)} (least grant: "
        f"{format_bytes(least)} as the kernel reports it, which is twice what it gives). Next: raise "
        "net.core.rmem_max and net.core.wmem_max on both hosts; 'pathlab doctor' shows them."
    )
    return [_say("window-not-granted", Weight.WARNING, text, summary)]


def _state_small_sample(summary: PathSummary) -> list[Finding]:
    fewest = min(cell.complete for cell in summary.measured)
    need = median_interval_minimum()
    if fewest >= need:
        return []
    text = (
        f"Small sample: the cell measured least has {fewest} trial{'s' * (fewest != 1)}. A 95 % interval "
        f"of a median needs {need}, so differences between cells are shown and not decided."
    )
    return [_say("small-sample", Weight.NOTE, text, summary)]


def _enumerate(cells: list[Cell]) -> str:
    """Cells in short, grouped by window: ``1, 2 and 4 × 64 KiB; 1 × 256 KiB``."""
    groups: dict[str, list[str]] = {}
    for cell in sorted(cells, key=lambda c: (c.window_asked_bytes or 0, c.congestion or "", c.streams)):
        window = "auto" if cell.window_asked_bytes is None else format_bytes(cell.window_asked_bytes)
        streams = groups.setdefault(window, [])
        if str(cell.streams) not in streams:
            streams.append(str(cell.streams))
    return "; ".join(
        f"{', '.join(streams[:-1])}{' and ' if streams[1:] else ''}{streams[-1]} × {window}"
        for window, streams in groups.items()
    )


def _percent(ratio: float) -> str:
    shown = f"{100 * ratio:+.1f}"
    return "0.0 %" if shown in ("-0.0", "+0.0") else f"{shown} %".replace("-", "−")


def _warn(kind: str, text: str) -> Finding:
    return Finding(kind=kind, weight=Weight.WARNING, text=text)


def _say(kind: str, weight: Weight, text: str, summary: PathSummary) -> Finding:
    return Finding(kind=kind, weight=weight, text=text, path=str(summary.path))
