"""The live view: plain lines where there is no terminal, a table and sparks where there is one."""

import datetime
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pathlab.cli.live import LiveView, describe_step, format_wait
from pathlab.runner.events import CampaignStarted, Event, Preparing, SearchNow, TrialEnded, TrialStarted
from pathlab.store.results import Results
from tests.builders.printed import print_text
from tests.builders.stored import CAMPAIGN, COMPLETE, PLAN
from tests.builders.trials import make_record
from tests.golden.conftest import Say
from tests.unit.cli.test_live import EVENTS, STARTED, draw, make_view, show

NOW_S = 1000.0


def feed(console: Console, *events: Event) -> None:
    """Show events in a view."""
    with LiveView(console) as view:
        for event in events:
            view(event)


def test_without_a_terminal_there_are_lines_alone(say: Say) -> None:
    text = show()
    say(text.splitlines())


@pytest.mark.parametrize("done", [1, 2])
def test_a_continued_run_says_what_is_done(say: Say, done: int) -> None:
    event = CampaignStarted(
        name="sweep", folder=Path("out"), rows=2, done=done, estimate_ns=10**10, work_ns=10**10
    )
    say(print_text(lambda console: feed(console, event), 200))


def test_the_first_step_is_shown_at_once_and_calibration_counts_as_time_left(say: Say) -> None:
    screen = io.StringIO()
    with LiveView(Console(file=screen, width=200), bar_only=True) as view:
        view(Preparing(text="connecting to a, b"))
        say(screen.getvalue())
        view(STARTED)
        view(Preparing(text="calibrating a, b"))
    say(screen.getvalue())
    screen = io.StringIO()
    console = Console(file=screen, width=120, force_terminal=True, color_system=None)
    with LiveView(console, clock=lambda: NOW_S) as view:
        view(replace(STARTED, preparation_ns=60 * 10**9))
        view(Preparing(text="calibrating a, b"))
    say(screen.getvalue())


def test_an_rtt_increase_below_zero_is_named_with_its_reason(say: Say) -> None:
    increases = [
        TrialEnded(
            record=make_record(loaded_rtt_mean_ns=loaded_ns, unloaded_rtt_mean_ns=40_000_000), settings={}
        )
        for loaded_ns in (39_995_610, 10_000_000)
    ]
    say(print_text(lambda console: feed(console, *increases), 200))


def test_an_interrupted_trial_is_named_as_such(say: Say) -> None:
    record = make_record(status="interrupted", failed_stage="controller", failure="the run was stopped")
    say(print_text(lambda console: feed(console, TrialEnded(record=record, settings={})), 200))


def test_quiet_says_nothing_and_a_bar_alone_only_notes_and_waits(say: Say) -> None:
    assert show(quiet=True) == ""
    waiting, note = sorted(show(bar_only=True).splitlines(), key=lambda line: line.startswith("note"))
    say(waiting)
    say(note)


def test_a_wait_says_until_when_and_whether_it_may_end_earlier(say: Say) -> None:
    now = datetime.datetime(2026, 1, 5, 11, 50, tzinfo=datetime.UTC)
    for minutes, at_most in ((8, True), (8, False), (24 * 60 + 8, False)):
        say(format_wait(now + datetime.timedelta(minutes=minutes), now, at_most=at_most))


def test_a_run_that_goes_on_counts_and_shows_what_was_done_before(say: Say, tmp_path: Path) -> None:
    with Results.create(tmp_path, CAMPAIGN, PLAN) as results:
        results.add_trial(replace(COMPLETE, flags=("lab",)), {})
    screen = io.StringIO()
    with LiveView(Console(file=screen, width=120, force_terminal=True, color_system=None)) as view:
        view(CampaignStarted(name="c", folder=tmp_path, rows=8, done=5, estimate_ns=10**10, work_ns=10**10))
        what: dict[str, Any] = {
            "source": "a",
            "destination": "b",
            "streams": 1,
            "window_bytes": None,
            "estimate_ns": 1,
        }
        for row, attempt in ((5, 2), (6, 1)):
            view(TrialStarted(row=row, attempt=attempt, **what))
        view(TrialEnded(record=make_record(plan_row=5, throughput_bits_per_s=7e6), settings={}))
    text = screen.getvalue()
    say(text)


def test_a_search_shows_the_rate_and_what_is_confirmed(say: Say) -> None:
    step = SearchNow(
        row=7, rate_bits_per_s=48_100_000, trial=2, below_bits_per_s=45_000_000, above_bits_per_s=50_000_000
    )
    start = next(event for event in EVENTS if isinstance(event, TrialStarted))
    view = make_view([replace(STARTED, searches=2, rows=60), step, replace(start, row=7)])
    say(" ".join(draw(view, 120)))
    say(describe_step(replace(step, above_bits_per_s=None)))
    say(describe_step(replace(step, below_bits_per_s=None)))
    say(print_text(lambda console: feed(console, replace(STARTED, searches=2, rows=60)), 200))
