"""Windows as they were asked for, granted and used, and what the trials of each cell cost at both ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.report.answer_table import Row, format_figure
from pathlab.report.blocks import Block, TableBlock
from pathlab.report.inputs import ReportInputs
from pathlab.report.names import format_granted
from pathlab.report.sections.answer_tables import LONG_ROWS, build_table
from pathlab.report.sections.lazy import LazyBlock, LazyFold, lazy_text
from pathlab.report.text import STANDING_FLAGS
from pathlab.study.answer import measure_spread
from pathlab.study.cells import MeasuredCondition
from pathlab.study.selection import Sample
from pathlab.units import NOT_MEASURED, format_bytes, format_ratio, format_window

Fill = Callable[[Sample], str]
NOTE = (
    "All complete trials of a cell, those in no median too. Granted: the least, as the kernels state it; "
    "Linux states twice what it gives. Effective: throughput per stream × mean loaded RTT."
)
BUSY = "busy share, softirq included, median"


def _least(sample: Sample, name: str) -> int | None:
    values = sample.get(name)
    return None if np.isnan(values).all() else int(np.nanmin(values))


def _fill_granted(sample: Sample) -> str:
    ends = (_least(sample, f"window_granted_{end}_bytes") for end in ("sender", "receiver"))
    return format_granted(*ends)


def _fill_flight(sample: Sample) -> str:
    values = sample.get("window_in_flight_max_bytes")
    return NOT_MEASURED if np.isnan(values).all() else format_bytes(float(np.nanmax(values)))


def _fill_median(name: str, spell: Callable[[float | None], str]) -> Fill:
    return lambda sample: spell(measure_spread(sample.get(name)).median)


def _measure_cost(sample: Sample, end: str) -> Floats:
    """CPU seconds of one end per 10^9 bytes received."""
    carried = sample.get("received_total_bytes")
    return np.where(carried > 0, sample.cpu_s[end] / np.where(carried > 0, carried / 1e9, 1), np.nan)


def _fill_cost(end: str) -> Fill:
    return lambda sample: format_figure(measure_spread(_measure_cost(sample, end)).median)


def _fill_flags(sample: Sample) -> str:
    marked: dict[str, int] = {}
    for flags in sample.table.frame["flags"].iloc[sample.places]:
        for flag in flags:
            if flag not in STANDING_FLAGS:
                marked[flag] = marked.get(flag, 0) + 1
    return ", ".join(f"{count} × {flag}" for flag, count in sorted(marked.items())) or NOT_MEASURED


#: Heading, meaning, and how a cell's trials fill the column.
COLUMNS: tuple[tuple[str, str, Fill], ...] = (
    ("n", "complete trials", lambda sample: str(len(sample))),
    ("granted", "sender/receiver where they differ", _fill_granted),
    ("effective", "median over trials", _fill_median("window_effective_bytes", format_bytes)),
    ("in flight", "the most that one stream had unacknowledged", _fill_flight),
    ("retransmits", "segments, median over trials", _fill_median("retransmitted_segments", format_figure)),
    ("Jain", "fairness over streams, median", _fill_median("fairness_jain", format_figure)),
    ("CPU-s/GB sender", "of the engine, median", _fill_cost("sender")),
    ("receiver", "of the engine, median", _fill_cost("receiver")),
    ("busiest core sender", BUSY, _fill_median("sender_busiest_core_ratio", format_ratio)),
    ("receiver", BUSY, _fill_median("receiver_busiest_core_ratio", format_ratio)),
    ("flags", "what is particular about the trials", _fill_flags),
)


def outline_grants(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """One table of all conditions where it stays short, else one for each; shown on demand."""
    title = "Windows asked for, granted and used, and what trials cost"
    if sum(len(condition.levels) for condition in inputs.conditions) <= LONG_ROWS:
        draft = lazy_text(_tell_grants, inputs.conditions, title, "")
        yield LazyFold(title=title, blocks=(draft,))
        return
    for condition in inputs.conditions:
        named = f"{title}: {condition.name}"
        draft = lazy_text(_tell_grants, (condition,), named, f"-{condition.number}")
        yield LazyFold(title=named, blocks=(draft,))


def _tell_grants(conditions: Sequence[MeasuredCondition], title: str, suffix: str) -> Iterator[Block]:
    several = len(conditions) > 1
    rows = [
        (condition.name, *row) if several else row
        for condition in conditions
        for row in _list_rows(condition)
    ]
    labels = ["window", "streams", *(label for label, _, _ in COLUMNS)]
    meanings = ["asked for, per stream", "", *(meaning for _, meaning, _ in COLUMNS)]
    if several:
        labels, meanings = ["path", *labels], ["", *meanings]
    yield TableBlock(
        name=f"windows-granted{suffix}", title=title, table=build_table(labels, rows, meanings), note=NOTE
    )


def _list_rows(condition: MeasuredCondition) -> Iterator[Row]:
    """A row for each cell over all of its complete trials."""
    groups: dict[tuple[int, int | None], list[Sample]] = {}
    for cell in condition.every_cell:
        groups.setdefault((cell.streams, cell.window_bytes), []).append(cell.sample)
    for streams, window in condition.levels:
        samples = groups[streams, window]
        joined = Sample(
            condition=condition.key,
            selection=samples[0].selection,
            table=samples[0].table,
            places=np.sort(np.concatenate([one.places for one in samples])),
        )
        yield (format_window(window), str(streams), *(fill(joined) for _, _, fill in COLUMNS))
