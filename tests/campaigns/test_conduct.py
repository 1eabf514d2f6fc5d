"""How a campaign conducts itself when trials fail, budgets end or somebody stops it: every case in short."""

import dataclasses
import datetime
import functools
import itertools
import os
import signal
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from pathlab.campaign.budget import Estimator
from pathlab.campaign.order import plan_rows
from pathlab.engines.native import NativeEngine
from pathlab.errors import HostError, UsageError
from pathlab.runner.campaign.folders import choose_folder
from pathlab.runner.campaign.precision import Precision
from pathlab.runner.campaign.slots import CycleSlot, Timetable
from pathlab.runner.campaign.waiting import StopRequest
from pathlab.runner.events import Event, TrialEnded, Waiting
from pathlab.runner.hosts.environment import Environment
from pathlab.runner.hosts.route_watch import RouteWatch
from pathlab.store.records import HostRecord, TrialRecord
from tests.integration.conducting import AB, LAB, Watch, campaign_of, journal, run, settings, stored
from tests.require import require_namespaces

pytestmark = pytest.mark.engine

SHORT_DRAIN = {"warmup": "0ms", "duration": "200ms", "interval": "50ms", "drain": "100ms"}
#: The kernel paces no stream's first ten segments, which are 64 KB each over loopback.
PACED = {"pacing": ["40Mbit/s"], "window": ["64KiB"], "mss": ["1000B"], "congestion": ["reno"]}


def test_a_failed_row_is_tried_again_at_the_end_of_its_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_engines, trials = NativeEngine.run, itertools.count()

    def kill_and_run(engine: NativeEngine) -> None:
        """SIGKILL for the first trial's receiver, as its data are about to start."""
        if next(trials) == 0:
            os.kill(engine._jobs["receiver"].pid, signal.SIGKILL)
        run_engines(engine)

    monkeypatch.setattr(NativeEngine, "run", kill_and_run)
    watch = Watch()
    outcome = run(campaign_of(factors={"streams": [1, 2]}, cycles=2, retries=1), tmp_path / "out", watch)
    assert (outcome.complete, outcome.failed, outcome.missing) == (4, 1, 0)
    rows = [(r.plan_row, r.attempt, r.status) for r in stored(tmp_path / "out")]
    again = rows.index((0, 2, "complete"))
    assert rows[0] == (0, 1, "failed")
    assert [{row for row, *_ in part} - {0} for part in (rows[:again], rows[again:])] in (
        [{1}, {2, 3}],
        [{1}, {1, 2, 3}],
    )
    assert "trial 1 failed and is tried again" in watch.notices()
    assert journal(tmp_path / "out")[-1][0] == "finished"


def test_a_pair_that_keeps_failing_is_quarantined_while_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Environment, "_is_answered", lambda _self, _path: True)  # seconds of waiting
    monkeypatch.setattr(RouteWatch, "read", lambda *_: None)
    hosts = {"broken": {"transport": "local", "measure_addresses": ["198.51.100.77"]}}  # of no interface
    paths = [{"source": "local", "destination": name} for name in ("local", "broken")]
    campaign = campaign_of(paths=paths, hosts=hosts, factors={"streams": [1, 2, 3, 4]})
    watch = Watch()
    outcome = run(campaign, tmp_path / "out", watch)
    records = stored(tmp_path / "out")
    assert [r.status for r in records if r.path_destination == "local"] == ["complete"] * 4
    assert [r.status for r in records if r.path_destination == "broken"] == ["failed"] * 3
    assert (outcome.complete, outcome.missing) == (4, 4)
    assert "local to broken failed repeatedly and is quarantined until the next cycle" in watch.notices()


