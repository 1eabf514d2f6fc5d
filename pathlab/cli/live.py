"""The live view of a run: progress, the trial under way, a table of the cells; plain lines elsewhere."""

from __future__ import annotations

import datetime
import os
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from pathlab.campaign.factors import ALWAYS_GIVEN, format_levels
from pathlab.escaping import escape_line
from pathlab.runner.events import (
    CampaignEnded,
    CampaignStarted,
    Emit,
    Event,
    Preparing,
    RateNow,
    RttNow,
    RunNotice,
    TrialEnded,
    TrialStarted,
    Waiting,
)
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.study.answer import measure_records
from pathlab.study.selection import is_counted
from pathlab.study.streams import measure_drtt
from pathlab.units import format_bytes, format_rate, format_time

REFRESHES_PER_S = 4
CELLS_SHOWN = 10
NOTES_SHOWN = 3
SPARKS = "▁▂▃▄▅▆▇█"
SPARK_POINTS = 40
ADDRESSES = ("source_address", "destination_address", "control")


def format_combination(streams: int, window_bytes: int | None) -> str:
    """``8 x 64 KiB``: streams and window as people say them."""
    return f"{streams} x {format_bytes(window_bytes) if window_bytes is not None else 'auto'}"


def describe_levels(settings: Mapping[str, Any]) -> str:
    """The other factors of a row, such as ``congestion=bbr dscp=8``, but for those left to the system."""
    others = {
        name: level
        for name, level in settings.items()
        if name not in (*ALWAYS_GIVEN[:2], *ADDRESSES) and level is not None
    }
    return " ".join(f"{key}={text}" for key, text in format_levels(others).items())


def format_trial_line(record: TrialRecord, settings: Mapping[str, Any]) -> str:
    """One line on a finished trial."""
    cell = format_combination(record.streams, record.window_requested_bytes)
    others = describe_levels(settings) if len(settings) > len(ALWAYS_GIVEN) else ""
    what = f"{record.path_source} to {record.path_destination}  {cell:>12}{'  ' if others else ''}{others}"
    if record.status != Status.COMPLETE:
        return f"{what}  {record.status}: {record.failure}"
    rise, change_ns = "", measure_drtt(record)
    if change_ns is not None:
        rise = f"  RTT {'+' if change_ns >= 0 else ''}{format_time(change_ns)}"
    marks = [flag for flag in record.flags if flag != Flag.LAB]
    return f"{what}  {format_rate(record.throughput_bits_per_s):>12}{rise}  {', '.join(marks)}".rstrip()


def draw_sparks(values: deque[float]) -> str:
    """Bars from zero to the largest of the latest values."""
    top = max(values, default=0.0)
    return "".join(
        SPARKS[min(len(SPARKS) - 1, int(value / top * len(SPARKS)))] if top else " " for value in values
    )


def outlive_reader(show: Emit) -> Emit:
    """Show events for as long as somebody reads them: a run goes on where its output cannot (``| head``)."""
    lost = False

    def show_while_read(event: Event) -> None:
        nonlocal lost
        if lost:
            return
        try:
            show(event)
        except (OSError, SystemExit):  # the latter is how rich ends a program whose pipe is broken
            lost = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return show_while_read


