"""The recommendation in words: what a reader takes away, for the page and for the terminal alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pathlab.analysis.estimators.margins import MARGIN_RATIO, SUFFICIENT_RATIO
from pathlab.analysis.planning.cycles import MINIMUM_CYCLES
from pathlab.analysis.verdicts.drift import DriftVerdict
from pathlab.analysis.verdicts.limits import Limit
from pathlab.analysis.verdicts.pairs import PairVerdict
from pathlab.analysis.verdicts.preference import LOSS_MARGIN_RATIO, DifferenceTest, Reason
from pathlab.report.base.names import (
    enumerate_cells,
    format_loss,
    name_combination,
    shorten_levels,
)
from pathlab.report.base.phrases import explain_cut, format_bounded_time, format_ci, format_count
from pathlab.report.base.rate_text import (
    describe_candidate_rate,
    explain_no_single_rate,
    shorten_candidate_rate,
)
from pathlab.report.base.summary import AnswerText
from pathlab.report.datagrams.datagram_answers import list_other_recommendations
from pathlab.report.flows.candidate_text import (
    describe_climb,
    explain_no_interval,
    format_cpu,
    format_expected,
    format_rise,
    name_limit,
    shorten_expected,
    shorten_limit,
)
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Spread
from pathlab.study.base.trials import LAB
from pathlab.study.flows.candidates import Candidate
from pathlab.study.flows.recommendation import Confidence, Recommendation, Reference
from pathlab.units import NOT_MEASURED, format_rate, format_ratio, format_time

_EQUAL, _ENOUGH = format_ratio(MARGIN_RATIO), format_ratio(SUFFICIENT_RATIO)
RULE = (
    "A combination is usable if its windows were granted as requested and neither a host nor the lab was "
    "at its limit. It reaches the full rate if its median has a confidence interval (six trials or more) "
    f"and one of two tests shows it. Either it is equivalent to the best one within ±{_EQUAL}, cycle by "
    f"cycle (two one-sided tests, Holm-corrected). Or it reaches {_ENOUGH} of the capacity that the "
    "response surface finds; without such a capacity, of the best one. A combination that shows more "
    "than the link can carry is not a reference. Among those that reach the full rate, less added delay "
    "(dRTT, the RTT increase under load) or less probe loss is preferred. The 95 % confidence intervals "
    f"must not overlap, and the difference must exceed {_EQUAL} of the idle RTT or "
    f"{format_ratio(LOSS_MARGIN_RATIO)} of the probes. With fewer than six trials, the ranges of all "
    "trials must be that far apart instead, and confidence is low. Ties go to the smallest streams × "
    "window, then to the fewest streams; autotuned windows count as larger than any fixed one. If no "
    "combination is shown to reach the full rate, or only one is usable, the medians decide and "
    "confidence is low. Confidence is also low if less delay decides and the RTT was still rising when "
    "the trials ended. It is low too if the rate has several levels, slow hours, changes within trials "
    f"or seconds without a byte. So it is if the path changed by more than {_EQUAL} during the campaign. "
    f"Confidence is not high if the rate's interval is not within {_ENOUGH} of the median. "
    "Where the machine was too busy for some combinations, their medians "
    "decide as well if they would change the answer. It is then provisional."
)


#: What the control trials of a campaign say of its path.
DRIFT_WORDS: Mapping[DriftVerdict, str] = {
    DriftVerdict.STEADY: "The path was steady during the campaign",
    DriftVerdict.DRIFTING: "The path drifted during the campaign",
    DriftVerdict.STEPPED: "The path changed its level during the campaign",
    DriftVerdict.UNDECIDED: "Change of the path during the campaign: undecided",
}
#: What to do about provisional figures.
REPEAT = "Repeat the run on an idle machine: pathlab run CAMPAIGN --new --wait-idle 2m"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationText:
    """A recommendation in words: a sentence to act on, and key numbers, the confidence last.

    ``reasons``: why this one; ``certainty``: how certain it is, the confidence first. ``other_rates``: of it,
    the combinations besides this one whose median is no single rate; ``warnings``: of it, what a reader must
    know however short the text is.
    """

    name: str
    lead: str
    numbers: tuple[tuple[str, str], ...]
    reasons: tuple[str, ...]
    certainty: tuple[str, ...]
    other_rates: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is said besides the lead and the numbers."""
        return (*self.reasons, *self.certainty)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The sentences that a terminal has room for."""
        return (*(*self.certainty[:1], *self.reasons)[:REMARKS], *self.warnings)


def describe_recommendation(result: Recommendation) -> RecommendationText:
    """The recommendation of one condition in words, every one made from its numbers."""
    chosen = result.recommended
    if chosen is None:
        return RecommendationText(
            name=result.name,
            lead=f"Nothing can be recommended: {result.reason}.",
            numbers=(),
            reasons=tuple(_list_limits(result)),
            certainty=(),
        )
    return RecommendationText(
        name=result.name,
        lead=_lead(result, chosen),
        numbers=tuple(_list_numbers(result, chosen)),
        reasons=tuple(_list_reasons(result, chosen)),
        certainty=tuple(_describe_certainty(result, chosen)),
        other_rates=tuple(list_other_rates(result)),
        warnings=tuple(_describe_drift(result, chosen)),
    )


def format_confidence(result: Recommendation) -> str:
    """How sure the recommendation is, with what would decide where it is not."""
    if result.provisional:
        return f"low - {_count_overloaded(result)} while this machine was too busy. {REPEAT}"
    chosen = result.recommended
    if chosen is None:
        return f"none - nothing to recommend: {result.reason}"
    more = result.more_cycles
    outlook = "" if more is None else f". {format_count(more, 'more cycle')} should settle it"
    trials = format_count(chosen.n, "trial")
    if result.confidence is Confidence.HIGH:
        return f"high - it reaches the full rate ({trials}); {_compare_smaller(result)}"
    if result.imprecise:
        interval = format_ci(chosen.throughput_bits_per_s.interval, format_rate)
        return f"medium - it reaches the full rate ({trials}), but the rate itself varies: {interval}"
    if result.confidence is Confidence.MEDIUM:
        names = enumerate_cells(item.levels for item in result.undecided)
        return f"medium - it reaches the full rate ({trials}); {names} may reach it too (undecided){outlook}"
    if why := explain_no_single_rate(chosen):
        return f"low - {why}"
    if result.apart:
        names = enumerate_cells(item.levels for item in result.apart)
        were = "was" if len(result.apart) == 1 else "were"
        return (
            f"low - {names} {were} measured at other times, and the path may have changed in between. "
            "Measure all combinations in turn"
        )
    if _has_drift_alone(result, chosen):
        word = "drifted" if result.drift is DriftVerdict.DRIFTING else "changed its level"
        return (
            f"low - the path {word} during the campaign: throughput changed by "
            f"{format_ratio(result.drift_ratio)}. Measure again, also at other times of the day"
        )
    if result.lone:
        if others := len(result.candidates) - 1:
            return (
                f"low - {others} of {others + 1} combinations cannot be compared: {_list_exclusions(result)}"
            )
        return "low - only one combination was measured, so there is nothing to compare it with"
    if result.too_short:
        return (
            f"low - its RTT was still rising when the trials ended ({trials}). Longer trials should settle it"
        )
    if chosen.over_line:
        return f"low - its trials ({chosen.n}) show more than the link rate. Longer trials should settle it"
    if not chosen.throughput_bits_per_s.interval.decided and chosen.n >= MINIMUM_CYCLES:
        return f"low - {trials}, {explain_no_interval(chosen)}{outlook}"
    if chosen.n >= MINIMUM_CYCLES:
        return f"low - {trials}; the difference in added delay is not tested{outlook}"
    return f"low - only {trials} each{outlook}"


def _compare_smaller(result: Recommendation) -> str:
    smaller = [item for item in result.smaller if item.exclusion is None]
    if not result.smaller:
        return "nothing smaller was measured"
    if not smaller:
        return "nothing smaller is usable"
    usable = "" if len(smaller) == len(result.smaller) else "usable "
    if all(item.enough is False for item in smaller):
        return f"no smaller {usable}combination does" if usable else "nothing smaller does"
    return f"every smaller {usable}combination carries too little or adds more delay or loss"


def _count_overloaded(result: Recommendation) -> str:
    """The combinations whose numbers are provisional: ``5 of 6 combinations were measured``."""
    count, every = sum(not candidate.testable for candidate in result.candidates), len(result.candidates)
    if every == 1:
        return "the only combination was measured"
    if count == every:
        return f"{'both' if every == 2 else f'all {every}'} combinations were measured"
    return f"{count} of {every} combinations {'was' if count == 1 else 'were'} measured"


def _list_exclusions(result: Recommendation) -> str:
    return " or ".join(sorted({item.exclusion for item in result.excluded if item.exclusion is not None}))


def _lead(result: Recommendation, chosen: Candidate) -> str:
    expected = format_expected(chosen, result.line_bits_per_s)
    name = name_combination(chosen.streams, chosen.window_bytes)
    head = f"Use {name}" if result.confidence in (Confidence.HIGH, Confidence.MEDIUM) else f"Probably {name}"
    if result.provisional:
        head = f"Provisional: {name}"
    return f"{head}: {expected}.{_describe_delay(chosen.drtt_ns)}"


def _describe_delay(spread: Spread) -> str:
    """The added delay as the end of the lead; empty where it was not measured."""
    drtt_ns = spread.median
    if drtt_ns is None:
        return "" if spread.above_ns is None else f" Adds more than {format_time(spread.above_ns)} of delay."
    return f" Adds {format_time(drtt_ns) if drtt_ns > 0 else 'no'}{' of' * (drtt_ns > 0)} delay."


def _format_median(spread: Spread) -> str:
    known = spread.median is not None or spread.above_ns is not None
    return format_bounded_time(spread.median, spread.above_ns) if known else "not measured"


def _format_delay(spread: Spread) -> str:
    """A delay that a combination adds, within a sentence."""
    if spread.median is None and spread.above_ns is not None:
        return f"more than {format_time(spread.above_ns)}"
    return format_time(spread.median)


#: Below this share of a known rate something else than the link holds the flow.
FAR_BELOW_RATIO = 0.5
WHOLE = format_ratio(1.0)
SHARES = {
    Reference.HIGHEST_MEDIAN: "Share of the best",
    Reference.CAPACITY: "Share of the fitted capacity",
    Reference.LINK: "Share of the link's payload rate",
}


def _list_numbers(result: Recommendation, chosen: Candidate) -> Iterator[tuple[str, str]]:
    loss, rise = chosen.loaded_loss, chosen.drtt_ns
    yield "Throughput", shorten_candidate_rate(chosen)
    yield "Added delay (dRTT)", _format_median(rise)
    lost = "not measured" if loss.loss_ratio is None else f"{loss.lost} of {loss.sent}"
    yield "Probe loss under load", lost
    yield CPU_LABEL, format_cpu(chosen)
    yield "Limited by", shorten_limit(chosen)
    yield "Confidence", result.confidence.capitalize()


def _describe_certainty(result: Recommendation, chosen: Candidate) -> Iterator[str]:
    """The confidence and what would raise it, the intervals of the key numbers, and what they may hide."""
    yield f"Confidence: {format_confidence(result)}."
    named = [item for item in (chosen, result.best, result.rival) if item is not None]
    if cut := explain_cut(
        part.interval for item in named for part in (item.throughput_bits_per_s, item.drtt_ns)
    ):
        yield cut
    yield from list_other_rates(result)
    for item in result.still_rising:
        yield describe_climb(item)
    if result.confidence is Confidence.LOW and result.undecided:
        names = enumerate_cells(item.levels for item in result.undecided)
        yield f"{format_count(chosen.n, 'trial').capitalize()} cannot rule out {names} either."
    if chosen.drtt_ns.median is not None or chosen.drtt_ns.above_ns is not None:
        yield f"Added delay: {format_rise(chosen.drtt_ns)}."
    if chosen.loaded_loss.loss_ratio is not None:
        yield f"Probe loss under load: {format_loss(chosen.loaded_loss)}."
    if chosen.limit is None:
        yield f"Limited by: {name_limit(chosen)}."
    if result.medium == LAB:
        yield "CPU figures include the emulator, which shares these cores."
    yield from _describe_over_line(result)
    yield from _describe_drift(result, chosen)


def _has_drift_alone(result: Recommendation, chosen: Candidate) -> bool:
    """Whether confidence is low because the path drifted, and for no more severe reason."""
    severe = result.provisional or result.apart or not chosen.has_one_rate
    return result.drifted and not severe


def _describe_drift(result: Recommendation, chosen: Candidate) -> Iterator[str]:
    """The drift, where the line of the confidence does not say it."""
    named = result.drift in (DriftVerdict.DRIFTING, DriftVerdict.STEPPED)
    if named and result.drift is not None and not _has_drift_alone(result, chosen):
        yield f"{DRIFT_WORDS[result.drift]}. The recommendation is for its average condition."


def list_other_rates(result: Recommendation) -> Iterator[str]:
    """The rates of the combinations besides the recommended one whose median is no single rate."""
    chosen = result.recommended
    for item in result.candidates:
        if not item.has_one_rate and (chosen is None or item.levels != chosen.levels):
            yield f"{shorten_levels(item.streams, item.window_bytes)}: {describe_candidate_rate(item)}."


def _list_reasons(result: Recommendation, chosen: Candidate) -> Iterator[str]:
    best = result.best
    yield from _name_rival(result, chosen)
    is_best = best is not None and best.levels == chosen.levels
    share = format_ratio(chosen.share_ratio)
    is_all = result.reference is Reference.HIGHEST_MEDIAN and (is_best or share == WHOLE)
    if result.reference is not None and not is_all:
        yield f"{SHARES[result.reference]}: {share}."
    if best is not None and not is_best and not chosen.over_line:
        yield (
            f"The highest median was {format_rate(best.throughput_bits_per_s.median)} with "
            f"{name_combination(best.streams, best.window_bytes)}, with an added delay of "
            f"{format_rise(best.drtt_ns)}."
        )
    elif best is not None and not result.lone and not result.over_line:
        yield f"No other{' usable' * bool(result.excluded)} combination had a higher median."
    yield from _describe_capacity(result)
    if result.share_of_link_ratio is not None:
        yield (
            f"After headers, the lab's link can carry {format_rate(result.line_bits_per_s)} of data; the "
            f"highest median is {format_ratio(result.share_of_link_ratio)} of that."
        )
        if result.share_of_link_ratio < FAR_BELOW_RATIO and _is_unexplained(result):
            yield (
                "That is far below the link's rate. If little was sent again, the return path "
                'of the acknowledgements may be full. Measure it with `direction = "reverse"`.'
            )
    if best is not None and best.limit is Limit.RETURN_PATH:
        yield (
            "The acknowledgements wait in a queue on the return path, so the forward path can probably carry "
            'more. Measure the return path with `direction = "reverse"`.'
        )
    if result.window_limited:
        yield (
            "Even the combination with the highest median was limited by its windows. Larger windows or more "
            "streams would probably carry more."
        )
    yield from _list_limits(result)
    if set(result.equal_windows) - {str(PairVerdict.UNDECIDED)} or chosen.n >= MINIMUM_CYCLES:
        yield from _describe_equal_windows(result)


def _is_unexplained(result: Recommendation) -> bool:
    """Whether nothing is known that keeps the best combination from the link's rate."""
    known = any(candidate.limit is Limit.PATH_CAPACITY for candidate in result.candidates)
    return result.best is not None and result.best.limit is None and not result.window_limited and not known