@pytest.fixture
def mute_port() -> Iterator[int]:
    """A port at which nobody listens, and which nobody else gets."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_a_host_that_does_not_answer_is_named_and_the_others_are_measured(
    tmp_path: Path, mute_port: int
) -> None:
    hosts = {"silent": {"transport": "ssh", "address": "127.0.0.1", "port": mute_port}}
    paths = [{"source": "local", "destination": name} for name in ("local", "silent")]
    watch = Watch()
    outcome = run(campaign_of(hosts=hosts, paths=paths), tmp_path / "out", watch)
    assert (outcome.complete, outcome.missing) == (1, 1)
    assert "Connection refused; the paths without it are measured" in watch.notices()
    assert stored(tmp_path / "out")[1].failed_stage == "connect"
    with pytest.raises(HostError, match="Connection refused"):
        run(campaign_of(hosts=hosts, paths=paths[1:]), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.netns
def test_a_safety_limit_ends_a_trial_early_and_it_is_not_repeated(tmp_path: Path) -> None:
    require_namespaces()
    campaign = campaign_of(
        lab=LAB,
        paths=AB,
        factors={"streams": [4], "window": ["256KiB"]},
        trial={"warmup": "0ms", "duration": "20s"},
        safety_limits={"loaded_rtt": "30ms"},
    )
    outcome = run(campaign, tmp_path / "out")
    (record,) = stored(tmp_path / "out")
    assert (record.status, record.failed_stage) == ("failed", "safety-limit")
    assert "is above the limit of 30 ms" in str(record.failure)
    assert record.received_total_bytes < 20e6 / 8 * 10  # far less than twenty seconds of the line
    assert (outcome.aborted, outcome.missing) == (1, 0)
    again = run(campaign, tmp_path / "out")
    assert (again.aborted, len(stored(tmp_path / "out"))) == (1, 1)


def test_no_trial_is_faster_than_the_budget_allows(tmp_path: Path) -> None:
    """By what the kernel is told; the rates themselves are compared in the lab's tests."""
    budget = {"rate": "80Mbit/s", "bytes_per_campaign": "30MB"}
    factors = {"streams": [2], "direction": ["forward", "both"], "congestion": ["reno"]}
    outcome = run(campaign_of(budget=budget, factors=factors, trial=SHORT_DRAIN), tmp_path / "out")
    assert outcome.missing == 0
    paced = [settings(tmp_path / "out", number)["pacing_bits_per_s"] for number in (1, 2)]
    assert [line["sender"] for line in paced] == ["80000000", "40000000"]  # the second in each direction
    assert paced[1]["receiver"] == "40000000"


def test_an_unbounded_trial_stops_at_the_bytes_that_are_left(tmp_path: Path) -> None:
    trial = {"warmup": "0ms", "duration": "10s"}
    campaign = campaign_of(budget={"bytes_per_campaign": "5MB"}, trial=trial, retries=1)
    outcome = run(campaign, tmp_path / "out")
    (record,) = stored(tmp_path / "out")
    assert record.status == "failed"
    assert "volume-limit" in str(record.failure)
    assert (record.received_total_bytes or 0) < 5e6 + 4 * 1024 * 1024  # by one write a worker
    assert "budget.bytes_per_campaign is used up" in str(outcome.ended)


def test_trials_at_once_share_what_is_left(tmp_path: Path) -> None:
    hosts = {name: {"transport": "local"} for name in ("x", "y", "u", "v")}
    paths = [{"source": "x", "destination": "y"}, {"source": "u", "destination": "v"}]
    campaign = campaign_of(
        hosts=hosts,
        paths=paths,
        factors={"streams": [1, 2], **PACED},
        trial=SHORT_DRAIN,
        concurrency=2,
        budget={"bytes_per_day": "3800kB"},  # of trials that send 1.1 MB each, or less, and 1.3 MB at most
    )
    outcome = run(campaign, tmp_path / "out", Watch(at=lambda event: stop_waiting(event, tmp_path / "out")))
    records = stored(tmp_path / "out")
    assert 0 < sum(record.sent_total_bytes or 0 for record in records) <= 3_800_000
    assert outcome.complete + outcome.failed == len(records) >= 2
    # A sender that a busy machine stops late reaches its share.
    assert all("volume-limit" in str(record.failure) for record in records if record.status != "complete")
    waits = [
        text for kind, text in journal(tmp_path / "out") if kind == "waiting" and "today's bytes" in text
    ]
    # On a busy machine all four may fit, or the pause comes before the journal has it.
    assert not waits or outcome.complete < 4


def stop_waiting(event: Event, folder: Path) -> None:
    if isinstance(event, Waiting):
        StopRequest(folder).make()


def test_a_trial_both_ways_may_use_all_that_is_left(tmp_path: Path) -> None:
    """An engine counts both ways: its limit is not half of what is left."""
    factors = {"streams": [1], "direction": ["both"], **PACED}
    campaign = campaign_of(factors=factors, trial=SHORT_DRAIN, budget={"bytes_per_campaign": "2300kB"})
    bound = Estimator(campaign).trial(plan_rows(campaign)[0]).bytes_max
    assert 2_200_000 < bound <= 2_300_000
    assert run(campaign, tmp_path / "out").missing == 0
    (record,) = stored(tmp_path / "out")
    assert record.received_steady_bytes
    assert record.received_reverse_steady_bytes


