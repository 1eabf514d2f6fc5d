"""A comparison of results as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from pathlab.analysis.estimators.margins import list_thresholds
from pathlab.report.names import enumerate_cells
from pathlab.report.phrases import FORMATS, format_count, format_figure
from pathlab.study.comparison.groups import ComparedCell
from pathlab.study.comparison.metrics import LOSS_SHARE_RATIO, ComparedMetric
from pathlab.study.comparison.mismatch import format_differing_setting
from pathlab.study.comparison.rows import TOO_FEW_TRIALS, ChangeVerdict, ComparisonRow, ResultsComparison
from pathlab.units import format_beside, format_bytes, format_ratio

JSON_VERSION = 1


def describe_comparison(found: ResultsComparison) -> dict[str, Any]:
    """The comparison as JSON; ``version`` rises when a key changes its meaning."""
    return {
        "type": "pathlab-comparison",
        "version": JSON_VERSION,
        "results": list(found.labels),
        "baseline": found.labels[0],
        "margin_ratio": found.rules.margin_ratio,
        "alpha_ratio": found.rules.alpha_ratio,
        "correction": "holm",
        "verdicts": {str(change): found.count(change) for change in ChangeVerdict},
        "rows": [_describe_row(row) for row in found.rows],
        "alone": [{"results": label, **cell.describe()} for label, cell in found.alone],
        "left_out_trials": {
            label: sum(count.trials for count in counts) for label, counts in found.excluded.items()
        },
        "ignored_settings": list(found.ignored_settings),
        "unlike": [
            {"results": one.label, "fact": one.fact, "before": list(one.before), "after": list(one.after)}
            for one in found.unlike
        ],
        "least_trials": found.least_trials,
    }


def _describe_row(row: ComparisonRow) -> dict[str, Any]:
    known = (row.estimate, row.interval.low, row.interval.high, row.noise)
    ratio, difference = (known if row.is_ratio is kind else (None,) * 4 for kind in (True, False))
    return {
        **row.cell.describe(),
        "results": row.label,
        "metric": row.metric.name,
        "unit": row.metric.unit,
        "before_n": row.change.first_n,
        "after_n": row.change.second_n,
        "before_median": row.before_median,
        "after_median": row.after_median,
        "ratio": ratio[0],
        "ratio_low": ratio[1],
        "ratio_high": ratio[2],
        "p_value": row.p_value,
        "equivalence_p_value": row.equivalence_p_value,
        "noise_ratio": ratio[3],
        "difference": difference[0],
        "difference_low": difference[1],
        "difference_high": difference[2],
        "difference_bound": row.bound,
        "noise_difference": difference[3],
        "verdict": str(row.verdict),
        "reason": row.reason,
    }


def render_comparison(found: ResultsComparison, console: Console) -> None:
    """Print one table per compared results, and below it what it means and what was not compared."""
    common = _Common(
        path=len({(row.cell.source, row.cell.destination) for row in found.rows}) == 1,
        congestion=len({row.cell.congestion for row in found.rows}) == 1,
        trials=len({format_trials(row) for row in found.rows}) == 1,
        settings=frozenset.intersection(*(frozenset(row.cell.settings) for row in found.rows)),
        margin_ratio=found.rules.margin_ratio,
    )
    confidence = format_ratio(1 - found.rules.alpha_ratio)
    for label in found.labels[1:]:
        title = [f"{label} against {found.labels[0]}", *common.format(found.rows[0].cell)]
        table = Table(
            box=box.SIMPLE_HEAD,
            title=", ".join(title),
            title_justify="left",
            pad_edge=False,
            show_edge=False,
            padding=0,
        )
        table.add_column("Combination", overflow="fold", min_width=len("Combination"))
        table.add_column("Metric", no_wrap=True)
        for heading in ("Before", "After", "Change", confidence, *common.trial_headings()):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("Verdict", overflow="fold", min_width=len(ChangeVerdict.EQUIVALENT))
        for row in found.rows:
            if row.label == label:
                table.add_row(*_format_row(row, common))
        console.print(table)
        console.print()
    for line in list_notes(found):
        console.print(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    """What all rows share, which only the title shows."""

    path: bool
    congestion: bool
    trials: bool
    settings: frozenset[tuple[str, str]]
    margin_ratio: float

    def trial_headings(self) -> tuple[str, ...]:
        """The column of the numbers of trials, where they differ."""
        return () if self.trials else ("n",)

    def format(self, cell: ComparedCell) -> list[str]:
        """The shared parts that are known."""
        parts = [format_path(cell) if self.path else "", cell.congestion if self.congestion else ""]
        shared = [one for one in cell.settings if one in self.settings]
        return [*(part for part in parts if part), *_format_settings(shared)]


def _format_row(row: ComparisonRow, common: _Common) -> tuple[str, ...]:
    own = replace(row.cell, settings=tuple(one for one in row.cell.settings if one not in common.settings))
    return (
        format_result_cell(own, with_path=not common.path, with_congestion=not common.congestion),
        row.metric.name,
        *format_compared(row, common.margin_ratio),
        *(() if common.trials else (format_trials(row),)),
        format_verdict(row),
    )


def format_compared(row: ComparisonRow, margin_ratio: float) -> tuple[str, ...]:
    """The medians before and after, the change and its interval."""
    medians = (format_metric(one, row.metric) for one in (row.before_median, row.after_median))
    return (*medians, *format_change(row, margin_ratio))


def format_verdict(row: ComparisonRow) -> str:
    """The verdict, with the reason where it is undecided."""
    return f"{row.verdict}: {row.reason}" if row.reason else str(row.verdict)


def format_change(row: ComparisonRow, margin_ratio: float) -> tuple[str, str]:
    """The ratio or, for metrics that may be 0, the difference; its interval agrees with the verdict."""
    low, high = row.interval.low, row.interval.high
    if row.is_ratio:
        marks = list_thresholds(margin_ratio)
        ends = [format_beside(end, marks, kind="f") for end in (low, high) if end is not None]
        return "–" if row.estimate is None else f"{row.estimate:.3f}", "–".join(ends) or "–"
    known = low is not None and high is not None
    signed = (format_metric(end, row.metric, signed=True) for end in (low, high))
    return format_metric(row.estimate, row.metric, signed=True), " to ".join(signed) if known else "–"


def format_trials(row: ComparisonRow) -> str:
    """The numbers of trials before and after: ``6/7``."""
    return f"{row.change.first_n}/{row.change.second_n}"


def format_path(cell: ComparedCell) -> str:
    """Sender and receiver; empty where host names were ignored."""
    ends = cell.source, cell.destination
    return f"{ends[0]} → {ends[1]}" if any(ends) else ""


def format_result_cell(cell: ComparedCell, *, with_path: bool = True, with_congestion: bool = True) -> str:
    """The combination on one line."""
    window = "auto" if cell.window_bytes < 0 else format_bytes(cell.window_bytes)
    shown = replace(
        cell,
        source=cell.source if with_path else "",
        destination=cell.destination if with_path else "",
        congestion=cell.congestion if with_congestion else "",
    )
    return " ".join(_list_parts(shown, f"{cell.streams} × {window}"))


def _list_parts(cell: ComparedCell, cells: str) -> Iterator[str]:
    """Path, streams, windows and settings, as far as they are known."""
    if path := format_path(cell):
        yield f"{path}:"
    yield cells
    if cell.congestion:
        yield cell.congestion
    yield from _format_settings(cell.settings)


def _format_settings(settings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Settings that the system did not choose, as text."""
    named = (format_differing_setting(name, level) for name, level in settings if level != "None")
    yield from (f"{key}={text}" for key, text in named)


