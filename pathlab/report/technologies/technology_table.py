"""Round trips by technology for a terminal: a table for the smallest and the largest size of each path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pathlab.printed_table import PrintedTable
from pathlab.report.base.summary import TableGroup, format_more
from pathlab.report.messages.message_text import name_path
from pathlab.report.technologies.technology_text import (
    TechnologySetting,
    choose_first_settings,
    format_overhead,
    list_technology_settings,
)
from pathlab.study.analyses import Analyses
from pathlab.study.technologies.technology_overhead import TechnologyOverhead
from pathlab.study.technologies.technology_round_trips import TechnologyRoundTrips
from pathlab.table_columns import ItemColumn, list_rows
from pathlab.units import NOT_MEASURED, format_bytes, format_time

EXPLANATION = (
    "Median: of the trials' medians, one request after the other; × beneath: factor of the median over the "
    "transport beneath, in pairs of a cycle, with 95 % CI"
)
#: What of a technology's additions and omissions is named below the tables, with the word before it.
NAMED = {"adds": ("broker", "encryption"), "lacks": ("durability", "persistence")}
_BEFORE = {"adds": "", "lacks": "no "}
#: Rows of the tables of one path together.
ROWS_IN_ALL = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class _TechnologyRow:
    """Round trips of a technology, and what they cost over the transport beneath, if that was measured."""

    found: TechnologyRoundTrips
    overhead: TechnologyOverhead | None

    def find_quantile(self, ratio: float) -> float | None:
        quantile = self.found.tail.find_quantile(ratio)
        return None if quantile is None else quantile.value

    @property
    def factor(self) -> str:
        overhead = self.overhead
        return "" if overhead is None else f"{format_overhead(overhead.median)} {overhead.beneath}"

    @property
    def cpu(self) -> str:
        spent = [format_time(end.median) for end in (self.found.asking_cpu_ns, self.found.answering_cpu_ns)]
        return NOT_MEASURED if set(spent) == {NOT_MEASURED} else "/".join(spent)


_COLUMNS: tuple[ItemColumn[_TechnologyRow], ...] = (
    ItemColumn("Technology", left=True, wraps=True, read=lambda row: row.found.technology),
    ItemColumn("Median", read=lambda row: format_time(row.found.median_ns.median)),
    ItemColumn("× beneath", left=True, wraps=True, read=lambda row: row.factor),
    ItemColumn("p99", priority=3, read=lambda row: format_time(row.find_quantile(0.99))),
    ItemColumn("p99.9", priority=5, read=lambda row: format_time(row.find_quantile(0.999))),
    ItemColumn("Minimum", priority=1, read=lambda row: format_time(row.found.least_ns)),
    ItemColumn("Mean", priority=4, read=lambda row: format_time(row.found.mean_ns)),
    ItemColumn("Maximum", priority=2, read=lambda row: format_time(row.found.most_ns)),
    ItemColumn("CPU asking/answering", priority=6, read=lambda row: row.cpu),
    ItemColumn("n", priority=7, constant="n = {}", read=lambda row: str(row.found.trials)),
)


def build_technologies_table(study: Analyses) -> Iterator[TableGroup]:
    """The table of the smallest size of each path's first setting, and of the largest if both are short."""
    settings = list_technology_settings(study)
    tables: list[PrintedTable] = []
    for setting in choose_first_settings(settings):
        first, last = setting.sizes[0], setting.sizes[-1]
        rows = sum(len(setting.list_technologies(size)) for size in (first, last))
        shown = dict.fromkeys((first, last if rows <= ROWS_IN_ALL else first))
        tables += [_build_table(setting, size) for size in shown]
    if tables:
        left = sum(len(setting.sizes) for setting in settings) - len(tables)
        more = format_more(left, "table", "technologies")
        yield TableGroup(tables=tables, explanation=explain_technologies(study), more=more)


def explain_technologies(study: Analyses) -> str:
    """What the columns mean, and which technologies encrypt, have a broker or do not keep what they carry."""
    result: dict[str, dict[str, None]] = {}
    for answer in study.technologies():
        item = answer.result
        for key, words in NAMED.items():
            for text in getattr(item, key):
                if any(word in text for word in words):
                    result.setdefault(_BEFORE[key] + text.partition(":")[0], {})[item.technology] = None
    notes = [f"{text}: {', '.join(names)}" for text, names in result.items()]
    return f"{EXPLANATION}.{' In addition: ' * bool(notes)}{'; '.join(notes)}{'.' * bool(notes)}"


def _build_table(setting: TechnologySetting, size_bytes: int) -> PrintedTable:
    overheads = {overhead.technology: overhead for overhead in setting.list_overheads(size_bytes)}
    rows = [
        _TechnologyRow(found=round_trip, overhead=overheads.get(round_trip.technology))
        for round_trip in setting.list_round_trips(size_bytes)
    ]
    where = ", ".join(filter(None, (format_bytes(size_bytes), setting.name)))
    return PrintedTable(
        title=f"Round trips by technology: {name_path(setting.condition)}, {where}",
        columns=_COLUMNS,
        rows=list_rows(_COLUMNS, rows),
    )
