"""What each member link of a bond carried, against a good hash, and the streams that a hash needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.occupancy import MAXIMUM_MEMBERS
from pathlab.analysis.planning.hash_streams import HashFields, HashStreams, plan_hash_streams, use_chance
from pathlab.analysis.verdicts.hash_shares import (
    HashTest,
    correct_hash_tests,
    evaluate_counts,
    evaluate_used,
)
from pathlab.store.records import HostRecord
from pathlab.study.base.answer import Answer, Spread, measure_spread
from pathlab.study.base.selection import choose_evenly
from pathlab.study.base.trials import StudySource, TrialTable
from pathlab.study.multipath.bond_cells import (
    EXISTING,
    HASH_POLICIES,
    BondCell,
    BondGroup,
    find_hash_fields,
    list_bond_groups,
)
from pathlab.study.multipath.multipath import make_bond_answer, measure_links

MEMBERS = "members"
COLUMNS = (
    *("end", "member", "link", "tx_bytes", "rx_bytes", "rate_bits_per_s", "gso_max_segments", "gro"),
    "state",
)
#: Trials of a cell whose series are read.
TRIALS_PER_CELL = 200
#: A member with less of all bytes has no stream: probes, acknowledgements and control frames remain.
IDLE_RATIO = 0.01
#: Jain's index from which on the streams of a trial are equal, so that bytes show how many a member has.
EQUAL_JAIN = 0.99
#: How far the streams of a member may be from a whole number then.
WHOLE_STREAMS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberShare:
    """One member link: its shares of all bytes, headers included, over trials.

    ``sent`` is that of what the sender of data sent, ``received`` of what the other end received,
    ``acknowledged`` of what that end sent back. ``name``: ``link-1`` in a lab, else the sender's interface.
    """

    name: str
    rate_bits_per_s: float | None
    sent: Spread
    received: Spread
    acknowledged: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberShares:
    """The members of one way to use several links.

    ``fields``: what its hash sees, None where packets are not spread by a known hash; ``test`` of it then,
    None of more than 12 members, whose sets are too many.
    ``counted``: the test is of streams, which were equal; else of members with and without a stream.
    ``idle_trials``: trials in which a member had no stream. ``super_packets``: whether the stack handed over
    several packets as one; ``gro``: whether the receiver joined packets. Both None where not known.
    """

    name: str
    bond: str
    streams: int
    message_bytes: int | None
    trials: int
    members: tuple[MemberShare, ...]
    fields: HashFields | None
    idle_trials: int
    test: HashTest | None
    counted: bool = False
    super_packets: bool | None = None
    gro: bool | None = None

    @property
    def largest_sent_ratio(self) -> float | None:
        """The largest median share of a member."""
        return max(
            (member.sent.median for member in self.members if member.sent.median is not None), default=None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsNeeded:
    """The streams between one pair of hosts that use 90 % of all links with 95 % confidence.

    ``chance_ratio`` is the chance of that with the ``streams`` of the combination. ``capacities_bits_per_s``:
    each link alone as measured, else as set where not every link was measured.
    """

    name: str
    bond: str
    streams: int
    fields: HashFields
    capacities_bits_per_s: tuple[float, ...]
    plan: HashStreams
    chance_ratio: float | None


@dataclass(frozen=True, slots=True)
class TrialMembers:
    """The members of one trial: figures of both ends by column, NaN where not known; of equal order."""

    names: tuple[str, ...]
    sender: Mapping[str, Floats]
    receiver: Mapping[str, Floats]

    def share(self, end: Mapping[str, Floats], column: str) -> Floats:
        """Each member's share of a column at one end; NaN where nothing was counted."""
        total = float(np.nansum(end[column]))
        return end[column] / total if total > 0 else np.full(len(self.names), np.nan)


def measure_member_shares(
    source: StudySource, table: TrialTable, rng: np.random.Generator
) -> tuple[Answer[MemberShares], ...]:
    """The members of every way to use several links, as far as both ends counted them.

    Reads the series of at most 200 trials of each. The tests of all hashes are corrected together (Holm).
    """
    hosts = source.hosts()
    result = [
        (group, cell, _measure_cell(cell, group, members, hosts, rng))
        for group in list_bond_groups(table)
        for cell in group.bonds
        if (members := _read_cell(source, cell))
    ]
    tested = [item.test for _, _, item in result if item.test is not None]
    corrected = iter(correct_hash_tests(tested))
    return tuple(
        make_bond_answer(group, cell, item if item.test is None else replace(item, test=next(corrected)))
        for group, cell, item in result
    )


