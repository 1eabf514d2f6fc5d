"""The answer in words: what a reader takes away, for the page and for the terminal alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathlab.analysis.drift import DriftVerdict
from pathlab.analysis.equivalence import MARGIN_RATIO
from pathlab.analysis.interval import Interval
from pathlab.analysis.limits import Limit
from pathlab.analysis.loss import Loss
from pathlab.analysis.sufficiency import SUFFICIENT_RATIO
from pathlab.report.names import enumerate_cells, format_loss, name_levels, shorten_levels
from pathlab.report.page.answer import Certainty, PathAnswer
from pathlab.report.page.standing import Standing
from pathlab.study.answer import Spread
from pathlab.units import NOT_MEASURED, format_rate, format_ratio, format_time

LIMITS = {
    Limit.RECEIVER_WINDOW: "the receiver's window",
    Limit.SEND_BUFFER: "the sender's buffer",
    Limit.WINDOW: "the window",
    Limit.CONGESTION: "congestion control after losses",
    Limit.PATH_CAPACITY: "the path's capacity",
    Limit.APPLICATION: "the sending application",
    Limit.HOST_CPU: "a host's CPU",
}
WINDOW_LIMITS = (Limit.RECEIVER_WINDOW, Limit.SEND_BUFFER, Limit.WINDOW)
_EQUAL, _ENOUGH = format_ratio(MARGIN_RATIO), format_ratio(SUFFICIENT_RATIO)
RULE = (
    "The rule: of the combinations that tell of the path (windows granted as asked, neither a host nor the "
    "lab at its limit), those count whose median has an interval (six trials or more) and that carry "
    f"enough: equivalent to the best one within ±{_EQUAL} cycle by cycle (two one-sided tests, "
    f"Holm-corrected), or surely at {_ENOUGH} or more of the capacity that the response surface finds; "
    "without such a capacity, of the best one. Of these the least streams × window is recommended, since "
    "what exceeds the need stands in queues; of equal ones that with the least dRTT / throughput (within "
    f"{_EQUAL}), then that with the fewest streams. Where too few cycles show that any carries enough, or "
    "where it is the only one that counts, the same is done with the medians and called tentative."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerText:
    """One answer in words: a sentence to act on, labelled figures, and what else there is to say."""

    name: str
    lead: str
    facts: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]


def describe_answer(answer: PathAnswer) -> AnswerText:
    """The answer of one condition in words, every one made from its numbers."""
    chosen = answer.recommended
    if chosen is None:
        lead = f"Nothing can be recommended: {answer.reason}."
        return AnswerText(name=answer.name, lead=lead, facts=(), sentences=tuple(_list_limits(answer)))
    return AnswerText(
        name=answer.name,
        lead=_lead(answer, chosen),
        facts=tuple(_list_facts(answer, chosen)),
        sentences=tuple(_list_sentences(answer, chosen)),
    )


def format_expected(one: Standing) -> str:
    """The median with its interval, or with the trials' range where that is undecided."""
    text = format_rate(one.rate.median)
    low, high = one.throughput.low, one.throughput.high
    if low is not None and high is not None:
        return f"{text} (median, 95 % interval {_range(format_rate(low), format_rate(high))})"
    return f"{text} (interval undecided, n={one.n})"


def format_rise(spread: Spread) -> str:
    """DRTT with its interval, or that it was not measured."""
    if spread.median is None:
        return "not measured"
    text = format_time(spread.median)
    low, high = spread.interval.low, spread.interval.high
    if low is None or high is None:
        return f"{text} (interval undecided, n={spread.n})"
    return f"{text} (95 % interval {_range(format_time(low), format_time(high))})"


def format_cpu(one: Standing) -> str:
    """CPU seconds per GB at both ends."""
    ends = one.sender_cpu_s_per_gb, one.receiver_cpu_s_per_gb
    if all(end.median is None for end in ends):
        return "not measured"
    texts = [NOT_MEASURED if end.median is None else f"{end.median:.2g} s" for end in ends]
    return f"{texts[0]} per GB at the sender, {texts[1]} at the receiver"