class TimeLeft(ProgressColumn):
    """What the plan's estimate leaves, counted down between events."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """``0:41 left``."""
        left_s = max(0.0, task.fields["ends_at"] - time.monotonic())
        minutes, seconds = divmod(round(left_s), 60)
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
        return Text(f"{text} left", style="cyan")


class RunningTable:
    """Throughput and dRTT per cell so far, as the report has them: medians over the usable trials."""

    def __init__(self) -> None:
        self._cells: dict[str, list[TrialRecord]] = {}

    def add(self, record: TrialRecord, settings: Mapping[str, Any]) -> None:
        """Take a complete trial; its cell moves to the end."""
        cell = f"{record.path_source} to {record.path_destination}  "
        cell += format_combination(record.streams, record.window_requested_bytes)
        others = describe_levels(settings)
        control = "  control" if settings.get("control") else ""  # it belongs to no cell
        key = f"{cell}  {others}".rstrip() + control
        self._cells[key] = [*self._cells.pop(key, []), record]

    def add_stored(self, folder: Path) -> None:
        with Results.open(folder) as results:
            settings = {row.row: row.settings for row in results.plan()}
            for record in results.records(status=Status.COMPLETE):
                self.add(record, settings[record.plan_row])

    def build(self) -> Table | None:
        """The cells measured last; None before the first."""
        if not self._cells:
            return None
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("combination", "n", "median", "95 % CI", "dRTT"):
            table.add_column(heading, justify="left" if heading == "combination" else "right", no_wrap=True)
        for key, records in list(self._cells.items())[-CELLS_SHOWN:]:
            counted = [record for record in records if is_counted(record)]
            rate = measure_records(record.throughput_bits_per_s for record in counted)
            drtt = measure_records(measure_drtt(record) for record in counted)
            bounds, interval = "undecided", rate.interval
            if interval.low is not None and interval.high is not None:
                bounds = f"{format_rate(interval.low)} to {format_rate(interval.high)}"
            table.add_row(
                key,
                str(rate.n) if rate.n == len(records) else f"{rate.n} of {len(records)}",
                format_rate(rate.median),
                bounds,
                format_time(drtt.median),
            )
        return table


class LiveView:
    """Shows events of one run. Call it with each event, from any thread; use it as a context manager.

    ``bar_only`` leaves out the table and the lines on the plan and on each trial.
    """

    def __init__(self, console: Console, *, quiet: bool = False, bar_only: bool = False) -> None:
        self._quiet = quiet
        self._bar_only = bar_only
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[place]}", markup=False),
            TextColumn("{task.fields[rate]:>13}"),
            TimeLeft(),
            console=console,
            auto_refresh=False,
        )
        self._live = Live(self, console=console, refresh_per_second=REFRESHES_PER_S, transient=True)
        self._shows = not quiet and console.is_terminal
        self._task: TaskID | None = None
        self._table = RunningTable()
        self._notes: deque[str] = deque(maxlen=NOTES_SHOWN)
        self._rates: deque[float] = deque(maxlen=SPARK_POINTS)
        self._rtts: deque[float] = deque(maxlen=SPARK_POINTS)
        self._rows = self._before = 0  # of the plan, and those done by earlier runs
        self._numbers: dict[int, int] = {}  # by row: its number in the display
        self._watched: int | None = None  # the row whose rate is drawn: the one that began last
        self._done_ns = self._total_ns = 0
        self._goes_on_s = 0.0  # when the latest wait ends
        self._at_once_ratio = 1.0  # duration of the run over the sum of its rows
        self._running: dict[int, tuple[int, float]] = {}  # by row: its time in ns, when it began

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shows:
            self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The part below the lines printed so far."""
        parts: list[Any] = []
        table = None if self._bar_only else self._table.build()
        if table is not None:
            parts += ["", table]
        if self._rates or self._rtts:
            lost = "" if not self._rtts or self._rtts[-1] else " lost"
            sparks = Text.assemble("rate ", (draw_sparks(self._rates), "green"))
            if self._rtts:
                sparks.append("  RTT ").append(draw_sparks(self._rtts), "magenta").append(lost)
            parts.append(sparks)
        if not self._bar_only:
            parts += [Text(note, style="yellow", no_wrap=True, overflow="ellipsis") for note in self._notes]
        if self._task is not None:
            parts.append(self._bar)
        yield Group(*parts)

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunNotice):
            self._notes.append(escape_line(event.text))
            self._print_always(Text.assemble(("note", "yellow"), f"  {escape_line(event.text)}"))
        elif isinstance(event, Preparing):
            self._prepare(event)
        elif isinstance(event, CampaignStarted):
            self._start(event)
        elif isinstance(event, Waiting):
            until = datetime.datetime.fromisoformat(event.until_utc)
            wait_s = (until - datetime.datetime.now(datetime.UTC)).total_seconds()
            self._goes_on_s = time.monotonic() + wait_s
            self._update(place=f"waiting until {event.until_utc}", rate="")
            self._print_always(Text(f"waiting until {event.until_utc}: {event.reason}", style="dim"))
        elif isinstance(event, TrialStarted):
            self._start_trial(event)
        elif isinstance(event, RateNow):
            if event.row == self._watched:
                self._rates.append(event.bits_per_s)
                self._update(rate=format_rate(event.bits_per_s))
        elif isinstance(event, RttNow):
            if event.row == self._watched:
                self._rtts.append(float(event.rtt_ns or 0))
        elif isinstance(event, TrialEnded):
            self._end_trial(event)
        elif isinstance(event, CampaignEnded) and event.reason is not None:
            self._print(Text.assemble(("ended", "yellow"), f"  {event.reason}"))

    def _print(self, text: Text) -> None:
        if not self._bar_only:
            self._print_always(text)

    def _print_always(self, text: Text) -> None:
        if not self._quiet:
            self._console.print(text, highlight=False, soft_wrap=True)

    def _prepare(self, event: Preparing) -> None:
        """What is done before the bar is shown is a line of its own."""
        self._update(place=event.text)
        if self._task is None:
            self._print_always(Text(event.text, style="dim"))

    def _start(self, event: CampaignStarted) -> None:
        self._rows, self._before, self._total_ns = event.rows, event.done, event.work_ns
        self._at_once_ratio = event.estimate_ns / max(1, event.work_ns)
        if event.done and self._shows:
            self._table.add_stored(event.folder)
        left_ns = event.preparation_ns + event.estimate_ns
        trials, left = f"{event.rows} trials", f", about {format_time(left_ns)} left"
        if event.done:
            trials = f"resuming: {event.done} of {trials} done"
        if event.done == event.rows:
            trials, left = f"all {event.rows} trials done", ""
        text = f": {trials}{left}. Results: {event.folder}"
        self._print(Text.assemble("Campaign ", (event.name, "bold"), text))
        self._goes_on_s = time.monotonic() + event.preparation_ns / 1e9
        ends_at = self._goes_on_s + event.estimate_ns / 1e9
        self._task = self._bar.add_task(
            event.name, total=max(1, event.work_ns), place="", rate="", ends_at=ends_at
        )
        if self._shows:
            self._live.start()  # not before: redraws would overwrite questions for passwords

    def _start_trial(self, event: TrialStarted) -> None:
        number = self._numbers.setdefault(event.row, self._before + len(self._numbers) + 1)
        self._running[event.row] = (event.estimate_ns, time.monotonic())
        self._goes_on_s = 0.0  # whatever it waited for is over
        self._watched = event.row
        self._rates.clear()
        self._rtts.clear()
        cell = format_combination(event.streams, event.window_bytes)
        self._update(place=f"trial {number}/{self._rows}  {cell}", rate="")

    def _update(self, **fields: Any) -> None:
        if self._task is None:
            return
        now_s = time.monotonic()
        under_way = (min(row_ns, int((now_s - began_s) * 1e9)) for row_ns, began_s in self._running.values())
        completed_ns = self._done_ns + sum(under_way)
        left_s = (self._total_ns - completed_ns) * self._at_once_ratio / 1e9
        ends_at = max(now_s, self._goes_on_s) + left_s
        self._bar.update(self._task, completed=completed_ns, ends_at=ends_at, **fields)

    def _end_trial(self, event: TrialEnded) -> None:
        self._done_ns += self._running.pop(event.record.plan_row, (0, 0.0))[0]
        self._update(rate="")
        record = event.record
        if record.status == Status.COMPLETE:
            self._table.add(record, event.settings)
        style = "" if record.status == Status.COMPLETE else "red"
        line = format_trial_line(record, event.settings)
        number = self._numbers.get(record.plan_row, len(self._numbers))
        self._print(Text.assemble((f"{number:>3}/{self._rows}", "dim"), "  ", (line, style)))