def test_a_stop_while_the_run_still_prepares_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    StopRequest(tmp_path / "out").make()  # of a run before: forgotten
    campaign = campaign_of(cycles=2)
    assert run(campaign, tmp_path / "out").missing == 0
    monkeypatch.setattr(Environment, "calibrate", lambda *_: StopRequest(tmp_path / "new").make())
    outcome = run(campaign, tmp_path / "new")
    assert (outcome.complete, outcome.ended) == (0, "stopped by `pathlab stop`")


def test_what_changed_since_the_run_before_is_marked_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, refusing = campaign_of(cycles=2), campaign_of(cycles=2, on_change="refuse")
    for folder, model in (("mark", campaign), ("refuse", refusing)):
        stop = functools.partial(stop_at_end, folder=tmp_path / folder)
        run(model, tmp_path / folder, Watch(at=stop))
    true = Environment.host_records

    def altered(self: Environment) -> list[HostRecord]:
        kernel = {"kernel": {"release": "0.1"}}
        return [dataclasses.replace(record, facts=record.facts | kernel) for record in true(self)]

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("pathlab.runner.hosts.route_watch.is_other_route", lambda _stored, _route: True)
        with pytest.raises(UsageError, match="local to local: the route has changed"):
            run(refusing, tmp_path / "refuse")
    monkeypatch.setattr(Environment, "host_records", altered)
    watch = Watch()
    assert run(campaign, tmp_path / "mark", watch).missing == 0
    assert "changed since the previous run: local: kernel.release was" in watch.notices()
    assert [("changed-since-start" in r.flags) for r in stored(tmp_path / "mark")] == [False, True]
    with pytest.raises(UsageError, match=r"kernel\.release was .*, is 0\.1"):
        run(refusing, tmp_path / "refuse")
    assert len(stored(tmp_path / "refuse")) == 1


def stop_at_end(event: Event, folder: Path) -> None:
    if isinstance(event, TrialEnded):
        StopRequest(folder).make()


def test_cells_that_are_known_well_enough_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add_alike(precision: Precision, records: Iterable[TrialRecord]) -> None:
        """All rates of a cell are equal, however busy the machine is."""
        add(precision, [dataclasses.replace(one, throughput_bits_per_s=1e6, flags=()) for one in records])

    add = Precision.add
    monkeypatch.setattr(Precision, "add", add_alike)
    factors = {"streams": [1, 2]}
    campaign = campaign_of(until="5% of the median", cycles_min=6, cycles_max=12, factors=factors)
    outcome = run(campaign, tmp_path / "out")
    records = stored(tmp_path / "out")
    assert [record.status for record in records].count("complete") == outcome.complete == 12
    assert (outcome.not_needed, outcome.missing) == (12, 0)
    assert [kind for kind, _ in journal(tmp_path / "out")].count("stop-rule") == 1
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "out").rename(root / "conduct-1")
    assert choose_folder(campaign, out=None, new=False, root=root).name != "conduct-1"  # it is finished


def test_a_periodic_campaign_waits_for_its_slot_and_a_stop_ends_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_of(cycles=3, every="1h")
    watch = Watch(at=lambda event: stop_waiting(event, tmp_path / "out"))
    outcome = run(campaign, tmp_path / "out", watch)
    assert (outcome.complete, outcome.ended) == (1, "stopped by `pathlab stop`")
    assert [kind for kind, _ in journal(tmp_path / "out") if kind == "slot"] == ["slot"]

    def choose(_timetable: Timetable, _last: int | None, now: datetime.datetime) -> CycleSlot:
        return CycleSlot(number=3, begins=now + datetime.timedelta(hours=1), missed=(1, 2))

    monkeypatch.setattr(Timetable, "choose", choose)
    for _ in range(2):
        run(campaign, tmp_path / "out", watch)
    missed = [text for kind, text in journal(tmp_path / "out") if kind == "missed-slots"]
    assert missed == ["2 slots were missed: 1, 2"]  # reported once


def test_a_jump_of_the_wall_clock_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = iter([0, 3600 * 10**9])
    monkeypatch.setattr("pathlab.runner.trial.clock_watch.ClockWatch.read_jump_ns", lambda _self: next(jumps))
    watch = Watch()
    run(campaign_of(cycles=2), tmp_path / "out", watch)
    assert [("clock-jumped" in r.flags) for r in stored(tmp_path / "out")] == [False, True]
    assert "the wall clock jumped by +3600.0 s" in watch.notices()