def _describe_equal_windows(result: Recommendation) -> Iterator[str]:
    if result.equal_windows:
        yield f"More streams or larger windows at the same total window: {_count_verdicts(result)}."


def _count_verdicts(result: Recommendation) -> str:
    """The verdicts at equal total windows: ``first-carries-more for 1, undecided for 2 pairs``."""
    counts = result.equal_windows
    if list(counts.values()) == [2]:
        return f"{next(iter(counts))} for both pairs"
    text = ", ".join(f"{verdict} for {count}" for verdict, count in counts.items())
    return f"{text} {'pair' if sum(counts.values()) == 1 else 'pairs'}"


def _name_rival(result: Recommendation, chosen: Candidate) -> Iterator[str]:
    """The combination that a reader would think of, and why it is not the one."""
    rival, reason = result.rival, result.preferred_for
    if rival is None or reason is None:
        return
    carries = f"{shorten_levels(rival.streams, rival.window_bytes)} carries {_format_rival_rate(result)}"
    delays = _format_delay(rival.drtt_ns), _format_delay(chosen.drtt_ns)
    if reason is Reason.DELAY:
        caveat = ""
        if result.preferred_by is DifferenceTest.RANGES:
            counts = sorted({rival.drtt_ns.n, chosen.drtt_ns.n})
            each = " each" if len(counts) == 1 else ""
            trials = " and ".join(format_count(count, "trial") for count in counts)
            caveat = f" {trials}{each}: the difference is not tested."
        yield f"{carries} but adds {delays[0]} instead of {delays[1]}.{caveat}"
    elif reason is Reason.LOSS:
        lost = format_ratio(rival.loaded_loss.loss_ratio), format_ratio(chosen.loaded_loss.loss_ratio)
        yield f"{carries} but loses {lost[0]} of the probes instead of {lost[1]}."
    else:
        known = rival.drtt_ns.median is not None and chosen.drtt_ns.median is not None
        added = f" (adds {delays[0]} against {delays[1]})" if known else ""
        what = "the smaller total window" if reason is Reason.WINDOW else "fewer streams"
        yield f"{carries}, and no difference in delay or loss was shown{added}. The rule prefers {what}."


