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
from pathlab.report.candidate_text import (
    describe_climb,
    explain_no_interval,
    format_cpu,
    format_expected,
    format_rise,
    name_limit,
    shorten_expected,
    shorten_limit,
)
from pathlab.report.datagram_answers import list_other_recommendations
from pathlab.report.names import (
    enumerate_cells,
    format_loss,
    name_combination,
    shorten_levels,
)
from pathlab.report.phrases import explain_cut, format_bounded_time, format_ci, format_count
from pathlab.report.rate_text import (
    describe_candidate_rate,
    explain_no_single_rate,
    shorten_candidate_rate,
)
from pathlab.report.summary import AnswerText
from pathlab.study.analyses import Analyses
from pathlab.study.answer import Spread
from pathlab.study.candidates import Candidate
from pathlab.study.recommendation import Confidence, Recommendation, Reference
from pathlab.study.trials import LAB
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


def describe_recommendation(found: Recommendation) -> RecommendationText:
    """The recommendation of one condition in words, every one made from its numbers."""
    chosen = found.recommended
    if chosen is None:
        return RecommendationText(
            name=found.name,
            lead=f"Nothing can be recommended: {found.reason}.",
            numbers=(),
            reasons=tuple(_list_limits(found)),
            certainty=(),
        )
    return RecommendationText(
        name=found.name,
        lead=_lead(found, chosen),
        numbers=tuple(_list_numbers(found, chosen)),
        reasons=tuple(_list_reasons(found, chosen)),
        certainty=tuple(_describe_certainty(found, chosen)),
        other_rates=tuple(list_other_rates(found)),
        warnings=tuple(_describe_drift(found, chosen)),
    )


def format_confidence(found: Recommendation) -> str:
    """How sure the recommendation is, with what would decide where it is not."""
    if found.provisional:
        return f"low - {_count_overloaded(found)} while this machine was too busy. {REPEAT}"
    chosen = found.recommended
    if chosen is None:
        return f"none - nothing to recommend: {found.reason}"
    more = found.more_cycles
    outlook = "" if more is None else f". {format_count(more, 'more cycle')} should settle it"
    trials = format_count(chosen.n, "trial")
    if found.confidence is Confidence.HIGH:
        return f"high - it reaches the full rate ({trials}); {_compare_smaller(found)}"
    if found.imprecise:
        interval = format_ci(chosen.throughput_bits_per_s.interval, format_rate)
        return f"medium - it reaches the full rate ({trials}), but the rate itself varies: {interval}"
    if found.confidence is Confidence.MEDIUM:
        names = enumerate_cells(one.levels for one in found.undecided)
        return f"medium - it reaches the full rate ({trials}); {names} may reach it too (undecided){outlook}"
    if why := explain_no_single_rate(chosen):
        return f"low - {why}"
    if found.apart:
        names = enumerate_cells(one.levels for one in found.apart)
        were = "was" if len(found.apart) == 1 else "were"
        return (
            f"low - {names} {were} measured at other times, and the path may have changed in between. "
            "Measure all combinations in turn"
        )
    if _has_drift_alone(found, chosen):
        word = "drifted" if found.drift is DriftVerdict.DRIFTING else "changed its level"
        return (
            f"low - the path {word} during the campaign: throughput changed by "
            f"{format_ratio(found.drift_ratio)}. Measure again, also at other times of the day"
        )
    if found.lone:
        if others := len(found.candidates) - 1:
            return (
                f"low - {others} of {others + 1} combinations cannot be compared: {_list_exclusions(found)}"
            )
        return "low - only one combination was measured, so there is nothing to compare it with"
    if found.too_short:
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


def _compare_smaller(found: Recommendation) -> str:
    smaller = [one for one in found.smaller if one.exclusion is None]
    if not found.smaller:
        return "nothing smaller was measured"
    if not smaller:
        return "nothing smaller is usable"
    usable = "" if len(smaller) == len(found.smaller) else "usable "
    if all(one.enough is False for one in smaller):
        return f"no smaller {usable}combination does" if usable else "nothing smaller does"
    return f"every smaller {usable}combination carries too little or adds more delay or loss"


