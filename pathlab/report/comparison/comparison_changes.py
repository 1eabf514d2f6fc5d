"""Changes in words: one in percent or as a difference, and one sentence about all rows of a metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.margins import list_thresholds
from pathlab.report.base.phrases import FORMATS, format_count, format_figure, format_reason
from pathlab.report.base.trial_flags import PROVISIONAL
from pathlab.report.comparison.comparison_names import CellNames, format_compared_cell, name_cells
from pathlab.study.comparison.rows import (
    TOO_FEW_TRIALS,
    ChangeVerdict,
    ComparisonRow,
    ResultsComparison,
    span_intervals,
)
from pathlab.study.measures import LOSS_SHARE_RATIO, Measure
from pathlab.units import NOT_MEASURED, format_beside, format_ratio

#: What a difference of shares is given in.
POINTS = "pp"
DECIMALS = 1  # of a change in percent
#: Combinations without a usable trial that are named.
NAMED_CELLS = 5
WHOLE_PERCENT = 10  # from here on a sentence has no decimals


def format_change(row: ComparisonRow) -> tuple[str, str]:
    """The change and its interval: ``−18.2 %`` and ``−25.1 to −11.3 %``; ``+5.01 ms``; ``+3.9 pp``.

    An end of the interval has as many digits as keep it on its side of no change and of the margin.
    """
    low, high = row.interval.low, row.interval.high
    if row.estimate is None:
        return NOT_MEASURED, NOT_MEASURED
    if row.is_ratio:
        estimate = f"{_format_signed(f'{_percent(row.estimate):.{DECIMALS}f}')} %"
        ends = [_format_end(end, row.margin_ratio) for end in (low, high) if end is not None]
        return estimate, f"{' to '.join(ends)} %" if ends else NOT_MEASURED
    estimate = format_difference(row.estimate, row.metric)
    if low is None or high is None:
        return estimate, NOT_MEASURED
    return estimate, _join_ends(format_difference(low, row.metric), format_difference(high, row.metric))


def format_difference(value: float, metric: Measure) -> str:
    """A difference with sign and unit; a difference of shares in percentage points."""
    if metric.unit == "ratio":
        return f"{_format_signed(f'{100 * value:.3g}')} {POINTS}"
    return _format_signed(format_metric(value, metric))


def format_metric(value: float | None, metric: Measure) -> str:
    """A metric's value in its unit."""
    known = FORMATS.get(metric.unit)
    text = known(value) if known else format_figure(value) + ("" if value is None else f" {metric.unit}")
    return text.replace("-", "−")


def describe_no_verdict(comparison: ResultsComparison) -> str | None:
    """The sentence for results of which every row has too few trials; None where one has enough."""
    if any(row.reason != TOO_FEW_TRIALS for row in comparison.rows):
        return None
    return f"{_mark(comparison)}No verdict: {_describe_few(comparison.rows, comparison.least_trials)}."


def list_comparison_warnings(comparison: ResultsComparison) -> Iterator[str]:
    """Which trials count in spite of a flag, and which combinations have no usable trial."""
    if comparison.provisional:
        counts = "; ".join(
            f"in {label} {', '.join(f'{item.trials} {item.reason}' for item in flagged)}"
            for label, flagged in comparison.flagged.items()
            if flagged
        )
        yield f"{PROVISIONAL}: provisional, as flagged trials count (--all): {counts}."
    for label in dict.fromkeys(label for label, _ in comparison.unusable):
        cells = [cell for side, cell in comparison.unusable if side == label]
        shown = "; ".join(map(format_compared_cell, cells[:NAMED_CELLS]))
        more = f"; {len(cells) - NAMED_CELLS} more" if len(cells) > NAMED_CELLS else ""
        yield f"Not compared, as no trial of {label} is usable: {shown}{more}."


def list_summaries(comparison: ResultsComparison, label: str) -> tuple[str, ...]:
    """What changed from the first results to ``label``: a sentence for each metric."""
    metrics = dict.fromkeys(row.metric.name for row in comparison.rows if row.label == label)
    names = name_cells(comparison.rows)
    return tuple(
        _summarise(
            [row for row in comparison.rows if row.label == label and row.metric.name == metric],
            comparison,
            names,
        )
        for metric in metrics
    )