def _format_rival_rate(result: Recommendation) -> str:
    """The rival's rate against the recommended one's, with a verdict only where it was tested."""
    rate = result.rival_rate
    if rate is None or rate.median_ratio is None:
        return "an unknown rate"
    if rate.equivalent:
        return "the same"
    change = rate.median_ratio - 1
    text = (
        f"{format_ratio(abs(change))} {'more' if change > 0 else 'less'}"
        if abs(change) >= SHOWN_RATIO
        else f"the same within {format_ratio(SHOWN_RATIO)} by its median"
    )
    return text if rate.equivalent is False else f"{text} (equivalence undecided)"


def _describe_over_line(result: Recommendation) -> Iterator[str]:
    """Combinations that show more than the link can carry, and what is used instead."""
    over, line = result.over_line, result.line_bits_per_s
    if not over:
        return
    most = "" if line is None else f" ({format_rate(line)} of data)"
    shows = "shows" if len(over) == 1 else "show"
    if result.reference is Reference.LINK:
        which = (
            "Every combination"
            if len(over) == sum(candidate.exclusion is None for candidate in result.candidates)
            else None
        )
        names = which or enumerate_cells(item.levels for item in over)
        shows = "shows" if which else shows
        yield (
            f"{names} {shows} more than the link can carry{most}, so shares are of that rate. "
            "Longer trials would show the true rate."
        )
        return
    yield (
        f"Not a reference: {enumerate_cells(item.levels for item in over)} {shows} more than the link can "
        f"carry{most}."
    )


