"""The live view: plain lines where there is no terminal, a table and sparks where there is one."""

import datetime
import io
import re
import sys
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from pathlab.cli.live import LiveView, continue_after_broken_pipe, draw_sparks
from pathlab.cli.running_table import RunningTable
from pathlab.runner.events import (
    CampaignEnded,
    CampaignStarted,
    Continued,
    Event,
    Paused,
    Preparing,
    RateNow,
    RetransmissionsNow,
    RttNow,
    RunNotice,
    TrialEnded,
    TrialStarted,
    Waiting,
    describe_event,
)
from tests.builders.trials import make_record

LEVELS = {"streams": 2, "window_bytes": 65536, "congestion": None, "dscp": 8}
DONE = make_record(
    streams=2,
    window_requested_bytes=65536,
    throughput_bits_per_s=4e7,
    loaded_rtt_mean_ns=5e7,
    loaded_rtt_median_ns=7e7,
    unloaded_rtt_mean_ns=4e7,
    unloaded_rtt_median_ns=4e7,
    flags=("lab", "control"),
)
NOW_S = 1000.0
START = TrialStarted(
    row=0, source="a", destination="b", streams=2, window_bytes=65536, estimate_ns=5 * 10**9, settings=LEVELS
)
STARTED = CampaignStarted(
    name="sweep", folder=Path("out"), rows=2, done=0, estimate_ns=10**10, work_ns=10**10
)
EVENTS: list[Event] = [
    STARTED,
    Waiting(reason="outside the hours", until_utc="2026-01-05T22:00:00+00:00"),
    START,
    RateNow(row=0, bits_per_s=3e7, elapsed_ns=10**8),
    RttNow(row=0, rtt_ns=5 * 10**7),
    RetransmissionsNow(row=0, segments=12),
    RunNotice(text="the route has [changed]"),
    TrialEnded(record=DONE, settings=LEVELS),
    TrialEnded(record=make_record(status="failed", failed_stage="network", failure="refused"), settings={}),
    CampaignEnded(complete=1, rows=2, reason="stopped"),
]


def show(*, terminal: bool = False, quiet: bool = False, bar_only: bool = False) -> str:
    screen = io.StringIO()
    console = Console(file=screen, width=200, force_terminal=terminal, color_system=None)
    with LiveView(console, quiet=quiet, bar_only=bar_only) as view:
        for event in EVENTS:
            view(event)
    return screen.getvalue()


def test_on_a_terminal_the_cells_and_sparks_stand_below() -> None:
    text = show(terminal=True)
    assert "█" in text
    assert "dRTT" in text


def draw(view: LiveView, width: int) -> list[str]:
    """What the live part shows now."""
    screen = io.StringIO()
    Console(file=screen, width=width, color_system=None).print(view)
    return screen.getvalue().splitlines()


def make_view(events: Iterable[Event] = ()) -> LiveView:
    """A view that has had these events, and whose clock does not go on."""
    view = LiveView(Console(file=io.StringIO(), width=80), quiet=True, clock=lambda: NOW_S)
    for event in events:
        view(event)
    return view


def make_full_view() -> LiveView:
    """A trial of a path of which one was measured before."""
    ended = TrialEnded(record=DONE, settings=LEVELS)
    view = make_view([STARTED, START, ended, replace(START, row=1, streams=16)])
    for number in range(60):
        view(RateNow(row=1, bits_per_s=38.6e6, elapsed_ns=number * 10**8))
        view(RttNow(row=1, rtt_ns=52_900_000))
    view(RetransmissionsNow(row=1, segments=1234))
    return view


@pytest.mark.parametrize("width", [60, 80, 120])
def test_rate_rtt_and_retransmissions_are_whole_at_any_width(width: int) -> None:
    lines = draw(make_full_view(), width)
    assert max(map(len, lines)) <= width
    now, progress = lines[-2:]
    for text in ("38.6 Mbit/s", "RTT 52.9 ms", "(idle 40 ms)", "1234 retr"):
        assert text in now
    assert "█" in now or width == 60
    assert progress.startswith("trial 2/2  16 × 64 KiB  ")
    assert progress.endswith(" 0:05 left")
    assert "…" not in "".join(lines)


def test_the_bar_is_dropped_before_any_digit() -> None:
    view = make_full_view()
    assert "━" in draw(view, 60)[-1]
    narrow = draw(view, 36)
    assert not any("━" in line for line in narrow)
    assert narrow[-1] == "trial 2/2  16 × 64 KiB  0:05 left"
    assert draw(view, 24)[-2] == "trial 2/2  16 × 64 KiB"


def test_a_missing_answer_is_said_and_no_idle_rtt_is_made_up() -> None:
    view = make_view([START])
    view(RttNow(row=0, rtt_ns=None))
    assert draw(view, 80)[0].startswith("RTT no answer ")
    assert "idle" not in draw(view, 80)[0]


def test_the_time_left_begins_with_the_preparation() -> None:
    view = make_view([replace(STARTED, preparation_ns=300 * 10**9)])
    assert draw(view, 80)[-1].endswith(" 5:10 left")