def plan_streams(
    source: StudySource, table: TrialTable, shares: Sequence[Answer[MemberShares]]
) -> tuple[Answer[StreamsNeeded], ...]:
    """The streams that every hash needs, of 2 to 12 links whose rates are known."""
    hosts = source.hosts()
    members = {
        (share.condition, share.result.name, share.streams, share.window_bytes): share.result.members
        for share in shares
    }
    return tuple(
        make_bond_answer(group, cell, needed)
        for group in list_bond_groups(table)
        if group.message_bytes is None
        for cell in group.bonds
        for counted in [members.get((group.condition, cell.name, group.streams, group.window_bytes), ())]
        if (needed := _plan_cell(group, cell, _find_fields(cell, hosts), counted)) is not None
    )


def _list_capacities(group: BondGroup, cell: BondCell, members: Sequence[MemberShare]) -> list[float | None]:
    """What every link alone carried; where not each was measured, what it was set to."""
    rates = [link.throughput_bits_per_s.median for link in measure_links(group, cell)]
    return rates if len(rates) >= max(2, len(members)) else [member.rate_bits_per_s for member in members]


def _plan_cell(
    group: BondGroup,
    cell: BondCell,
    fields: HashFields | None,
    members: Sequence[MemberShare],
) -> StreamsNeeded | None:
    rates = _list_capacities(group, cell, members)
    known = [rate for rate in rates if rate]
    if fields is None or not 2 <= len(known) <= MAXIMUM_MEMBERS or len(known) < len(rates):
        return None
    by_ports = fields is HashFields.PORTS
    return StreamsNeeded(
        name=cell.name,
        bond=cell.variant.bond,
        streams=group.streams,
        fields=fields,
        capacities_bits_per_s=tuple(known),
        plan=plan_hash_streams(known, fields),
        chance_ratio=use_chance(known, group.streams) if by_ports else None,
    )


def _find_fields(cell: BondCell, hosts: Sequence[HostRecord]) -> HashFields | None:
    """What the hash sees: by the level, of an existing bond by the policy that its host states."""
    if cell.variant.bond != EXISTING:
        return find_hash_fields(cell.variant.bond)
    ends = {str(text) for text in cell.sample.read_texts("source_address")}
    for host in hosts:
        for bond in (host.facts.get("bonds") or {}).values():
            if bond.get("address") in ends and bond.get("mode") in ("balance-xor", "802.3ad"):
                return HASH_POLICIES.get(str(bond.get("hash_policy")))
    return None


def _read_cell(source: StudySource, cell: BondCell) -> list[tuple[int, TrialMembers]]:
    """The members of each trial with its place in the cell; of trials with the same members as the first."""
    indices = choose_evenly(range(len(cell.sample)), TRIALS_PER_CELL)
    numbers = cell.sample.get("trial_id")
    result = [(index, read_trial_members(source, int(numbers[index]))) for index in indices]
    known = [(index, members) for index, members in result if members is not None]
    return [item for item in known if item[1].names == known[0][1].names]


def read_trial_members(source: StudySource, trial_id: int) -> TrialMembers | None:
    """The members of one trial; None where the ends did not count the same number of them."""
    table = source.series_tables(trial_id, {MEMBERS: COLUMNS}).get(MEMBERS)
    rows: list[dict[str, Any]] = [] if table is None else pa.Table.to_pylist(table)
    ends = {
        end: sorted((row for row in rows if row["end"] == end), key=_order_member)
        for end in ("sender", "receiver")
    }
    if len(ends["sender"]) < 2 or len(ends["sender"]) != len(ends["receiver"]):
        return None
    names = tuple(_name_member(row) for row in ends["sender"])
    sender, receiver = (
        {
            column: np.array([_read_number(row.get(column)) for row in ends[end]], dtype=np.float64)
            for column in COLUMNS
            if column not in ("end", "member", "state")
        }
        for end in ("sender", "receiver")
    )
    return TrialMembers(names, sender, receiver)


def _order_member(row: Mapping[str, Any]) -> tuple[float, str]:
    link = row.get("link")
    return np.inf if link is None or link != link else float(link), str(row["member"])


def _name_member(row: Mapping[str, Any]) -> str:
    link = row.get("link")
    return str(row["member"]) if link is None or link != link else f"link-{int(link) + 1}"


