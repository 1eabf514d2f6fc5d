"""UDP flows of a campaign as a table for a terminal, one combination a row."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.printed_table import PrintedTable
from pathlab.report.base.phrases import format_range
from pathlab.report.base.rate_text import format_median
from pathlab.report.base.summary import TableGroup, format_more
from pathlab.report.base.trial_flags import PROVISIONAL, PROVISIONAL_EXPLANATION
from pathlab.report.datagrams.datagram_answers import NamedFlow, is_search, list_flows
from pathlab.report.datagrams.datagram_text import LIMITS
from pathlab.study.analyses import Analyses
from pathlab.table_columns import ItemColumn, list_rows
from pathlab.units import NOT_MEASURED, format_frequency, format_ratio, format_time

EXPLANATION = (
    "Packets per second of all streams, medians of n trials; loss pooled over them. By host: what counters "
    "of the receiving host explain; by path: the others."
)
ROWS_MAX = 20


def _format_loss_interval(flow: NamedFlow) -> str:
    low, high = flow.figures.loss.interval_ratio.low, flow.figures.loss.interval_ratio.high
    return "" if low is None or high is None else format_range(format_ratio(low), format_ratio(high))


def _format_offered(flow: NamedFlow) -> str:
    offered = flow.figures.offered_packets_per_s
    return "max" if offered is None else format_frequency(offered)


def _count(number: int | None) -> str:
    return NOT_MEASURED if number is None else f"{number:,}"


def _name_limit(flow: NamedFlow) -> str:
    limit = flow.figures.limit.limit
    return "undecided" if limit is None else LIMITS[limit]


def _count_trials(flow: NamedFlow) -> str:
    return f"{flow.figures.received_packets_per_s.n}{PROVISIONAL if flow.figures.provisional else ''}"


COLUMNS: tuple[ItemColumn[NamedFlow], ...] = (
    ItemColumn("Combination", left=True, wraps=True, read=lambda flow: flow.name or "the only one"),
    ItemColumn("n", priority=2, read=_count_trials),
    ItemColumn("Offered", priority=3, read=_format_offered),
    ItemColumn(
        "Sent", priority=4, read=lambda flow: format_frequency(flow.figures.sent_packets_per_s.median)
    ),
    ItemColumn("Received", read=lambda flow: format_frequency(flow.figures.received_packets_per_s.median)),
    ItemColumn("Rate", priority=1, read=lambda flow: format_median(flow.figures.throughput_bits_per_s)),
    ItemColumn("Loss", read=lambda flow: format_ratio(flow.figures.loss.loss_ratio)),
    ItemColumn("95 % CI", priority=2, read=_format_loss_interval),
    ItemColumn("By host", priority=1, read=lambda flow: _count(flow.figures.packets.lost_host)),
    ItemColumn("By path", priority=1, read=lambda flow: _count(flow.figures.packets.lost_path)),
    ItemColumn("Reordered", priority=2, read=lambda flow: format_ratio(flow.figures.reordered.loss_ratio)),
    ItemColumn("Jitter", priority=3, read=lambda flow: format_time(flow.figures.jitter_ns.median)),
    ItemColumn("Limited by", priority=1, left=True, wraps=True, read=_name_limit),
)


def build_flows_table(study: Analyses) -> Iterator[TableGroup]:
    """A table for each path, of at most ``ROWS_MAX`` combinations; none without UDP flows, or of a search."""
    flows = () if is_search(study) else list_flows(study)
    tables, left = [], 0
    for path in dict.fromkeys(flow.path for flow in flows):
        measured = [flow for flow in flows if flow.path == path]
        left += len(measured[ROWS_MAX:])
        rows = list_rows(COLUMNS, measured[:ROWS_MAX])
        title = f"{path}, UDP"
        tables.append(PrintedTable(title=title, columns=COLUMNS, rows=rows, elsewhere="pathlab analyze"))
    if tables:
        provisional = any(flow.figures.provisional for flow in flows)
        yield TableGroup(
            tables=tables,
            explanation=f"{EXPLANATION} {PROVISIONAL_EXPLANATION if provisional else ''}".rstrip(),
            more=format_more(left, "row", "datagrams"),
        )