def test_a_repeated_trial_adds_to_the_time_left() -> None:
    view = make_view([STARTED, START, TrialEnded(record=DONE, settings=LEVELS)])
    assert draw(view, 80)[-1].endswith(" 0:05 left")
    view(replace(START, attempt=2))
    assert draw(view, 80)[-1].endswith(" 0:10 left")


def test_the_screen_is_left_alone_while_hosts_may_ask_for_a_password() -> None:
    screen = io.StringIO()
    with LiveView(Console(file=screen, width=120, force_terminal=True, color_system=None)) as view:
        assert screen.getvalue() == ""
        view(EVENTS[0])
        assert "\x1b[?25l" in screen.getvalue()  # the cursor is hidden: redraws have begun


def test_a_wait_is_part_of_the_time_left() -> None:
    screen = io.StringIO()
    with LiveView(Console(file=screen, width=120, force_terminal=True, color_system=None)) as view:
        view(EVENTS[0])
        until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=5, minutes=30)
        view(Waiting(reason="outside the hours", until_utc=until.isoformat(timespec="seconds")))
    assert re.search(r"5:(30:[01]|29:5)\d left", screen.getvalue())


def test_a_wait_that_ends_early_leaves_the_time_left() -> None:
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=2)
    wait = Waiting(reason="a is busy", until_utc=until.isoformat(timespec="seconds"))
    view = make_view([replace(STARTED, preparation_ns=60 * 10**9), wait])
    assert re.search(r" (2:00|1:59):\d\d left$", draw(view, 80)[-1])
    view(Preparing(text="calibrating a, b"))
    assert draw(view, 80)[-1].endswith(" 1:10 left")


def test_a_pause_is_shown_and_is_no_progress() -> None:
    now_s = NOW_S
    screen = io.StringIO()
    view = LiveView(Console(file=screen, width=100), clock=lambda: now_s)
    for event in (STARTED, START, TrialEnded(record=DONE, settings=LEVELS), Paused()):
        view(event)
    (before,) = draw(view, 100)[-1:]
    now_s += 3600
    (after,) = draw(view, 100)[-1:]
    assert before == after
    assert re.match(r"paused since \d\d:\d\d UTC ", after)
    assert f"`pathlab resume {STARTED.folder}` continues" in screen.getvalue()
    view(Continued(paused_ns=3600 * 10**9))
    assert "paused" not in draw(view, 100)[-1]
    assert draw(view, 100)[-1].endswith(before.split()[-2] + " left")
    assert "continued after a pause of 1 h" in screen.getvalue()


def test_events_of_other_threads_do_not_disturb_a_drawing() -> None:
    view = make_view([STARTED])

    def run_trials() -> None:
        for row in range(1500):
            view(replace(START, row=row))
            view(RateNow(row=row, bits_per_s=1e6, elapsed_ns=1))
            if row >= 50:
                view(TrialEnded(record=make_record(plan_row=row - 50, status="failed"), settings=LEVELS))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    runner = threading.Thread(target=run_trials)
    runner.start()
    try:
        while runner.is_alive():
            draw(view, 80)
    finally:
        runner.join()
        sys.setswitchinterval(before)
    assert "trial 1500/2" in draw(view, 80)[-1]


def test_the_table_gives_an_interval_from_six_trials_on() -> None:
    table = RunningTable()
    assert table.build() is None
    for number in range(6):
        table.add(make_record(throughput_bits_per_s=1e6 * (10 + number)), {})
    screen = io.StringIO()
    Console(file=screen, width=120).print(table.build())
    assert "12.5 Mbit/s" in screen.getvalue()
    # Independent trials have 10 to 15; six cannot rule out that they repeat each other, so it is cut.
    assert "10–15 Mbit/s†" in screen.getvalue()


@pytest.mark.parametrize("gone", [BrokenPipeError(), SystemExit(1)])
def test_a_run_outlives_whoever_reads_its_output(
    gone: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Event] = []
    moved: list[int] = []

    def show(event: Event) -> None:
        shown.append(event)
        if len(shown) == 2:
            raise gone

    monkeypatch.setattr("os.dup2", lambda _old, new: moved.append(new))
    tell = continue_after_broken_pipe(show)
    for event in EVENTS:
        tell(event)
    assert shown == EVENTS[:2]
    assert moved == [sys.stdout.fileno()]


def test_sparks_reach_from_nothing_to_the_largest() -> None:
    assert draw_sparks(deque([0.0, 4.0, 8.0])) == "▁▅█"
    assert draw_sparks(deque([0.0, 0.0])) == "  "
    assert draw_sparks(deque()) == ""


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_has_its_documented_form(event: Event) -> None:
    described = describe_event(event, "now")
    assert (described["format"], described["time_utc"]) == (1, "now")
    text = Path(__file__).parents[3].joinpath("docs", "EVENTS.md").read_text(encoding="utf-8")
    printed, _ = text.split("\n## Over HTTP\n")
    (line,) = [line for line in printed.splitlines() if line.startswith(f"| `{described['event']}` |")]
    for name in set(described) - {"format", "event", "time_utc"}:
        assert f"`{name}`" in line
