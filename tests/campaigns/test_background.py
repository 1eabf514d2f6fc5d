"""Loads beside trials: measured, removed on every path, and one that fails costs its own trial only."""

import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.runner.events import Event, RateNow
from pathlab.runner.hosts.background_hosts import BackgroundLoads
from pathlab.runner.trial import background
from pathlab.runner.trial.background import BackgroundRates
from pathlab.store.records import TrialRecord
from tests.integration.conducting import AB, LAB, Watch, campaign_of, journal, run, stored
from tests.integration.processes import find_engines, parent_of
from tests.integration.running import all_end_within, running, write_campaign
from tests.patience import PATIENCE_S
from tests.require import require_namespaces

pytestmark = [pytest.mark.engine]

MIB = 1 << 20
HERE = str(Path(__file__).parent)  # on a disk, as the checkout is
SETTINGS: dict[str, Any] = {
    "cpu_threads": 1,
    "disk_folder": HERE,
    "disk_bytes": "1MiB",
    "least_share": "0.01%",
}
ROUND_TRIPS: dict[str, Any] = {"message": 64, "reply": True, "placement": "process"}
TRIAL = {"warmup": "50ms", "duration": "250ms", "interval": "20ms"}
LONG_TRIAL = {**TRIAL, "duration": "2s"}  # which is still under way when a rate of it has been seen


def measure(
    levels: list[str], folder: Path, watch: Watch | None = None, /, **extra: Any
) -> list[TrialRecord]:
    """The trials of these levels in their order, each measured once."""
    factors = {"streams": 1, **ROUND_TRIPS, "background": levels}
    tables = {"factors": factors, "trial": TRIAL, "background": SETTINGS, **extra}
    run(campaign_of(**tables), folder, watch)
    assert find_engines("load") == []
    return sorted(stored(folder), key=lambda record: record.plan_row)


@pytest.fixture(autouse=True)
def _briefly_alone_and_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "ALONE_NS", 100_000_000)
    monkeypatch.setattr(background, "RATE_TIMEOUT_S", PATIENCE_S)  # a load gives way to whatever else runs


