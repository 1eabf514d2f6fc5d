"""The live view of a run: progress, the trial under way, a table of the cells; plain lines elsewhere."""

from __future__ import annotations

import datetime
import os
import shlex
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from pathlab.cli.running_table import (
    RunningTable,
    describe_message_levels,
    format_trial_line,
    is_of_messages,
)
from pathlab.printed_table import GAP, PrintedParagraph, PrintedTable
from pathlab.report.base.names import shorten_levels
from pathlab.runner.events import (
    CampaignEnded,
    CampaignStarted,
    Continued,
    Emit,
    Event,
    LossesNow,
    Paused,
    Preparing,
    RateNow,
    RetransmissionsNow,
    RttNow,
    RunNotice,
    SearchNow,
    TrialEnded,
    TrialStarted,
    Waiting,
)
from pathlab.store.flags import Status
from pathlab.units import format_frequency, format_rate, format_ratio, format_time

REFRESHES_PER_S = 4
SPARKS = "▁▂▃▄▅▆▇█"
SPARK_POINTS = 40
SPARK_POINTS_MIN = 6
BAR_WIDTH, BAR_WIDTH_MIN = 30, 8
STATUS_STYLES: Mapping[str, str] = {Status.COMPLETE: "", Status.INTERRUPTED: "yellow"}


def draw_sparks(values: deque[float]) -> str:
    """Bars from zero to the largest of the latest values."""
    top = max(values, default=0.0)
    return "".join(
        SPARKS[min(len(SPARKS) - 1, int(value / top * len(SPARKS)))] if top else " " for value in values
    )


def continue_after_broken_pipe(show: Emit) -> Emit:
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


def format_wait(until: datetime.datetime, now: datetime.datetime, *, at_most: bool) -> str:
    """``waiting until 11:58 UTC at most``; both times in UTC, the day only where it is another one."""
    day = "" if until.date() == now.date() else f"{until:%Y-%m-%d} "
    return f"waiting until {day}{until:%H:%M} UTC{' at most' if at_most else ''}"