def format_margins(rows: Sequence[ComparisonRow], margin_ratio: float) -> str:
    """The margins that these rows of one metric are held against: ``±5 %``, ``±100 µs``, or both."""
    metric, least = rows[0].metric, {row.least_margin for row in rows}
    texts = [format_margin(metric, margin_ratio)] if False in least else []
    texts += [f"±{format_metric(metric.least_margin, metric)}"] if True in least else []
    return " or ".join(texts)


def format_margin(metric: Measure, margin_ratio: float) -> str:
    """The margin of equivalence of a metric: ``±5 %``."""
    if metric.bound is None:
        return f"±{format_ratio(margin_ratio)}"
    if metric.unit == "ratio":
        return f"±{100 * margin_ratio * LOSS_SHARE_RATIO:.3g} {POINTS}"
    return f"±{format_ratio(margin_ratio)} of the idle RTT"


def format_noise(noise: float, metric: Measure) -> str:
    """A noise floor: ``±3.03 %``, or a difference in the metric's unit."""
    if metric.bound is None:
        return f"±{format_ratio(noise - 1)}"
    return f"±{format_difference(noise, metric).removeprefix('+')}"


def capitalise_title(metric: Measure) -> str:
    """A metric's title with a capital, unless it is a symbol such as dRTT."""
    title = metric.title
    return title if title[1:2].isupper() else title[0].upper() + title[1:]


def _summarise(rows: Sequence[ComparisonRow], comparison: ResultsComparison, names: CellNames) -> str:
    """One metric's rows as a sentence: what changed, what is equal, what is undecided and why."""
    metric = rows[0].metric
    subject, total = capitalise_title(metric), len(rows)
    changed = [row for row in rows if row.verdict in (ChangeVerdict.WORSE, ChangeVerdict.BETTER)]
    equal = [row for row in rows if row.verdict is ChangeVerdict.EQUIVALENT]
    clauses: list[str] = []
    if changed:
        texts = list(_describe_changes(changed, total, comparison, names))
        clauses.append(f"{subject} {' and '.join(texts)}")
    if equal and changed:
        margin = format_margins(equal, comparison.rules.margin_ratio)
        clauses.append(f"{len(equal)} {'is' if len(equal) == 1 else 'are'} equal within {margin}")
    elif equal:
        margin = format_margins(equal, comparison.rules.margin_ratio)
        clauses.append(f"{subject} is equal within {margin} {_describe_where(equal, total, names)}")
    undecided = list(_describe_undecided(rows, comparison))
    if not clauses and len(undecided) == 1:
        clauses.append(f"{subject} is undecided {_describe_where(rows, total, names)}: {undecided[0][1]}")
    else:
        texts = [f"{count} undecided: {reason}" for count, reason in undecided]
        clauses += texts if clauses else [f"{subject}: {texts[0]}", *texts[1:]]
    return f"{_mark(comparison)}{'; '.join(clauses)}."


def _mark(comparison: ResultsComparison) -> str:
    """What a sentence begins with whose numbers are provisional."""
    return "Provisional: " if comparison.provisional else ""


def _describe_changes(
    changed: Sequence[ComparisonRow], total: int, comparison: ResultsComparison, names: CellNames
) -> Iterator[str]:
    """What fell and what rose, the more frequent first, by how much and where.

    Several rows: from the least change to the largest, and from the lowest end of their intervals to the
    highest, which all of them hold at once with the confidence of one.
    """
    rules = comparison.rules
    fell = [row for row in changed if _measure(row) < 0]
    rose = [row for row in changed if _measure(row) > 0]
    for verb, group in sorted((("fell", fell), ("rose", rose)), key=lambda pair: -len(pair[1])):
        if not group:
            continue
        sizes = sorted(abs(_measure(row)) for row in group)
        texts = list(dict.fromkeys(_format_size(size, group[0]) for size in (sizes[0], sizes[-1])))
        ends = [_format_summary_end(end, group[0]) for end in span_intervals(group)]
        where = _describe_where(group, total, names)
        confidence = format_ratio(1 - rules.alpha_ratio)
        yield f"{verb} by {_join_ends(*texts)} ({confidence} CI {_join_ends(*ends)}) {where}"


