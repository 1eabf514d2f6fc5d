"""Trials of messages whose controller or receiver dies: nothing is left behind, and the culprit is named."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import pathlab
from tests.integration.processes import assert_all_end, watching
from tests.integration.running import Run, all_end_within, running
from tests.require import require_engine, require_namespaces

pytestmark = pytest.mark.engine

RATE_SHOWN = r"trial 1/\d+ [\s\S]*?\d+(\.\d+)? [kM]?/s"
CAMPAIGN = """
format = 1
name = "messages"
title = "Messages"
seed = 1
retries = 0
{paths}
[factors]
message = 64
{factors}
[trial]
warmup = "0s"
duration = "60s"
"""
LOCAL = '[[paths]]\nsource = "local"\ndestination = "local"'
STAR = """
[[paths]]
source = "a"
destination = "b"
sinks = ["c", "d"]
[lab]
hosts = ["a", "b", "c", "d"]
routers = ["r"]
[[lab.links]]
between = ["a", "r"]
[[lab.links]]
between = ["b", "r"]
[[lab.links]]
between = ["c", "r"]
[[lab.links]]
between = ["d", "r"]
"""


def write_messages(folder: Path, paths: str, factors: str) -> str:
    path = folder / "messages.toml"
    path.write_text(CAMPAIGN.format(paths=paths, factors=factors), encoding="utf-8")
    return str(path)


def find_engines(run: Run, subcommand: str) -> list[int]:
    return [pid for pid, words in run.processes().items() if f"pathlab-engine {subcommand} " in words]


def list_named_memory(pid: int) -> set[str]:
    """Names of the memory that a process shares; proc(5): one without a file is marked as deleted."""
    lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    fields = [line.split(maxsplit=5) for line in lines]
    return {found[5] for found in fields if found[1].endswith("s") and len(found) == 6}


@pytest.mark.parametrize("transport", ["shared-memory", "unix"])
def test_kill_9_of_the_controller_leaves_no_process_and_no_memory(tmp_path: Path, transport: str) -> None:
    """Memory without a name ends with the last process that has it."""
    require_engine()
    factors = f'streams = 2\ntransport = "{transport}"\nreply = true\nmessage_rate = 1000'
    campaign = write_messages(tmp_path, LOCAL, factors)
    with running(["run", campaign, "--out", "out"], tmp_path) as run:
        run.read_until(RATE_SHOWN)
        engines = find_engines(run, "send") + find_engines(run, "receive")
        assert len(engines) == 2
        shared = set().union(*map(list_named_memory, engines))
        assert bool(shared) == (transport == "shared-memory")
        assert all(name.endswith(" (deleted)") for name in shared)
        with all_end_within(run, 30):  # half of the trial's duration
            run.process.kill()
            run.process.wait(30)


@pytest.mark.netns
def test_a_sink_that_dies_is_named_and_the_others_are_ended(tmp_path: Path) -> None:
    require_engine()
    require_namespaces()
    campaign = write_messages(tmp_path, STAR, "streams = 3\nmessage_rate = 3000")
    with running(["run", campaign, "--out", "out"], tmp_path) as run:
        run.read_until(RATE_SHOWN)
        receivers = find_engines(run, "receive")
        assert len(receivers) == 3
        with watching(*receivers, *find_engines(run, "send")) as descriptors:
            os.kill(receivers[-1], signal.SIGKILL)
            status, screen = run.read_to_end()
            assert len(descriptors) == 4
            assert_all_end(descriptors)
    assert status != 0, screen
    with pathlab.open(tmp_path / "out") as results:
        (record,) = results.records()
    assert (record.status, record.failed_stage) == ("failed", "engine")
    assert "engine: " in (record.failure or "")
