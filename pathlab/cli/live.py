"""The live view of a run: a progress bar with the time left and the rate now; plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from pathlab.runner.events import CampaignStarted, Event, Notice, RateNow, TrialEnded, TrialStarted
from pathlab.store.records import TrialRecord
from pathlab.units import format_bytes, format_rate, format_time


def describe_cell(streams: int, window_bytes: int | None) -> str:
    """``8 x 64 KiB``: streams and window as people say them."""
    return f"{streams} x {format_bytes(window_bytes) if window_bytes is not None else 'auto'}"


def describe_trial(record: TrialRecord) -> str:
    """One line on a finished trial."""
    what = f"{record.path_source} to {record.path_destination}  "
    what += f"{describe_cell(record.streams, record.window_asked_bytes):>12}"
    if record.status != "complete":
        return f"{what}  {record.status}: {record.failure}"
    rise = ""
    if record.loaded_rtt_median_ns is not None and record.unloaded_rtt_median_ns is not None:
        change_ns = record.loaded_rtt_median_ns - record.unloaded_rtt_median_ns
        rise = f"  RTT {'+' if change_ns >= 0 else ''}{format_time(change_ns)}"
    marks = [flag for flag in record.flags if flag != "lab"]
    return f"{what}  {format_rate(record.throughput_bits_per_s):>12}{rise}  {', '.join(marks)}".rstrip()


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


class LiveView:
    """Shows events of one run. Call it with each event; use it as a context manager.

    ``bar_only`` leaves out the lines on the plan and on each trial.
    """

    def __init__(self, console: Console, *, quiet: bool = False, bar_only: bool = False) -> None:
        self._quiet = quiet
        self._bar_only = bar_only
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[place]}"),
            TextColumn("{task.fields[rate]:>13}"),
            TimeLeft(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task: TaskID | None = None
        self._rows = 0
        self._number = 0
        self._done_ns = 0
        self._row_ns = 0
        self._row_began = 0.0
        self._total_ns = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, Notice):
            self._say_always(f"[yellow]note[/]  {escape(event.text)}")
        elif isinstance(event, CampaignStarted):
            self._start(event)
        elif isinstance(event, TrialStarted):
            self._start_trial(event)
        elif isinstance(event, RateNow):
            self._update(rate=format_rate(event.bits_per_s))
        else:
            self._end_trial(event)

    def _say(self, text: str) -> None:
        if not self._bar_only:
            self._say_always(text)

    def _say_always(self, text: str) -> None:
        if not self._quiet:
            self._bar.console.print(text, highlight=False, soft_wrap=True)

    def _start(self, event: CampaignStarted) -> None:
        self._rows, self._number, self._total_ns = event.rows, event.done, event.estimate_ns
        went_before = f", {event.done} done before" if event.done else ""
        self._say(
            f"Campaign [bold]{escape(event.name)}[/]: {event.rows} trials{went_before}, "
            f"about {format_time(event.estimate_ns)} to go. Results: {escape(str(event.folder))}"
        )
        ends_at = time.monotonic() + event.estimate_ns / 1e9
        self._task = self._bar.add_task(
            event.name, total=max(1, event.estimate_ns), place="", rate="", ends_at=ends_at
        )

    def _start_trial(self, event: TrialStarted) -> None:
        self._number += 1
        self._row_ns, self._row_began = event.estimate_ns, time.monotonic()
        cell = describe_cell(event.streams, event.window_bytes)
        self._update(place=f"trial {self._number}/{self._rows}  {cell}", rate="")

    def _update(self, **fields: Any) -> None:
        if self._task is None:
            return
        elapsed_ns = min(self._row_ns, int((time.monotonic() - self._row_began) * 1e9))
        left_ns = self._total_ns - self._done_ns - elapsed_ns
        ends_at = time.monotonic() + left_ns / 1e9
        self._bar.update(self._task, completed=self._done_ns + elapsed_ns, ends_at=ends_at, **fields)

    def _end_trial(self, event: TrialEnded) -> None:
        self._done_ns += self._row_ns
        self._row_ns = 0
        self._update(rate="")
        style = "" if event.record.status == "complete" else "[red]"
        self._say(f"[dim]{self._number:>3}/{self._rows}[/]  {style}{escape(describe_trial(event.record))}")
