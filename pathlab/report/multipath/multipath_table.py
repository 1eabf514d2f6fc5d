"""Several links for a terminal: every bond against its links, their shares, round trips, reordering."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pathlab.analysis.verdicts.bond_gain import BondGain
from pathlab.printed_table import PrintedTable
from pathlab.quantities import Format
from pathlab.report.base.phrases import format_factor, format_interval
from pathlab.report.base.summary import TableGroup, format_more
from pathlab.report.multipath.multipath_remarks import format_hash_test, format_share
from pathlab.report.multipath.multipath_text import list_bond_views
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer, Spread
from pathlab.study.multipath.member_shares import MemberShares
from pathlab.study.multipath.multipath import MeasuredBond
from pathlab.table_columns import ItemColumn, list_rows
from pathlab.units import NOT_MEASURED, format_rate, format_ratio

#: Rows of one table.
ROWS_MAX = 40
EXPLANATION = (
    "× best: throughput over the best link alone, efficiency: over the sum of all links alone, in pairs of a "
    "cycle; 95 % CI corrected for all rows (Holm). Shares: of what the sender sent over each link."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LinkRow:
    """A link alone, or a bond; ``bond`` None: a link. ``shares``: of the members of a bond."""

    name: str
    combination: str
    throughput: Spread
    bond: MeasuredBond | None = None
    shares: MemberShares | None = None

    @property
    def gain(self) -> BondGain | None:
        return None if self.bond is None else self.bond.gain

    def format_gain(self, name: str, formatter: Format) -> str:
        """A figure of the gain; empty for a link."""
        return "" if self.bond is None else formatter(None if self.gain is None else getattr(self.gain, name))

    def format_ends(self, name: str, formatter: Format) -> str:
        """An interval of the gain; empty where there is none."""
        interval = None if self.gain is None else getattr(self.gain, name)
        if interval is None:
            return ""
        return format_interval(interval, formatter) if interval.decided else NOT_MEASURED

    @property
    def sent(self) -> str:
        members = () if self.shares is None else self.shares.members
        return " / ".join(format_share(member.sent.median) for member in members)


_COLUMNS: tuple[ItemColumn[_LinkRow], ...] = (
    ItemColumn("Bond", left=True, wraps=True, read=lambda row: row.name),
    ItemColumn("Combination", left=True, wraps=True, constant="{}", read=lambda row: row.combination),
    ItemColumn("Throughput", priority=1, read=lambda row: format_rate(row.throughput.median)),
    ItemColumn("× best", read=lambda row: row.format_gain("gain", format_factor)),
    ItemColumn("95 % CI", priority=2, read=lambda row: row.format_ends("gain_interval", format_factor)),
    ItemColumn("Verdict", left=True, read=lambda row: "" if row.bond is None else str(row.bond.verdict)),
    ItemColumn("Efficiency", priority=3, read=lambda row: row.format_gain("efficiency", format_ratio)),
    ItemColumn("95 % CI ", priority=5, read=lambda row: row.format_ends("efficiency_interval", format_ratio)),
    ItemColumn("Shares", priority=4, left=True, read=lambda row: row.sent),
    ItemColumn(
        "Hash",
        priority=6,
        left=True,
        wraps=True,
        read=lambda row: "" if row.shares is None else format_hash_test(row.shares),
    ),
    ItemColumn("n", priority=7, constant="n = {}", read=lambda row: str(row.throughput.n)),
)


def build_multipath_table(study: Analyses) -> Iterator[TableGroup]:
    """A table for each path and setting with several links."""
    tables, left = [], 0
    for view in list_bond_views(study):
        shares = {_key(share): share.result for share in study.member_shares()}
        rows: list[_LinkRow] = []
        for combination in view.combinations:
            answers = [answer for answer in view.answers if view.name_combination(answer) == combination]
            rows += _list_links(combination, view.find_first(combination).result)
            rows += [_build_bond_row(combination, item.result, shares.get(_key(item))) for item in answers]
        title = f"Several links: {view.title}"
        tables.append(PrintedTable(title=title, columns=_COLUMNS, rows=list_rows(_COLUMNS, rows[:ROWS_MAX])))
        left += len(rows[ROWS_MAX:])
    if tables:
        more = format_more(left, "row", "multipath")
        yield TableGroup(tables=tables, explanation=EXPLANATION, more=more)


def _key(answer: Answer[MeasuredBond] | Answer[MemberShares]) -> tuple[object, ...]:
    return answer.condition, answer.result.name, answer.streams, answer.window_bytes


def _list_links(combination: str, bond: MeasuredBond) -> Iterator[_LinkRow]:
    """The links alone, as measured alongside a bond."""
    for link in bond.links:
        name = f"link-{link.number}"
        yield _LinkRow(name=name, combination=combination, throughput=link.throughput_bits_per_s)


def _build_bond_row(combination: str, bond: MeasuredBond, shares: MemberShares | None) -> _LinkRow:
    return _LinkRow(
        name=bond.name,
        combination=combination,
        throughput=bond.throughput_bits_per_s,
        bond=bond,
        shares=shares,
    )
