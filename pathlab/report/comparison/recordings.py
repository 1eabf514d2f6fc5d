"""What recording costs: a sentence for each level, a figure, a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pathlab.report.base.answer_tables import build_answer_table
from pathlab.report.base.blocks import Block, Paragraph, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyPlot, LazySection, lazy_text
from pathlab.report.base.phrases import format_count, join_words
from pathlab.report.base.summary import AnswerText
from pathlab.report.base.topic import Topic
from pathlab.report.comparison.comparison_changes import format_metric
from pathlab.report.comparison.comparison_names import name_cells
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Points, Rule
from pathlab.study.analyses import Analyses
from pathlab.study.base.registry import ANALYSES
from pathlab.study.comparison.levels import LevelComparison
from pathlab.study.comparison.releases import CostVerdict, RecordingCost
from pathlab.units import format_ratio

TITLE = "Cost of recording"


def list_cost_sentences(study: Analyses) -> Iterator[str]:
    """What each level of recording costs; nothing where no level is compared."""
    answers = study.observer_cost()
    for level in dict.fromkeys(answer.result.level for answer in answers):
        yield _describe_cost(level, [answer.result for answer in answers if answer.result.level == level])


def _write_costs(inputs: ReportInputs) -> Iterator[Block]:
    for text in list_cost_sentences(inputs.study):
        yield Paragraph(text=text, lead=True)


def _describe_cost(level: str, costs: Sequence[RecordingCost]) -> str:
    """``Recording 'full' costs 0.4 % to 2.1 % of the rate in 2 of 6 combinations; ...``."""
    groups = {verdict: [cost for cost in costs if cost.verdict is verdict] for verdict in CostVerdict}
    total = format_count(len(costs), "combination")
    clauses = []
    if result := groups[CostVerdict.COSTS]:
        shares = sorted(item.cost_ratio for item in result if item.cost_ratio is not None)
        texts = dict.fromkeys(format_ratio(share) for share in (shares[0], shares[-1]))
        clauses.append(f"costs {' to '.join(texts)} of the rate in {len(result)} of {total}")
    if result := groups[CostVerdict.NOT_SHOWN]:
        most = max(item.interval_ratio.high or 0.0 for item in result)
        where = f"in {len(result)} of {total}"
        clauses.append(f"no cost is shown {where} (95 % CI up to {format_ratio(max(most, 0.0))})")
    if result := groups[CostVerdict.UNDECIDED]:
        reasons = join_words(sorted({str(item.reason) for item in result}))
        clauses.append(f"undecided in {len(result)} of {total} ({reasons})")
    colon = "" if groups[CostVerdict.COSTS] else ":"
    return f"Recording '{level}'{colon} {'; '.join(clauses)}."


def _draw_costs(comparison: LevelComparison) -> Drawing:
    """The cost of each level in each combination, in percent of the rate without recording."""
    names, layers = name_cells(comparison.found.rows), list[Layer]()
    cells = list(dict.fromkeys(row.cell for row in comparison.found.rows))
    heights = {cell: float(len(cells) - index) for index, cell in enumerate(cells)}
    labels = comparison.found.labels[1:]
    for slot, label in enumerate(labels):
        rows = [row for row in comparison.found.rows if row.label == label and row.estimate is not None]
        up = np.array([heights[row.cell] - 0.2 * slot for row in rows])
        ends = [
            [np.nan if end is None else 100 * (1 - end) for end in (row.interval.high, row.interval.low)]
            for row in rows
        ]
        along = np.array([[*pair, np.nan] for pair in ends], dtype=np.float64).ravel()
        layers.append(
            Curve(
                name=f"{label}, interval",
                x=along,
                y=np.repeat(up, 3),
                slot=slot,
                markers=False,
                legend=False,
                solid=True,
            )
        )
        costs = np.array([100 * (1 - (row.estimate or 1.0)) for row in rows])
        hover = tuple(
            f"{names.format(row.cell)}: {format_metric(row.after_median, row.metric)}" for row in rows
        )
        layers.append(Points(name=label, x=costs, y=up, slot=slot, hover=hover))
    ticks = tuple(heights[cell] for cell in cells)
    axis = Axis(
        label="Combination", ticks=ticks, tick_labels=tuple(names.format(cell) for cell in cells), rows=True
    )
    panel = Panel(
        x=Axis(label="Cost", unit="% of the rate without recording"),
        y=axis,
        layers=(Rule(name="no cost", value=0.0, vertical=True), *layers),
    )
    return Drawing(sentences=("Points: costs; lines: confidence intervals.",), panels=(panel,))


def _build_recordings_table(inputs: ReportInputs, comparison: LevelComparison) -> Iterator[Block]:
    """Every combination and level: the rates and the cost."""
    entry, rows = ANALYSES["observer_cost"], comparison.found.rows
    names = name_cells(rows)
    yield build_answer_table(
        "observer-cost",
        ", ".join([entry.title, *names.shared]),
        "observer_cost",
        inputs.answers("observer_cost"),
        label=entry.columns[0].heading,
        labels=[names.format(row.cell) for row in rows],
        replaces=entry.columns[0].heading,
        note="Cost: 1 less the median ratio of the rates, level to 'off', over pairs of trials of one cycle.",
    )


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    recordings = inputs.study.compare_recordings()
    if recordings is None or not recordings.found.rows:
        return
    yield lazy_text(_write_costs, inputs)
    yield LazyPlot(
        name="observer-cost",
        title=TITLE,
        condition=", ".join(name_cells(recordings.found.rows).shared),
        draw=partial(_draw_costs, recordings),
    )
    yield lazy_text(_build_recordings_table, inputs, recordings)


def _find_gap(inputs: ReportInputs) -> str | None:
    recordings = inputs.study.compare_recordings()
    return (
        None
        if recordings is not None and recordings.found.rows
        else "it needs trials with recording off, and others"
    )


SECTION = LazySection(
    key="observer-cost",
    title=TITLE,
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.COST,
    factors=("recording",),
    of_messages=True,
    choose_setting=lambda _: 'factors.recording=["off","default","full"]',
)
TOPIC = Topic(
    key="recordings",
    describe=lambda study: map(AnswerText, list_cost_sentences(study)),
    sections=(SECTION,),
)