def format_metric(value: float | None, metric: ComparedMetric, *, signed: bool = False) -> str:
    """A metric's value in its unit; ``signed``: a difference, which bears its sign."""
    if signed and value is not None and value > 0:
        return f"+{format_metric(value, metric)}"
    if metric.unit in FORMATS:
        return FORMATS[metric.unit](value)
    return format_figure(value) + ("" if value is None else f" {metric.unit}")


def _list_alone(found: ResultsComparison) -> Iterator[str]:
    """Combinations of one side alone, grouped by all settings besides streams and window."""
    groups: dict[tuple[str, ComparedCell], list[tuple[int, int | None]]] = {}
    for label, one in found.alone:
        cell = (one.streams, None if one.window_bytes < 0 else one.window_bytes)
        groups.setdefault((label, replace(one, streams=0, window_bytes=0)), []).append(cell)
    for (label, one), cells in groups.items():
        yield f"Only in {label}: {' '.join(_list_parts(one, enumerate_cells(cells)))}"


def _list_noises(found: ResultsComparison) -> Iterator[str]:
    for metric, noise in dict.fromkeys((row.metric, row.noise) for row in found.rows if not row.is_ratio):
        if noise is not None:
            yield f"{metric.name} ±{format_metric(noise, metric)}"


def _list_margins(found: ResultsComparison) -> Iterator[str]:
    """The margins of equivalence of the metrics that were compared."""
    margin_ratio = found.rules.margin_ratio
    metrics = {row.metric.name: row.metric for row in found.rows}
    if any(metric.bound is None for metric in metrics.values()):
        low, _, high = list_thresholds(margin_ratio)
        yield f"a ratio of {low:.4g} to {high:.4g} (±{format_ratio(margin_ratio)})"
    if "drtt" in metrics:
        yield f"±{format_ratio(margin_ratio)} of the idle RTT for dRTT"
    if {"loss", "udp-loss"} & metrics.keys():
        yield f"±{format_ratio(round(margin_ratio * LOSS_SHARE_RATIO, 12))} for loss"


