"""The analyses of results for a terminal: one table each, with what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pathlab.campaign.factors import format_level, name_levels
from pathlab.report import analyses_rows as rows
from pathlab.report.sections.recommendation_text import SHORT_HEADINGS, shorten_recommendation
from pathlab.study.answer import Answer
from pathlab.study.trials import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How one analysis is printed: its title, its columns, and the cells of one answer's row or rows."""

    title: str
    columns: tuple[str, ...]
    tell: Callable[[Answer[Any]], Sequence[rows.Row]]


def render_analyses(answers: Mapping[str, Sequence[Answer[Any]]], console: Console) -> None:
    """Print a table for each analysis by its name; one without answers says so in a line."""
    for name, found in answers.items():
        layout = LAYOUTS[name]
        console.print()
        if not found:
            console.print(Text.assemble((layout.title, "bold"), ": nothing in these results to answer it."))
            continue
        for condition in dict.fromkeys(answer.condition for answer in found):
            part = [answer for answer in found if answer.condition == condition]
            console.print(_build_table(layout, condition, part))
            for line in list_doubts(part):
                console.print(line, style="dim")


def _build_table(layout: Layout, condition: Condition, answers: Sequence[Answer[Any]]) -> Table:
    table = Table(
        title=f"{layout.title}: {name_condition(condition)}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for number, heading in enumerate(layout.columns):
        table.add_column(heading, justify="left" if number == 0 else "right", overflow="fold")
    for answer in answers:
        for texts in layout.tell(answer):
            table.add_row(*texts)
    return table


def name_condition(condition: Condition) -> str:
    """Path, and the settings that say something."""
    levels = name_levels({name: value for name, value in condition.settings if value is not None})
    told = [f"{name} {format_level(name, level)}" for name, level in levels.items()]
    where = "" if condition.medium == "hosts" else f" ({condition.medium})"
    return f"{condition.path_source} → {condition.path_destination}{where}, {', '.join(told)}"


def list_doubts(answers: Sequence[Answer[Any]]) -> list[str]:
    """What was left out and what is doubtful, each once for the table."""
    left = {(one.reason, one.trials) for answer in answers for one in answer.selection.excluded}
    doubts: dict[str, int] = {}
    for answer in answers:
        for one in answer.selection.warnings:
            doubts[one.reason] = max(doubts.get(one.reason, 0), one.trials)
    lines = [f"  left out: {trials} × {reason}" for reason, trials in sorted(left)]
    told = [
        f"{reason} (up to {trials} trials)" for reason, trials in sorted(doubts.items()) if reason != "lab"
    ]
    return lines + ([f"  with: {', '.join(told)}"] if told else [])


MESSAGE_COLUMNS = ("n", "per message", "per byte", "half size", "undecided")
LAYOUTS: Mapping[str, Layout] = {
    "recommendation": Layout(
        title="Recommendation",
        columns=SHORT_HEADINGS[1:],
        tell=lambda answer: [tuple(shorten_recommendation(answer.result)[1:])],
    ),
    "cells": Layout(
        title="Cells",
        columns=("cell", "n", "throughput", "dRTT", "RV", "loss", "CPU-s/GB"),
        tell=rows.tell_cells,
    ),
    "streams_vs_windows": Layout(
        title="More streams against larger windows",
        columns=("streams : windows", "pairs", "ratio", "95 % CI (Holm)", "p (Holm)", "verdict"),
        tell=rows.tell_pairs,
    ),
    "saturation": Layout(
        title="Saturation in streams",
        columns=("window", "n", "family", "weight", "capacity", "N for 90 %", "undecided"),
        tell=rows.tell_saturation,
    ),
    "optimum": Layout(
        title="Least dRTT / throughput",
        columns=("window", "n", "streams", "95 % interval", "undecided"),
        tell=rows.tell_optimum,
    ),
    "surface": Layout(
        title="Response surface",
        columns=("n", "capacity", "effective RTT", "sharpness", "lack of fit p", "undecided"),
        tell=rows.tell_surface,
    ),
    "limits": Layout(
        title="What limits",
        columns=("cell", "limit", "judged", "trials", "undecided"),
        tell=rows.tell_limits,
    ),
    "warm_up": Layout(
        title="Warm-up long enough",
        columns=("cell", "enough", "judged", "undecided"),
        tell=rows.tell_warm_up,
    ),
    "rfc6349": Layout(
        title="RFC 6349",
        columns=("cell", "bottleneck", "BDP", "time ratio", "efficiency %", "buffer delay %", "undecided"),
        tell=rows.tell_tcp,
    ),
    "fairness": Layout(
        title="Fairness (Jain)", columns=("cell", "n", "index", "undecided"), tell=rows.tell_fairness
    ),
    "cpu_cost": Layout(
        title="CPU % (one core is 100) against Gbit/s",
        columns=("end", "n", "slope", "95 % interval", "R²", "through 0", "CPU-s/GB", "undecided"),
        tell=rows.tell_cpu,
    ),
    "duration": Layout(
        title="Throughput over duration",
        columns=("cell", "n", "change", "95 % interval", "equivalent", "undecided"),
        tell=rows.tell_duration,
    ),
    "breakpoint": Layout(
        title="Where delay climbs over throughput",
        columns=("n", "dRTT climbs at", "RV climbs at", "R²", "Spearman", "RV ≤ 10 %"),
        tell=rows.tell_effect,
    ),
    "distributions": Layout(
        title="Distributions",
        columns=("quantity", "n", "law", "KS", "decline scale", "climb slope", "undecided"),
        tell=rows.tell_distribution,
    ),
    "serial": Layout(
        title="Serial correlation",
        columns=("cell", "n", "lag 1", "worth", "median", "undecided"),
        tell=rows.tell_serial,
    ),
    "drift": Layout(
        title="Drift",
        columns=("verdict", "n", "change", "95 % interval", "trend p", "step p", "undecided"),
        tell=rows.tell_drift,
    ),
    "outliers": Layout(
        title="Outliers (kept)", columns=("cell", "n", "trials", "rule", "undecided"), tell=rows.tell_outliers
    ),
    "planning": Layout(
        title="Cycles needed to see a difference of 5 %",
        columns=("streams against windows", "cycles", "95 % interval", "spread", "undecided"),
        tell=rows.tell_plan,
    ),
    "precision": Layout(
        title="Precision",
        columns=("medians within ±5 %", "cycles", "widest", "half width"),
        tell=rows.tell_precision,
    ),
    "message_cost": Layout(
        title="Cost of a message", columns=("cell", *MESSAGE_COLUMNS), tell=rows.tell_message
    ),
}
