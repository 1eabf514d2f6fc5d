"""The report as one HTML file that needs nothing else: no script, no network, figures inside."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from pathlab.analysis.limits import BUSY_CORE_RATIO
from pathlab.errors import StoreError
from pathlab.report import captions, figures
from pathlab.report.analyses_tables import tabulate_analyses
from pathlab.report.findings import Finding, Weight, findings, short_name
from pathlab.report.limits import RISE_RATIO, WINDOW_HIGH_RATIO, WINDOW_LOW_RATIO
from pathlab.report.source import ResultsSource, StoredTrial, format_utc, read_trials
from pathlab.report.summary import Cell, PathSummary, Summary, summarise
from pathlab.report.tables import (
    TextTable,
    format_name,
    tabulate_cells,
    tabulate_failures,
    tabulate_hosts,
    tabulate_journal,
    tabulate_plan,
)
from pathlab.store.records import TrialRecord
from pathlab.units import format_ratio, format_time

FIGURE_BUDGET_BYTES = 4_000_000  # the whole page stays below 5 MB
CONTRIBUTION_FIGURES = 24
_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|×|[kMGT]?bit/s|[kKMGT]i?B|B|ns|µs|ms|s|min)(?![\w/]))|(?<=×) (?=\d)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFigure:
    """A figure as SVG with the sentence below it."""

    svg: Markup
    caption: str
    heading: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPage:
    """What the page shows of one path."""

    name: str
    findings: tuple[Finding, ...]
    table: TextTable
    figures: tuple[PlacedFigure, ...]
    contributions: tuple[PlacedFigure, ...]
    trials: tuple[PlacedFigure, ...]  # one for each cell
    more_trials: tuple[PlacedFigure, ...]
    left_out: int  # trials without a figure, for the size of the page


class _Drawer:
    """Numbers the figures of a page, so that their ids differ, and adds up their size."""

    def __init__(self) -> None:
        self.count = 0
        self.size_bytes = 0

    @property
    def full(self) -> bool:
        return self.size_bytes >= FIGURE_BUDGET_BYTES

    def place(self, figure: Figure | None, caption: str, heading: str = "") -> Iterator[PlacedFigure]:
        """The figure placed, or nothing when there is none to draw."""
        if figure is None:
            return
        self.count += 1
        svg = figures.render_svg(figure, f"f{self.count}", f"{heading}. {caption}" if heading else caption)
        self.size_bytes += len(svg.encode())
        yield PlacedFigure(svg=Markup(svg), caption=caption, heading=heading)


def write_report(results: ResultsSource, out: Path) -> Path:
    """Write the report of a results file to ``out`` and return its path; the file is replaced as a whole.

    Results without a complete trial give a page that says so. Raises StoreError when it cannot be written.
    """
    page = render_report(results)
    temporary: str | None = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.", suffix=".new")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(out)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
        raise StoreError(
            f"the report '{out}' cannot be written: {error.strerror}",
            hint="the results are safe; free some space or give another file with --out",
        ) from error
    return out


def render_report(results: ResultsSource) -> str:
    """The page as text."""
    summary, campaign = summarise(results), results.campaign
    trials, plan, hosts = read_trials(results), results.plan(), results.hosts()
    said = findings(summary)
    drawer = _Drawer()
    environment = Environment(
        loader=PackageLoader("pathlab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tie"] = tie_units
    return environment.get_template("report.html").render(
        campaign=campaign,
        created=format_utc(campaign.created_utc),
        summary=summary,
        warnings=[finding for finding in said if finding.weight is Weight.WARNING],
        general=[f for f in said if f.path is None and f.weight is not Weight.WARNING],
        pages=[_build_page(results, path, said, _condition(results, path), drawer) for path in summary.paths],
        facts=_state_run(summary, campaign.environment, trials),
        order=campaign.model.get("order"),
        plan=tabulate_plan(plan, trials),
        failures=tabulate_failures(summary) if summary.failures else None,
        hosts=tabulate_hosts(hosts) if hosts else None,
        journal=tabulate_journal(results.journal()),
        analyses=tabulate_analyses(results) if summary.complete else (),
        flags=_count_flags(summary),
        rules={
            "rise": format_ratio(RISE_RATIO),
            "low": format_ratio(WINDOW_LOW_RATIO),
            "high": format_ratio(WINDOW_HIGH_RATIO),
            "core": format_ratio(BUSY_CORE_RATIO),
        },
    )


def tie_units(text: str) -> str:
    """Text in which no line breaks between a number and its unit."""
    return _BEFORE_UNIT.sub("\u00a0", text)


def _condition(results: ResultsSource, path: PathSummary) -> figures.Condition:
    environment, first = results.campaign.environment, next(iter(path.cells[0].trials), None)
    lab = environment.get("lab")
    place = "real path"
    if environment.get("fallback"):
        place = "LOOPBACK FALLBACK"
    elif isinstance(lab, dict):
        place = f"lab, {lab['backend']}" if lab.get("backend") else "lab"
    started = first.record.started_utc if first else results.campaign.created_utc
    return figures.Condition(place=place, date=started[:10])


def _build_page(
    results: ResultsSource,
    path: PathSummary,
    said: tuple[Finding, ...],
    condition: figures.Condition,
    drawer: _Drawer,
) -> PathPage:
    overview: list[PlacedFigure] = []
    contributions: list[PlacedFigure] = []
    if path.measured:
        overview += drawer.place(figures.draw_throughput(path, condition), captions.describe_throughput(path))
        overview += drawer.place(figures.draw_rise(path, condition), captions.describe_rise(path))
        several = [cell for cell in path.measured if cell.streams > 1][:CONTRIBUTION_FIGURES]
        for cell in several:
            figure = figures.draw_contributions(results, cell, condition)
            contributions += drawer.place(figure, captions.describe_contributions(cell), short_name(cell))
    chosen = [(cell, choose_trial(cell)) for cell in path.measured]
    shown = {trial.trial_id for _, trial in chosen}
    rest = [(c, t) for c in path.measured for t in c.trials if t.trial_id not in shown]
    trials, missed = _draw_trials(results, chosen, condition, drawer)
    more, missed_more = _draw_trials(results, rest, condition, drawer)
    name = str(path.path)
    return PathPage(
        name=name,
        findings=tuple(f for f in said if f.path == name and f.weight is not Weight.WARNING),
        table=tabulate_cells(path),
        figures=tuple(overview),
        contributions=tuple(contributions),
        trials=trials,
        more_trials=more,
        left_out=missed + missed_more,
    )


def choose_trial(cell: Cell) -> StoredTrial:
    """The complete trial whose throughput is nearest to the cell's median, the earliest of equals."""
    middle = cell.throughput_bits_per_s.median or 0.0
    return min(cell.trials, key=lambda trial: abs((trial.record.throughput_bits_per_s or 0.0) - middle))


