"""How a campaign conducts itself, on real engines over loopback and in namespaces: every case in short."""

from __future__ import annotations

import datetime
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.campaign.load import build_campaign
from pathlab.campaign.model import Campaign
from pathlab.errors import HostError, UsageError
from pathlab.lab.keeper import runtime_folder
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session
from pathlab.runner.campaign import CampaignSource, RunOutcome, run_campaign
from pathlab.runner.environment import Environment
from pathlab.runner.events import Event, Notice, RateNow, RttNow, TrialEnded, TrialStarted
from pathlab.runner.folders import choose_folder
from pathlab.runner.host_lock import HostLock
from pathlab.runner.waiting import StopRequest
from pathlab.store.records import HostRecord, TrialRecord
from tests.integration.running import ROOT
from tests.require import require, require_namespaces

pytestmark = [pytest.mark.engine]

LAB = {
    "hosts": ["a", "b", "c", "d"],
    "links": [
        {"between": ["a", "b"], "rate": "20Mbit/s", "delay": "5ms", "queue": "250kB"},
        {"between": ["c", "d"], "rate": "20Mbit/s", "delay": "5ms", "queue": "250kB"},
    ],
}
AB = [{"source": "a", "destination": "b"}]


@pytest.fixture(autouse=True)
def _needs(monkeypatch: pytest.MonkeyPatch) -> None:
    require((ROOT / "native" / "build" / "pathlab-engine").exists(), "the native engine (make engine)")
    monkeypatch.setattr(Environment, "calibrate", lambda _self: None)  # two seconds, not looked at


@dataclass
class Watch:
    """Keeps the events, and does something at one of them."""

    at: Callable[[Event], None] = lambda _event: None
    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.at(event)

    def notices(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Notice))


def campaign_of(**extra: Any) -> Campaign:
    data: dict[str, Any] = {
        "format": 1,
        "name": "conduct",
        "title": "Conduct",
        "seed": 3,
        "order": "given",
        "paths": [{"source": "local", "destination": "local"}],
        "factors": {"streams": [1]},
        "trial": {"warmup": "0ms", "duration": "100ms", "interval": "20ms", "drain": "2s"},
        "probes": {"interval": "10ms", "unloaded": 2},
    }
    return build_campaign(data | extra, label="conduct")


def run(campaign: Campaign, folder: Path, watch: Watch | None = None) -> RunOutcome:
    return run_campaign(CampaignSource(campaign=campaign, text=""), folder, watch or Watch())


def stored(folder: Path) -> list[TrialRecord]:
    with pathlab.open(folder) as results:
        return results.records()


def journal(folder: Path) -> list[tuple[str, str]]:
    with pathlab.open(folder) as results:
        return [(entry.kind, entry.text) for entry in results.journal()]


def settings(folder: Path, trial: int) -> dict[str, dict[str, str | None]]:
    with pathlab.open(folder) as results:
        return {line["name"]: line for line in results.series_table(trial, "settings").to_pylist()}


def kill_receiver(watched: Watch, times: int) -> Callable[[Event], None]:
    """SIGKILL for the receiving engines of the first trials, as soon as they carry data."""
    left = [times]

    def strike(event: Event) -> None:
        if isinstance(event, RateNow) and left[0] and event.row not in struck:
            left[0] -= 1
            struck.add(event.row)
            for number in children(os.getpid()):
                words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
                if words[1:2] == [b"receive"]:
                    os.kill(number, signal.SIGKILL)

        if isinstance(event, TrialEnded):
            struck.clear()

    struck: set[int] = set()
    return strike