def name_limit(one: Standing) -> str:
    """What limited a combination, or why that is not known."""
    if one.limit is not None:
        return LIMITS[one.limit]
    reason = (one.limit_undecided or "not judged").replace("-", " ")
    return f"undecided ({reason})"


def tell_certainty(answer: PathAnswer) -> str:
    """How sure the recommendation is, with what would decide where it is not."""
    chosen = answer.recommended
    if chosen is None:
        return f"nothing to recommend: {answer.reason}"
    more = answer.more_cycles
    outlook = "" if more is None else f"; {more} more cycle{'s' * (more != 1)} would probably decide"
    if answer.certainty is Certainty.DECIDED:
        if not answer.smaller:
            return f"decided, n={chosen.n}: it carries enough; nothing smaller was measured"
        counted = " that tells of the path" if any(one.doubt for one in answer.smaller) else ""
        return f"decided, n={chosen.n}: it carries enough, and everything smaller{counted} does not"
    if answer.certainty is Certainty.ENOUGH:
        names = enumerate_cells(one.levels for one in answer.undecided)
        return f"it carries enough (n={chosen.n}); whether {names} would as well is undecided{outlook}"
    if answer.lone:
        among = len(answer.standings)
        which = (
            f"only one of {among} combinations that tells of the path" if among > 1 else "only combination"
        )
        return f"tentative, n={chosen.n}: the {which}, so that there is nothing to compare it with"
    return f"tentative: chosen by medians of n={chosen.n}, chance is not ruled out{outlook}"


def _lead(answer: PathAnswer, chosen: Standing) -> str:
    verb = "Use" if answer.certainty in (Certainty.DECIDED, Certainty.ENOUGH) else "Tentatively, use"
    return f"{verb} {name_levels(chosen.streams, chosen.window_bytes)}: expect {format_expected(chosen)}."


def _list_facts(answer: PathAnswer, chosen: Standing) -> Iterator[tuple[str, str]]:
    reference = "highest median" if answer.capacity is None else "capacity of the path as fitted"
    yield "Of the most there is", f"{format_ratio(chosen.share_ratio)} of the {reference}"
    yield "Cost to others, delay", f"dRTT {format_rise(chosen.drtt_ns)}"
    yield "Cost to others, loss", _tell_loss(chosen.loaded_loss)
    shared = " (in a lab, whose emulators share the cores)" if answer.condition.medium == "lab" else ""
    yield "CPU cost", format_cpu(chosen) + shared
    yield "Limited by", name_limit(chosen)
    yield "How sure", tell_certainty(answer)


def _tell_loss(loss: Loss) -> str:
    return "not measured" if loss.loss_ratio is None else f"under load {format_loss(loss)}"


def _list_sentences(answer: PathAnswer, chosen: Standing) -> Iterator[str]:
    best = answer.best
    if best is not None and best.levels != chosen.levels:
        yield (
            f"The highest median was {format_rate(best.rate.median)} with "
            f"{name_levels(best.streams, best.window_bytes)}, at a dRTT of {format_rise(best.drtt_ns)}; "
            f"the recommended one carried {_share(chosen, best)} of it."
        )
    elif best is not None and not answer.lone:
        counted = " of those that tell of the path" if answer.doubted else ""
        yield f"No other combination{counted} had a higher median."
    if answer.capacity is not None:
        yield from _tell_capacity(answer)
    if best is not None:
        yield from _tell_line(answer, best)
        if answer.capacity is None and best.limit in WINDOW_LIMITS:
            yield (
                "Even the combination with the highest median was held by its windows: what the path itself "
                "can carry was not reached, and larger windows or more streams would probably carry more."
            )
    if answer.certainty is Certainty.TENTATIVE and answer.undecided:
        yield (
            "So few cycles do not show either that what is smaller carries too little: "
            f"{enumerate_cells(one.levels for one in answer.undecided)}."
        )
    yield from _list_limits(answer)
    if answer.contests:
        told = ", ".join(f"{count} × {verdict}" for verdict, count in answer.contests)
        yield f"More streams against larger windows at equal streams × window: {told}."
    if answer.drift in (DriftVerdict.DRIFTING, DriftVerdict.STEPPED):
        word = "drifted" if answer.drift is DriftVerdict.DRIFTING else "changed its level"
        yield f"The path {word} during the campaign, so that what is recommended is for its mean condition."


