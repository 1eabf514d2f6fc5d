"""What carries messages best, in words: for targets of rate and latency, and without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from pathlab.report.base.phrases import format_ci, format_count, format_factor, format_interval, format_spread
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.base.cells import MEDIA
from pathlab.study.base.selection import choose_evenly
from pathlab.study.messages.message_choice import (
    FrontPoint,
    LoadFigures,
    MessageCandidate,
    MessageChoice,
    MessageTarget,
    Shortcoming,
)
from pathlab.study.messages.message_latency import MessageLatency
from pathlab.table_columns import TableColumn, list_table_columns
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_ratio, format_time

#: Sizes that are named of a path.
SIZES_NAMED = 3
CHOICE_COLUMNS = (
    *list_table_columns(("combination", "offered", "p99", "CPU/message", "CPU ratio")),
    TableColumn("verdict", wraps=True),
)


class Path(Protocol):
    """What is about one path."""

    @property
    def path_source(self) -> str: ...

    @property
    def path_destination(self) -> str: ...

    @property
    def medium(self) -> str: ...


def name_path(path: Path) -> str:
    """``a → b``, with the medium where it is no real path."""
    name = f"{path.path_source} → {path.path_destination}"
    return name if path.medium == "hosts" else f"{name} ({MEDIA.get(path.medium, path.medium)})"


def name_offered(rate_per_s: int | None) -> str:
    """An offered rate of messages with replies; None: the next follows the reply."""
    return "one at a time" if rate_per_s is None else format_frequency(rate_per_s)


def describe_choice(choice: MessageChoice) -> tuple[str, ...]:
    """The sentence to act on, then what it is compared with and how certain it is."""
    target, chosen = choice.target, choice.recommended
    if chosen is None:
        return _describe_no_choice(choice)
    figures = chosen.figures
    verb = "Probably" if choice.tentative else "Use"
    p99 = format_spread(figures.p99_ns, format_time)
    lead = (
        f"{verb} {chosen.setup.name}: {_name_load(figures.offered_messages_per_s, target)} at a p99 of {p99}"
    )
    spent = figures.cpu_ns_per_message
    if spent.median is not None:
        lead += f", CPU time {format_spread(spent, format_time)} per message"
    return (f"{lead}.", *_list_remarks(choice, chosen))


def _list_remarks(choice: MessageChoice, chosen: MessageCandidate) -> Iterator[str]:
    target, figures = choice.target, chosen.figures
    if choice.runner_up is None:
        yield _describe_others(choice)
    else:
        yield _compare_next(choice.runner_up)
    if figures.offered_messages_per_s != target.rate_per_s:
        rates = " and ".join(
            format_frequency(item.offered_messages_per_s) for item in reversed(chosen.judged)
        )
        yield f"{format_frequency(target.rate_per_s)} was not measured; it was tested at {rates}."
    if figures.missing_ratio:
        share = format_ratio(figures.missing_ratio)
        yield f"{share} of the messages never returned; p99 counts them as the slowest."
    if choice.tentative:
        trials = format_count(figures.p99_ns.n, "trial")
        yield f"Confidence: low - medians of {trials} decide; no confidence interval shows the difference."
    elif len(choice.candidates) > 1:
        count = format_count(len(choice.candidates), "combination")
        yield f"The intervals of p99 are not corrected for the {count} that were compared."


def _describe_no_choice(choice: MessageChoice) -> tuple[str, ...]:
    """Why nothing is chosen: nothing meets the targets, none is shown to, or the rate was not offered."""
    target = choice.target
    if not choice.is_offered:
        rate = format_frequency(target.rate_per_s)
        return (
            f"{rate} was not offered; rates are not extrapolated. {_describe_nearest(choice)}",
            f"Measure it: pathlab run relay-latency --set factors.message_rate=[{target.rate_per_s}]",
        )
    ruled_out = all(map(_is_ruled_out, choice.candidates))
    verb = "No combination meets" if ruled_out else "No combination is shown to meet"
    return (f"{verb} {_name_target(target)}. {_describe_nearest(choice)}",)


def _is_ruled_out(candidate: MessageCandidate) -> bool:
    """Whether it is shown not to meet the targets; all else is undecided or was not measured."""
    if candidate.shortcoming is Shortcoming.TOO_SLOW:
        return all(load.p99_ns.interval.decided for load in candidate.judged)
    return candidate.shortcoming is Shortcoming.RATE_MISSED


def _describe_others(choice: MessageChoice) -> str:
    """That no other combination is chosen alongside the recommended one, and which ones are undecided."""
    others = [candidate for candidate in choice.candidates if candidate is not choice.recommended]
    if not others:
        return "No other combination was measured."
    if all(map(_is_ruled_out, others)):
        return "No other combination meets the targets."
    seems = [other.setup.name for other in others if other.seems]
    by_medians = f"; by medians {'; '.join(seems)} would" if seems else ""
    return f"No other combination is shown to meet the targets{by_medians}."


def _compare_next(other: MessageCandidate) -> str:
    interval, ratio = other.cpu_ratio_interval, other.cpu_ratio
    if ratio is None or interval is None:
        return f"{other.setup.name} meets the targets too; CPU time per message was not compared."
    text = f"{format_factor(ratio)} times the CPU time"
    if interval.low is None or interval.high is None:
        return f"Next: {other.setup.name} with {text} (too few trials to compare the two)."
    text += f" ({format_ci(interval, format_factor)})"
    if interval.low <= 1 <= interval.high:
        return f"{other.setup.name} is not shown to differ from it: {text}."
    return f"Next: {other.setup.name} with {text}."


def _describe_nearest(choice: MessageChoice) -> str:
    item, target = choice.nearest, choice.target
    if item is None:
        return ""
    p99, figures = item.figures.p99_ns.median, item.figures
    if item.judged and figures.carried is not False and p99 is not None:
        ratio = format_factor(p99 / target.p99_ns)
        at = format_frequency(figures.offered_messages_per_s)
        return f"Nearest: {item.setup.name}, p99 {format_time(p99)} at {at}, {ratio} times the target."
    highest = item.highest
    if highest.carried is False:
        return f"Nearest: {item.setup.name}, which carried {_format_achieved(highest)}."
    return f"Nearest: {item.setup.name}, measured up to {format_frequency(highest.offered_messages_per_s)}."


def _name_target(target: MessageTarget) -> str:
    return f"{_name_load(target.rate_per_s, target)} at a p99 of {format_time(target.p99_ns)}"


def _name_load(rate_per_s: int, target: MessageTarget) -> str:
    return f"{format_frequency(rate_per_s)} of {format_bytes(target.size_bytes)} messages"


def _format_achieved(figures: LoadFigures) -> str:
    return format_frequency(figures.achieved_messages_per_s.median)


def list_choice_rows(choice: MessageChoice) -> list[tuple[str, ...]]:
    """A row for each candidate, the recommended one first; its cells are those of ``CHOICE_COLUMNS``."""
    return [_build_row(choice, candidate) for candidate in choice.candidates]


def _build_row(choice: MessageChoice, candidate: MessageCandidate) -> tuple[str, ...]:
    figures = candidate.figures
    ratio = format_factor(candidate.cpu_ratio)
    if candidate.cpu_ratio_interval is not None and candidate.cpu_ratio_interval.decided:
        ratio += f" ({format_interval(candidate.cpu_ratio_interval, format_factor)})"
    return (
        candidate.setup.name,
        format_frequency(figures.offered_messages_per_s),
        _format_middle(figures),
        format_time(figures.cpu_ns_per_message.median),
        "1" if candidate is choice.recommended else ratio,
        explain_verdict(candidate, choice.target),
    )


def _format_middle(figures: LoadFigures) -> str:
    spread = figures.p99_ns
    text = format_time(spread.median)
    if not spread.interval.decided:
        return text
    unit, ends = text.partition(" ")[2], format_interval(spread.interval, format_time)
    return f"{text} ({ends.replace(f' {unit}', '') if unit else ends})"  # once, where both have the same


def explain_verdict(candidate: MessageCandidate, target: MessageTarget) -> str:
    """Whether a combination meets the targets, and why not."""
    if candidate.shortcoming is None:
        return "meets the targets"
    return ("meets them by medians: " if candidate.seems else "") + EXPLANATIONS[candidate.shortcoming](
        candidate, target
    )


def _explain_missed(candidate: MessageCandidate, _: MessageTarget) -> str:
    failed = next((load for load in candidate.judged if load.carried is False), candidate.figures)
    if not candidate.judged:
        at = format_frequency(candidate.top.offered_messages_per_s)
        return f"missed {at}, carried {_format_achieved(candidate.top)}"
    return (
        f"misses the rate in {failed.missed} of {format_count(failed.trials, 'trial')}, "
        f"carries {_format_achieved(failed)}"
    )


def _explain_unsure(candidate: MessageCandidate, _: MessageTarget) -> str:
    failed = next((load for load in candidate.judged if load.missed), candidate.figures)
    return f"misses the rate in {failed.missed} of {format_count(failed.trials, 'trial')}"


def _explain_slow(candidate: MessageCandidate, target: MessageTarget) -> str:
    failed = max(candidate.judged, key=lambda load: load.p99_ns.median or 0.0)
    median = failed.p99_ns.median
    if median is None:
        return NOT_MEASURED
    at = "" if failed is candidate.figures else f" at {format_frequency(failed.offered_messages_per_s)}"
    return f"p99{at} is {format_factor(median / target.p99_ns)} times the target"


def _explain_undecided(candidate: MessageCandidate, _: MessageTarget) -> str:
    few = any(not load.p99_ns.interval.decided for load in candidate.judged)
    return "too few trials for a confidence interval" if few else "the p99's interval contains the target"


EXPLANATIONS: Mapping[Shortcoming, Callable[[MessageCandidate, MessageTarget], str]] = {
    Shortcoming.RATE_MISSED: _explain_missed,
    Shortcoming.RATE_UNSURE: _explain_unsure,
    Shortcoming.TOO_SLOW: _explain_slow,
    Shortcoming.UNDECIDED: _explain_undecided,
    Shortcoming.NOT_MEASURED: lambda item, _: (
        "too few round trips for a p99" if item.figures.trials else "no usable trial"
    ),
    Shortcoming.NOT_OFFERED: lambda item, _: (
        f"measured up to {format_frequency(item.highest.offered_messages_per_s)} only"
    ),
}


def describe_latencies(study: Analyses) -> tuple[str, ...]:
    """What to carry messages with, by their latency; none where no round trips were measured."""
    texts = []
    every = [item for item in study.message_latency() if not study.is_of_technologies(item.result)]
    paths = dict.fromkeys(answer.condition for answer in every)
    for path in paths:
        where = f"{name_path(path)}: " if len(paths) > 1 else ""
        points: dict[int, list[Answer[FrontPoint]]] = {}
        for item in study.message_front():
            if item.condition == path:
                points.setdefault(item.result.message_bytes, []).append(item)
        result = map(describe_front, choose_evenly(list(points.values()), SIZES_NAMED)) if points else None
        latencies = [item for item in every if item.condition == path]
        texts += [where + text for text in result or describe_shortest(latencies)]
    return tuple(texts)


def describe_front(points: Sequence[Answer[FrontPoint]]) -> str:
    """The ends of the front of one path and size in a sentence; ``points`` by ascending rate."""
    first, last = points[0].result, points[-1].result
    names = dict.fromkeys(point.result.setup.name for point in points)
    size = format_bytes(first.message_bytes)
    ends = " to ".join(dict.fromkeys(map(_describe_point, (first, last))))
    if first.compared == 1:
        return f"p99 for {size}, {first.setup.name}: {ends}."
    if len(points) == 1:
        text = f"Lowest p99 for {size}, also at the highest rate kept: {first.setup.name}, {ends}"
    elif len(names) == 1:
        text = f"Lowest p99 for {size} at every rate: {first.setup.name}, {ends}"
    else:
        text = f"Lowest p99 for {size}: {first.setup.name}, {_describe_point(first)}"
        text += f"; at the highest rate kept: {last.setup.name}, {_describe_point(last)}"
    if not all(point.result.figures.p99_ns.interval.decided for point in points):
        return f"{text}. Too few trials to rank the combinations."
    rivals = dict.fromkeys(name for point in points for name in point.result.rivals)
    return f"{text}. Not shown to differ at some rates: {'; '.join(rivals)}." if rivals else f"{text}."


def _describe_point(point: FrontPoint) -> str:
    figures = point.figures
    rate = format_frequency(figures.offered_messages_per_s)
    return f"{format_spread(figures.p99_ns, format_time)} at {rate}"


def describe_shortest(answers: Sequence[Answer[MessageLatency]]) -> Iterator[str]:
    """The shortest median round trip of one path at its smallest and at its largest size."""
    every = [answer.result for answer in answers if answer.result.median_ns.median is not None]
    sizes = sorted({item.message_bytes for item in every})
    for size in dict.fromkeys((*sizes[:1], *sizes[-1:])):
        ranked = sorted(
            (item for item in every if item.message_bytes == size),
            key=lambda item: item.median_ns.median or 0.0,
        )
        best, text = ranked[0], format_spread(ranked[0].median_ns, format_time)
        sentence = f"Shortest round trips for {format_bytes(size)}: {best.setup.name}, median {text}"
        if len(ranked) > 1:
            other = ranked[1].median_ns
            ratio = format_factor((other.median or 0.0) / (best.median_ns.median or 1.0))
            apart = best.median_ns.interval.lies_below(other.interval)
            doubt = "" if apart else " (not shown to differ)"
            sentence += f"; {ranked[1].setup.name} takes {ratio} times as long{doubt}"
        yield f"{sentence}."