def _count_overloaded(found: Recommendation) -> str:
    """The combinations whose numbers are provisional: ``5 of 6 combinations were measured``."""
    count, every = sum(not one.testable for one in found.candidates), len(found.candidates)
    if every == 1:
        return "the only combination was measured"
    if count == every:
        return f"{'both' if every == 2 else f'all {every}'} combinations were measured"
    return f"{count} of {every} combinations {'was' if count == 1 else 'were'} measured"


def _list_exclusions(found: Recommendation) -> str:
    return " or ".join(sorted({one.exclusion for one in found.excluded if one.exclusion is not None}))


def _lead(found: Recommendation, chosen: Candidate) -> str:
    expected = format_expected(chosen, found.line_bits_per_s)
    name = name_combination(chosen.streams, chosen.window_bytes)
    head = f"Use {name}" if found.confidence in (Confidence.HIGH, Confidence.MEDIUM) else f"Probably {name}"
    if found.provisional:
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


def _list_numbers(found: Recommendation, chosen: Candidate) -> Iterator[tuple[str, str]]:
    loss, rise = chosen.loaded_loss, chosen.drtt_ns
    yield "Throughput", shorten_candidate_rate(chosen)
    yield "Added delay (dRTT)", _format_median(rise)
    lost = "not measured" if loss.loss_ratio is None else f"{loss.lost} of {loss.sent}"
    yield "Probe loss under load", lost
    yield CPU_LABEL, format_cpu(chosen)
    yield "Limited by", shorten_limit(chosen)
    yield "Confidence", found.confidence.capitalize()


def _describe_certainty(found: Recommendation, chosen: Candidate) -> Iterator[str]:
    """The confidence and what would raise it, the intervals of the key numbers, and what they may hide."""
    yield f"Confidence: {format_confidence(found)}."
    named = [one for one in (chosen, found.best, found.rival) if one is not None]
    if cut := explain_cut(
        part.interval for one in named for part in (one.throughput_bits_per_s, one.drtt_ns)
    ):
        yield cut
    yield from list_other_rates(found)
    for one in found.still_rising:
        yield describe_climb(one)
    if found.confidence is Confidence.LOW and found.undecided:
        names = enumerate_cells(one.levels for one in found.undecided)
        yield f"{format_count(chosen.n, 'trial').capitalize()} cannot rule out {names} either."
    if chosen.drtt_ns.median is not None or chosen.drtt_ns.above_ns is not None:
        yield f"Added delay: {format_rise(chosen.drtt_ns)}."
    if chosen.loaded_loss.loss_ratio is not None:
        yield f"Probe loss under load: {format_loss(chosen.loaded_loss)}."
    if chosen.limit is None:
        yield f"Limited by: {name_limit(chosen)}."
    if found.medium == LAB:
        yield "CPU figures include the emulator, which shares these cores."
    yield from _describe_over_line(found)
    yield from _describe_drift(found, chosen)


def _has_drift_alone(found: Recommendation, chosen: Candidate) -> bool:
    """Whether confidence is low because the path drifted, and for no more severe reason."""
    severe = found.provisional or found.apart or not chosen.has_one_rate
    return found.drifted and not severe


def _describe_drift(found: Recommendation, chosen: Candidate) -> Iterator[str]:
    """The drift, where the line of the confidence does not say it."""
    named = found.drift in (DriftVerdict.DRIFTING, DriftVerdict.STEPPED)
    if named and found.drift is not None and not _has_drift_alone(found, chosen):
        yield f"{DRIFT_WORDS[found.drift]}. The recommendation is for its average condition."


def list_other_rates(found: Recommendation) -> Iterator[str]:
    """The rates of the combinations besides the recommended one whose median is no single rate."""
    chosen = found.recommended
    for one in found.candidates:
        if not one.has_one_rate and (chosen is None or one.levels != chosen.levels):
            yield f"{shorten_levels(one.streams, one.window_bytes)}: {describe_candidate_rate(one)}."


