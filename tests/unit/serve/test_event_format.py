"""Server-sent events as text, and the events of a run for who follows it."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path

from pathlab.runner.events import (
    CampaignEnded,
    CampaignStarted,
    Event,
    Preparing,
    RateNow,
    RunNotice,
    StreamsNow,
    TrialEnded,
    TrialStarted,
)
from pathlab.serve.broadcast import BEHIND_MAX, Broadcaster, Subscription
from pathlab.serve.event_stream import format_event, format_position
from pathlab.store.following import Cursor
from tests.builders.trials import make_record

STARTED = CampaignStarted(name="n", folder=Path("out"), rows=2, done=0, estimate_ns=1, work_ns=1)


def start_trial(row: int) -> TrialStarted:
    return TrialStarted(row=row, source="a", destination="b", streams=1, window_bytes=None, estimate_ns=1)


def test_an_event_is_one_line_of_json_whatever_it_holds() -> None:
    text = format_event({"event": "notice", "text": "one\ntwo\r\x00 <b>é"}, "3.4,0.1").decode("ascii")
    name, position, data, *rest = text.split("\n")
    assert (name, position, rest) == ("event: notice", "id: 3.4,0.1", ["", ""])
    assert json.loads(data.removeprefix("data: "))["text"] == "one\ntwo\r\x00 <b>é"


def test_numbers_that_are_none_become_null() -> None:
    text = format_event({"event": "journal", "facts": {"a": [math.inf, 1.5], "b": math.nan}}).decode()
    assert json.loads(text.split("data: ")[1])["facts"] == {"a": [None, 1.5], "b": None}


def test_a_position_has_a_part_for_each_of_the_results() -> None:
    assert format_position([Cursor(1, 2), Cursor(0, 3)]) == "1.2,0.3"


def hear(act: Callable[[Broadcaster], None], *, before: tuple[Event, ...] = ()) -> Subscription:
    """What a reader has not taken yet after ``act``; it begins to follow after the events ``before``."""

    async def follow() -> Subscription:
        broadcaster = Broadcaster()
        for event in before:
            broadcaster(event)
        with broadcaster.subscribe(lambda: None) as subscription:
            await asyncio.to_thread(act, broadcaster)
            await asyncio.sleep(0)  # lets the loop hand over what came
            return subscription

    return asyncio.run(follow())


def names(subscription: Subscription, *, readings: bool = True) -> list[str]:
    return [event["event"] for event in subscription.take(readings=readings)[0]]


def test_of_readings_only_the_latest_of_each_row_waits() -> None:
    def act(broadcaster: Broadcaster) -> None:
        for number in range(1000):
            broadcaster(RateNow(row=number % 2, bits_per_s=number, elapsed_ns=0))
        for measure in ("bits_per_s", "rtt_ns"):
            for _ in range(9):
                broadcaster(StreamsNow(row=0, measure=measure, elapsed_ns=0, count=0, median=0.0, streams=()))

    subscription = hear(act)
    assert names(subscription, readings=False) == []
    taken, left_out = subscription.take(readings=True)
    assert [event.get("bits_per_s") for event in taken[:2]] == [998, 999]
    assert (len(taken), left_out) == (4, 0)


def test_a_slow_reader_is_told_how_many_events_it_missed() -> None:
    def act(broadcaster: Broadcaster) -> None:
        for number in range(BEHIND_MAX + 5):
            broadcaster(RunNotice(text=str(number)))

    subscription = hear(act)
    taken, left_out = subscription.take(readings=True)
    assert (len(taken), left_out) == (BEHIND_MAX, 5)
    assert taken[-1]["text"] == str(BEHIND_MAX + 4)
    assert subscription.take(readings=True) == ([], 0)


def test_who_comes_later_is_given_the_state() -> None:
    ended = TrialEnded(record=make_record(plan_row=0))
    before = (Preparing(text="x"), STARTED, start_trial(0), start_trial(1), ended)
    assert names(hear(lambda _: None, before=before)) == ["campaign-started", "trial-started"]
    over = (STARTED, start_trial(0), CampaignEnded(complete=0, rows=2, reason="stopped"))
    assert names(hear(lambda _: None, before=over)) == ["campaign-started", "campaign-ended"]


def test_a_stored_trial_wakes_readers_and_is_left_to_the_results() -> None:
    subscription = hear(lambda take: take(TrialEnded(record=make_record(plan_row=0))))
    assert subscription.was_stored()
    assert not subscription.was_stored()
    assert names(subscription) == []


def test_a_reader_whose_loop_has_ended_does_not_end_the_run() -> None:
    broadcaster = Broadcaster()

    async def leave() -> None:
        context = broadcaster.subscribe(lambda: None)
        context.__enter__()

    asyncio.run(leave())
    broadcaster(STARTED)
    broadcaster(STARTED)
