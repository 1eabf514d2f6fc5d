"""Trials over several links: by the way in which the links are used, alongside each link alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pathlab.analysis.planning.hash_streams import HashFields
from pathlab.campaign.factors import find_default
from pathlab.campaign.multipath_factors import HASHED_ROUTES, KERNEL_BONDS, SINGLE_LINKS, TURNS
from pathlab.store.flags import Flag
from pathlab.study.base.selection import LAB_FLAGS, PROVISIONAL_FLAGS, Rules, Sample, select
from pathlab.study.base.trials import Condition, TrialTable
from pathlab.study.messages.message_rates import MESSAGE_SIZE, read_level
from pathlab.study.messages.message_setups import MESSAGE_RATE

BOND, REORDERING, TRANSPORT = "bond", "tcp_reordering", "transport"
FAILOVER, NO_FAILURE = "failover", "none"
#: What a way to use the links may set besides: no reason to keep it apart from the links alone.
VARIANTS = (TRANSPORT, REORDERING, "mptcp_subflows", "mptcp_scheduler")
NO_BOND, FIRST_LINK, MPTCP = "none", "link-1", "mptcp"
EXISTING = "existing"
#: Why a trial is left out: a stable name.
LINK_FAILED = "link-failed"
#: Packets in turn over the links, whatever takes its turn.
ROUND_ROBIN = frozenset(
    (*TURNS, *(level for level, (mode, _) in KERNEL_BONDS.items() if mode == "balance-rr"))
)
#: What the kernel's bonding hashes, by its policy.
HASH_POLICIES: Mapping[str, HashFields] = {
    **dict.fromkeys(("layer2", "layer2+3", "encap2+3"), HashFields.ADDRESSES),
    **dict.fromkeys(("layer3+4", "encap3+4"), HashFields.PORTS),
}


def find_hash_fields(level: str) -> HashFields | None:
    """What the hash of a level of ``bond`` sees; None for one without a hash, or one that is not known."""
    if level in HASHED_ROUTES:
        return HashFields.PORTS if HASHED_ROUTES[level] else HashFields.ADDRESSES
    policy = KERNEL_BONDS.get(level, ("", None))[1]
    return None if policy is None else HASH_POLICIES.get(policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class BondVariant:
    """A way to use the links: the level of ``bond``, and the levels of ``VARIANTS`` in their order."""

    bond: str
    levels: tuple[Any, ...]

    def get(self, name: str) -> Any:
        """The level of one of ``VARIANTS``."""
        return self.levels[VARIANTS.index(name)]

    @property
    def is_single(self) -> bool:
        """Whether one link alone is used. MPTCP takes all links unless a level names one."""
        return self.bond in SINGLE_LINKS or (self.bond == NO_BOND and self.get(TRANSPORT) != MPTCP)

    @property
    def link(self) -> int | None:
        """The number of that link, from 1."""
        return SINGLE_LINKS[FIRST_LINK if self.bond == NO_BOND else self.bond] if self.is_single else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BondCell:
    """The trials of one way to use the links, with one combination of streams and window.

    ``sample`` are those that count, without a failing link. Where none does they are those whose only flaw is
    that the lab was at its limit, and the cell is ``provisional``: no verdict takes them.
    ``name``: ``round-robin, tcp reordering 127``.
    """

    variant: BondVariant
    sample: Sample
    provisional: bool = False
    name: str = ""

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of its trials with their levels of ``bond`` and ``VARIANTS``."""
        return list(dict.fromkeys(self.sample.table.conditions[index] for index in self.sample.places))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BondGroup:
    """What is compared with each other: one path, all other settings, streams and window in common.

    ``cells``: links alone first, in their order, then bonds in the order of the factor's levels.
    """

    condition: Condition
    streams: int
    window_bytes: int | None
    sample: Sample
    cells: tuple[BondCell, ...]

    @property
    def bonds(self) -> tuple[BondCell, ...]:
        """The cells in which more than one link may be used."""
        return tuple(cell for cell in self.cells if not cell.variant.is_single)

    @property
    def message_bytes(self) -> int | None:
        """The size of messages; None for a stream of bytes."""
        result = self.condition.get(MESSAGE_SIZE)
        return None if result is None else int(result)

    @property
    def offered_messages_per_s(self) -> int | None:
        """The rate at which messages are offered; None: as many as can be carried."""
        result = self.condition.get(MESSAGE_RATE)
        return None if result is None else int(result)

    def find_links(self, cell: BondCell) -> tuple[BondCell, ...]:
        """Each link alone, with the settings of a bond where it was measured with them, else the default."""
        result: dict[int, BondCell] = {}
        for item in self.cells:
            number = item.variant.link
            if number is not None and (number not in result or _is_nearer(item, result[number], cell)):
                result[number] = item
        return tuple(result[number] for number in sorted(result))

    def match_cycles(self, cells: Sequence[BondCell], name: str = "throughput_bits_per_s") -> np.ndarray:
        """A figure of each cell by cycle, shape (cells, cycles), NaN where there is no trial."""
        return self.match_values([cell.sample.average_cycles(cell.sample.get(name)) for cell in cells])

    def match_values(self, result: Sequence[Mapping[int, float]]) -> np.ndarray:
        """Values by cycle, shape (cells, cycles of the group)."""
        cycles = np.unique(self.sample.cycles).astype(int)
        return np.array([[item.get(cycle, np.nan) for cycle in cycles] for item in result], dtype=np.float64)


