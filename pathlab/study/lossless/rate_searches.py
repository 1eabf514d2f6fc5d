"""The searches of a campaign for the lossless rate, as its plan and its trials show them.

The runner continues a search by this, and reports state how it ended: both read the stored plan and trials
alone, so a run that was killed goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pathlab.analysis.planning.loss_search import (
    LossTrial,
    RateVerdict,
    SearchEnding,
    SearchRule,
    SearchState,
    evaluate_search,
)
from pathlab.campaign.cell import RATE_FACTOR
from pathlab.campaign.search_model import SearchSettings
from pathlab.errors import Stage
from pathlab.store.flags import Flag, Status
from pathlab.store.records import PlanRecord
from pathlab.study.base.trials import is_searching
from pathlab.units import format_rate, format_ratio

BITS_PER_BYTE = 8
#: Said of a loss above the limit that counters of the receiving host may not explain in full.
NOT_ATTRIBUTED = "whether the path or the receiving host lost the packets is not known"
#: What limits a search that ended before the path did, by verdict.
HOSTS: Mapping[RateVerdict, str] = {
    RateVerdict.SENDER: "the sending host",
    RateVerdict.RECEIVER: "the receiving host",
}


class CountedTrial(Protocol):
    """The columns of a stored trial (``TrialRecord``) that a search reads."""

    @property
    def plan_row(self) -> int: ...

    @property
    def status(self) -> str: ...

    @property
    def failed_stage(self) -> str | None: ...

    @property
    def flags(self) -> tuple[str, ...]: ...

    @property
    def datagram_bytes(self) -> int | None: ...

    @property
    def udp_sent_packets(self) -> int | None: ...

    @property
    def udp_lost_packets(self) -> int | None: ...

    @property
    def udp_lost_host_packets(self) -> int | None: ...

    @property
    def udp_lost_path_packets(self) -> int | None: ...

    @property
    def udp_sent_packets_per_s(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class SearchKey:
    """What one search varies no more: a cycle, a path, and the other factors' levels."""

    cycle: int
    path_source: str
    path_destination: str
    settings: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSearch:
    """One search: its rows of the plan, those of them that are ``measured``, and where it is.

    ``open_row`` is the row that is planned and not measured yet; None: the next one is to be planned.
    """

    key: SearchKey
    rows: tuple[PlanRecord, ...]
    measured: tuple[int, ...]
    state: SearchState
    open_row: PlanRecord | None

    @property
    def is_finished(self) -> bool:
        """Whether it ended by itself."""
        return self.state.ending is not None


def find_rule(model: Mapping[str, Any]) -> SearchRule | None:
    """The rule of a stored campaign; None where it searches for nothing."""
    return SearchSettings.model_construct(**model["search"]).rule if is_searching(model) else None


def name_search(row: PlanRecord) -> SearchKey:
    """The search that a row of the plan belongs to."""
    settings = tuple(sorted(drop_rate(row.settings).items()))
    return SearchKey(row.cycle, row.path_source, row.path_destination, settings)


