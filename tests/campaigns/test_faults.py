"""Ends that nobody planned: one clear line, the documented status, nothing lost, nothing left behind."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pathlab
from pathlab.cli.outcome import check_complete_rows
from pathlab.errors import PartialCampaign
from pathlab.runner.events import Event, RateNow
from tests.campaigns.measuring import measure
from tests.command_line import call
from tests.integration.conducting import Watch, campaign_of, run, stored
from tests.integration.processes import find_engines, parent_of
from tests.integration.running import ROOT, all_end_within, running, write_campaign
from tests.patience import PATIENCE_S
from tests.require import require, require_engine, require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns]

RATE_SHOWN = r"trial 1/\d+ [\s\S]*?\d+(\.\d+)? [kM]bit/s"


@pytest.fixture(autouse=True)
def _needs() -> None:
    require_engine()
    require_namespaces()


def test_a_signal_in_mid_trial_keeps_what_was_measured_and_nobody_else_enters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign, out = write_campaign(tmp_path, duration="20s"), tmp_path / "out"
    with running(["run", str(campaign), "--out", "out"], tmp_path) as measured:
        measured.read_until(RATE_SHOWN)
        second = call(["run", str(campaign), "--out", str(out)], capsys)
        assert second.status == 5
        assert str(measured.process.pid) in second.err
        with all_end_within(measured, PATIENCE_S):
            measured.process.send_signal(signal.SIGINT)
            status, screen = measured.read_to_end()
    assert status == 4
    error, fix = [
        line for line in screen.replace("\r", "\n").splitlines() if line.startswith(("pathlab: ", "  fix: "))
    ]
    assert "stopped by Ctrl-C after 0 of 2 trials" in error
    assert fix == f"  fix: pathlab run {campaign} --out out"
    assert "report.html" in screen
    (record,) = stored(out)
    assert (record.status, record.failed_stage) == ("interrupted", "controller")
    with pathlab.open(out) as results:
        assert results.series(1, "receiver_intervals")["bytes"].sum() > 0
    other = call(["run", str(campaign), "--out", str(out), "--set", "seed=8"], capsys)
    assert other.status == 2
    assert "another campaign" in other.err


def test_kill_9_of_the_controller_leaves_nothing(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, duration="20s")
    with running(["run", str(campaign), "--out", "out"], tmp_path) as measured:
        measured.read_until(RATE_SHOWN)
        with all_end_within(measured, PATIENCE_S):
            measured.process.kill()
            assert measured.process.wait(PATIENCE_S) == -signal.SIGKILL
    assert stored(tmp_path / "out") == []


#: What is killed in mid-trial, by the row of the plan; in each cycle fewer than quarantine a pair.
VICTIMS = {0: "send", 1: "receive", 3: "ping", 4: "agent"}


def test_kill_9_of_an_engine_or_an_agent_fails_that_trial_alone(tmp_path: Path) -> None:
    left = dict(VICTIMS)

    def kill_once(event: Event) -> None:
        if isinstance(event, RateNow) and event.row in left:
            victim = left.pop(event.row)
            (pid,) = find_engines("send" if victim == "agent" else victim)
            os.kill(parent_of(pid) if victim == "agent" else pid, signal.SIGKILL)

    trial = {"warmup": "0ms", "duration": "2s", "interval": "50ms", "drain": "2s"}
    campaign = campaign_of(factors={"streams": [1, 2, 3]}, cycles=2, trial=trial)
    outcome = run(campaign, tmp_path / "out", Watch(kill_once))
    records = stored(tmp_path / "out")
    failed = {record.plan_row: record for record in records if record.status == "failed"}
    assert failed.keys() == VICTIMS.keys()
    assert [record.plan_row for record in records if record.status == "complete"] == [2, 5]
    for row, victim in VICTIMS.items():
        assert failed[row].failed_stage in (("agent",) if victim == "agent" else ("engine", "network"))
        assert victim == "agent" or any(word in str(failed[row].failure) for word in ("SIGKILL", "peer"))
    with pytest.raises(PartialCampaign, match=r"2 of 6 trials are complete \(4 failed\)") as caught:
        check_complete_rows(outcome, "again")
    assert caught.value.exit_status == 4


def unshare(folder: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``pathlab WORDS`` from a shell script with namespaces of its own for users and mounts."""
    enter = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    return subprocess.run(
        [*enter, sys.executable, "-m", "pathlab", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


def test_a_full_disk_keeps_what_was_stored_before(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, lab=False, cycles=60, duration="100ms")
    for name in ("small", "copy"):
        (tmp_path / name).mkdir()
    script = (
        'mount -t tmpfs -o size=260k none small && "$@"; '
        "status=$?; cp small/out/results.db* copy/; exit $status"
    )
    done = unshare(tmp_path, script, "run", str(campaign), "--out", "small/out")
    assert done.returncode == 5, done.stderr
    error, fix = done.stderr.splitlines()
    assert "full" in error
    assert fix.startswith("  fix: ")
    kept = stored(tmp_path / "copy")
    assert len(kept) >= 1
    # On busy cores a trial as short as these may fail; it is kept with its reason.
    assert {record.status for record in kept} <= {"complete", "failed"}


def test_without_namespaces_the_quickstart_runs_over_loopback_and_says_so(tmp_path: Path) -> None:
    """Where the kernel refuses network namespaces: inside a user namespace that may make none."""
    settings = ("cycles=1", "trial.duration=100ms", "trial.warmup=20ms", "factors.streams=[1]")
    quick = [word for setting in settings for word in ("--set", setting)]
    forbid = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    done = unshare(tmp_path, forbid, "run", "quickstart", "--out", "out", *quick)
    assert done.returncode in (0, 7), done.stderr  # 7: cubic is not permitted either
    assert "no emulated WAN here" in done.stdout
    assert "LOOPBACK FALLBACK" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    records = stored(tmp_path / "out")
    assert all("loopback-fallback" in record.flags for record in records)
    assert all(("congestion-not-granted" in r.flags) == (r.congestion_sender != "cubic") for r in records)


def test_a_window_that_the_kernel_cannot_grant_is_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = int(Path("/proc/sys/net/core/wmem_max").read_text())
    requested = f"{2 * limit // 1024 + 1024}K"
    said = measure(capsys, "--window", requested, "--time", "0.3", "--out", str(tmp_path / "out"))
    assert said.status == 0
    assert "window-short" in said.out
    (record,) = stored(tmp_path / "out")
    assert record.window_granted_sender_bytes == 2 * limit
    assert "window-short" in record.flags


def test_what_this_machine_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = measure(capsys, "--congestion", "nosuchcc", "--time", "0.3")
    assert said.status == 3
    assert "--congestion nosuchcc" in said.err
    monkeypatch.setenv("PATHLAB_ENGINE", str(tmp_path / "none"))
    said = measure(capsys)
    assert said.status == 3
    error, fix = said.err.splitlines()
    assert "host 'local', engine:" in error
    assert "PATHLAB_ENGINE" in fix


def test_a_missing_compiler_is_named_by_make(tmp_path: Path) -> None:
    for tool in ("make", "sh", "python3", "env"):
        found = shutil.which(tool)
        require(found, tool)
        (tmp_path / tool).symlink_to(str(found))
    command, environment = ["make", "-s", "-C", str(ROOT), "engine"], {"PATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "('cc')" in done.stderr
    assert "apt-get install gcc" in done.stderr
