"""Server-sent events of real runs: nothing lost, nothing twice, whoever comes, goes or is killed."""

import dataclasses
import shutil
import threading
from pathlib import Path

import pytest

from pathlab.runner.events import Event, TrialStarted
from pathlab.runner.journal import STARTED, Journal
from pathlab.serve.broadcast import Broadcaster
from pathlab.store.results import Results
from tests.builders.stored import COMPLETE, make_results
from tests.events import ServerEvent, following, is_state, list_stored
from tests.integration.conducting import Watch, campaign_of, journal, run, stored
from tests.patience import PATIENCE_S
from tests.serving import serving
from tests.writers import hold_results

pytestmark = pytest.mark.engine
FACTORS = {"streams": [1, 2]}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two rows in two cycles."""
    folder = tmp_path_factory.mktemp("measured") / "out"
    run(campaign_of(factors=FACTORS, cycles=2), folder)
    return folder


def test_a_run_is_followed_from_its_first_to_its_last_trial(measured: Path) -> None:
    with serving(measured) as served, following(served, "/events?after=0.0") as stream:
        events = stream.read_until(lambda event: event.name == "trial-ended" and event.data["trial"] == 4)
    assert events[0].name == "run"
    first = events[0].data
    ends = [record.status for record in stored(measured)]  # a busy machine fails trials
    rows = "".join(status[0] for status in ends)
    assert (first["results"], first["name"], first["planned"], first["rows"]) == ("A", "conduct", 4, rows)
    assert first["state"] == journal(measured)[-1][0]
    kinds = [event.data["kind"] for event in events if event.name == "journal"]
    assert kinds[0] == "started"
    trial = events[-1].data
    assert trial["record"]["status"] == ends[3]
    assert (trial["row"]["results"], trial["row"]["trial"]) == ("A", 4)
    assert trial["row"]["streams"] == trial["record"]["streams"]
    if (rate := trial["record"]["throughput_bits_per_s"]) is not None:
        assert trial["row"]["throughput_bits_per_s"] == pytest.approx(rate / 1e6)


def test_who_comes_back_misses_nothing_and_gets_nothing_twice(measured: Path) -> None:
    last = journal(measured)[-1][0]
    with serving(measured) as served:
        with following(served, "/events?after=0.0") as stream:
            whole = stream.read_until(lambda event: event.data.get("kind") == last)
        numbered = [event for event in whole if event.position is not None]
        trials = [number for name, number in list_stored(whole) if name == "trial-ended"]
        assert sorted(trials) == [1, 2, 3, 4]
        for place, event in enumerate(numbered[:-1]):
            # A browser sends the header, our page the address.
            for address, heads in (
                ("/events?after=0.0", {"Last-Event-ID": str(event.position)}),
                (f"/events?after={event.position}", {}),
            ):
                with following(served, address, heads) as stream:
                    rest = stream.read_until(lambda event: event.data.get("kind") == last)
                assert list_stored(rest) == list_stored(numbered[place + 1 :])


def test_two_readers_of_a_live_run_get_the_same_once_each(measured: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(measured, tmp_path / "out")
    found: dict[str, list[ServerEvent]] = {}

    def read(name: str) -> None:
        with following(served, "/events?after=0.0") as stream:
            found[name] = stream.read_until(lambda event: event.data.get("trial") == 8)

    with serving(folder) as served:
        readers = [threading.Thread(target=read, args=(name,)) for name in ("one", "other")]
        for reader in readers:
            reader.start()
        with Results.open(folder, write=True) as results:
            record = results.records(trial_id=1)[0]
            for attempt in range(5, 9):
                results.add_trial(dataclasses.replace(record, attempt=attempt), {})
        for reader in readers:
            reader.join()
    for events in found.values():
        trials = [number for name, number in list_stored(events) if name == "trial-ended"]
        assert trials == [*range(1, 9)]


def test_pause_resume_and_stop_over_http(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    headers = {"X-PathLab": "1", "Content-Type": "application/json"}

    def steer(action: str) -> int:
        body = f'{{"action": "{action}"}}'.encode()
        return served.request("/api/control", "POST", headers=served.access | headers, body=body).status

    begun = threading.Event()

    def note(event: Event) -> None:
        if isinstance(event, TrialStarted):
            begun.set()

    campaign = campaign_of(factors=FACTORS, cycles=400)  # more than are waited for
    thread = threading.Thread(target=run, args=(campaign, folder, Watch(at=note)))
    thread.start()
    assert begun.wait(PATIENCE_S)
    with serving(folder) as served, following(served) as stream:
        assert steer("resume") == 409
        assert steer("pause") == 200
        stream.read_until(is_state("paused"))
        with Results.open(folder) as results:
            before = len(results.records())
        assert steer("resume") == 200
        stream.read_until(lambda event: event.name == "trial-ended" and event.data["trial"] > before)
        assert steer("stop") == 200
        last = stream.read_until(is_state("ended"))[-1].data
        thread.join()
        assert last["text"] == "stopped by `pathlab stop`"
        assert last["paused_s"] > 0
        assert steer("stop") == 409
        assert steer("explode") == 400


def test_a_killed_run_is_said_to_be_and_keeps_what_it_measured(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with make_results(folder) as results:
        results.add_trial(COMPLETE, {})
        Journal(results, lambda _event: None).add(STARTED, "started")
    with hold_results(folder) as holder:
        try:
            with serving(folder) as served, following(served, "/events?after=0.0") as stream:
                assert stream.read_until(is_state("running"))[-1].data["process"] == holder.pid
                holder.kill()
                last = stream.read_until(is_state("killed"))[-1].data
            assert last["complete"] == 1
        finally:
            holder.kill()


def test_the_run_of_the_server_shows_rate_and_rtt_of_each_stream(tmp_path: Path) -> None:
    folder, broadcaster = tmp_path / "out", Broadcaster()
    ready, is_followed = threading.Event(), threading.Event()

    def note(event: Event) -> None:
        broadcaster(event)
        if isinstance(event, TrialStarted):
            ready.set()
            assert is_followed.wait(PATIENCE_S)

    trial = {"warmup": "0ms", "duration": "300ms", "interval": "50ms", "drain": "30s"}
    campaign = campaign_of(factors=FACTORS, cycles=2, trial=trial)
    thread = threading.Thread(target=run, args=(campaign, folder, Watch(at=note)))
    thread.start()
    assert ready.wait(PATIENCE_S)
    with serving(folder, run=broadcaster) as served, following(served) as stream:
        events = stream.read_until(lambda event: event.name == "trial-started")
        is_followed.set()
        events += stream.read_until(lambda event: event.name == "campaign-ended")
        thread.join()
    names = {event.name for event in events}
    assert names >= {"run", "campaign-started", "trial-started", "rate", "rtt", "streams", "trial-ended"}
    assert all(event.position is None for event in events if event.name not in ("journal", "trial-ended"))
    streams = [event.data for event in events if event.name == "streams"]
    assert {one["measure"] for one in streams} == {"bits_per_s", "rtt_ns"}
    assert {one["count"] for one in streams} == {1, 2}
    assert all(len(one["streams"]) == one["count"] for one in streams)
    (ended,) = [place for place, event in enumerate(events) if event.name == "campaign-ended"]
    assert ended == len(events) - 1