def count_lab_links(environment: Mapping[str, Any], condition: Condition) -> int | None:
    """The lab's links between the two ends of a path; None where they are not known."""
    ends = {condition.path_source, condition.path_destination}
    links = (environment.get("lab") or {}).get("links") or ()
    return sum(set(link.get("between") or ()) == ends for link in links) or None


def list_links(table: TrialTable, condition: Condition) -> set[int]:
    """The numbers of the links of which the results have a trial alone on this path, usable or not."""
    ends = condition.path_source, condition.path_destination
    result = {
        _read_variant(item).link
        for item in dict.fromkeys(table.conditions)
        if (item.path_source, item.path_destination) == ends
    }
    return {number for number in result if number is not None}


def is_multipath(table: TrialTable) -> bool:
    """Whether the plan says for any trial how several links are used."""
    return any(condition.get(BOND) not in (None, NO_BOND) for condition in dict.fromkeys(table.conditions))


def list_bond_groups(table: TrialTable, *, failing: bool = False) -> tuple[BondGroup, ...]:
    """Every group with a way to use several links, in the order of measurement.

    ``failing``: of the trials in which a link failed; otherwise of the others, and those are counted as
    excluded. Messages are what hosts carry, not paths: their host-limited trials are kept.
    """
    if not is_multipath(table):
        return ()
    groups: list[BondGroup] = []
    for messages, flags in ((False, PROVISIONAL_FLAGS), (True, ())):
        rules = Rules(
            flags=(*flags, Flag.BOND_CHANGED),
            as_requested=True,
            needed=(),
            apart=(BOND, *VARIANTS),
            messages=messages,
        )
        for sample in select(table, rules):
            fails = sample.condition.get(FAILOVER) not in (None, NO_FAILURE)
            if sample.condition.is_of_messages == messages and (failing or not fails):
                groups += _split(sample, failing=failing)
    return tuple(groups)


def _split(sample: Sample, *, failing: bool) -> Iterator[BondGroup]:
    failed = ~np.isnan(sample.get("failover_at_ns"))
    kept = sample.take(failed) if failing else sample.exclude(failed, LINK_FAILED)
    for streams, window, part in kept.by_cell():
        variants = [_read_variant(part.table.conditions[index]) for index in part.places]
        cells = [
            _build_cell(variant, part.take([other == variant for other in variants]))
            for variant in sorted(set(variants), key=_order)
        ]
        if any(not cell.variant.is_single for cell in cells):
            yield BondGroup(
                condition=part.condition,
                streams=streams,
                window_bytes=window,
                sample=part,
                cells=_name_cells(cells),
            )


def _build_cell(variant: BondVariant, part: Sample) -> BondCell:
    """The cell of its trials that are not lab-limited; of all of them where every one is."""
    limited = np.any([part.table.flagged(flag)[part.places] for flag in LAB_FLAGS], axis=0)
    if limited.all():
        return BondCell(variant=variant, sample=part, provisional=True)
    for flag in LAB_FLAGS:
        part = part.exclude(part.table.flagged(flag)[part.places], flag)
    return BondCell(variant=variant, sample=part)


def _read_variant(condition: Condition) -> BondVariant:
    return BondVariant(
        bond=str(read_level(condition, BOND)), levels=tuple(read_level(condition, name) for name in VARIANTS)
    )


def _order(variant: BondVariant) -> tuple[Any, ...]:
    levels = [NO_BOND, *SINGLE_LINKS, *TURNS, *KERNEL_BONDS, *HASHED_ROUTES, MPTCP]
    place = levels.index(variant.bond) if variant.bond in levels else len(levels)
    return (
        not variant.is_single,
        place,
        tuple((level is not None, str(level).zfill(4)) for level in variant.levels),
    )


def _name_cells(cells: Sequence[BondCell]) -> tuple[BondCell, ...]:
    """The cells with names: the level of ``bond``, and what else differs among cells of that level."""
    named = []
    for cell in cells:
        same_bond = [item.variant for item in cells if item.variant.bond == cell.variant.bond]
        varying = [name for name in VARIANTS if len({item.get(name) for item in same_bond}) > 1]
        named.append(replace(cell, name=_name_variant(cell.variant, varying)))
    return tuple(named)


def _name_variant(variant: BondVariant, varying: Sequence[str]) -> str:
    texts = [FIRST_LINK if variant.is_single and variant.bond == NO_BOND else variant.bond]
    if variant.bond == NO_BOND and not variant.is_single:
        varying = [TRANSPORT, *(name for name in varying if name != TRANSPORT)]
    for name in varying:
        level = "default" if variant.get(name) is None else variant.get(name)
        texts.append(str(level) if name == TRANSPORT else f"{name.replace('_', ' ')} {level}")
    return ", ".join(texts)


def _is_nearer(bond_cell: BondCell, other: BondCell, bond: BondCell) -> bool:
    """Whether the settings of one link alone are nearer to those of a bond than another's."""

    def rank(cell: BondCell) -> tuple[int, int, bool]:
        levels = [(cell.variant.get(name), bond.variant.get(name), find_default(name)) for name in VARIANTS]
        alike = sum(own == wanted for own, wanted, _ in levels)
        return alike, sum(own == usual for own, _, usual in levels), cell.variant.bond != NO_BOND

    return rank(bond_cell) > rank(other)