def _tell_line(answer: PathAnswer, best: Standing) -> Iterator[str]:
    line, rate = answer.line_bits_per_s, best.rate.median
    if not line or rate is None:
        return
    yield (
        f"The lab's link leaves {format_rate(line)} for data; the highest median is "
        f"{format_ratio(rate / line)} of that."
    )


def _tell_capacity(answer: PathAnswer) -> Iterator[str]:
    capacity, best = answer.capacity, answer.best
    if capacity is None or best is None or capacity.value is None:
        return
    found = f"{format_rate(capacity.value)} ({_interval(capacity.interval)})"
    yield f"The response surface puts the path's capacity at {found}."
    if (best.share_ratio or 0.0) < SUFFICIENT_RATIO:
        yield (
            f"No combination came near it (the best to {format_ratio(best.share_ratio)}): more streams or "
            "larger windows than were tried would probably carry more."
        )


def _list_limits(answer: PathAnswer) -> Iterator[str]:
    """Which combinations were limited by what; those that were not considered, with the reason."""
    groups: dict[Limit, list[Standing]] = {}
    for one in answer.standings:
        if one.doubt is None and one.limit is not None:
            groups.setdefault(one.limit, []).append(one)
    ordered = [(limit, groups[limit]) for limit in LIMITS if limit in groups]
    if ordered:
        told = "; ".join(
            f"{LIMITS[limit]} with {enumerate_cells(one.levels for one in some)}" for limit, some in ordered
        )
        yield f"What limited the rate: {told}."
    if answer.recommended is None:
        return  # that none is considered is what the answer begins with
    reasons = Counter(one.doubt for one in answer.doubted if one.doubt is not None)
    for reason in sorted(reasons):
        names = enumerate_cells(one.levels for one in answer.doubted if one.doubt == reason)
        yield f"Not considered: {names}, since {reason}."


def _share(chosen: Standing, best: Standing) -> str:
    if chosen.rate.median is None or not best.rate.median:
        return NOT_MEASURED
    return format_ratio(chosen.rate.median / best.rate.median)


def _interval(interval: Interval) -> str:
    return f"95 % interval {_range(format_rate(interval.low), format_rate(interval.high))}"


def _range(low: str, high: str) -> str:
    """Both ends, the unit once where it is the same."""
    if low == high:
        return low
    unit = low.rpartition(" ")[2]
    if unit and unit == high.rpartition(" ")[2]:
        low = low.removesuffix(f" {unit}")
    return f"{low} to {high}"


_CERTAIN_WORDS = {
    Certainty.DECIDED: "decided",
    Certainty.ENOUGH: "carries enough; smaller ones undecided",
    Certainty.TENTATIVE: "tentative",
}
SHORT_HEADINGS = ("Path", "Recommended", "Throughput", "dRTT", "Loss", "CPU", "Limited by", "How sure")


def shorten_answer(answer: PathAnswer) -> Sequence[str]:
    """The answer as the cells of a row under ``SHORT_HEADINGS``."""
    one = answer.recommended
    if one is None:
        return (answer.name, "none", *("–",) * 5, f"nothing to recommend: {answer.reason}")
    return (
        answer.name,
        shorten_levels(one.streams, one.window_bytes),
        format_expected(one),
        format_time(one.drtt_ns.median),
        format_ratio(one.loaded_loss.loss_ratio),
        _both_cpu(one),
        name_limit(one),
        _CERTAIN_WORDS[answer.certainty],
    )


def _both_cpu(one: Standing) -> str:
    ends = one.sender_cpu_s_per_gb.median, one.receiver_cpu_s_per_gb.median
    if ends[0] is None or ends[1] is None:
        return NOT_MEASURED
    return f"{ends[0] + ends[1]:.2g} s/GB"