def _draw_trials(
    results: ResultsSource,
    chosen: list[tuple[Cell, StoredTrial]],
    condition: figures.Condition,
    drawer: _Drawer,
) -> tuple[tuple[PlacedFigure, ...], int]:
    """Timelines of the trials while the page has room, and the number of those that found none."""
    placed: list[PlacedFigure] = []
    for done, (cell, trial) in enumerate(chosen):
        if drawer.full:
            return tuple(placed), len(chosen) - done
        figure = figures.draw_timeline(results, trial.trial_id, trial.record, condition)
        heading = f"{short_name(cell)}, cycle {trial.record.cycle + 1}"
        placed += drawer.place(figure, captions.describe_timeline(trial.record), heading)
    return tuple(placed), 0


def _state_run(
    summary: Summary, environment: dict[str, Any], trials: tuple[StoredTrial, ...]
) -> list[tuple[str, str]]:
    """Facts of the run as label and text, each taken from the records."""
    complete = [trial.record for trial in trials if trial.complete]
    facts = [
        (
            "Trials",
            f"{summary.complete} complete, {len(summary.failures)} not, of {summary.planned} planned rows",
        )
    ]
    if complete:
        facts += [
            (
                "First and last trial",
                f"started {format_utc(complete[0].started_utc)} and {format_utc(complete[-1].started_utc)}",
            ),
            ("Steady window", _alike(complete, lambda r: format_time(r.duration_ns))),
            ("Warm-up before it", _alike(complete, lambda r: format_time(r.warmup_ns))),
            ("Record interval", _alike(complete, lambda r: format_time(r.interval_ns))),
            ("Probes", _alike(complete, _probe_text)),
            ("Congestion control", _alike(complete, _congestion_text)),
            (
                "Segment size",
                _alike(complete, lambda r: f"{r.mss_bytes} bytes" if r.mss_bytes else "not read"),
            ),
            ("Engine", _alike(complete, lambda r: r.engine_version or "not stated")),
        ]
    lab = environment.get("lab")
    if isinstance(lab, dict):
        facts += [
            (f"Lab, {format_name(str(key)).lower()}", str(value))
            for key, value in lab.items()
            if isinstance(value, (str, int, float))
        ]
    for path in summary.paths:
        if path.truth is not None:
            facts.append((f"Lab's link under {path.path}", _truth_text(path)))
    return facts


def _truth_text(path: PathSummary) -> str:
    truth = path.truth
    if truth is None:
        return ""
    queue = "unlimited queue" if not truth.queue_bytes else f"queue of {truth.queue_bytes / 1000:g} kB"
    return (
        f"{truth.rate_bits_per_s / 1e6:g} Mbit/s, {format_time(truth.delay_ns)} each way, {queue}, "
        f"MTU {truth.mtu_bytes} bytes"
    )


def _probe_text(record: TrialRecord) -> str:
    if record.probe_method is None:
        return "none"
    return f"{record.probe_method}, stamps: {record.probe_stamps or 'not stated'}"


def _congestion_text(record: TrialRecord) -> str:
    asked = record.congestion_asked or "kernel's default"
    return f"asked {asked}, in use {record.congestion_sender or 'not read'}"


def _alike(records: list[TrialRecord], say: Any) -> str:
    """What the records say, each different text once, in order."""
    return "; ".join(dict.fromkeys(say(record) for record in records))


def _count_flags(summary: Summary) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for cell in summary.cells:
        for name, count in cell.flags:
            counts[name] = counts.get(name, 0) + count
    return sorted(counts.items())