def children(number: int) -> Iterator[int]:
    """All processes below one."""
    for thread in Path(f"/proc/{number}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield int(child)
            yield from children(int(child))


def is_paced(rate_bits_per_s: float | None) -> bool:
    """Whether a rate is that of 80 Mbit/s and not loopback's; a busy core may hold it back."""
    return rate_bits_per_s is not None and 8e6 < rate_bits_per_s < 108e6


def test_every_factor_reaches_both_ends_and_is_read_back(tmp_path: Path) -> None:
    factors = {
        "streams": [2],
        "window_sender": ["64KiB"],
        "window_receiver": ["128KiB"],
        "message": ["20000B"],
        "direction": ["forward", "reverse", "both"],
        "dscp": ["LE"],
        "pacing": ["80Mbit/s"],
        "mss": ["1000B"],
        "no_delay": [True],
        "zero_copy": [True],
        "workers": [1],
        "cpus": ["0"],
        "family": ["ipv6"],
        "duration": ["200ms"],
        "warmup": ["20ms"],
    }
    outcome = run(campaign_of(factors=factors), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (3, 0)
    for number, record in enumerate(stored(tmp_path / "out"), start=1):
        assert (record.source_address, record.duration_ns, record.warmup_ns) == (
            "::1",
            200_000_000,
            20_000_000,
        )
        assert not [flag for flag in record.flags if flag.endswith(("-granted", "-short"))], record.flags
        assert is_paced(record.throughput_bits_per_s)
        assert record.window_asked_bytes == 64 * 1024
        assert record.window_granted_sender_bytes == 2 * 64 * 1024
        assert record.window_granted_receiver_bytes == 2 * 128 * 1024
        assert record.loaded_received
        told = settings(tmp_path / "out", number)
        for name, value in {
            "transport": "tcp",
            "dscp": "1",
            "zero_copy": "yes",
            "worker_threads": "1",
        }.items():
            assert told[name] == {"name": name, "asked": value, "sender": value, "receiver": value}
        assert told["message_bytes"]["sender"] == "20000"
        assert told["cpus"]["receiver"] == "0"
        assert told["mss_bytes"]["sender"] == "988"  # less the timestamps
        assert told["pacing_bits_per_s"]["sender"] == "80000000"
        assert told["direction"]["asked"] == told["direction"]["sender"]
    with pathlab.open(tmp_path / "out") as results:
        back = results.series(3, "sender_intervals")
        assert is_paced(back["bytes"].sum() * 8 / 0.22)  # against the path
        assert back["sent_bytes"].sum() > 0
        trials = results.trials()
        assert trials["throughput_back_bits_per_s"].isna().tolist() == [True, True, False]
        assert is_paced(trials["throughput_back_bits_per_s"][2])
        steady = back[back["phase"] == "steady"]
        assert trials["received_back_steady_bytes"][2] == steady["bytes"].sum()


def test_iperf3_carries_a_trial_with_the_same_record(tmp_path: Path) -> None:
    require(shutil.which("iperf3"), "iperf3 (apt-get install iperf3)")
    factors = {
        "streams": [2],
        "engine": ["iperf3"],
        "direction": ["forward", "reverse"],
        "window": ["128KiB"],
        "pacing": ["80Mbit/s"],
        "duration": ["800ms"],
        "warmup": ["200ms"],
    }
    outcome = run(campaign_of(factors=factors, retries=0), tmp_path / "out")
    assert (outcome.complete, outcome.missing) == (2, 0)
    for number, record in enumerate(stored(tmp_path / "out"), start=1):
        assert "iperf3" in record.flags
        assert str(record.engine_version).startswith("iperf ")
        assert record.throughput_bits_per_s == pytest.approx(80e6, rel=0.1)
        assert record.window_granted_sender_bytes == 2 * 128 * 1024
        assert record.loaded_received
        assert record.unloaded_received
        assert record.sender_cpu_system_s is not None
        assert record.retransmitted_bytes is None  # iperf3 does not tell
        assert record.window_in_flight_max_bytes is None
        with pathlab.open(tmp_path / "out") as results:
            received = results.series(number, "receiver_intervals")
        assert set(received["phase"].astype(str)) >= {"warmup", "steady"}
        assert received["bytes"].sum() == pytest.approx(record.received_total_bytes, rel=0.05)


@pytest.mark.netns
def test_reverse_data_go_against_the_path(tmp_path: Path) -> None:
    require_namespaces()
    links = [{"between": ["a", "b"], "rate": "40Mbit/s", "delay": "2ms", "reverse": {"rate": "10Mbit/s"}}]
    lab = {"hosts": ["a", "b"], "links": links}
    trial = {"warmup": "200ms", "duration": "500ms", "interval": "100ms"}
    factors = {"streams": [1], "direction": ["forward", "reverse"], "congestion": ["reno"]}
    assert run(campaign_of(lab=lab, paths=AB, factors=factors, trial=trial), tmp_path / "out").complete == 2
    forward, reverse = stored(tmp_path / "out")
    assert forward.throughput_bits_per_s == pytest.approx(40e6 * 1448 / 1500, rel=0.1)
    assert reverse.throughput_bits_per_s == pytest.approx(10e6 * 1448 / 1500, rel=0.1)
    assert "over-line-rate" not in reverse.flags


def test_a_failed_row_is_tried_again_at_the_end_of_its_cycle(tmp_path: Path) -> None:
    watch = Watch()
    watch.at = kill_receiver(watch, 1)
    factors = {"streams": [1, 2, 3], "duration": ["300ms"]}
    outcome = run(campaign_of(factors=factors, cycles=2), tmp_path / "out", watch)
    assert (outcome.complete, outcome.failed, outcome.missing) == (6, 1, 0)
    rows = [(r.plan_row, r.attempt, r.status) for r in stored(tmp_path / "out")]
    assert rows == [
        (0, 1, "failed"),
        (1, 1, "complete"),
        (2, 1, "complete"),
        (0, 2, "complete"),
        (3, 1, "complete"),
        (4, 1, "complete"),
        (5, 1, "complete"),
    ]
    assert "trial 1 failed and is tried again at the end of the cycle" in watch.notices()
    assert journal(tmp_path / "out")[-1][0] == "finished"


def test_without_retries_a_failed_row_is_left_to_the_next_run(tmp_path: Path) -> None:
    watch = Watch()
    watch.at = kill_receiver(watch, 1)
    campaign = campaign_of(factors={"streams": [1, 2], "duration": ["300ms"]}, retries=0)
    outcome = run(campaign, tmp_path / "out", watch)
    assert (outcome.complete, outcome.missing) == (1, 1)
    assert run(campaign, tmp_path / "out").missing == 0
    assert [r.plan_row for r in stored(tmp_path / "out")] == [0, 1, 0]


def test_a_pair_that_keeps_failing_is_set_aside_while_the_others_go_on(tmp_path: Path) -> None:
    hosts = {"broken": {"transport": "local", "measure_addresses": ["198.51.100.77"]}}  # of no interface
    paths = [{"source": "local", "destination": name} for name in ("local", "broken")]
    campaign = campaign_of(paths=paths, hosts=hosts, factors={"streams": [1, 2, 3, 4]})
    watch = Watch()
    outcome = run(campaign, tmp_path / "out", watch)
    records = stored(tmp_path / "out")
    assert [r.status for r in records if r.path_destination == "local"] == ["complete"] * 4
    assert [r.status for r in records if r.path_destination == "broken"] == ["failed"] * 3
    assert (outcome.complete, outcome.missing) == (4, 4)
    assert "local to broken failed repeatedly and is set aside until the next cycle" in watch.notices()


@pytest.mark.netns
def test_a_ceiling_ends_a_trial_early_and_it_is_not_repeated(tmp_path: Path) -> None:
    require_namespaces()
    campaign = campaign_of(
        lab=LAB,
        paths=AB,
        factors={"streams": [4], "window": ["256KiB"]},
        trial={"warmup": "0ms", "duration": "20s"},
        harm={"loaded_rtt": "30ms"},
    )
    outcome = run(campaign, tmp_path / "out")
    (record,) = stored(tmp_path / "out")
    assert (record.status, record.failed_stage) == ("failed", "harm")
    assert "is over the ceiling of 30 ms" in str(record.failure)
    assert record.received_total_bytes is not None
    assert record.received_total_bytes < 20e6 / 8 * 10  # far less than twenty seconds of the line
    assert (outcome.harmed, outcome.missing) == (1, 0)
    again = run(campaign, tmp_path / "out")
    assert (again.harmed, len(stored(tmp_path / "out"))) == (1, 1)


def test_no_trial_is_faster_than_the_budget_allows(tmp_path: Path) -> None:
    budget = {"rate": "80Mbit/s", "bytes_per_campaign": "30MB"}
    trial = {"warmup": "0ms", "duration": "300ms", "interval": "50ms", "drain": "100ms"}
    factors = {"streams": [2], "direction": ["forward", "both"]}
    outcome = run(campaign_of(budget=budget, factors=factors, trial=trial), tmp_path / "out")
    forward, both = stored(tmp_path / "out")
    assert outcome.missing == 0
    assert forward.throughput_bits_per_s == pytest.approx(80e6, rel=0.25)
    assert both.throughput_bits_per_s == pytest.approx(40e6, rel=0.25)  # in each direction


def test_an_unbounded_trial_stops_at_the_bytes_that_are_left(tmp_path: Path) -> None:
    campaign = campaign_of(budget={"bytes_per_campaign": "5MB"}, trial={"warmup": "0ms", "duration": "10s"})
    outcome = run(campaign, tmp_path / "out")
    (record,) = stored(tmp_path / "out")
    assert record.status == "failed"
    assert "volume-limit" in str(record.failure)
    assert (record.received_total_bytes or 0) < 5e6 + 4 * 1024 * 1024  # by one write a worker
    assert "budget.bytes_per_campaign is spent" in str(outcome.ended)


def test_stop_ends_the_run_after_its_trial_and_the_next_one_goes_on(tmp_path: Path) -> None:
    def ask(event: Event) -> None:
        if isinstance(event, TrialStarted):
            StopRequest(tmp_path / "out").make()

    campaign = campaign_of(cycles=3)
    outcome = run(campaign, tmp_path / "out", Watch(at=ask))
    assert (outcome.complete, outcome.missing, outcome.ended) == (1, 2, "stopped by `pathlab stop`")
    assert run(campaign, tmp_path / "out").missing == 0


def test_what_changed_since_the_run_before_is_marked_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, refusing = campaign_of(cycles=2), campaign_of(cycles=2, on_change="refuse")
    for folder, model in (("mark", campaign), ("refuse", refusing)):
        run(model, tmp_path / folder, Watch(at=lambda e, f=folder: stop_at_end(e, tmp_path / f)))  # type: ignore[misc]
    true = Environment.host_records

    def altered(self: Environment) -> list[HostRecord]:
        return [
            HostRecord(
                name=r.name, recorded_utc=r.recorded_utc, facts=r.facts | {"kernel": {"release": "0.1"}}
            )
            for r in true(self)
        ]

    monkeypatch.setattr(Environment, "host_records", altered)
    watch = Watch()
    assert run(campaign, tmp_path / "mark", watch).missing == 0
    assert "since the run before: local: kernel.release was" in watch.notices()
    assert [("changed-since-start" in r.flags) for r in stored(tmp_path / "mark")] == [False, True]
    with pytest.raises(UsageError, match=r"kernel\.release was .*, is 0\.1"):
        run(refusing, tmp_path / "refuse")
    assert len(stored(tmp_path / "refuse")) == 1


def stop_at_end(event: Event, folder: Path) -> None:
    if isinstance(event, TrialEnded):
        StopRequest(folder).make()


def test_cells_that_are_known_well_enough_are_not_measured_again(tmp_path: Path) -> None:
    campaign = campaign_of(
        until="40% of the median",
        cycles_min=6,
        cycles_max=12,
        factors={"streams": [1, 2], "pacing": ["50Mbit/s"]},
    )
    outcome = run(campaign, tmp_path / "out")
    records = stored(tmp_path / "out")
    assert 12 <= len(records) < 24
    assert outcome.complete + outcome.not_needed == 24
    assert outcome.missing == 0
    assert any(kind == "stop-rule" for kind, _ in journal(tmp_path / "out"))
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "out").rename(root / "conduct-1")
    assert choose_folder(campaign, out=None, new=False, root=root).name != "conduct-1"  # it is finished


def test_control_rows_are_marked(tmp_path: Path) -> None:
    campaign = campaign_of(
        factors={"streams": [2, 3], "transport": ["mptcp"]},
        control={"streams": 1, "every": 3, "transport": "tcp"},
    )
    run(campaign, tmp_path / "out")
    marked = [(r.streams, "control" in r.flags) for r in stored(tmp_path / "out")]
    assert marked == [(1, True), (2, False), (3, False), (1, True)]
    used = [settings(tmp_path / "out", number)["transport"]["receiver"] for number in (1, 2, 3, 4)]
    assert used == ["tcp", "mptcp", "mptcp", "tcp"]


def test_a_periodic_campaign_waits_for_its_slot_and_a_stop_ends_the_wait(tmp_path: Path) -> None:
    campaign = campaign_of(cycles=3, every="1h")
    watch = Watch()

    def stop(event: Event) -> None:
        if type(event).__name__ == "Waiting":
            StopRequest(tmp_path / "out").make()

    watch.at = stop
    outcome = run(campaign, tmp_path / "out", watch)
    assert (outcome.complete, outcome.ended) == (1, "stopped by `pathlab stop`")
    assert [kind for kind, _ in journal(tmp_path / "out") if kind == "slot"] == ["slot"]


def test_a_jump_of_the_wall_clock_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = iter([0, 3600 * 10**9])
    monkeypatch.setattr("pathlab.runner.clock.ClockWatch.read_jump_ns", lambda _self: next(jumps))
    watch = Watch()
    run(campaign_of(cycles=2), tmp_path / "out", watch)
    assert [("clock-jumped" in r.flags) for r in stored(tmp_path / "out")] == [False, True]
    assert "the wall clock jumped by +3600.0 s" in watch.notices()


def test_a_host_in_use_is_refused_with_its_owner(tmp_path: Path) -> None:
    with (
        HostLock(["local"], owner="campaign 'other'", folder=runtime_folder()),
        pytest.raises(HostError, match=r"is being measured by campaign 'other' \(process \d+\)"),
    ):
        run(campaign_of(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.netns
def test_pairs_without_a_common_host_run_at_once(tmp_path: Path) -> None:
    require_namespaces()
    paths = [*AB, {"source": "c", "destination": "d"}]
    under_way: set[int] = set()
    most, lock = [0], threading.Lock()

    def count(event: Event) -> None:
        with lock:
            if isinstance(event, RttNow):
                under_way.add(event.row)
                most[0] = max(most[0], len(under_way))
            elif isinstance(event, TrialEnded):
                under_way.discard(event.record.plan_row)

    campaign = campaign_of(lab=LAB, paths=paths, factors={"streams": [1, 2]}, concurrency=2)
    outcome = run(campaign, tmp_path / "out", Watch(at=count))
    assert (outcome.complete, outcome.failed) == (4, 0)
    assert most[0] == 2
    spans: dict[str, list[tuple[datetime.datetime, int]]] = {}
    for record in stored(tmp_path / "out"):
        start = datetime.datetime.fromisoformat(record.started_utc)
        spans.setdefault(record.path_source, []).append((start, record.plan_row))
    assert {name: [row for _, row in sorted(pairs)] for name, pairs in spans.items()} == {
        "a": [0, 1],
        "c": [2, 3],
    }


def test_the_rest_is_seen_by_udp_where_icmp_is_not_permitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, str | int | None, bool]] = []
    start_engine = Session.start_engine

    def listen(session: Session, subcommand: str, options: Any, **given: Any) -> EngineJob:
        started.append((subcommand, options.get("method"), given.get("token") is not None))
        return start_engine(session, subcommand, options, **given)

    monkeypatch.setattr(Environment, "_icmp_works", lambda _self, _path: False)
    monkeypatch.setattr(Session, "start_engine", listen)
    rest = {"drained": True, "cap": "5s"}
    outcome = run(campaign_of(cycles=2, rest=rest), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (2, 0)
    assert all("not-drained" not in r.flags for r in stored(tmp_path / "out"))
    trial = ["receive", "send", "echo", "ping", "echo", "ping"]  # loaded, then unloaded probes
    assert [name for name, _, _ in started] == [*trial, "echo", "ping", *trial]
    assert {(method, token) for name, method, token in started if name == "ping"} == {("udp", True)}


@pytest.mark.netns
def test_the_next_trial_waits_until_the_queue_has_drained(tmp_path: Path) -> None:
    require_namespaces()
    rest = {"drained": True, "cap": "2s", "quiet": "50ms"}
    campaign = campaign_of(lab=LAB, paths=AB, cycles=2, rest=rest)
    run(campaign, tmp_path / "out")
    assert all("not-drained" not in r.flags for r in stored(tmp_path / "out"))
    blocked = campaign_of(lab=LAB, paths=AB, cycles=2, rest={"drained": True, "cap": "0ms"})
    run(blocked, tmp_path / "blocked")
    assert [("not-drained" in r.flags) for r in stored(tmp_path / "blocked")] == [False, True]