def _list_reasons(found: Recommendation, chosen: Candidate) -> Iterator[str]:
    best = found.best
    yield from _name_rival(found, chosen)
    is_best = best is not None and best.levels == chosen.levels
    share = format_ratio(chosen.share_ratio)
    is_all = found.reference is Reference.HIGHEST_MEDIAN and (is_best or share == WHOLE)
    if found.reference is not None and not is_all:
        yield f"{SHARES[found.reference]}: {share}."
    if best is not None and not is_best and not chosen.over_line:
        yield (
            f"The highest median was {format_rate(best.throughput_bits_per_s.median)} with "
            f"{name_combination(best.streams, best.window_bytes)}, with an added delay of "
            f"{format_rise(best.drtt_ns)}."
        )
    elif best is not None and not found.lone and not found.over_line:
        yield f"No other{' usable' * bool(found.excluded)} combination had a higher median."
    yield from _describe_capacity(found)
    if found.share_of_link_ratio is not None:
        yield (
            f"After headers, the lab's link can carry {format_rate(found.line_bits_per_s)} of data; the "
            f"highest median is {format_ratio(found.share_of_link_ratio)} of that."
        )
        if found.share_of_link_ratio < FAR_BELOW_RATIO and _is_unexplained(found):
            yield (
                "That is far below the link's rate. If little was sent again, the return path "
                'of the acknowledgements may be full. Measure it with `direction = "reverse"`.'
            )
    if best is not None and best.limit is Limit.RETURN_PATH:
        yield (
            "The acknowledgements wait in a queue on the return path, so the forward path can probably carry "
            'more. Measure the return path with `direction = "reverse"`.'
        )
    if found.window_limited:
        yield (
            "Even the combination with the highest median was limited by its windows. Larger windows or more "
            "streams would probably carry more."
        )
    yield from _list_limits(found)
    if set(found.equal_windows) - {str(PairVerdict.UNDECIDED)} or chosen.n >= MINIMUM_CYCLES:
        yield from _describe_equal_windows(found)


def _is_unexplained(found: Recommendation) -> bool:
    """Whether nothing is known that keeps the best combination from the link's rate."""
    known = any(one.limit is Limit.PATH_CAPACITY for one in found.candidates)
    return found.best is not None and found.best.limit is None and not found.window_limited and not known


def _describe_equal_windows(found: Recommendation) -> Iterator[str]:
    if found.equal_windows:
        yield f"More streams or larger windows at the same total window: {_count_verdicts(found)}."


def _count_verdicts(found: Recommendation) -> str:
    """The verdicts at equal total windows: ``first-carries-more for 1, undecided for 2 pairs``."""
    counts = found.equal_windows
    if list(counts.values()) == [2]:
        return f"{next(iter(counts))} for both pairs"
    text = ", ".join(f"{verdict} for {count}" for verdict, count in counts.items())
    return f"{text} {'pair' if sum(counts.values()) == 1 else 'pairs'}"


def _name_rival(found: Recommendation, chosen: Candidate) -> Iterator[str]:
    """The combination that a reader would think of, and why it is not the one."""
    rival, reason = found.rival, found.preferred_for
    if rival is None or reason is None:
        return
    carries = f"{shorten_levels(rival.streams, rival.window_bytes)} carries {_format_rival_rate(found)}"
    delays = _format_delay(rival.drtt_ns), _format_delay(chosen.drtt_ns)
    if reason is Reason.DELAY:
        caveat = ""
        if found.preferred_by is DifferenceTest.RANGES:
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


def _format_rival_rate(found: Recommendation) -> str:
    """The rival's rate against the recommended one's, with a verdict only where it was tested."""
    rate = found.rival_rate
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