def drop_rate(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a row without the rate that its search tried."""
    return {name: level for name, level in settings.items() if name != RATE_FACTOR}


def read_rate(row: PlanRecord) -> int:
    """The rate that a row of a search offers."""
    return int(row.settings[RATE_FACTOR])


def list_searches(
    plan: Iterable[PlanRecord], records: Iterable[CountedTrial], rule: SearchRule
) -> tuple[RateSearch, ...]:
    """Every search of the plan, in the plan's order; ``records`` in the order of measurement."""
    latest: dict[int, CountedTrial] = {}
    for record in records:
        if is_settled(record):
            latest[record.plan_row] = record
    rows: dict[SearchKey, list[PlanRecord]] = {}
    for row in plan:
        rows.setdefault(name_search(row), []).append(row)
    return tuple(_build_search(key, own, latest, rule) for key, own in rows.items())


def _build_search(
    key: SearchKey, rows: Sequence[PlanRecord], latest: Mapping[int, CountedTrial], rule: SearchRule
) -> RateSearch:
    measured = [row for row in rows if row.row in latest]
    trials = [read_trial(latest[row.row], read_rate(row)) for row in measured]
    state = evaluate_search(trials, rule)
    left = next((row for row in rows if row.row not in latest), None)
    return RateSearch(
        key=key,
        rows=tuple(rows),
        measured=tuple(row.row for row in measured),
        state=state,
        open_row=None if state.ending is not None else left,
    )


def is_settled(record: CountedTrial) -> bool:
    """Whether a row needs no other trial; one that a safety limit ended is not measured again."""
    return record.status == Status.COMPLETE or record.failed_stage == Stage.SAFETY_LIMIT


def read_trial(record: CountedTrial, rate_bits_per_s: int) -> LossTrial:
    """What a trial says of its rate: where the lab was at its limit, no more than a bound of the loss."""
    sent, lost = record.udp_sent_packets, record.udp_lost_packets
    aborted = record.status != Status.COMPLETE
    return LossTrial(
        rate_bits_per_s=rate_bits_per_s,
        sent_packets=sent or 0,
        lost_packets=min(lost or 0, sent or 0),
        host_lost_packets=record.udp_lost_host_packets if lost else 0,
        is_host_complete=not lost or record.udp_lost_path_packets is not None,
        sent_ratio=None if aborted else _measure_sent_ratio(record, rate_bits_per_s),
        usable=sent is not None
        and lost is not None
        and not {Flag.LAB_LIMITED, Flag.HOST_STALLED}.intersection(record.flags),
        aborted=aborted,
    )


def _measure_sent_ratio(record: CountedTrial, rate_bits_per_s: int) -> float | None:
    """The rate sent over the rate of the plan, which a host's own limit may lower."""
    rate, payload = record.udp_sent_packets_per_s, record.datagram_bytes
    if rate is None or payload is None:
        return None
    return rate * payload * BITS_PER_BYTE / rate_bits_per_s


def describe_ending(state: SearchState, rule: SearchRule) -> str:
    """The answer of a search in one sentence without a full stop; of an unfinished one, how far it is."""
    loss = f"loss ≤ {format_ratio(rule.loss_ratio)}"
    below, above = format_rate(state.below_bits_per_s), format_rate(state.above_bits_per_s)
    between = f"between {below} and {above}"
    least = f"at least {below} (loss below {format_ratio(rule.loss_ratio)})"
    if state.ending is None:
        if state.below_bits_per_s is None:
            return "not finished"
        return f"not finished, so far {between if state.above_bits_per_s is not None else least}"
    doubt = "" if state.is_attributed else f"; {NOT_ATTRIBUTED}"
    if state.ending == SearchEnding.FOUND:
        return f"{loss} up to {below}, confirmed above it at {above}{doubt}"
    if state.ending == SearchEnding.ABOVE_HIGHEST:
        return f"{least}, the highest rate tried"
    if state.ending == SearchEnding.BELOW_LOWEST:
        lowest = format_rate(rule.lowest_bits_per_s)
        return f"not found: more loss already at the lowest rate, {lowest}{doubt}"
    host = None if state.limit is None else HOSTS.get(state.limit)
    if host is not None and state.ending != SearchEnding.UNDECIDED:
        limited = f"limited by {host} at {above}"
        if state.below_bits_per_s is None:
            return f"not found: {limited}, the lowest rate"
        return f"{least}; {limited}"
    if state.below_bits_per_s is None:
        lowest = format_rate(rule.lowest_bits_per_s)
        if state.rates and state.rates[0].unusable == state.rates[0].trials:
            return f"not found: no trial at the lowest rate, {lowest}, could be used"
        return f"not found: undecided at the lowest rate, {lowest}"
    if state.above_bits_per_s is None:
        return f"{least}; above that undecided"
    return f"{least}, less than {above}; undecided between them"