def _describe_where(rows: Sequence[ComparisonRow], total: int, names: CellNames) -> str:
    """Where that is: in how many of the combinations; a single one by name."""
    if len(rows) == 1:
        alone = f"with {names.format(rows[0].cell)}"
        return alone if total == 1 else f"{alone} (1 of {total} combinations)"
    if len(rows) == total:
        return "in both combinations" if total == 2 else f"in all {total} combinations"
    return f"in {len(rows)} of {total} combinations"


def _describe_undecided(
    rows: Sequence[ComparisonRow], comparison: ResultsComparison
) -> Iterator[tuple[int, str]]:
    """For each reason, how many rows are undecided, why, and what would decide them."""
    for reason in dict.fromkeys(row.reason for row in rows if row.verdict is ChangeVerdict.UNDECIDED):
        group = [row for row in rows if row.reason == reason]
        noise = group[0].noise
        if reason == TOO_FEW_TRIALS:
            text = _describe_few(group, comparison.least_trials)
        elif reason == Undecided.INCONCLUSIVE:
            margin = format_margins(group, comparison.rules.margin_ratio)
            text = (
                f"interval{'s reach' if len(group) > 1 else ' reaches'} beyond {margin}, more trials needed"
            )
        elif reason in (Undecided.NOT_MEASURED, Undecided.NO_SAMPLES):
            text = "not measured in both results"
        elif noise is not None and reason not in set(Undecided):
            text = f"{reason} ({format_noise(noise, group[0].metric)})"
        else:
            text = format_reason(reason)
        yield len(group), text


def _describe_few(rows: Iterable[ComparisonRow], needed: int) -> str:
    """How many trials these rows have, and how many are needed."""
    counts = sorted({min(row.change.first_n, row.change.second_n) for row in rows})
    if counts == [1]:
        return f"1 trial per side is too few ({needed} needed)"
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{number} trials per side are too few ({needed} needed)"


def count_rows(comparison: ResultsComparison) -> str:
    """How many rows have which verdict."""
    counts = ", ".join(
        f"{comparison.count(change)} {change}" for change in ChangeVerdict if comparison.count(change)
    )
    return f"{format_count(len(comparison.rows), 'row')}: {counts}"


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)


def _format_end(ratio: float, margin_ratio: float, decimals: int = DECIMALS) -> str:
    """An end of an interval in percent without its unit, on its side of no change and of the margin."""
    marks = [_percent(mark) for mark in list_thresholds(margin_ratio)]
    value = 0.0 if abs(_percent(ratio)) < 1e-9 else _percent(ratio)
    return _format_signed(format_beside(value, marks, digits=decimals, kind="f"))


def _format_signed(text: str) -> str:
    """A number, with its unit or without, that bears its sign unless it is 0."""
    shown = text.replace("-", "−", 1)
    if not float(text.replace("−", "-").split(" ")[0]):
        return shown.removeprefix("−")
    return shown if shown.startswith("−") else f"+{shown}"


def _measure(row: ComparisonRow) -> float:
    """The change of a decided row: in percent, or as a difference."""
    estimate = row.estimate or 0.0
    return _percent(estimate) if row.is_ratio else estimate


def _choose_decimals(percent: float) -> int:
    """How many decimals a percentage has in a sentence."""
    return 0 if round(abs(percent), DECIMALS) >= WHOLE_PERCENT else DECIMALS


def _format_size(size: float, row: ComparisonRow) -> str:
    """How large a change is, without its sign."""
    if row.is_ratio:
        return f"{size:.{_choose_decimals(size)}f} %"
    return format_difference(size, row.metric).removeprefix("+")


def _format_summary_end(end: float, row: ComparisonRow) -> str:
    if row.is_ratio:
        return f"{_format_end(end, row.margin_ratio, _choose_decimals(_percent(end)))} %"
    return format_difference(end, row.metric)


def _join_ends(low: str, high: str | None = None) -> str:
    """``−25 to −11 %``: the unit once, where both have the same."""
    if high is None:
        return low
    number, _, unit = low.rpartition(" ")
    return f"{number if number and high.endswith(f' {unit}') else low} to {high}"
