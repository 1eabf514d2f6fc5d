"""Cores and priority of technologies: what was requested is in force, and only what was granted is stated."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.require import require
from tests.technologies.programs import LANGUAGES, read_until, running

pytestmark = pytest.mark.engine

PRIORITY = 10


def is_real_time_granted() -> bool:
    """Whether this user may have the priority of the harness's control thread, the higher one."""
    chrt = shutil.which("chrt")
    require(chrt, "chrt (apt-get install util-linux)")
    words = [str(chrt), "-f", str(PRIORITY + 1), "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_thread_runs_on_the_given_cores_at_the_granted_priority(language: str) -> None:
    core = max(os.sched_getaffinity(0))
    granted = PRIORITY if is_real_time_granted() else None
    with running(language, "ask", cores=[core], priority=PRIORITY, requests=10**6) as process:
        ready = read_until(process, "ready")
        affinities, priorities = set(), set()
        for path in Path(f"/proc/{process.pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):  # Java ends compilers that it does not need
                affinities.add(tuple(os.sched_getaffinity(int(path.name))))
                priorities.add(os.sched_getparam(int(path.name)).sched_priority)
    assert affinities == {(core,)}
    assert (ready["cores"], ready["messages"]["priority"]) == ([core], granted)
    assert priorities <= ({PRIORITY, PRIORITY + 1} if granted else {0})
