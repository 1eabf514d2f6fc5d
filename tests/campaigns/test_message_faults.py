"""A trial of messages whose controller dies: nothing is left behind."""

from pathlib import Path

import pytest

from tests.integration.running import all_end_within, running
from tests.require import require_engine

pytestmark = pytest.mark.engine

RATE_SHOWN = r"trial 1/\d+ [\s\S]*?\d+(\.\d+)? [kM]?/s"
CAMPAIGN = """
format = 1
name = "messages"
title = "Messages"
seed = 1
retries = 0
[[paths]]
source = "local"
destination = "local"
[factors]
message = 64
streams = 2
transport = "shared-memory"
reply = true
message_rate = 1000
[trial]
warmup = "0s"
duration = "60s"
"""


def list_named_memory(pid: int) -> set[str]:
    """Names of the memory that a process shares; proc(5): one without a file is marked as deleted."""
    lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    fields = [line.split(maxsplit=5) for line in lines]
    return {found[5] for found in fields if found[1].endswith("s") and len(found) == 6}


def test_kill_9_of_the_controller_leaves_no_process_and_no_memory(tmp_path: Path) -> None:
    """Memory without a name ends with the last process that has it."""
    require_engine()
    campaign = tmp_path / "messages.toml"
    campaign.write_text(CAMPAIGN, encoding="utf-8")
    with running(["run", str(campaign), "--out", "out"], tmp_path) as run:
        run.read_until(RATE_SHOWN)
        engines = [run.engine("send"), run.engine("receive")]
        shared = set().union(*map(list_named_memory, engines))
        assert shared
        assert all(name.endswith(" (deleted)") for name in shared)
        with all_end_within(run, 30):  # half of the trial's duration
            run.process.kill()
            run.process.wait(30)