def count_verdicts(found: ResultsComparison) -> str:
    """The number of rows by verdict; that there is none where every row has too few trials."""
    if all(row.reason == TOO_FEW_TRIALS for row in found.rows):
        return f"No verdict: {found.most_trials} trials per side are too few ({found.least_trials} needed)."
    counts = ", ".join(f"{found.count(change)} {change}" for change in ChangeVerdict if found.count(change))
    return f"{format_count(len(found.rows), 'row')}: {counts}."


def list_notes(found: ResultsComparison) -> Iterator[str]:
    """The rules of the verdicts, the noise floor, and what was not compared; a sentence each."""
    rows = format_count(len(found.rows), "row")
    yield (
        "Ratio: after over before, Hodges-Lehmann over all pairs of trials. Difference (dRTT, loss): after "
        "minus before. Intervals allow for serial correlation of trials and for the number of rows "
        f"({rows}, Holm's correction). Better or worse: the interval does not contain 'no difference'. "
        f"Equivalent: it lies within {', '.join(_list_margins(found))}. A verdict needs {found.least_trials} "
        "trials on each side."
    )
    floors = dict.fromkeys((row.metric.name, row.noise) for row in found.rows if row.is_ratio)
    noises = ", ".join(f"{name} ±{format_ratio(ratio - 1)}" for name, ratio in floors if ratio is not None)
    noises = ", ".join(text for text in (noises, *_list_noises(found)) if text)
    yield (
        f"Noise floor (difference between unchanged results): {noises}."
        if noises
        else "Noise floor: unknown (too few trials)."
    )
    numbers = {(row.change.first_n, row.change.second_n) for row in found.rows}
    if len(numbers) == 1:
        ((before, after),) = numbers
        yield f"Every row: {before} trials before, {after} after."
    yield count_verdicts(found)
    for one in found.unlike:
        was, is_now = (", ".join(texts) for texts in (one.before, one.after))
        yield f"Different in {one.label}: {one.fact}, {was} before and {is_now} after."
    yield from _list_alone(found)
    for label, counts in found.excluded.items():
        if counts:
            yield f"Excluded from {label}: {', '.join(f'{one.trials} {one.reason}' for one in counts)}."
    if found.ignored_settings:
        yield f"Not in all results, so not compared: {', '.join(found.ignored_settings)}"
