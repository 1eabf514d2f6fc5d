"""UDP flows of a campaign in words: their names, what was lost and by whom, what limits them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pathlab.analysis.estimators.trial_loss import TrialLoss
from pathlab.report.base.phrases import format_count, join_words
from pathlab.report.base.rate_findings import describe_rate_findings
from pathlab.report.base.rate_text import format_median
from pathlab.report.datagrams.datagram_text import (
    LIMITS,
    LOSS_BOUND,
    describe_attribution,
    describe_limit_reason,
    format_datagram_limit,
    format_packet_rate,
)
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.datagrams.datagram_limit import LOSS_RATIO
from pathlab.study.datagrams.datagrams import DatagramFigures
from pathlab.study.flows.recommendation import Recommendation
from pathlab.units import NOT_MEASURED, format_ratio, format_window

#: Combinations of which each has a sentence.
SENTENCES_MAX = 3
#: The combination that sets nothing that others set.
PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFlow:
    """One combination of UDP flows: its path, what sets it apart from the others, and its answer."""

    path: str
    name: str
    answer: Answer[DatagramFigures]

    @property
    def figures(self) -> DatagramFigures:
        """The figures of its trials."""
        return self.answer.result


def list_flows(study: Analyses) -> tuple[NamedFlow, ...]:
    """Every combination of UDP flows; the name has the settings that vary, streams and windows too."""
    if not has_flows(study):
        return ()
    answers = study.datagrams()
    conditions = {item.key: item for item in study.conditions()}
    streams = {answer.streams for answer in answers}
    windows = {answer.window_bytes for answer in answers}
    result = []
    for answer in answers:
        condition = conditions.get(answer.condition)
        levels = [] if condition is None else _shorten_levels(condition.settings)
        if len(streams) > 1:
            levels.append(format_count(answer.streams or 1, "stream"))
        if len(windows) > 1:
            levels.append(f"window {format_window(answer.window_bytes)}")
        result.append(NamedFlow(path=answer.condition.path, name=", ".join(levels), answer=answer))
    if len(result) > 1:
        result = [replace(item, name=item.name or PLAIN) for item in result]
    return tuple(result)


def _shorten_levels(settings: Mapping[str, str]) -> list[str]:
    """The levels that name a combination: rates without their factor, offloads where they are on."""
    names = []
    for key, level in settings.items():
        if key in ("gso", "gro"):
            names += [key.upper()] if level == "yes" else []
        elif key == "pacing":
            names.append("as fast as possible" if level == "none" else level)
        else:
            names.append(f"{level} payload" if key == "datagram" else f"{key} {level}")
    return names


def describe_flows(study: Analyses) -> tuple[str, ...]:
    """The answer of UDP flows, then what limits them. Nothing without any.

    A search for the lossless rate has an answer of its own.
    """
    flows = () if is_search(study) else list_flows(study)
    if not flows:
        return ()
    rates = describe_rate_findings(
        study, [condition for condition in study.conditions() if condition.key.is_udp]
    )
    if len(flows) <= SENTENCES_MAX:
        return (*(_describe_flow(flow, named=len(flows) > 1) for flow in flows), *rates)
    paths = dict.fromkeys(flow.path for flow in flows)
    groups = [[flow for flow in flows if flow.path == path] for path in paths]
    return (*(text for group in groups for text in _describe_many(group)), *rates)


def has_flows(study: Analyses) -> bool:
    """Whether any trial carried its data by UDP; reads no trial."""
    return any(condition.is_udp for condition in dict.fromkeys(study.study_table().conditions))


def is_search(study: Analyses) -> bool:
    """Whether the campaign searches the lossless rate, so that its flows are steps of that search."""
    return bool(study.study_source.campaign.model.get("search"))


def _describe_flow(named_flow: NamedFlow, *, named: bool) -> str:
    figures = named_flow.figures
    subject = ", ".join(filter(None, [named_flow.path, named_flow.name])) if named else named_flow.path
    rate = format_median(figures.throughput_bits_per_s)
    packets = format_packet_rate(figures.received_packets_per_s.median)
    lost = describe_attribution(figures.packets.lost, figures.packets.lost_host, figures.packets.lost_path)
    text = f"{subject}: {rate} of UDP arrived ({packets}), {format_loss_ratio(figures.loss)} lost"
    doubt = " Provisional: every trial was lab-limited." if figures.provisional else ""
    return f"{text}{f': {lost}' if lost else ''}. {format_datagram_limit(figures.limit)}.{doubt}"


def _describe_many(flows: Sequence[NamedFlow]) -> Iterator[str]:
    """The most that arrived with hardly a loss, and how many combinations each place limits."""
    measured = [flow for flow in flows if flow.figures.loss.loss_ratio is not None]
    clean = [item for item in measured if (item.figures.loss.loss_ratio or 0.0) < LOSS_RATIO]
    best = max(clean, key=lambda item: item.figures.throughput_bits_per_s.median or 0.0, default=None)
    several = format_count(len(flows), "combination")
    if not measured:
        yield f"{flows[0].path}: the loss was not measured in any of {several} of UDP flows."
    elif best is None:
        least = min(measured, key=lambda item: item.figures.loss.loss_ratio or 0.0)
        count = format_count(len(measured), "combination")
        yield (
            f"{least.path}: each of {count} of UDP flows lost {LOSS_BOUND} or more; "
            f"{least.name} lost least, {format_loss_ratio(least.figures.loss)}."
        )
    else:
        rate = format_median(best.figures.throughput_bits_per_s)
        yield (
            f"{best.path}: up to {rate} of UDP arrived with less than {LOSS_BOUND} lost "
            f"({best.name}; {format_loss_ratio(best.figures.loss)} lost), of {several}."
        )
    yield f"What limits the {several}: {_count_limits(flows)}."
    if doubtful := sum(flow.figures.provisional for flow in flows):
        yield f"Provisional in {doubtful} of them, as every trial was lab-limited."


def _count_limits(flows: Sequence[NamedFlow]) -> str:
    counts = Counter(flow.figures.limit.limit for flow in flows)
    named = [f"{LIMITS[limit]} {count}" for limit, count in counts.most_common() if limit is not None]
    return join_words([*named, *([f"undecided {counts[None]}"] if counts[None] else [])])


def format_loss_ratio(loss: TrialLoss) -> str:
    """``0.93 % (95 % CI 0.8 % to 1.1 %)``; the interval is left out of too few trials."""
    low, high = loss.interval_ratio.low, loss.interval_ratio.high
    if loss.loss_ratio is None:
        return NOT_MEASURED
    text = format_ratio(loss.loss_ratio)
    if low is None or high is None:
        return f"{text} ({format_count(loss.trials, 'trial')}, too few for a confidence interval)"
    if not loss.lost:
        return f"{text} (95 % CI up to {format_ratio(high)})"
    return f"{text} (95 % CI {format_ratio(low)} to {format_ratio(high)})"


def describe_limits(flows: Sequence[NamedFlow]) -> Iterator[str]:
    """The combinations of each limit, each with its evidence."""
    result: dict[str, list[str]] = {}
    for flow in flows:
        limit = flow.figures.limit.limit
        reason = "" if limit is None else describe_limit_reason(flow.figures.limit, limit)
        place = "undecided" if limit is None else LIMITS[limit]
        result.setdefault(place, []).append(f"{flow.name or flow.path}{f' ({reason})' if reason else ''}")
    for place, names in result.items():
        yield f"Limited by {place}: {'; '.join(names)}."


def list_other_recommendations(study: Analyses) -> tuple[Answer[Recommendation], ...]:
    """The recommendations of streams and windows: UDP flows, which have none, have an answer of their own."""
    flows = {answer.condition for answer in study.datagrams()} if has_flows(study) else set()
    return tuple(answer for answer in study.recommend() if answer.condition not in flows)
