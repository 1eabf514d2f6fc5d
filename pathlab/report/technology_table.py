"""Round trips by technology for a terminal: a table for the smallest and the largest size of each path."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.printed_table import PrintedColumn, PrintedTable
from pathlab.report.message_text import name_path
from pathlab.report.technology_text import (
    TechnologySetting,
    choose_first_settings,
    format_overhead,
    list_technology_settings,
)
from pathlab.study.analyses import Analyses
from pathlab.study.technology_overhead import TechnologyOverhead
from pathlab.study.technology_round_trips import TechnologyRoundTrips
from pathlab.units import NOT_MEASURED, format_bytes, format_time

EXPLANATION = (
    "Round trips: of all trials together, one request after the other; × beneath: factor of the median over "
    "the fastest transport beneath, in pairs of a cycle, with 95 % CI; CPU/request: asking/answering end"
)
#: Rows of the tables of one path together.
ROWS_IN_ALL = 24
_COLUMNS = (
    PrintedColumn("Technology", left=True, wraps=True),
    PrintedColumn("Median"),
    PrintedColumn("× beneath", 2, left=True),
    PrintedColumn("p99", 1),
    PrintedColumn("p99.9", 4),
    PrintedColumn("Minimum", 6),
    PrintedColumn("Mean", 3),
    PrintedColumn("Maximum", 5),
    PrintedColumn("CPU/request", 7),
    PrintedColumn("n", 8, constant="n = {}"),
)


def tabulate_technologies(study: Analyses) -> Iterator[PrintedTable]:
    """The table of the smallest size of each path's first setting, and of the largest if both are short."""
    for setting in choose_first_settings(list_technology_settings(study)):
        first, last = setting.sizes[0], setting.sizes[-1]
        rows = sum(len(setting.list_technologies(size)) for size in (first, last))
        for size in dict.fromkeys((first, last if rows <= ROWS_IN_ALL else first)):
            yield _tabulate(setting, size)


def count_tables_left(study: Analyses) -> int:
    """How many combinations of size and setting have no table on the terminal."""
    settings = list_technology_settings(study)
    shown = len(list(tabulate_technologies(study)))
    return sum(len(setting.sizes) for setting in settings) - shown


def _tabulate(setting: TechnologySetting, size_bytes: int) -> PrintedTable:
    overheads = {one.technology: one for one in setting.list_overheads(size_bytes)}
    rows = setting.list_round_trips(size_bytes)
    where = ", ".join(filter(None, (format_bytes(size_bytes), setting.name)))
    return PrintedTable(
        title=f"Round trips by technology: {name_path(setting.condition)}, {where}",
        columns=_COLUMNS,
        rows=[_describe_row(one, overheads.get(one.technology)) for one in rows],
    )


def _describe_row(one: TechnologyRoundTrips, overhead: TechnologyOverhead | None) -> list[str]:
    p99, p99_9 = one.tail.find_quantile(0.99), one.tail.find_quantile(0.999)
    spent = [format_time(end.median) for end in (one.asking_cpu_ns, one.answering_cpu_ns)]
    return [
        one.technology,
        format_time(one.p50[0]),
        "" if overhead is None else f"{format_overhead(overhead.median)} {overhead.beneath}",
        format_time(None if p99 is None else p99.value),
        format_time(None if p99_9 is None else p99_9.value),
        format_time(one.least_ns),
        format_time(one.mean_ns),
        format_time(one.most_ns),
        NOT_MEASURED if set(spent) == {NOT_MEASURED} else "/".join(spent),
        str(one.trials),
    ]
