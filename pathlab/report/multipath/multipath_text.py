"""Whether a bond is worth it, in words: the answer first, then efficiency and what holds a bond back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathlab.analysis.estimators.interval import Interval, Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.estimators.shifts import MINIMUM_PAIRS
from pathlab.analysis.verdicts.bond_gain import BondVerdict
from pathlab.report.base.phrases import (
    format_count,
    format_factor,
    format_few,
    format_interval,
    format_reason,
    join_words,
)
from pathlab.report.messages.message_text import name_path
from pathlab.report.multipath.multipath_remarks import (
    describe_bond_latencies,
    describe_failovers,
    describe_hashes,
    describe_statements,
    describe_tcp_reordering,
    describe_thresholds,
    name_settings,
)
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.base.trials import Condition
from pathlab.study.multipath.bond_cells import EXISTING
from pathlab.study.multipath.multipath import MeasuredBond
from pathlab.units import format_bytes, format_rate, format_ratio, format_window

QUESTION = "Is the bond worth it?"
#: Bonds that a sentence names for one verdict.
NAMED = 5
MARGIN = f"±{format_ratio(MARGIN_RATIO)}"
ADD_LINKS = "not every link was measured alone: add bond levels link-1, link-2 ..."
EXISTING_ALONE = (
    "the links of a bond that hosts have cannot be measured alone, since hosts are never changed: compare "
    "its throughput with the speed of its members"
)
_CLAUSES = {
    BondVerdict.GAINS: "yes with {}",
    BondVerdict.HARMS: "no with {}: less than the best link alone",
    BondVerdict.EQUAL: f"no gain with {{}}: as much as the best link alone (within {MARGIN})",
    BondVerdict.UNDECIDED: "undecided with {}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BondView:
    """The bonds of one path and setting, with all of their streams, windows and sizes."""

    number: int
    condition: Condition
    answers: tuple[Answer[MeasuredBond], ...]

    @property
    def title(self) -> str:
        """``west → east (lab)``."""
        return name_path(self.condition)

    def name_combination(self, item: Answer[MeasuredBond]) -> str:
        """``8 streams, 1 KiB messages``: what varies alongside the bond; the streams where nothing does."""
        windows = {(answer.window_bytes, answer.autotuned) for answer in self.answers}
        sizes = {answer.result.message_bytes for answer in self.answers}
        texts = [format_count(item.streams or 1, "stream")]
        texts += [f"window {format_window(item.window_bytes)}"] if len(windows) > 1 else []
        if len(sizes) > 1 and item.result.message_bytes is not None:
            texts.append(f"{format_bytes(item.result.message_bytes)} messages")
        return ", ".join(texts)

    def find_first(self, combination: str) -> Answer[MeasuredBond]:
        """The first answer of a combination."""
        return next(answer for answer in self.answers if self.name_combination(answer) == combination)

    @property
    def combinations(self) -> list[str]:
        """The combinations in the order of the answers, each once."""
        return list(dict.fromkeys(map(self.name_combination, self.answers)))


def list_bond_views(study: Analyses) -> tuple[BondView, ...]:
    """Every path and setting with ways to use several links."""
    result: dict[Condition, list[Answer[MeasuredBond]]] = {}
    for answer in study.multipath():
        result.setdefault(answer.condition.without("message_bytes"), []).append(answer)
    return tuple(
        BondView(number=number, condition=condition, answers=tuple(answers))
        for number, (condition, answers) in enumerate(result.items(), 1)
    )


def describe_multipath(study: Analyses) -> tuple[str, ...]:
    """The answer, then what is alongside it; empty without several links.

    The first sentence is the answer.
    """
    views = list_bond_views(study)
    several = len(views) > 1
    leads = [f"{f'{view.title}: ' * several}{_describe_view(view)}" for view in views]
    remarks = [text for view in views for text in _list_view_remarks(view)]
    beside = [
        *describe_hashes(study),
        *(describe_tcp_reordering(study) if leads else ()),
        *describe_thresholds(study),
        *describe_bond_latencies(study),
        *describe_failovers(study),
    ]
    if not leads:
        return (*beside, *describe_statements(study)) if beside else ()
    return (" ".join(leads), *remarks, *beside, *describe_statements(study))


def _describe_view(view: BondView) -> str:
    """``Is the bond worth it? Yes with round-robin (1.97 × the best link, ...); undecided with ...``."""
    clauses = []
    for verdict, text in _CLAUSES.items():
        rows = [answer for answer in view.answers if answer.result.verdict is verdict]
        if not rows:
            continue
        clause = text.format(_name_bonds(view, rows))
        if verdict is BondVerdict.UNDECIDED:
            clause += f" ({_explain_undecided([row.result for row in rows])})"
        clauses.append(clause)
    text = "; ".join(clauses)
    return f"{QUESTION} {text[:1].upper()}{text[1:]}."


def _name_bonds(view: BondView, rows: Sequence[Answer[MeasuredBond]]) -> str:
    """``round-robin (1.97 × the best link, 95 % CI 1.95–1.99), ecmp-l4 with 8 streams (1.9 ×)``."""
    texts: list[str] = []
    names = list(dict.fromkeys(row.result.name for row in rows))
    for name in names[:NAMED]:
        result = [row for row in rows if row.result.name == name]
        every = [answer for answer in view.answers if answer.result.name == name]
        scope = "" if len(result) == len(every) else f" with {name_settings(result, every)}"
        texts.append(f"{name}{scope}{_format_gains([item.result for item in result], full=not texts)}")
    if len(names) > NAMED:
        texts.append(f"{len(names) - NAMED} more")
    return join_words(texts)


def _format_gains(bonds: Sequence[MeasuredBond], *, full: bool) -> str:
    """`` (1.97 × the best link, 95 % CI ...)``; of several combinations the least and the largest."""
    gains = [item.gain for item in bonds if item.gain is not None and item.gain.gain is not None]
    known = sorted(gain.gain for gain in gains if gain.gain is not None)
    if not known:
        return ""
    words = " the best link" if full else ""
    if len(gains) == 1:
        interval = gains[0].gain_interval
        ends = f", 95 % CI {format_interval(interval, format_factor)}" if interval.decided else ""
        return f" ({format_factor(known[0])} ×{words}{ends})"
    ends = " to ".join(dict.fromkeys(map(format_factor, (known[0], known[-1]))))
    return f" ({ends} ×{words})"


def _explain_undecided(rows: Sequence[MeasuredBond]) -> str:
    """Why, each reason once, and what would decide it."""
    texts: list[str] = []
    for reason in dict.fromkeys(row.undecided for row in rows):
        result = [row for row in rows if row.undecided is reason]
        gains = [item.gain for item in result if item.gain is not None]
        if reason is Undecided.TOO_FEW_SAMPLES:
            pairs = max((gain.pairs for gain in gains), default=0)
            texts.append(format_few(pairs, needed=MINIMUM_PAIRS))
        elif reason is Undecided.NO_SAMPLES:
            texts.append("no cycle with a usable trial of the bond and of every link alone")
        elif reason is Undecided.PROVISIONAL:
            texts.append("only lab-limited trials; repeat on an idle machine")
        elif reason is Undecided.NOT_MEASURED:
            lacking = dict.fromkeys(EXISTING_ALONE if item.bond == EXISTING else ADD_LINKS for item in result)
            texts += lacking
        elif reason is Undecided.INCONCLUSIVE:
            more = [gain.more_cycles for gain in gains if gain.more_cycles is not None]
            ahead = f"; {format_count(max(more), 'more cycle')} would decide" if more else ""
            texts.append(f"the interval of the gain contains 1 and exceeds {MARGIN}{ahead}")
        else:
            texts.append(format_reason(reason))
    return "; ".join(texts)


def _list_view_remarks(view: BondView) -> Iterator[str]:
    for combination in view.combinations[-1:]:
        rows = [answer.result for answer in view.answers if view.name_combination(answer) == combination]
        if text := _describe_efficiency(combination, rows):
            yield text
    held: dict[str, dict[str, MeasuredBond]] = {}
    for answer in view.answers:
        if answer.result.is_held_by_slowest:
            held.setdefault(answer.result.bond, {}).setdefault(answer.result.name, answer.result)
    for result in held.values():
        yield describe_collapse([*result.values()])


def _describe_efficiency(combination: str, rows: Sequence[MeasuredBond]) -> str:
    """``Efficiency with 8 streams, of the sum of the links alone: round-robin 98.2 % (95 % CI ...)``."""
    texts = [
        f"{row.name} {format_ratio(row.gain.efficiency)}{format_ends(row.gain.efficiency_interval)}"
        for row in rows
        if row.gain is not None and row.gain.efficiency is not None
    ]
    if not texts:
        return ""
    links = [link.throughput_bits_per_s.median for link in rows[0].links]
    alone = join_words([format_rate(rate) for rate in links])
    return f"Efficiency with {combination}, of the sum of the links alone ({alone}): {', '.join(texts)}."


def format_ends(interval: Interval) -> str:
    """`` (95 % CI 97–99 %)``; the interval is corrected, so that all of them hold in 95 % of campaigns."""
    return f" (95 % CI {format_interval(interval, format_ratio)})" if interval.decided else ""


def describe_collapse(bonds: Sequence[MeasuredBond]) -> str:
    """Why packets in turn over unequal links carry so little: the variants of one bond."""
    item = bonds[0]
    slowest = min(link.throughput_bits_per_s.median or 0.0 for link in item.links)
    rates = dict.fromkeys(format_rate(other.throughput_bits_per_s.median) for other in bonds)
    names, verb = join_words([other.name for other in bonds]), "carries" if len(bonds) == 1 else "carry"
    return (
        f"{names} {verb} {join_words(list(rates))}: round robin sends as much over the slow link as over the "
        f"fast one; its limit is {len(item.links)} × the slowest, "
        f"{len(item.links)} × {format_rate(slowest)} = {format_rate(item.turn_limit_bits_per_s)}."
    )