def _read_number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _measure_cell(
    cell: BondCell,
    group: BondGroup,
    result: Sequence[tuple[int, TrialMembers]],
    hosts: Sequence[HostRecord],
    rng: np.random.Generator,
) -> MemberShares:
    first = result[0][1]
    sent = np.array([item.share(item.sender, "tx_bytes") for _, item in result])
    received = np.array([item.share(item.receiver, "rx_bytes") for _, item in result])
    acknowledged = np.array([item.share(item.receiver, "tx_bytes") for _, item in result])
    rates = first.sender["rate_bits_per_s"]
    fields = _find_fields(cell, hosts)
    known = ~np.isnan(sent).any(axis=1)
    test, counted = None, False
    if fields is not None and known.any() and len(first.names) <= MAXIMUM_MEMBERS:
        jain = cell.sample.get("fairness_jain")[[index for index, _ in result]]
        test, counted = _test_hash(sent[known], jain[known], group.streams, rng)
    return MemberShares(
        name=cell.name,
        bond=cell.variant.bond,
        streams=group.streams,
        message_bytes=group.message_bytes,
        trials=len(result),
        members=tuple(
            MemberShare(
                name=name,
                rate_bits_per_s=None if np.isnan(rates[index]) else float(rates[index]),
                sent=measure_spread(sent[:, index]),
                received=measure_spread(received[:, index]),
                acknowledged=measure_spread(acknowledged[:, index]),
            )
            for index, name in enumerate(first.names)
        ),
        fields=fields,
        idle_trials=int((sent[known] < IDLE_RATIO).any(axis=1).sum()),
        test=test,
        counted=counted,
        super_packets=_ask(result, "sender", "gso_max_segments", lambda most: most > 1),
        gro=_ask(result, "receiver", "gro", lambda most: most > 0),
    )


def _ask(result: Sequence[tuple[int, TrialMembers]], end: str, column: str, test: Any) -> bool | None:
    """What the largest value of a column at one end says; None where it was not stored."""
    values = np.concatenate([getattr(item, end)[column] for _, item in result])
    return None if np.isnan(values).all() else bool(test(np.nanmax(values)))


def _test_hash(sent: Floats, jain: Floats, streams: int, rng: np.random.Generator) -> tuple[HashTest, bool]:
    """The test by streams of each member where bytes show them, else by members in use.

    Streams that fill a link share it, in whatever number they are; streams of equal rates do not.
    """
    counts = streams * sent
    whole = np.abs(counts - counts.round()).max() <= WHOLE_STREAMS
    equal = streams == 1 or bool((np.nan_to_num(jain) >= EQUAL_JAIN).all())
    if whole and equal and (counts.round().sum(axis=1) == streams).all():
        return evaluate_counts(counts.round().astype(np.int64), rng=rng), True
    return evaluate_used(sent >= IDLE_RATIO, [streams] * len(sent)), False


def list_members(answers: Sequence[Answer[MemberShares]]) -> Iterator[tuple[MemberShares, MemberShare]]:
    """Every member with the bond that it is of."""
    for answer in answers:
        for member in answer.result.members:
            yield answer.result, member


def count_most_trials(shares: Sequence[MemberShares]) -> int:
    """Trials of the row that has most."""
    return max((share.trials for share in shares), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceCurve:
    """The chance that links of these capacities are used, by streams; arrays of one length.

    ``used``: numbers of streams of the campaign, with the chance of each.
    """

    capacities_bits_per_s: tuple[float, ...]
    streams: Floats
    chance_ratios: Floats
    used: tuple[int, ...]
    used_chance_ratios: Floats


def compute_chance_curves(rows: Sequence[StreamsNeeded]) -> tuple[ChanceCurve, ...]:
    """A curve for each set of capacities, alike to a tenth of the largest, to twice the streams needed."""
    by_capacity: dict[tuple[float, ...], list[StreamsNeeded]] = {}
    for row in rows:
        largest = max(row.capacities_bits_per_s)
        sizes = tuple(round(rate / largest, 1) for rate in row.capacities_bits_per_s)
        by_capacity.setdefault(sizes, []).append(row)
    return tuple(_compute_chances(result) for result in by_capacity.values())


def _compute_chances(neededs: Sequence[StreamsNeeded]) -> ChanceCurve:
    capacities = neededs[0].capacities_bits_per_s
    most = 2 * max(neededs[0].plan.streams or 1, *(item.streams for item in neededs))
    streams = np.arange(1, most + 1)
    used = tuple(sorted({item.streams for item in neededs}))
    return ChanceCurve(
        capacities_bits_per_s=capacities,
        streams=streams.astype(np.float64),
        chance_ratios=np.array([use_chance(capacities, int(count)) for count in streams]),
        used=used,
        used_chance_ratios=np.array([use_chance(capacities, count) for count in used]),
    )
