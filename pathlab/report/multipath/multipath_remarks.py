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
from pathlab.report.base.phrases import (
    format_caveat,
    format_count,
    format_factor,
    format_in_brackets,
    format_interval,
    join_words,
)
from pathlab.report.messages.message_text import name_path
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.comparison.rows import ChangeVerdict
from pathlab.study.multipath.bond_cells import ROUND_ROBIN
from pathlab.study.multipath.bond_latency import BondLatency
from pathlab.study.multipath.failover import Failover
from pathlab.study.multipath.member_shares import MemberShares, StreamsNeeded
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
    needed = [item.result for item in study.streams_needed()]
    yield from _describe_needs(needed)
    tested = [share for share in study.member_shares() if share.result.test is not None]
    for bond in dict.fromkeys(item.result.name for item in tested):
        rows = [
            item for item in tested if item.result.name == bond and item.result.fields is HashFields.PORTS
        ]
        yield from _describe_tests(rows)


def _describe_needs(needed: Sequence[StreamsNeeded]) -> Iterator[str]:
    addresses = dict.fromkeys(item.name for item in needed if item.fields is HashFields.ADDRESSES)
    if addresses:
        text = BY_ADDRESS.replace("hashes", "hash", 1) if len(addresses) > 1 else BY_ADDRESS
        yield f"{join_words(list(addresses))} {text}."
    plans: dict[tuple[str, int], None] = {}
    for item in needed:
        if item.plan.streams is not None:
            plans[item.name, item.plan.streams] = None
    for count in dict.fromkeys(count for _, count in plans):
        names = join_words([name for name, streams in plans if streams == count])
        chances = dict.fromkeys(
            f"{format_count(item.streams, 'stream')} {format_ratio(item.chance_ratio)}"
            for item in sorted(needed, key=lambda item: item.streams)
            if item.plan.streams == count
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
        chosen = [row for row in rows if row.result.test is not None and row.result.test.verdict is verdict]
        if chosen:
            result = [item.result for item in chosen]
            chances = [item.test.p_value or 0.0 for item in result if item.test is not None]
            shown = format_ratio(min(chances)) if min(chances) >= 0.001 else "less than 0.1 %"
            idle, trials = sum(item.idle_trials for item in result), sum(item.trials for item in result)
            yield (
                f"{result[0].name} with {name_settings(chosen, rows)} is {text.format(shown)}; "
                f"a link was idle in {idle} of {format_count(trials, 'trial')}."
            )


def _list_beside(answer: Answer[Any], rows: Sequence[Answer[Any]]) -> tuple[str, ...]:
    """What differs among the rows besides the streams: window, size of messages, path."""
    beside = []
    if len({row.window_bytes for row in rows}) > 1:
        beside.append(f"window {format_window(answer.window_bytes)}")
    if len({row.result.message_bytes for row in rows}) > 1 and answer.result.message_bytes is not None:
        beside.append(f"{format_bytes(answer.result.message_bytes)} messages")
    if len({name_path(row.condition) for row in rows}) > 1:
        beside.append(name_path(answer.condition))
    return tuple(beside)


def name_settings(chosen: Sequence[Answer[Any]], rows: Sequence[Answer[Any]]) -> str:
    """``1 (window auto), 8 and 32 streams``: the settings of some rows.

    What else differs among the rows is named where not all of those with as many streams are chosen.
    """
    texts = []
    counts = sorted({item.streams or 1 for item in chosen})
    for count in counts:
        own, every = (
            dict.fromkeys(_list_beside(item, rows) for item in some if (item.streams or 1) == count)
            for some in (chosen, rows)
        )
        few = join_words([", ".join(beside) for beside in own])
        first = str(count) if len(counts) > 1 else format_count(count, "stream")
        texts.append(f"{first} ({few})" if len(own) < len(every) else first)
    return join_words(texts) + (" streams" if len(counts) > 1 else "")


def describe_statements(study: Analyses) -> Iterator[str]:
    """What counters include or hide, and what takes its turn; each once, where it matters."""
    shares = [share.result for share in study.member_shares()]
    turning = [share for share in shares if share.bond in ROUND_ROBIN]
    if turning:
        yield from _describe_turns(turning)
    if shares:
        yield ACKNOWLEDGEMENTS
    states = {share.gro for share in shares} or {item.result.gro for item in study.tcp_reordering()}
    if states:
        yield GRO_ON if True in states else GRO_UNKNOWN if None in states else GRO_OFF


def _describe_turns(shares: Sequence[MemberShares]) -> Iterator[str]:
    packets = list(dict.fromkeys(share.bond for share in shares if _find_unit(share) == "packet"))
    supers = list(dict.fromkeys(share.bond for share in shares if _find_unit(share) == "super-packet"))
    if supers:
        yield (
            f"{join_words(supers)} distributes what the stack hands over: super-packets of several segments "
            "each (segmentation offload), not single packets."
        )
    if packets:
        yield f"{join_words(packets)} distributes single packets."


def _find_unit(shares: MemberShares) -> str | None:
    if shares.super_packets is None:
        return TURNS.get(shares.bond)
    return "super-packet" if shares.super_packets else "packet"


def describe_tcp_reordering(study: Analyses) -> Iterator[str]:
    """How often TCP saw reordering over each bond, for each level of ``tcp_reordering``."""
    result = [item.result for item in study.tcp_reordering() if item.result.message_bytes is None]
    for level in dict.fromkeys(item.tcp_reordering for item in result):
        texts = []
        rows = [item for item in result if item.tcp_reordering == level and item.seen_events.median]
        for bond in dict.fromkeys(row.bond for row in rows if row.bond is not None):
            own = [row for row in rows if row.bond == bond]
            seen = _join_ends([item.seen_events.median for item in own], "{:,.0f}".format)
            spurious = _join_ends([item.spurious_ratio for item in own], format_ratio)
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
    result = [threshold.result for threshold in study.reordering_thresholds()]
    if not result:
        return
    margin = f"±{format_ratio(MARGIN_RATIO)}"
    for compared in dict.fromkeys(item.compared for item in result):
        rows = [item for item in result if item.compared == compared]
        text = " against ".join(compared.split(" : "))
        clauses = []
        for verdict, words in (
            (ChangeVerdict.BETTER, "a higher rate in {} of {}"),
            (ChangeVerdict.WORSE, "a lower rate in {} of {}"),
            (ChangeVerdict.EQUIVALENT, f"no difference (within {margin}) in {{}} of {{}}"),
            (ChangeVerdict.UNDECIDED, "undecided in {} of {}"),
        ):
            count = sum(row.verdict is verdict for row in rows)
            if count:
                clauses.append(words.format(count, format_count(len(rows), "combination")))
        few = [row.pairs for row in rows if row.pairs < MINIMUM_TRIALS]
        because = format_caveat(max(few)) if few else ""
        yield f"tcp_reordering {text}: {'; '.join(clauses)}{because}."


def describe_bond_latencies(study: Analyses) -> Iterator[str]:
    """Round trips over the bonds against the first link alone, by size and offered rate."""
    result = [item.result for item in study.bond_latency()]
    for load in dict.fromkeys((item.message_bytes, item.offered_messages_per_s) for item in result):
        rows = [item for item in result if (item.message_bytes, item.offered_messages_per_s) == load]
        offered = "one at a time" if load[1] is None else f"at {format_frequency(load[1])}"
        texts = [f"{row.name} {format_time(row.median_ns.median)}{_compare(row)}" for row in rows]
        few = [row.median_ratio for row in rows if _is_few(row.median_ratio)]
        pairs = max((item.first_n for item in few if item is not None), default=None)
        because = "" if pairs is None else format_caveat(pairs, of="no interval")
        size = format_bytes(load[0])
        because += PROVISIONAL if all(row.provisional for row in rows) else ""
        yield f"Median round trip of {size} messages {offered}: {', '.join(texts)}{because}."


def _compare(latency: BondLatency) -> str:
    shift = latency.median_ratio
    if shift is None or shift.ratio is None:
        return ""
    interval = shift.interval_ratio
    ends = f", 95 % CI {format_interval(interval, format_factor)}" if interval.decided else ""
    return f" ({format_factor(shift.ratio)} × {latency.baseline}{ends})"


def _is_few(shift: GroupShift | None) -> bool:
    return shift is not None and shift.undecided is Undecided.TOO_FEW_SAMPLES


def describe_failovers(study: Analyses) -> Iterator[str]:
    """How deep the rate falls and when it is back, one sentence for each kind of failure and setting."""
    answers = study.failover()
    settings = dict.fromkeys((answer.streams or 1, _list_beside(answer, answers)) for answer in answers)
    for failure in dict.fromkeys(answer.result.failure for answer in answers):
        how = {"down": "goes down", "silent": "fails silently"}.get(str(failure), "fails")
        for streams, beside in settings:
            result = [
                answer.result
                for answer in answers
                if answer.result.failure == failure
                and (answer.streams or 1, _list_beside(answer, answers)) == (streams, beside)
            ]
            if not result:
                continue
            texts = [
                f"{item.name} falls to {format_ratio(item.dip_ratio.median)} of its rate and is "
                f"{format_recovery(item)}"
                for item in result
            ]
            setting = ", ".join((format_count(streams, "stream"), *beside))
            scope = f" with {setting}" if len(settings) > 1 else ""
            limited = PROVISIONAL if all(item.provisional for item in result) else ""
            yield f"When a link {how}{scope}, {'; '.join(texts)}{limited}."


def format_recovery(failover: Failover) -> str:
    """``back after 320 ms (95 % CI ...)``, or in how many trials it never was."""
    ns = failover.recovery_ns
    left = ""
    if ns.censored:
        left = f"not recovered in {ns.censored} of {format_count(ns.n, 'trial')}"
        if ns.longest_watch is not None:
            left += f" (watched for up to {format_time(ns.longest_watch)})"
    if ns.median is None:
        return left or f"back after {NOT_MEASURED}"
    text = f"back to 90 % of the other links after {format_time(ns.median)}"
    text += format_in_brackets(ns.interval, format_time)
    if failover.after_return:
        text += f", in {failover.after_return} of {format_count(ns.n, 'trial')} only once the link was back"
    return f"{text}; {left}" if left else text


def format_share(share: float | None) -> str:
    """A member's share to a tenth of a percent: control frames of an idle one are 0 %."""
    return format_ratio(None if share is None else round(share, 3))


def format_hash_test(shares: MemberShares) -> str:
    """``polarised``; empty without a hash."""
    return "" if shares.test is None else str(shares.test.verdict)
