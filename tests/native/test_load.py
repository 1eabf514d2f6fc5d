"""`pathlab-engine load`: what it does and states, what it refuses, and that nothing of it stays."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native.engine import (
    MS,
    Engine,
    assert_refused,
    both_ready,
    build_command,
    run,
    start,
    start_command,
)

pytestmark = pytest.mark.engine

NICE_FIELD, POLICY_FIELD = 18, 40  # of /proc/PID/stat, from 0
MIB = 1 << 20
HERE = str(Path(__file__).parent)  # on a disk, as the checkout is


def read_stat(task: Path) -> list[str]:
    """The fields of a task; its name, which may hold spaces, is one."""
    before, _, after = (task / "stat").read_text(encoding="utf-8").rpartition(")")
    return [*before.split(" (", 1), *after.split()]


def list_tasks(engine: Engine) -> list[Path]:
    return sorted(Path(f"/proc/{engine.process.pid}/task").iterdir())


def await_disk(engine: Engine) -> None:
    """Until some writes were synced and read; other programs may take the cores for long."""
    while engine.wait_for("load")["disk"]["syncs"] == 0:
        pass


def test_every_interval_states_what_was_done_in_it_and_the_result_all_of_it() -> None:
    before_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    with start("load", cpu=2, disk=HERE, file_bytes=MIB, interval_ns=50 * MS, control="stdin") as engine:
        ready = engine.wait_for("ready")
        assert (ready["cpu_threads"], ready["nice"]) == (2, 19)
        assert ready["disk"] == {"file_bytes": MIB, "write_bytes": MIB, "reads": True}
        for _ in range(3):
            engine.wait_for("load")
        await_disk(engine)
        engine.send_line("stop")
        ending = engine.finish()
    assert (ending.status, ending.stderr) == (0, "")
    loads, result = ending.of("load"), ending.last
    assert (result["type"], result["complete"], result["reason"]) == ("result", True, None)
    assert [load["start_ns"] for load in loads[1:]] == [load["end_ns"] for load in loads[:-1]]
    assert (result["start_ns"], result["end_ns"]) == (0, loads[-1]["end_ns"])
    for thread in range(2):
        assert result["cpu_ns"][thread] == sum(load["cpu_ns"][thread] for load in loads)
    charged_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before_s
    assert 0 < sum(result["cpu_ns"]) / 1e9 <= charged_s
    for name in ("written_bytes", "read_bytes", "syncs"):
        assert result["disk"][name] == sum(load["disk"][name] for load in loads)
    assert (
        result["disk"]["written_bytes"] == result["disk"]["read_bytes"] == result["disk"]["syncs"] * MIB > 0
    )
    assert 0 < result["disk"]["sync_ns"]["median"] <= result["disk"]["sync_ns"]["p99"]
    assert result["quiet"] in (True, False)


def test_all_threads_give_way_to_others() -> None:
    command = build_command("load", cpu=1, disk=HERE, file_bytes=MIB, control="stdin")
    with start_command(["setsid", *command]) as engine:
        engine.wait_for("start")
        tasks = list_tasks(engine)
        assert len(tasks) == 3  # main, CPU, disk
        assert {read_stat(task)[NICE_FIELD] for task in tasks} == {"19"}
        assert {read_stat(task)[POLICY_FIELD] for task in tasks} == {str(os.SCHED_OTHER)}
        session = Path(f"/proc/{engine.process.pid}/autogroup")
        if session.exists():  # cores are shared between sessions first
            assert session.read_text(encoding="utf-8").endswith(" nice 19\n")


def test_a_load_gives_up_a_real_time_priority() -> None:
    command = build_command("load", cpu=1, control="stdin")
    try:
        with start_command(["chrt", "--fifo", "5", *command]) as engine:
            engine.wait_for("start")
            policies = {read_stat(task)[POLICY_FIELD] for task in list_tasks(engine)}
            assert policies == {str(os.SCHED_OTHER)}
    except AssertionError:
        denied = subprocess.run(["chrt", "--fifo", "5", "true"], capture_output=True, check=False)
        if denied.returncode == 0:
            raise
        pytest.skip("this user may not set real-time priorities")


def test_both_ends_of_a_flow_give_way_on_request() -> None:
    with both_ready(nice=19) as ends:
        for engine in ends:
            assert {read_stat(task)[NICE_FIELD] for task in list_tasks(engine)} == {"19"}


def test_the_time_limit_ends_it_completely() -> None:
    ending = run("load", cpu=1, interval_ns=10_000 * MS, time_limit_ns=50 * MS)
    assert (ending.status, ending.last["complete"]) == (0, True)
    assert ending.last["end_ns"] >= 50 * MS
    assert "quiet" not in ending.last
    assert ending.last["disk"] is None


def test_a_signal_ends_it_early_with_its_result() -> None:
    with start("load", cpu=1) as engine:
        engine.wait_for("start")
        engine.process.send_signal(signal.SIGTERM)
        ending = engine.finish()
    assert (ending.status, ending.last["complete"]) == (5, False)
    assert "signal" in ending.last["reason"]


def test_it_ends_with_its_controller_and_with_its_parent() -> None:
    with start("load", cpu=1, disk=HERE, file_bytes=MIB, control="stdin") as engine:
        engine.wait_for("start")
        engine.close_stdin()
        assert engine.finish().status == 5
    command = build_command("load", cpu=1, disk=HERE, file_bytes=MIB, output="json")
    script = f"import subprocess, sys; subprocess.Popen({command!r}); sys.stdin.read()"
    with start_command([sys.executable, "-c", script]) as parent:
        parent.wait_for("start")
        parent.process.kill()
        while parent.take() is not None:  # the end of its output: nothing holds it any more
            pass


@pytest.mark.parametrize("threads", ["-1", "1025", "some", "2x", ""])
def test_threads_are_a_number_or_all(threads: str) -> None:
    ending = run("load", cpu=threads, time_limit_ns=50 * MS)
    assert_refused(ending, 2, "options")
    assert ending.last["text"] == f"--cpu: '{threads}' is neither a number of threads from 0 to 1024 nor all"


def test_all_threads_are_as_many_as_the_cores_that_it_may_use() -> None:
    ending = run("load", cpu="all", time_limit_ns=50 * MS)
    (ready,) = ending.of("ready")
    assert (ending.status, ready["cpu_threads"]) == (0, len(os.sched_getaffinity(0)))


def test_a_file_without_room_is_refused() -> None:
    ending = run("load", disk=HERE, file_bytes=1 << 40)
    assert_refused(ending, 3, "disk")
    assert "MiB are needed" in ending.stderr


def test_a_full_disk_ends_it_with_what_was_done_until_then() -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    command = build_command("load", disk=HERE, file_bytes=8 * MIB, control="stdin")
    with start_command(["prlimit", f"--fsize={3 * MIB}", *command]) as engine:
        ending = engine.finish()
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == limit
    assert ending.status == 5
    result, error = ending.records[-2:]
    assert (result["type"], result["complete"]) == ("result", False)
    assert result["disk"]["written_bytes"] == 3 * MIB
    assert error["stage"] == "disk"
    assert result["reason"] == error["text"]
    assert HERE[:100] in error["text"]