def _describe_over_line(found: Recommendation) -> Iterator[str]:
    """Combinations that show more than the link can carry, and what is used instead."""
    over, line = found.over_line, found.line_bits_per_s
    if not over:
        return
    most = "" if line is None else f" ({format_rate(line)} of data)"
    shows = "shows" if len(over) == 1 else "show"
    if found.reference is Reference.LINK:
        which = (
            "Every combination"
            if len(over) == sum(one.exclusion is None for one in found.candidates)
            else None
        )
        names = which or enumerate_cells(one.levels for one in over)
        shows = "shows" if which else shows
        yield (
            f"{names} {shows} more than the link can carry{most}, so shares are of that rate. "
            "Longer trials would show the true rate."
        )
        return
    yield (
        f"Not a reference: {enumerate_cells(one.levels for one in over)} {shows} more than the link can "
        f"carry{most}."
    )


def _describe_capacity(found: Recommendation) -> Iterator[str]:
    capacity, best = found.capacity, found.best
    if found.capacity_least_bits_per_s is not None:
        yield (
            f"The path's capacity is at least {format_rate(found.capacity_least_bits_per_s)} (95 % "
            "confidence): throughput may still rise with more streams or larger windows than were tried."
        )
    if capacity is None or best is None or capacity.value is None:
        return
    estimate = f"{format_rate(capacity.value)} ({format_ci(capacity.interval, format_rate)})"
    yield f"The response surface puts the path's capacity at {estimate}."
    if found.capacity_missed:
        yield (
            f"No combination came near it (the best reached {format_ratio(best.share_ratio)}): more streams "
            "or larger windows than were tried would probably carry more."
        )


def _list_limits(found: Recommendation) -> Iterator[str]:
    """The limits of combinations; those not considered, with the reason."""
    groups: dict[str, list[Candidate]] = {}
    for one in found.candidates:
        if one.exclusion is None and one.limit is not None:
            groups.setdefault(shorten_limit(one), []).append(one)
    ordered = sorted(groups.items(), key=lambda group: len(group[1]))
    if ordered:
        texts = [f"{name} with {enumerate_cells(part.levels for part in some)}" for name, some in ordered]
        if len(ordered) > 1 and sum(len(some) for _, some in ordered) == len(found.candidates):
            texts[-1] = f"{ordered[-1][0]} in all other combinations"
        yield f"Limits: {'; '.join(texts)}."
    if found.recommended is None:
        return  # the answer begins with the reason
    reasons = Counter(one.exclusion for one in found.excluded if one.exclusion is not None)
    for reason in sorted(reasons):
        names = enumerate_cells(one.levels for one in found.excluded if one.exclusion == reason)
        yield f"Not considered: {names} ({reason})."


#: With more conditions the page folds the details of each, and the terminal prints a line.
SHOWN_IN_FULL = 3
#: Sentences below the key numbers on a terminal.
REMARKS = 2
CPU_LABEL = "CPU s/GB, sender / receiver"
#: A smaller difference of medians is below what a trial resolves, so its digits mean nothing.
SHOWN_RATIO = 0.001
SHORT_HEADINGS = ("Path", "Recommended", "Throughput", "dRTT", "Loss", "CPU", "Limited by", "Confidence")


def shorten_recommendation(found: Recommendation) -> tuple[str, ...]:
    """The recommendation as the cells of a row under ``SHORT_HEADINGS``."""
    one = found.recommended
    if one is None:
        return (found.name, "none", *("–",) * 5, f"nothing to recommend: {found.reason}")
    return (
        found.name,
        shorten_levels(one.streams, one.window_bytes),
        shorten_expected(one, found.line_bits_per_s),
        format_bounded_time(one.drtt_ns.median, one.drtt_ns.above_ns),
        format_ratio(one.loaded_loss.loss_ratio),
        NOT_MEASURED if one.cpu_s_per_gb is None else f"{one.cpu_s_per_gb:.2g} s/GB",
        shorten_limit(one),
        str(found.confidence.capitalize()) + (" (provisional)" if found.provisional else ""),
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
