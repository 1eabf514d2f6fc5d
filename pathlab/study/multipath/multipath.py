"""Whether a bond is worth it: every way to use several links against each link alone in the same cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.verdicts.bond_gain import (
    BondGain,
    BondVerdict,
    SumVerdict,
    correct_bonds,
    evaluate_bond,
)
from pathlab.study.base.answer import Answer, Spread, measure_rates
from pathlab.study.base.trials import Condition, TrialTable
from pathlab.study.multipath.bond_cells import (
    ROUND_ROBIN,
    BondCell,
    BondGroup,
    count_lab_links,
    list_bond_groups,
    list_links,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRate:
    """One link alone: ``number`` from 1, and its throughput."""

    number: int
    throughput_bits_per_s: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBond:
    """One way to use several links, against each of them alone.

    ``gain`` is None unless every link was measured alone (an existing bond of a host has none);
    ``lacking`` then says whether a link has no trial alone (not measured), or none that counts (no samples).
    ``provisional``: every trial of the bond or of a link was lab-limited, so that there is no verdict.
    ``throughput_bits_per_s`` is that of the bond. ``turn_limit_bits_per_s``, of packets in turn over unequal
    links: as many go over each link, so that each carries as much as the slowest.
    """

    name: str
    bond: str
    message_bytes: int | None
    throughput_bits_per_s: Spread
    links: tuple[LinkRate, ...]
    gain: BondGain | None
    turn_limit_bits_per_s: float | None = None
    provisional: bool = False
    lacking: Undecided | None = None

    @property
    def verdict(self) -> BondVerdict:
        """Against the best link alone."""
        return BondVerdict.UNDECIDED if self.gain is None else self.gain.verdict

    @property
    def undecided(self) -> Undecided | None:
        """Why there is no verdict."""
        return self.lacking if self.gain is None else self.gain.undecided

    @property
    def best_link(self) -> str | None:
        """``link-1``: the best one alone."""
        if self.gain is None or self.gain.best_link is None:
            return None
        return f"link-{self.links[self.gain.best_link].number}"

    @property
    def is_held_by_slowest(self) -> bool:
        """Whether packets in turn keep this bond below the sum: it carries no more than that allows."""
        rate, limit = self.throughput_bits_per_s.median, self.turn_limit_bits_per_s
        if self.gain is None or rate is None or limit is None:
            return False
        below = self.gain.sum_verdict is SumVerdict.BELOW or self.gain.verdict is BondVerdict.HARMS
        return below and rate <= limit * (1 + MARGIN_RATIO)


def compare_bonds(table: TrialTable, environment: Mapping[str, Any]) -> tuple[Answer[MeasuredBond], ...]:
    """Every way to use several links, in the order of the factor's levels.

    ``environment``: the campaign's, whose lab says how many links there are. A path and setting with all of
    its streams, windows and sizes is one family of Holm's correction. Messages at an offered rate are left
    out: they carry what is offered.
    """
    families: dict[Condition, list[tuple[BondGroup, BondCell]]] = {}
    for group in list_bond_groups(table):
        if group.offered_messages_per_s is None:
            family = families.setdefault(group.condition.without("message_bytes"), [])
            family += [(group, cell) for cell in group.bonds]
    return tuple(answer for family in families.values() for answer in _compare(family, environment))


def find_sum_factor(worths: Sequence[MeasuredBond]) -> float | None:
    """The sum of the links alone over the best of them, median of all rows; None where it varies by more
    than the margin of equivalence.
    """
    ratios = []
    for worth in worths:
        rates = [link.throughput_bits_per_s.median or 0.0 for link in worth.links]
        if rates and min(rates) > 0:
            ratios.append(sum(rates) / max(rates))
    if not ratios or max(ratios) > min(ratios) * (1 + MARGIN_RATIO):
        return None
    return float(np.median(ratios))


def is_provisional(group: BondGroup, cell: BondCell) -> bool:
    """Whether a comparison of a bond with its links has only lab-limited trials on one side."""
    return cell.provisional or any(link.provisional for link in group.find_links(cell))


def make_bond_answer(group: BondGroup, cell: BondCell, result: Any) -> Answer[Any]:
    """The answer on one way to use the links."""
    return Answer(
        condition=group.condition,
        selection=cell.sample.selection,
        result=result,
        streams=group.streams,
        window_bytes=group.window_bytes,
        autotuned=group.window_bytes is None,
    )


def measure_links(group: BondGroup, cell: BondCell) -> tuple[LinkRate, ...]:
    """Each link alone that was measured alongside a bond."""
    return tuple(
        LinkRate(number=link.variant.link, throughput_bits_per_s=measure_rates(link.sample.rates_bits_per_s))
        for link in group.find_links(cell)
        if link.variant.link is not None
    )


def _compare(
    family: Sequence[tuple[BondGroup, BondCell]], environment: Mapping[str, Any]
) -> Iterator[Answer[MeasuredBond]]:
    tested = sum(not is_provisional(*item) for item in family)
    result = [_evaluate(group, cell, environment, max(tested, 1)) for group, cell in family]
    kept = [
        (group, cell, gain)
        for (group, cell), gain in zip(family, result, strict=True)
        if gain is not None and not is_provisional(group, cell)
    ]
    corrected = iter(correct_bonds([gain for *_, gain in kept]))
    for (group, cell), plain in zip(family, result, strict=True):
        provisional = is_provisional(group, cell)
        gain = None
        if plain is not None:
            gain = _leave_untested(plain) if provisional else next(corrected)
        links_alone = measure_links(group, cell)
        measured = {item.number for item in links_alone} < list_links(cell.sample.table, group.condition)
        worth = MeasuredBond(
            name=cell.name,
            bond=cell.variant.bond,
            message_bytes=group.message_bytes,
            throughput_bits_per_s=measure_rates(cell.sample.rates_bits_per_s),
            links=links_alone,
            gain=gain,
            turn_limit_bits_per_s=_find_turn_limit(cell, links_alone),
            provisional=provisional,
            lacking=None
            if gain is not None
            else Undecided.NO_SAMPLES
            if measured
            else Undecided.NOT_MEASURED,
        )
        yield make_bond_answer(group, cell, worth)


def _evaluate(
    group: BondGroup, cell: BondCell, environment: Mapping[str, Any], tests: int
) -> BondGain | None:
    """The gain before the correction for ``tests`` tests; None unless every link was measured alone."""
    links = group.find_links(cell)
    if len(links) < 2 or count_lab_links(environment, group.condition) not in (None, len(links)):
        return None
    rates = group.match_cycles([cell, *links])
    return evaluate_bond(rates[0], rates[1:], drawn_tests=group.sample.drawn_tests(tests))


def _leave_untested(gain: BondGain) -> BondGain:
    """The figures without intervals and verdicts: of provisional trials."""
    reason = Undecided.PROVISIONAL
    return replace(
        gain,
        gain_interval=replace(gain.gain_interval, low=None, high=None, undecided=reason),
        efficiency_interval=replace(gain.efficiency_interval, low=None, high=None, undecided=reason),
        verdict=BondVerdict.UNDECIDED,
        sum_verdict=SumVerdict.UNDECIDED,
        more_cycles=None,
        undecided=reason,
        sum_undecided=reason,
    )


def _find_turn_limit(cell: BondCell, links: tuple[LinkRate, ...]) -> float | None:
    """What packets in turn can carry over links that differ by more than the margin."""
    rates = [link.throughput_bits_per_s.median for link in links]
    known = [rate for rate in rates if rate is not None]
    if cell.variant.bond not in ROUND_ROBIN or len(known) < 2 or len(known) < len(rates):
        return None
    limit = len(known) * float(np.min(known))
    return limit if limit * (1 + MARGIN_RATIO) < sum(known) else None