def format_time_left(left_s: float) -> str:
    """``0:41 left``."""
    minutes, seconds = divmod(round(max(0.0, left_s)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d} left" if hours else f"{minutes}:{seconds:02d} left"


def describe_step(event: SearchNow) -> str:
    """Where a search is: ``48.1 Mbit/s (trial 2), between 45 Mbit/s and 50 Mbit/s``."""
    below, above = (
        None if rate is None else format_rate(rate)
        for rate in (event.below_bits_per_s, event.above_bits_per_s)
    )
    between = f", between {below} and {above}" if below and above else f", above {below}" if below else ""
    return f"{format_rate(event.rate_bits_per_s)} (trial {event.trial}){between}"


class LiveView:
    """Shows events of one run. Call it with each event, from any thread; use it as a context manager.

    ``bar_only`` leaves out the table and the lines on the plan and on each trial. ``clock`` is in seconds.
    """

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        bar_only: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._lock = threading.RLock()  # never held while printing: rich has locks of its own
        self._lines: list[PrintedParagraph] = []  # to print once the lock is released
        self._quiet = quiet
        self._bar_only = bar_only
        self._console = console
        self._live = Live(self, console=console, refresh_per_second=REFRESHES_PER_S, transient=True)
        self._shows = not quiet and console.is_terminal
        self._place = ""
        self._table = RunningTable()
        self._varied: tuple[str, ...] = ()
        self._message_bits = 0  # of one message of the watched row; 0: a stream of bytes
        self._rates: deque[float] = deque(maxlen=SPARK_POINTS)
        self._rtts: deque[float] = deque(maxlen=SPARK_POINTS)
        self._retransmitted: int | None = None
        self._lost_ratio: float | None = None  # of a UDP flow's datagrams
        self._idle_ns: dict[tuple[str, str], float] = {}  # by path: median of the last unloaded probes
        self._path = ("", "")  # of the row that is watched
        self._started = False
        self._folder = Path()  # of the results
        self._rows = self._before = 0  # of the plan, and those done by earlier runs
        self._numbers: dict[int, int] = {}  # by row: its number in the display
        self._watched: int | None = None  # the row whose rate is drawn: the one that began last
        self._steps: dict[int, str] = {}  # by row: where its search is
        self._searches = 0
        self._done_ns = self._total_ns = 0
        self._goes_on_s = 0.0  # when the latest wait or preparation ends
        self._preparation_ns = 0
        self._waits = False
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
        with self._lock:
            parts = list(self._draw(options.max_width))
        yield from parts

    def _draw(self, width: int) -> Iterator[str | Text | PrintedTable | PrintedParagraph]:
        table = None if self._bar_only else self._table.build()
        if table is not None:
            yield ""
            yield table
        if self._rates or self._rtts:
            yield self._draw_now(width)
        if self._started:
            yield from self._draw_progress(width)

    def _draw_now(self, width: int) -> Text:
        """Rate, RTT now and idle, retransmissions or loss; their course where there is room."""
        idle_ns = self._idle_ns.get(self._path)
        idle = "" if idle_ns is None else f" (idle {format_time(idle_ns)})"
        rtt = (
            f"RTT {format_time(self._rtts[-1]) if self._rtts[-1] else 'no answer'}{idle}"
            if self._rtts
            else ""
        )
        retransmitted = self._retransmitted
        rate = ""
        if self._rates:
            latest, bits = self._rates[-1], self._message_bits
            rate = format_frequency(latest / bits) if bits else format_rate(latest)
        count = "" if retransmitted is None else f"{retransmitted} retransmissions"
        if self._lost_ratio is not None:
            count = f"loss {format_ratio(self._lost_ratio)}"
        if cell_len(GAP.join((rate, rtt, count))) > width:
            count = count.replace("retransmissions", "retr.")
        parts = [(rate, self._rates, "green"), (rtt, self._rtts, "magenta"), (count, (), "")]
        known = [part for part in parts if part[0]]
        spare = width - sum(cell_len(text) for text, _, _ in known) - len(GAP) * (len(known) - 1)
        points = spare // sum(bool(values) for _, values, _ in known) - 1
        line = Text(no_wrap=True, overflow="ignore")
        for text, values, style in known:
            line.append(f"{GAP if line else ''}{text}")
            if values and points >= SPARK_POINTS_MIN:
                line.append(f" {draw_sparks(deque(list(values)[-points:]))}", style)
        return line

    def _draw_progress(self, width: int) -> Iterator[Text | PrintedParagraph]:
        """The trial and the time left, and between them a bar where there is room."""
        now_s = self._clock()
        completed_ns = self._count_completed_ns(now_s)
        left_s = (self._total_ns - completed_ns) * self._at_once_ratio / 1e9
        left = format_time_left(max(now_s, self._goes_on_s) + left_s - now_s)
        place = self._place
        if cell_len(f"{place}{GAP}{left}") > width:
            yield PrintedParagraph(place)
            place = ""
        line = Text(f"{place}{GAP if place else ''}", no_wrap=True, overflow="ignore")
        room = min(BAR_WIDTH, width - line.cell_len - len(GAP) - cell_len(left))
        if room >= BAR_WIDTH_MIN:
            done = round(room * min(1.0, completed_ns / max(1, self._total_ns)))
            line.append("━" * done, "green").append("━" * (room - done), "dim").append(GAP)
        yield line.append(left, "cyan")

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._take(event)
            lines, self._lines = self._lines, []
        for line in lines:
            self._console.print(line, soft_wrap=True)
        if self._shows and isinstance(event, CampaignStarted):
            self._live.start()  # not before: redraws would overwrite questions for passwords

    def _take(self, event: Event) -> None:
        now = datetime.datetime.now(datetime.UTC)
        match event:
            case RunNotice():
                self._print_always(event.text, "yellow", mark="note  ")
            case Preparing():
                self._prepare(event)
            case CampaignStarted():
                self._start(event)
            case Waiting():
                until = datetime.datetime.fromisoformat(event.until_utc)
                self._goes_on_s, self._waits = self._clock() + (until - now).total_seconds(), True
                self._place = format_wait(until, now, at_most=event.at_most)
                self._print_always(f"{event.reason}; {self._place}", "dim")
            case Paused():
                self._goes_on_s, self._waits = 0.0, False
                self._place = f"paused since {now:%H:%M} UTC"
                again = shlex.join(["pathlab", "resume", str(self._folder)])
                self._print_always(f"{self._place}; `{again}` continues", "yellow")
            case Continued():
                self._place = ""
                self._print_always(f"continued after a pause of {format_time(event.paused_ns)}", "dim")
            case SearchNow():
                self._steps[event.row] = describe_step(event)
            case TrialStarted():
                self._start_trial(event)
            case RateNow() if event.row == self._watched:
                self._rates.append(event.bits_per_s)
            case RttNow() if event.row == self._watched:
                self._rtts.append(float(event.rtt_ns or 0))
            case RetransmissionsNow() if event.row == self._watched:
                self._retransmitted = event.segments
            case LossesNow() if event.row == self._watched:
                all_packets = event.lost_packets + event.received_packets
                self._lost_ratio = event.lost_packets / all_packets if all_packets else None
            case TrialEnded():
                self._end_trial(event)
            case CampaignEnded() if event.reason is not None:
                self._print(event.reason, "yellow", mark="ended  ")

    def _print(self, text: str, style: str = "", *, mark: str = "") -> None:
        if not self._bar_only:
            self._print_always(text, style, mark=mark)

    def _print_always(self, text: str, style: str = "", *, mark: str = "") -> None:
        if not self._quiet:
            self._lines.append(PrintedParagraph(text, style, mark))

    def _prepare(self, event: Preparing) -> None:
        """What is done before the bar is shown is a line of its own. A wait can end before its time."""
        self._place = event.text
        if self._waits:
            self._goes_on_s, self._waits = self._clock() + self._preparation_ns / 1e9, False
        if not self._started:
            self._print_always(event.text, "dim")

    def _start(self, event: CampaignStarted) -> None:
        self._rows, self._before, self._total_ns = event.rows, event.done, event.work_ns
        self._folder = event.folder
        self._at_once_ratio = event.estimate_ns / max(1, event.work_ns)
        self._varied, self._table = event.varied, RunningTable(event.varied)
        if event.done and self._shows:
            self._table.add_stored(event.folder)
        left_ns = event.preparation_ns + event.estimate_ns
        trials, left = f"{event.rows} trials", f", about {format_time(left_ns)} left"
        self._searches = event.searches
        if event.searches:
            noun = "search" if event.searches == 1 else "searches"
            trials = f"{event.searches} {noun}, about {event.rows} trials"
        if event.done:
            trials = f"resuming: {event.done} of {trials} done"
        if event.done == event.rows:
            trials, left = f"all {event.rows} trials done", ""
        self._print(f"Campaign {event.name}: {trials}{left}. Results: {event.folder}")
        self._preparation_ns = event.preparation_ns
        self._goes_on_s = self._clock() + event.preparation_ns / 1e9
        self._started = True

    def _start_trial(self, event: TrialStarted) -> None:
        number = self._numbers.setdefault(event.row, self._before + len(self._numbers) + 1)
        self._running[event.row] = (event.estimate_ns, self._clock())
        self._goes_on_s, self._waits = 0.0, False  # whatever it waited for is over
        self._total_ns += event.estimate_ns if event.attempt > 1 else 0  # the plan has each row once
        self._watched, self._path = event.row, (event.source, event.destination)
        self._rates.clear()
        self._rtts.clear()
        self._retransmitted = self._lost_ratio = None
        self._message_bits, cell = 0, shorten_levels(event.streams, event.window_bytes)
        if is_of_messages(event.settings):
            cell = describe_message_levels(event.settings, self._varied)
            # Another encoding adds bytes that are counted with those of the messages.
            if event.settings.get("encoding") in (None, "fixed"):
                self._message_bits = 8 * event.settings["message_bytes"]
        cell = self._steps.pop(event.row, cell)
        self._place = f"trial {number}/{self._count_rows(number)}{GAP if cell else ''}{cell}"

    def _count_rows(self, number: int) -> int:
        """Rows of the plan; of searches, whose rows are an estimate, no fewer than this trial's number."""
        return max(number, self._rows) if self._searches else self._rows

    def _count_completed_ns(self, now_s: float) -> int:
        under_way = (min(row_ns, int((now_s - began_s) * 1e9)) for row_ns, began_s in self._running.values())
        return self._done_ns + sum(under_way)

    def _end_trial(self, event: TrialEnded) -> None:
        record = event.record
        self._done_ns += self._running.pop(record.plan_row, (0, 0.0))[0]
        if record.unloaded_rtt_median_ns is not None:
            self._idle_ns[record.path_source, record.path_destination] = record.unloaded_rtt_median_ns
        if record.status == Status.COMPLETE:
            self._table.add(record, event.settings)
        number = self._numbers.get(record.plan_row, len(self._numbers))
        style = STATUS_STYLES.get(record.status, "red")
        self._print(
            format_trial_line(record, event.settings, self._varied),
            style,
            mark=f"{number:>3}/{self._count_rows(number)}  ",
        )
