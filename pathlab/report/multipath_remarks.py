"""Several links in words: how a hash uses them, what reordering does, round trips and failing links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO, SUFFICIENT_RATIO
from pathlab.analysis.planning.hash_streams import HashFields
from pathlab.analysis.verdicts.hash_shares import HashVerdict
from pathlab.analysis.verdicts.two_samples import MINIMUM_TRIALS, GroupShift
from pathlab.campaign.multipath_factors import TURNS
from pathlab.report.message_text import name_path
from pathlab.report.phrases import (
    format_caveat,
    format_count,
    format_factor,
    format_in_brackets,
    format_interval,
    join_words,
)
from pathlab.study.analyses import Analyses
from pathlab.study.answer import Answer
from pathlab.study.bond_cells import ROUND_ROBIN
from pathlab.study.bond_latency import BondLatency
from pathlab.study.comparison.rows import ChangeVerdict
from pathlab.study.failover import Failover
from pathlab.study.member_shares import MemberShares, StreamsNeeded
from pathlab.units import (
    NOT_MEASURED,
    format_bytes,
    format_frequency,
    format_ratio,
    format_time,
    format_window,
)

ACKNOWLEDGEMENTS = "Counters of member links include headers and acknowledgements."
GRO_ON = "GRO was on at the receiver: it joins packets and hides reordering from TCP's counters."
GRO_OFF = "GRO was off at the receiver: TCP's counters see every packet."
GRO_UNKNOWN = (
    "The receiver's GRO state is not known; where GRO is on, it hides reordering from TCP's counters."
)
PROVISIONAL = " (provisional: only lab-limited trials)"
BY_ADDRESS = (
    "hashes addresses alone: between one pair of hosts all streams share one link, and more streams cannot "
    "help"
)


def describe_hashes(study: Analyses) -> Iterator[str]:
    """How many streams each hash needs, and whether it spread them as a good one does."""
    needed = [one.result for one in study.streams_needed()]
    yield from _describe_needs(needed)
    tested = [one for one in study.member_shares() if one.result.test is not None]
    for bond in dict.fromkeys(one.result.name for one in tested):
        rows = [one for one in tested if one.result.name == bond and one.result.fields is HashFields.PORTS]
        yield from _describe_tests(rows)


def _describe_needs(needed: Sequence[StreamsNeeded]) -> Iterator[str]:
    addresses = dict.fromkeys(one.name for one in needed if one.fields is HashFields.ADDRESSES)
    if addresses:
        text = BY_ADDRESS.replace("hashes", "hash", 1) if len(addresses) > 1 else BY_ADDRESS
        yield f"{join_words(list(addresses))} {text}."
    plans: dict[tuple[str, int], None] = {}
    for one in needed:
        if one.plan.streams is not None:
            plans[one.name, one.plan.streams] = None
    for count in dict.fromkeys(count for _, count in plans):
        names = join_words([name for name, streams in plans if streams == count])
        chances = dict.fromkeys(
            f"{format_count(one.streams, 'stream')} {format_ratio(one.chance_ratio)}"
            for one in sorted(needed, key=lambda one: one.streams)
            if one.plan.streams == count
        )
        yield (
            f"{names}: {format_count(count, 'stream')} between one pair of hosts use "
            f"{format_ratio(SUFFICIENT_RATIO)} of all links with 95 % confidence, if the hash is good. "
            f"Chance in this campaign: {', '.join(chances)}."
        )


def _describe_tests(rows: Sequence[Answer[MemberShares]]) -> Iterator[str]:
    """Polarised and unlucky combinations of one bond; nothing of even ones."""
    for verdict, text in (
        (HashVerdict.POLARISED, "polarised: a good hash would be as uneven in {} of campaigns like this one"),
        (HashVerdict.BAD_LUCK, "bad luck: a good hash is as uneven in {} of campaigns like this one"),
    ):
        chosen = [one for one in rows if one.result.test is not None and one.result.test.verdict is verdict]
        if chosen:
            found = [one.result for one in chosen]
            chances = [one.test.p_value or 0.0 for one in found if one.test is not None]
            shown = format_ratio(min(chances)) if min(chances) >= 0.001 else "less than 0.1 %"
            idle, trials = sum(one.idle_trials for one in found), sum(one.trials for one in found)
            yield (
                f"{found[0].name} with {name_settings(chosen, rows)} is {text.format(shown)}; "
                f"a link was idle in {idle} of {format_count(trials, 'trial')}."
            )


def _list_beside(one: Answer[Any], rows: Sequence[Answer[Any]]) -> tuple[str, ...]:
    """What differs among the rows besides the streams: window, size of messages, path."""
    beside = []
    if len({row.window_bytes for row in rows}) > 1:
        beside.append(f"window {format_window(one.window_bytes)}")
    if len({row.result.message_bytes for row in rows}) > 1 and one.result.message_bytes is not None:
        beside.append(f"{format_bytes(one.result.message_bytes)} messages")
    if len({name_path(row.condition) for row in rows}) > 1:
        beside.append(name_path(one.condition))
    return tuple(beside)


def name_settings(chosen: Sequence[Answer[Any]], rows: Sequence[Answer[Any]]) -> str:
    """``1 (window auto), 8 and 32 streams``: the settings of some rows.

    What else differs among the rows is named where not all of those with as many streams are chosen.
    """
    texts = []
    counts = sorted({one.streams or 1 for one in chosen})
    for count in counts:
        own, every = (
            dict.fromkeys(_list_beside(one, rows) for one in some if (one.streams or 1) == count)
            for some in (chosen, rows)
        )
        few = join_words([", ".join(beside) for beside in own])
        first = str(count) if len(counts) > 1 else format_count(count, "stream")
        texts.append(f"{first} ({few})" if len(own) < len(every) else first)
    return join_words(texts) + (" streams" if len(counts) > 1 else "")


def describe_statements(study: Analyses) -> Iterator[str]:
    """What counters include or hide, and what takes its turn; each once, where it matters."""
    shares = [one.result for one in study.member_shares()]
    turning = [one for one in shares if one.bond in ROUND_ROBIN]
    if turning:
        yield from _describe_turns(turning)
    if shares:
        yield ACKNOWLEDGEMENTS
    states = {one.gro for one in shares} or {one.result.gro for one in study.tcp_reordering()}
    if states:
        yield GRO_ON if True in states else GRO_UNKNOWN if None in states else GRO_OFF


def _describe_turns(shares: Sequence[MemberShares]) -> Iterator[str]:
    packets = list(dict.fromkeys(one.bond for one in shares if _find_unit(one) == "packet"))
    supers = list(dict.fromkeys(one.bond for one in shares if _find_unit(one) == "super-packet"))
    if supers:
        yield (
            f"{join_words(supers)} distributes what the stack hands over: super-packets of several segments "
            "each (segmentation offload), not single packets."
        )
    if packets:
        yield f"{join_words(packets)} distributes single packets."


def _find_unit(one: MemberShares) -> str | None:
    if one.super_packets is None:
        return TURNS.get(one.bond)
    return "super-packet" if one.super_packets else "packet"


def describe_tcp_reordering(study: Analyses) -> Iterator[str]:
    """How often TCP saw reordering over each bond, for each level of ``tcp_reordering``."""
    found = [one.result for one in study.tcp_reordering() if one.result.message_bytes is None]
    for level in dict.fromkeys(one.tcp_reordering for one in found):
        texts = []
        rows = [one for one in found if one.tcp_reordering == level and one.seen_events.median]
        for bond in dict.fromkeys(one.bond for one in rows if one.bond is not None):
            own = [one for one in rows if one.bond == bond]
            seen = _join_ends([one.seen_events.median for one in own], "{:,.0f}".format)
            spurious = _join_ends([one.spurious_ratio for one in own], format_ratio)
            share = f", {spurious} of retransmissions spurious" if spurious else ""
            texts.append(f"{bond} {seen} times per trial{share}")
        if texts:
            name = "default" if level is None else str(level)
            yield f"Reordering as TCP saw it, tcp_reordering {name}: {'; '.join(texts)}."


def _join_ends(values: Sequence[float | None], write: Callable[[float], str]) -> str:
    """``3 to 5``: the least and the largest; empty for none."""
    known = sorted(value for value in values if value is not None)
    return " to ".join(dict.fromkeys(map(write, (known[0], known[-1])))) if known else ""


def describe_thresholds(study: Analyses) -> Iterator[str]:
    """What the levels of ``tcp_reordering`` change; "no difference" only where the data show it."""
    found = [one.result for one in study.reordering_thresholds()]
    if not found:
        return
    margin = f"±{format_ratio(MARGIN_RATIO)}"
    for compared in dict.fromkeys(one.compared for one in found):
        rows = [one for one in found if one.compared == compared]
        text = " against ".join(compared.split(" : "))
        clauses = []
        for verdict, words in (
            (ChangeVerdict.BETTER, "a higher rate in {} of {}"),
            (ChangeVerdict.WORSE, "a lower rate in {} of {}"),
            (ChangeVerdict.EQUIVALENT, f"no difference (within {margin}) in {{}} of {{}}"),
            (ChangeVerdict.UNDECIDED, "undecided in {} of {}"),
        ):
            count = sum(one.verdict is verdict for one in rows)
            if count:
                clauses.append(words.format(count, format_count(len(rows), "combination")))
        few = [one.pairs for one in rows if one.pairs < MINIMUM_TRIALS]
        because = format_caveat(max(few)) if few else ""
        yield f"tcp_reordering {text}: {'; '.join(clauses)}{because}."


def describe_bond_latencies(study: Analyses) -> Iterator[str]:
    """Round trips over the bonds against the first link alone, by size and offered rate."""
    found = [one.result for one in study.bond_latency()]
    for load in dict.fromkeys((one.message_bytes, one.offered_messages_per_s) for one in found):
        rows = [one for one in found if (one.message_bytes, one.offered_messages_per_s) == load]
        offered = "one at a time" if load[1] is None else f"at {format_frequency(load[1])}"
        texts = [f"{one.name} {format_time(one.median_ns.median)}{_compare(one)}" for one in rows]
        few = [one.median_ratio for one in rows if _is_few(one.median_ratio)]
        pairs = max((one.first_n for one in few if one is not None), default=None)
        because = "" if pairs is None else format_caveat(pairs, of="no interval")
        size = format_bytes(load[0])
        because += PROVISIONAL if all(one.provisional for one in rows) else ""
        yield f"Median round trip of {size} messages {offered}: {', '.join(texts)}{because}."


def _compare(one: BondLatency) -> str:
    shift = one.median_ratio
    if shift is None or shift.ratio is None:
        return ""
    interval = shift.interval_ratio
    ends = f", 95 % CI {format_interval(interval, format_factor)}" if interval.decided else ""
    return f" ({format_factor(shift.ratio)} × {one.baseline}{ends})"


def _is_few(shift: GroupShift | None) -> bool:
    return shift is not None and shift.undecided is Undecided.TOO_FEW_SAMPLES


def describe_failovers(study: Analyses) -> Iterator[str]:
    """How deep the rate falls and when it is back, one sentence for each kind of failure and setting."""
    answers = study.failover()
    settings = dict.fromkeys((one.streams or 1, _list_beside(one, answers)) for one in answers)
    for failure in dict.fromkeys(one.result.failure for one in answers):
        how = {"down": "goes down", "silent": "fails silently"}.get(str(failure), "fails")
        for streams, beside in settings:
            found = [
                one.result
                for one in answers
                if one.result.failure == failure
                and (one.streams or 1, _list_beside(one, answers)) == (streams, beside)
            ]
            if not found:
                continue
            texts = [
                f"{one.name} falls to {format_ratio(one.dip_ratio.median)} of its rate and is "
                f"{format_recovery(one)}"
                for one in found
            ]
            setting = ", ".join((format_count(streams, "stream"), *beside))
            scope = f" with {setting}" if len(settings) > 1 else ""
            limited = PROVISIONAL if all(one.provisional for one in found) else ""
            yield f"When a link {how}{scope}, {'; '.join(texts)}{limited}."


def format_recovery(one: Failover) -> str:
    """``back after 320 ms (95 % CI ...)``, or in how many trials it never was."""
    found = one.recovery_ns
    left = ""
    if found.censored:
        left = f"not recovered in {found.censored} of {format_count(found.n, 'trial')}"
        if found.longest_watch is not None:
            left += f" (watched for up to {format_time(found.longest_watch)})"
    if found.median is None:
        return left or f"back after {NOT_MEASURED}"
    text = f"back to 90 % of the other links after {format_time(found.median)}"
    text += format_in_brackets(found.interval, format_time)
    if one.after_return:
        text += f", in {one.after_return} of {format_count(found.n, 'trial')} only once the link was back"
    return f"{text}; {left}" if left else text


def format_share(share: float | None) -> str:
    """A member's share to a tenth of a percent: control frames of an idle one are 0 %."""
    return format_ratio(None if share is None else round(share, 3))


def format_hash_test(one: MemberShares) -> str:
    """``polarised``; empty without a hash."""
    return "" if one.test is None else str(one.test.verdict)