@pytest.fixture
def alone_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a load does alone is not measured, so that it first runs beside a trial."""
    monkeypatch.setattr(BackgroundLoads, "measure_alone", lambda *_given: BackgroundRates())


def test_each_load_is_measured_in_its_trial_and_alone(tmp_path: Path) -> None:
    none, cpu, disk = measure(["none", "cpu", "disk"], tmp_path / "out")
    assert [record.status for record in (none, cpu, disk)] == ["complete"] * 3
    assert none.background_cpu_ratio is none.background_disk_bytes_per_s is None
    assert cpu.background_cpu_ratio is not None
    assert cpu.background_disk_bytes_per_s is None
    assert disk.background_disk_bytes_per_s is not None
    assert disk.background_cpu_ratio is disk.background_network_bits_per_s is None
    assert all(record.round_trips for record in (none, cpu, disk))
    entries = [text for kind, text in journal(tmp_path / "out") if kind == "background"]
    assert [text.partition(",")[0] for text in entries] == [
        "background load 'cpu' from local to local",
        "background load 'disk' from local to local",
    ]
    assert "of the cores' time" in entries[0]


@pytest.mark.netns
def test_the_network_load_goes_over_the_other_pair(tmp_path: Path) -> None:
    require_namespaces()
    extra = {"lab": LAB, "paths": AB, "background": {**SETTINGS, "network_path": "c:d"}}
    levels = ["network", "combined"]
    factors = {"streams": 1, **ROUND_TRIPS, "placement": "host", "background": levels}
    network, combined = measure(levels, tmp_path / "out", **extra, factors=factors)
    for record in (network, combined):
        assert record.status == "complete", record.failure
        assert record.background_network_bits_per_s is not None
    assert network.background_cpu_ratio is network.background_disk_bytes_per_s is None
    assert combined.background_cpu_ratio is not None
    assert combined.background_disk_bytes_per_s is not None
    with pathlab.open(tmp_path / "out") as results:
        lines = [line for number in (1, 2) for line in results.series_table(number, "lab_links").to_pylist()]
    between_c_and_d = [line for line in lines if (line["link"], line["name"]) == (1, "delivered_bytes")]
    assert len(between_c_and_d) == 4
    assert all(line["value"] > 0 for line in between_c_and_d)


def test_a_load_that_cannot_run_fails_its_own_trials_with_the_reason(tmp_path: Path) -> None:
    """More failures in a row than quarantine a host."""
    watch = Watch()
    extra = {"background": {**SETTINGS, "disk_folder": "/dev/shm"}, "cycles": 4}
    records = measure(["disk", "none"], tmp_path / "out", watch, **extra)
    assert [record.status for record in records] == ["failed", "complete"] * 4
    assert {record.failed_stage for record in records[::2]} == {"background"}
    assert "'/dev/shm'" in str(records[0].failure)
    assert "background load 'disk' from local to local does not run: " in watch.notices()


def test_loads_run_beside_technologies_and_one_below_its_share_marks_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = BackgroundRates(disk_bytes_per_s=1e18)
    monkeypatch.setattr(BackgroundLoads, "measure_alone", lambda *_given: alone)
    factors = {
        **{"streams": 1, **ROUND_TRIPS, "no_delay": True, "engine": "tcp-python"},
        "background": ["none", "disk"],
    }
    none, disk = measure([], tmp_path / "out", factors=factors)
    assert (none.status, disk.status) == ("complete", "complete"), disk.failure
    assert disk.background_disk_bytes_per_s is not None
    assert disk.round_trips
    assert "background-weak" in disk.flags
    assert "background-weak" not in none.flags


@pytest.mark.usefixtures("alone_unknown")
def test_a_load_or_its_agent_that_is_killed_fails_its_trial_alone(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(event: Event) -> None:
        """When the first rate of a trial is there."""
        if isinstance(event, RateNow) and event.row == len(killed) < 2:
            load = find_engines("load")[0]
            killed.append(load if event.row == 0 else parent_of(load))
            os.kill(killed[-1], signal.SIGKILL)

    load, agent, none = measure(["cpu", "disk", "none"], tmp_path / "out", Watch(kill), trial=LONG_TRIAL)
    assert (load.status, load.failed_stage) == ("failed", "background")
    assert "was killed by SIGKILL" in str(load.failure)  # whenever that was noticed
    assert (agent.status, agent.failed_stage) == ("failed", "agent")
    assert none.status == "complete"


@pytest.mark.usefixtures("alone_unknown")
def test_a_load_ends_with_an_interrupted_run(tmp_path: Path) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, RateNow):
            os.kill(os.getpid(), signal.SIGINT)

    (record,) = measure(["cpu"], tmp_path / "out", Watch(interrupt), trial={**TRIAL, "duration": "60s"})
    assert record.status == "interrupted"


@pytest.mark.usefixtures("alone_unknown")
def test_a_disk_that_gets_full_fails_the_trial_with_the_reason(tmp_path: Path) -> None:
    """The limit on the size of files stands for the end of the space: the same call fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * MIB, before[1]))
    try:
        large = {**SETTINGS, "disk_bytes": "1GiB", "disk_write": "16MiB"}  # no write fits
        full, none = measure(["disk", "none"], tmp_path / "out", background=large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (full.status, full.failed_stage) == ("failed", "background")
    assert f"'{HERE[:100]}': File too large" in str(full.failure)
    assert none.status == "complete"


def test_a_load_ends_with_a_killed_run(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, lab=False, cycles=1, duration="60s")
    settings = ["--set", 'factors.background=["cpu"]', "--set", "background.cpu_threads=1"]
    with running(["run", str(campaign), "--out", "out", *settings], tmp_path) as process:
        process.read_until(r"trial 1/1 [\s\S]*?\d [kMG]bit/s")
        load = process.engine("load")
        with all_end_within(process, PATIENCE_S):
            process.process.kill()
        assert not Path(f"/proc/{load}").exists()
