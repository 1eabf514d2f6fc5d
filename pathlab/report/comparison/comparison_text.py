"""A comparison of results as JSON for programs, and the notes on how it was made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pathlab.analysis.estimators.margins import list_thresholds
from pathlab.report.base.names import enumerate_cells
from pathlab.report.base.phrases import format_count
from pathlab.report.comparison.comparison_changes import POINTS, format_margin, format_metric, format_noise
from pathlab.report.comparison.comparison_names import format_compared_cell
from pathlab.report.comparison.comparison_times import note_times
from pathlab.study.comparison.groups import COMPARED, ComparedCell
from pathlab.study.comparison.rows import TOO_FEW_TRIALS, ChangeVerdict, ComparisonRow, ResultsComparison

JSON_VERSION = 1


def describe_comparison(comparison: ResultsComparison) -> dict[str, Any]:
    """The comparison as JSON; ``version`` rises when a key changes its meaning."""
    return {
        "type": "pathlab-comparison",
        "version": JSON_VERSION,
        "results": list(comparison.labels),
        "baseline": comparison.labels[0],
        "margin_ratio": comparison.rules.margin_ratio,
        "alpha_ratio": comparison.rules.alpha_ratio,
        "correction": "holm",
        "verdicts": {str(change): comparison.count(change) for change in ChangeVerdict},
        "rows": [_describe_row(row) for row in comparison.rows],
        "provisional": comparison.provisional,
        "alone": [{"results": label, **cell.describe()} for label, cell in comparison.alone],
        "unusable": [{"results": label, **cell.describe()} for label, cell in comparison.unusable],
        "flagged_trials": {
            label: {count.reason: count.trials for count in counts}
            for label, counts in comparison.flagged.items()
        },
        "left_out_trials": {
            label: sum(count.trials for count in counts) for label, counts in comparison.excluded.items()
        },
        "ignored_settings": list(comparison.ignored_settings),
        "unlike": [
            {"results": item.label, "fact": item.fact, "before": list(item.before), "after": list(item.after)}
            for item in comparison.unlike
        ],
        "ignored_on_purpose": list(comparison.rules.ignored),
        "spans": [
            {"results": span.label, "first_utc": span.first.isoformat(), "last_utc": span.last.isoformat()}
            for span in comparison.spans
        ],
        "least_trials": comparison.least_trials,
    }


def _describe_row(row: ComparisonRow) -> dict[str, Any]:
    known = (row.estimate, row.interval.low, row.interval.high, row.noise)
    ratio, difference = (known if row.is_ratio is kind else (None,) * 4 for kind in (True, False))
    return {
        **row.cell.describe(),
        "results": row.label,
        "metric": row.metric.name,
        "unit": row.metric.base_unit,
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
        "margin_ratio": row.margin_ratio if row.is_ratio else None,
        "difference": difference[0],
        "difference_low": difference[1],
        "difference_high": difference[2],
        "difference_bound": row.bound,
        "noise_difference": difference[3],
        "verdict": str(row.verdict),
        "reason": row.reason,
    }


def list_notes(comparison: ResultsComparison) -> Iterator[str]:
    """How changes were tested, the noise floor, and what was not compared; a sentence each."""
    undecided = all(row.reason == TOO_FEW_TRIALS for row in comparison.rows)
    yield " ".join(_describe_method(comparison, undecided=undecided))
    noises = ", ".join(_list_noises(comparison))
    yield (
        f"Noise floor (difference between unchanged results): {noises}."
        if noises
        else "Noise floor: unknown (too few trials)."
    )
    yield from filter(None, (note_times(comparison, label) for label in comparison.labels[1:]))
    for item in comparison.unlike:
        was, is_now = (", ".join(texts) for texts in (item.before, item.after))
        yield f"Different in {item.label}: {item.fact}, {was} before and {is_now} after."
    yield from _list_alone(comparison)
    for label, counts in comparison.excluded.items():
        if counts:
            yield f"Excluded from {label}: {', '.join(f'{count.trials} {count.reason}' for count in counts)}."
    if comparison.ignored_settings:
        yield f"Not in all results, so not compared: {', '.join(comparison.ignored_settings)}."


def _describe_method(result: ResultsComparison, *, undecided: bool) -> Iterator[str]:
    """What a change and its interval are, and which rule gives the verdict."""
    yield "Change: after against before, the median over all pairs of trials (Hodges-Lehmann)."
    if any(row.metric.unit == "ratio" for row in result.rows):
        yield f"{POINTS}: percentage points."
    if undecided:
        return
    yield (
        f"Intervals allow for serial correlation of trials and for {format_count(len(result.rows), 'row')} "
        "(Holm's correction). Better or worse: the interval does not contain 'no change'. Equivalent: it "
        f"lies within {', '.join(_list_margins(result))}. A verdict needs {result.least_trials} trials per "
        "side."
    )


def _list_noises(comparison: ResultsComparison) -> Iterator[str]:
    for metric, noise in dict.fromkeys((row.metric, row.noise) for row in comparison.rows):
        if noise is not None:
            yield f"{metric.name} {format_noise(noise, metric)}"


def _list_margins(comparison: ResultsComparison) -> Iterator[str]:
    """The margins of equivalence of the metrics that were compared."""
    margin_ratio = comparison.rules.margin_ratio
    metrics = {row.metric.name: row.metric for row in comparison.rows}
    if any(metric.bound is None for metric in metrics.values()):
        low, _, high = (100 * (mark - 1) for mark in list_thresholds(margin_ratio))
        yield f"−{abs(low):.3g} to +{high:.3g} %"
    for metric in dict.fromkeys(row.metric for row in comparison.rows if row.least_margin):
        yield f"±{format_metric(metric.least_margin, metric)} where the {metric.title} is short"
    if "drtt" in metrics:
        yield f"{format_margin(metrics['drtt'], margin_ratio)} for dRTT"
    for name in ("loss", "udp-loss"):
        if name in metrics:
            yield f"{format_margin(metrics[name], margin_ratio)} for loss"
            break


def _list_alone(comparison: ResultsComparison) -> Iterator[str]:
    """Combinations of one side alone, grouped by all settings besides streams and window."""
    groups: dict[tuple[str, ComparedCell], list[tuple[int, int | None]]] = {}
    for label, item in comparison.alone:
        if COMPARED in (item.streams, item.window_bytes):
            yield f"Only in {label}: {format_compared_cell(item)}."
            continue
        cell = (item.streams, None if item.window_bytes < 0 else item.window_bytes)
        groups.setdefault((label, replace(item, streams=0, window_bytes=0)), []).append(cell)
    for (label, item), cells in groups.items():
        yield f"Only in {label}: {format_compared_cell(item, enumerate_cells(cells))}."