def _describe_capacity(result: Recommendation) -> Iterator[str]:
    capacity, best = result.capacity, result.best
    if result.capacity_least_bits_per_s is not None:
        yield (
            f"The path's capacity is at least {format_rate(result.capacity_least_bits_per_s)} (95 % "
            "confidence): throughput may still rise with more streams or larger windows than were tried."
        )
    if capacity is None or best is None or capacity.value is None:
        return
    estimate = f"{format_rate(capacity.value)} ({format_ci(capacity.interval, format_rate)})"
    yield f"The response surface puts the path's capacity at {estimate}."
    if result.capacity_missed:
        yield (
            f"No combination came near it (the best reached {format_ratio(best.share_ratio)}): more streams "
            "or larger windows than were tried would probably carry more."
        )


def _list_limits(result: Recommendation) -> Iterator[str]:
    """The limits of combinations; those not considered, with the reason."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in result.candidates:
        if candidate.exclusion is None and candidate.limit is not None:
            groups.setdefault(shorten_limit(candidate), []).append(candidate)
    ordered = sorted(groups.items(), key=lambda group: len(group[1]))
    if ordered:
        texts = [f"{name} with {enumerate_cells(part.levels for part in some)}" for name, some in ordered]
        if len(ordered) > 1 and sum(len(some) for _, some in ordered) == len(result.candidates):
            texts[-1] = f"{ordered[-1][0]} in all other combinations"
        yield f"Limits: {'; '.join(texts)}."
    if result.recommended is None:
        return  # the answer begins with the reason
    reasons = Counter(item.exclusion for item in result.excluded if item.exclusion is not None)
    for reason in sorted(reasons):
        names = enumerate_cells(item.levels for item in result.excluded if item.exclusion == reason)
        yield f"Not considered: {names} ({reason})."


#: With more conditions the page folds the details of each, and the terminal prints a line.
SHOWN_IN_FULL = 3
#: Sentences below the key numbers on a terminal.
REMARKS = 2
CPU_LABEL = "CPU s/GB, sender / receiver"
#: A smaller difference of medians is below what a trial resolves, so its digits mean nothing.
SHOWN_RATIO = 0.001
SHORT_HEADINGS = ("Path", "Recommended", "Throughput", "dRTT", "Loss", "CPU", "Limited by", "Confidence")


def shorten_recommendation(result: Recommendation) -> tuple[str, ...]:
    """The recommendation as the cells of a row under ``SHORT_HEADINGS``."""
    item = result.recommended
    if item is None:
        return (result.name, "none", *("–",) * 5, f"nothing to recommend: {result.reason}")
    return (
        result.name,
        shorten_levels(item.streams, item.window_bytes),
        shorten_expected(item, result.line_bits_per_s),
        format_bounded_time(item.drtt_ns.median, item.drtt_ns.above_ns),
        format_ratio(item.loaded_loss.loss_ratio),
        NOT_MEASURED if item.cpu_s_per_gb is None else f"{item.cpu_s_per_gb:.2g} s/GB",
        shorten_limit(item),
        str(result.confidence.capitalize()) + (" (provisional)" if result.provisional else ""),
    )


def answer_recommendations(study: Analyses) -> list[AnswerText]:
    """The recommendation of every condition; of many conditions without the remarks."""
    answers = [describe_recommendation(answer.result) for answer in list_other_recommendations(study)]
    return [
        AnswerText(
            lead=f"{words.name}: {words.lead}" if len(answers) > 1 else words.lead,
            remarks=(
                *(_list_answer_remarks(words) if len(answers) <= SHOWN_IN_FULL else ()),
                *words.other_rates[:SHOWN_IN_FULL],
            ),
        )
        for words in answers
    ]


def _list_answer_remarks(words: RecommendationText) -> Iterator[str]:
    """The key numbers that the lead does not give, in a line, and the first remarks."""
    labels = {remark.partition(":")[0] for remark in words.remarks}
    numbers = [
        f"{label}: {text}" for label, text in words.numbers if text not in words.lead and label not in labels
    ]
    if numbers:
        yield f"{'. '.join(numbers)}."
    yield from words.remarks
