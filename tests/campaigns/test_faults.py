"""Ends that nobody planned: one clear line, the documented status, nothing lost, nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pathlab
from pathlab.store.records import TrialRecord
from tests.integration.running import ROOT, all_end_within, running, write_campaign
from tests.patience import PATIENCE_S
from tests.require import require, require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns]

RATE_SHOWN = r"trial 1/\d+ [\s\S]*?\d+(\.\d+)? [kM]bit/s"


@pytest.fixture(autouse=True)
def _needs() -> None:
    require((ROOT / "native" / "build" / "pathlab-engine").exists(), "the native engine (make engine)")
    require_namespaces()


def stored(folder: Path) -> list[TrialRecord]:
    with pathlab.open(folder) as results:
        return results.records()


def run_to_end(arguments: list[str], cwd: Path) -> tuple[int, str]:
    with running(arguments, cwd) as run:
        return run.read_to_end()


def last_error(screen: str) -> list[str]:
    lines = [line for line in screen.replace("\r", "\n").splitlines() if line.strip()]
    return [line for line in lines if line.startswith(("pathlab: ", "  fix: "))]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_mid_trial_keeps_what_was_measured(tmp_path: Path, number: signal.Signals) -> None:
    campaign = write_campaign(tmp_path, duration="20s")
    with running(["run", str(campaign), "--out", "out"], tmp_path) as run:
        run.read_until(RATE_SHOWN)
        with all_end_within(run, PATIENCE_S):
            run.process.send_signal(number)
            status, screen = run.read_to_end()
    assert status == 4
    error, hint = last_error(screen)
    by = "Ctrl-C" if number == signal.SIGINT else number.name
    assert f"stopped by {by} after 0 of 2 trials; everything measured is saved in out" in error
    assert hint == f"  fix: pathlab run {campaign} --out out"
    (record,) = stored(tmp_path / "out")
    assert (record.status, record.failed_stage) == ("interrupted", "controller")
    with pathlab.open(tmp_path / "out") as results:
        received = results.series(1, "receiver_intervals")
        assert received["bytes"].sum() > 0
    assert "report.html" in screen


def test_kill_9_of_the_controller_leaves_nothing_and_the_next_run_continues(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, cycles=2, duration="4s")
    with running(["run", str(campaign), "--out", "out"], tmp_path) as run:
        run.read_until(r"trial 2/\d+ [\s\S]*?\d+(\.\d+)? [kM]bit/s")
        with all_end_within(run, PATIENCE_S):
            run.process.kill()
            assert run.process.wait(PATIENCE_S) == -signal.SIGKILL
    assert [record.status for record in stored(tmp_path / "out")] == ["complete"]
    status, screen = run_to_end(["run", str(campaign), "--out", "out"], tmp_path)
    assert status == 0
    assert "resuming: 1 of 2 trials done" in screen
    assert [record.plan_row for record in stored(tmp_path / "out")] == [0, 1]


NO_RETRY = ["--set", "retries=0"]


@pytest.mark.parametrize("victim", ["send", "receive", "ping"])
def test_kill_9_of_an_engine_fails_that_trial_alone(tmp_path: Path, victim: str) -> None:
    campaign = write_campaign(tmp_path, duration="3s")
    with running(["run", str(campaign), "--out", "out", *NO_RETRY], tmp_path) as run:
        run.read_until(RATE_SHOWN)
        os.kill(run.engine(victim), signal.SIGKILL)
        status, screen = run.read_to_end()
    assert status == 4
    failed, complete = stored(tmp_path / "out")
    assert (failed.status, complete.status) == ("failed", "complete")
    assert failed.failed_stage in ("engine", "network")
    assert failed.failure is not None
    assert "SIGKILL" in failed.failure or "peer" in failed.failure
    assert "1 of 2 trials are complete (1 failed)" in last_error(screen)[0]


def test_kill_9_of_an_agent_fails_that_trial_and_the_next_one_gets_a_new_agent(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, duration="3s")
    with running(["run", str(campaign), "--out", "out", *NO_RETRY], tmp_path) as run:
        run.read_until(RATE_SHOWN)
        agents = [
            number for number, words in run.processes().items() if "pathlab-agent" in words or ".zip" in words
        ]
        os.kill(agents[0], signal.SIGKILL)
        status, _ = run.read_to_end()
    assert status == 4
    failed, complete = stored(tmp_path / "out")
    assert (failed.status, failed.failed_stage, complete.status) == ("failed", "agent", "complete")


def test_kill_9_of_the_emulator_fails_that_trial_and_the_next_one_gets_a_new_lab(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, duration="3s", drain="1s")  # a dead link delivers nothing more
    with running(["run", str(campaign), "--out", "out"], tmp_path) as run:
        run.read_until(RATE_SHOWN)
        os.kill(run.engine("emulate"), signal.SIGKILL)
        status, screen = run.read_to_end()
    assert status == 0
    assert "the lab was rebuilt: lab: link a-b: the emulator was killed by SIGKILL" in screen
    failed, *complete = stored(tmp_path / "out")
    assert (failed.status, failed.failed_stage) == ("failed", "lab")
    assert failed.failure == "lab: link a-b: the emulator was killed by SIGKILL"
    assert [(record.plan_row, record.attempt, record.status) for record in complete] == [
        (0, 2, "complete"),
        (1, 1, "complete"),
    ]


def test_a_full_disk_keeps_what_was_stored_before(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, cycles=60, duration="100ms")
    small = tmp_path / "small"
    small.mkdir()
    script = (
        'mount -t tmpfs -o size=260k none "$1" && cd "$1/.." && shift && "$@"; '
        "status=$?; cp small/out/results.db* copy/; exit $status"
    )
    (tmp_path / "copy").mkdir()
    pathlab_run = [sys.executable, "-m", "pathlab", "run", str(campaign), "--out", "small/out"]
    done = subprocess.run(
        [
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
            str(small),
            *pathlab_run,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    error, hint = done.stderr.splitlines()
    assert "full" in error
    assert hint.startswith("  fix: ")
    kept = stored(tmp_path / "copy")
    assert len(kept) >= 1
    # On busy cores a trial as short as these may fail; it is kept with its reason.
    assert {record.status for record in kept} <= {"complete", "failed"}


def test_a_window_that_the_kernel_cannot_grant_is_marked(tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/net/core/wmem_max").read_text())
    requested = f"{2 * limit // 1024 + 1024}K"
    arguments = [
        "measure",
        "local",
        "--window",
        requested,
        "--time",
        "0.3",
        "--warmup",
        "100ms",
        "--unloaded",
        "2",
    ]
    status, screen = run_to_end([*arguments, "--out", "out"], tmp_path)
    assert status == 0
    assert "window-short" in screen
    (record,) = stored(tmp_path / "out")
    assert record.window_granted_sender_bytes == 2 * limit
    assert "window-short" in record.flags


def test_without_an_engine_the_fix_is_named(tmp_path: Path) -> None:
    with running(["measure", "local"], tmp_path, {"PATHLAB_ENGINE": str(tmp_path / "none")}) as run:
        status, screen = run.read_to_end()
    assert status == 3
    error, hint = last_error(screen)
    assert "local', engine:" in error
    assert "PATHLAB_ENGINE" in hint


def test_a_missing_compiler_is_named_by_make(tmp_path: Path) -> None:
    for tool in ("make", "sh", "python3", "env"):
        found = shutil.which(tool)
        require(found, tool)
        (tmp_path / tool).symlink_to(str(found))
    done = subprocess.run(
        ["make", "-s", "-C", str(ROOT), "engine"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "no C compiler ('cc') here" in done.stderr
    assert "apt-get install gcc" in done.stderr


def test_a_congestion_control_that_is_not_there_fails_the_trial_by_name(tmp_path: Path) -> None:
    status, screen = run_to_end(["measure", "local", "--congestion", "nosuchcc", "--time", "0.3"], tmp_path)
    assert status == 3
    assert "--congestion nosuchcc is unknown to this kernel" in last_error(screen)[0]


def test_results_in_use_are_refused_with_their_owner(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, duration="20s")
    with running(["run", str(campaign), "--out", "out"], tmp_path) as first:
        first.read_until(RATE_SHOWN)
        status, screen = run_to_end(["run", str(campaign), "--out", "out"], tmp_path)
        assert status == 5
        assert str(first.process.pid) in last_error(screen)[0]


def test_another_campaign_does_not_enter_a_folder_in_use(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, lab=False, cycles=1, duration="100ms")
    assert run_to_end(["run", str(campaign), "--out", "out"], tmp_path)[0] == 0
    status, screen = run_to_end(["run", str(campaign), "--out", "out", "--set", "seed=8"], tmp_path)
    assert status == 2
    assert "holds another campaign or other settings" in last_error(screen)[0]


QUICK = [
    word
    for setting in ("cycles=1", "trial.duration=100ms", "trial.warmup=20ms", "factors.streams=[1]")
    for word in ("--set", setting)
]


def run_without_namespaces(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run where the kernel refuses network namespaces: inside a user namespace that may make none."""
    script = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    return subprocess.run(
        [
            "unshare",
            "--user",
            "--map-root-user",
            "sh",
            "-c",
            script,
            "sh",
            sys.executable,
            "-m",
            "pathlab",
            *arguments,
        ],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cwd / "cache")},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


def test_without_namespaces_the_quickstart_runs_over_loopback_and_says_so(tmp_path: Path) -> None:
    done = run_without_namespaces(["run", "quickstart", "--out", "out", *QUICK], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "note  no emulated WAN here: no network namespaces here" in done.stdout
    assert "LOOPBACK FALLBACK" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    records = stored(tmp_path / "out")
    assert all("loopback-fallback" in record.flags for record in records)
    assert all(("congestion-not-granted" in r.flags) == (r.congestion_sender != "cubic") for r in records)


def test_without_namespaces_a_campaign_that_needs_them_names_what_was_refused(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path)
    done = run_without_namespaces(["run", str(campaign), "--out", "out"], tmp_path)
    assert done.returncode == 3
    error, hint = done.stderr.splitlines()
    assert error.startswith("pathlab: lab: no network namespaces here (root: unshare: ")
    assert "sysctl -w user.max_net_namespaces=15000" in hint
    assert not (tmp_path / "out").exists()
