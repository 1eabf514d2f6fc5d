"""Several links for a terminal: every bond against its links, their shares, round trips, reordering."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.printed_table import PrintedTable
from pathlab.report.base.phrases import format_factor, format_interval
from pathlab.report.base.summary import TableGroup, format_more
from pathlab.report.multipath.multipath_remarks import format_hash_test, format_share
from pathlab.report.multipath.multipath_text import list_bond_views
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.multipath.member_shares import MemberShares
from pathlab.study.multipath.multipath import MeasuredBond
from pathlab.table_columns import TableColumn
from pathlab.units import NOT_MEASURED, format_rate, format_ratio

#: Rows of one table.
ROWS_MAX = 40
EXPLANATION = (
    "× best: throughput over the best link alone, efficiency: over the sum of all links alone, in pairs of a "
    "cycle; 95 % CI corrected for all rows (Holm). Shares: of what the sender sent over each link."
)
_COLUMNS = (
    TableColumn("Bond", left=True, wraps=True),
    TableColumn("Combination", left=True, wraps=True, constant="{}"),
    TableColumn("Throughput", priority=1),
    TableColumn("× best"),
    TableColumn("95 % CI", priority=2),
    TableColumn("Verdict", left=True),
    TableColumn("Efficiency", priority=3),
    TableColumn("95 % CI ", priority=5),
    TableColumn("Shares", priority=4, left=True),
    TableColumn("Hash", priority=6, left=True, wraps=True),
    TableColumn("n", priority=7, constant="n = {}"),
)


def build_multipath_table(study: Analyses) -> Iterator[TableGroup]:
    """A table for each path and setting with several links."""
    tables, left = [], 0
    for view in list_bond_views(study):
        shares = {_key(share): share.result for share in study.member_shares()}
        rows: list[list[str]] = []
        for combination in view.combinations:
            answers = [answer for answer in view.answers if view.name_combination(answer) == combination]
            rows += _describe_links(combination, view.find_first(combination).result)
            rows += [_describe_row(combination, item, shares.get(_key(item))) for item in answers]
        title = f"Several links: {view.title}"
        tables.append(PrintedTable(title=title, columns=_COLUMNS, rows=rows[:ROWS_MAX]))
        left += len(rows[ROWS_MAX:])
    if tables:
        more = format_more(left, "row", "multipath")
        yield TableGroup(tables=tables, explanation=EXPLANATION, more=more)


def _key(answer: Answer[MeasuredBond] | Answer[MemberShares]) -> tuple[object, ...]:
    return answer.condition, answer.result.name, answer.streams, answer.window_bytes


def _describe_links(combination: str, bond: MeasuredBond) -> Iterator[list[str]]:
    """The links alone, as measured alongside a bond."""
    for link in bond.links:
        spread = link.throughput_bits_per_s
        row = [f"link-{link.number}", combination, format_rate(spread.median)]
        yield [*row, *[""] * (len(_COLUMNS) - len(row) - 1), str(spread.n)]


def _describe_row(combination: str, answer: Answer[MeasuredBond], shares: MemberShares | None) -> list[str]:
    item, gain = answer.result, answer.result.gain
    members = [] if shares is None else [member.sent.median for member in shares.members]
    ends = ["", ""]
    if gain is not None:
        ends = [
            format_interval(interval, formatter) if interval.decided else NOT_MEASURED
            for interval, formatter in (
                (gain.gain_interval, format_factor),
                (gain.efficiency_interval, format_ratio),
            )
        ]
    return [
        item.name,
        combination,
        format_rate(item.throughput_bits_per_s.median),
        format_factor(None if gain is None else gain.gain),
        ends[0],
        str(item.verdict),
        format_ratio(None if gain is None else gain.efficiency),
        ends[1],
        " / ".join(map(format_share, members)),
        "" if shares is None else format_hash_test(shares),
        str(item.throughput_bits_per_s.n),
    ]
