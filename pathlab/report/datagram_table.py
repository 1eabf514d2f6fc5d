"""UDP flows of a campaign as a table for a terminal, one combination a row."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.printed_table import PrintedColumn, PrintedTable
from pathlab.report.datagram_answers import is_search, list_flows
from pathlab.report.datagram_text import LIMITS
from pathlab.report.phrases import format_range
from pathlab.report.rate_text import format_median
from pathlab.report.summary import TableGroup, format_more
from pathlab.report.text import PROVISIONAL, PROVISIONAL_EXPLANATION
from pathlab.study.analyses import Analyses
from pathlab.units import NOT_MEASURED, format_frequency, format_ratio, format_time

COLUMNS = (
    PrintedColumn("Combination", left=True, wraps=True),
    PrintedColumn("n", 2),
    PrintedColumn("Offered", 3),
    PrintedColumn("Sent", 4),
    PrintedColumn("Received"),
    PrintedColumn("Rate", 1),
    PrintedColumn("Loss"),
    PrintedColumn("95 % CI", 2),
    PrintedColumn("By host", 1),
    PrintedColumn("By path", 1),
    PrintedColumn("Reordered", 2),
    PrintedColumn("Jitter", 3),
    PrintedColumn("Limited by", 1, left=True, wraps=True),
)
EXPLANATION = (
    "Packets per second of all streams, medians of n trials; loss pooled over them. By host: what counters "
    "of the receiving host explain; by path: the others."
)
ROWS_MAX = 20


def tabulate_flows(study: Analyses) -> Iterator[TableGroup]:
    """A table for each path, of at most ``ROWS_MAX`` combinations; none without UDP flows, or of a search."""
    flows = () if is_search(study) else list_flows(study)
    tables, left = [], 0
    for path in dict.fromkeys(one.path for one in flows):
        rows = []
        measured = [one for one in flows if one.path == path]
        left += len(measured[ROWS_MAX:])
        for one in measured[:ROWS_MAX]:
            found, packets = one.figures, one.figures.packets
            interval = found.loss.interval_ratio
            bounds = ""
            if interval.low is not None and interval.high is not None:
                bounds = format_range(format_ratio(interval.low), format_ratio(interval.high))
            limit, offered = found.limit.limit, found.offered_packets_per_s
            rows.append(
                (
                    one.name or "the only one",
                    f"{found.received_packets_per_s.n}{PROVISIONAL if found.provisional else ''}",
                    "max" if offered is None else format_frequency(offered),
                    format_frequency(found.sent_packets_per_s.median),
                    format_frequency(found.received_packets_per_s.median),
                    format_median(found.throughput_bits_per_s),
                    format_ratio(found.loss.loss_ratio),
                    bounds,
                    _count(packets.lost_host),
                    _count(packets.lost_path),
                    format_ratio(found.reordered.loss_ratio),
                    format_time(found.jitter_ns.median),
                    "undecided" if limit is None else LIMITS[limit],
                )
            )
        title = f"{path}, UDP"
        tables.append(PrintedTable(title=title, columns=COLUMNS, rows=rows, elsewhere="pathlab analyze"))
    if tables:
        provisional = any(one.figures.provisional for one in flows)
        yield TableGroup(
            tables=tables,
            explanation=f"{EXPLANATION} {PROVISIONAL_EXPLANATION if provisional else ''}".rstrip(),
            more=format_more(left, "row", "datagrams"),
        )


def _count(number: int | None) -> str:
    return NOT_MEASURED if number is None else f"{number:,}"
