"""How sure: warm-up, steadiness, serial correlation, drift, levels, outliers, precision, cycles needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.planning.stopping import StopReason
from pathlab.analysis.verdicts.drift import Drift, DriftVerdict
from pathlab.report.base.answer_table import format_cells
from pathlab.report.base.answer_tables import LONG_ROWS, list_answer_tables, write_paragraph
from pathlab.report.base.blocks import Block, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyBlock, LazySection, lazy_text
from pathlab.report.base.names import enumerate_cells
from pathlab.report.base.phrases import format_ci, format_count, format_figure, format_reason
from pathlab.report.base.rate_findings import describe_rate_levels
from pathlab.report.base.rate_text import describe_cell_steadiness
from pathlab.report.base.shortfalls import find_shortfall
from pathlab.report.flows.recommendation_text import DRIFT_WORDS
from pathlab.study.base.answer import Answer
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.flows.order import find_strongest_correlation
from pathlab.study.flows.throughput import find_cycle_range
from pathlab.units import format_ratio

Answers = Sequence[Answer[Any]]


def _name_cells(answers: Answers) -> str:
    """The cells of the answers in short, or their number where they are many."""
    cells = [(answer.streams, answer.window_bytes) for answer in answers if answer.streams is not None]
    return enumerate_cells(cells) if len(cells) <= LONG_ROWS // 2 else f"{len(cells)} combinations"


def _describe_precision(answers: Answers) -> Iterator[str]:
    for answer in answers:
        result = answer.result
        widest = result.cells[0] if result.cells else None
        if not result.cells:
            yield "No combination has a usable trial."
        elif result.reason is StopReason.PRECISE:
            yield "Every median is known within ±5 %."
        elif widest is None or widest.half_width_ratio is None:
            cells = [cell for cell in result.cells if cell.half_width_ratio is None]
            has = "has" if len(cells) == 1 else "have"
            spent = format_count(result.cycles, "cycle")
            yield f"{format_count(len(cells), 'combination')} {has} no confidence interval yet ({spent})."
        else:
            reached = sum(cell.reached for cell in result.cells)
            yield (
                f"{reached} of {format_count(len(result.cells), 'median')} known within ±5 %; "
                f"the widest, {format_cells(widest.name)}, within ±{format_ratio(widest.half_width_ratio)}."
            )


def _describe_drift(answers: Answers) -> Iterator[str]:
    for answer in answers:
        drift: Drift = answer.result
        if drift.change.change_ratio is None:
            reason = format_reason(drift.undecided or drift.change.undecided)
            yield f"{DRIFT_WORDS[DriftVerdict.UNDECIDED]} ({reason})."
        else:
            interval = format_ci(drift.change.interval_ratio, format_ratio)
            yield (
                f"{DRIFT_WORDS[drift.verdict]}: throughput changed by "
                f"{format_ratio(drift.change.change_ratio)} ({interval})."
            )


def _describe_warm_up(answers: Answers) -> Iterator[str]:
    short = [answer for answer in answers if answer.result.sufficient is False]
    open_ones = [answer for answer in answers if answer.result.sufficient is None]
    if short:
        yield f"The warm-up was too short with {_name_cells(short)}."
    if len(answers) > len(short) + len(open_ones):
        enough = len(answers) - len(short) - len(open_ones)
        yield f"The warm-up was long enough in {format_count(enough, 'combination')}."
    if open_ones:
        reasons = dict.fromkeys(format_reason(open_one.result.undecided) for open_one in open_ones)
        cells = format_count(len(open_ones), "combination")
        yield f"Warm-up undecided in {cells} ({', '.join(reasons)})."


def _describe_serial(answers: Answers) -> Iterator[str]:
    strongest = find_strongest_correlation(answers)
    if strongest is None:
        if answers:
            reasons = dict.fromkeys(format_reason(answer.result.size.undecided) for answer in answers)
            yield f"Serial correlation of cycles: undecided ({', '.join(reasons)})."
        return
    size = strongest.result.size
    yield (
        f"Serial correlation is strongest with {_name_cells([strongest])}: effective sample size "
        f"{format_figure(size.effective)} of {format_count(size.n, 'trial')}."
    )


def _describe_outliers(answers: Answers) -> Iterator[str]:
    result = [answer for answer in answers if answer.result.trial_ids]
    count = sum(len(item.result.trial_ids) for item in result)
    decided = [answer for answer in answers if answer.result.outliers.undecided is None]
    if not decided:
        if answers:
            yield "Outliers: too few trials of each combination."
        return
    rule = decided[0].result.outliers.rule
    if not count:
        yield f"No throughput is beyond {rule} of its combination."
        return
    yield (
        f"{format_count(count, 'outlier')} beyond {rule} of the combination (log throughput); marked, kept."
    )


def _describe_levels(answers: Answers) -> Iterator[str]:
    for answer in answers:
        for text in describe_rate_levels(answer.result):
            yield f"{_name_cells([answer])}: {text}."


def _describe_steadiness(answers: Answers) -> Iterator[str]:
    for answer in answers:
        if text := describe_cell_steadiness(answer.result):
            yield f"{_name_cells([answer])}: {text}."


def _describe_planning(answers: Answers) -> Iterator[str]:
    needed = find_cycle_range(answers)
    if needed is not None:
        yield (
            f"A difference of 5 % between more streams and larger windows needs {needed[0]} to {needed[1]} "
            "cycles, depending on the pair."
        )


SENTENCES = {
    "precision": _describe_precision,
    "drift": _describe_drift,
    "warm_up": _describe_warm_up,
    "steadiness": _describe_steadiness,
    "serial": _describe_serial,
    "rate_levels": _describe_levels,
    "outliers": _describe_outliers,
    "planning": _describe_planning,
}


def _describe_condition(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[Block]:
    """What the analyses of one condition say, in a paragraph."""
    sentences = [
        text
        for name, describe in SENTENCES.items()
        if find_shortfall(inputs, name, condition) is None
        for text in describe(inputs.answers(name, condition))
    ]
    yield from write_paragraph(f"{condition.name}: {' '.join(sentences)}" if sentences else "")


def _has_outliers(answer: Answer[Any]) -> bool:
    """The cells that have outliers or are undecided for another reason than few trials."""
    quiet = (Undecided.TOO_FEW_SAMPLES, None)
    return bool(answer.result.trial_ids) or answer.result.outliers.undecided not in quiet


def _has_levels(answer: Answer[Any]) -> bool:
    return bool(answer.result.modes) or answer.result.slow_hours.first_hour is not None


#: Of these tables, the rows that say something.
_SHOWN: Mapping[str, Callable[[Answer[Any]], bool]] = {
    "outliers": _has_outliers,
    "rate_levels": _has_levels,
    "steadiness": lambda answer: answer.result.disturbed,
}


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in inputs.conditions:
        yield lazy_text(_describe_condition, inputs, condition)
    for name in SENTENCES:
        yield from list_answer_tables(inputs, name, _SHOWN.get(name))


def _find_gap(inputs: ReportInputs) -> str | None:
    return None if inputs.conditions else "no trial was completed"


SECTION = LazySection(
    key="certainty",
    title="Trials and cycles",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.CERTAINTY,
)
