"""System calls of ``pathlab-engine load`` that fail: it ends with its reason, or goes on."""

from pathlib import Path

import pytest

from tests.machines.faulty import assert_orderly, start_faulty
from tests.native.engine import MS
from tests.native.test_load import HERE, MIB, await_disk

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("fault", "named"),
    [("pwrite:ENOSPC@2+", "write"), ("fdatasync:EIO@2+", "sync"), ("pread:EIO@2+", "read")],
)
def test_a_disk_that_fails_ends_it_with_its_reason(fault: str, named: str, tmp_path: Path) -> None:
    with start_faulty("load", fault, tmp_path / "applied", disk=HERE, file_bytes=MIB) as engine:
        ending = engine.finish()
    assert ending.status == 5
    assert f"cannot {named} the file in '{HERE[:100]}'" in ending.last["text"]
    assert ending.of("result")[0]["disk"]["written_bytes"] == MIB
    assert_orderly(ending, fault)


@pytest.mark.parametrize("fault", ["pwrite:EINTR@1/2", "pwrite:short@1/3", "pread:EINTR@1/2"])
def test_passing_faults_of_a_disk_change_nothing(fault: str, tmp_path: Path) -> None:
    flags: dict[str, str | int] = {"disk": HERE, "file_bytes": MIB, "interval_ns": 50 * MS}
    with start_faulty("load", fault, tmp_path / "applied", control="stdin", **flags) as engine:
        await_disk(engine)
        engine.send_line("stop")
        ending = engine.finish()
    assert (ending.status, ending.stderr, ending.last["complete"]) == (0, "", True)
    assert ending.last["disk"]["written_bytes"] > 0
    assert (tmp_path / "applied").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "fault",
    [
        *(f"calloc:ENOMEM@{use}" for use in range(1, 6)),
        *("aligned_alloc:ENOMEM@1", "eventfd:EMFILE@1"),
        *("pthread_create:EAGAIN@1", "pthread_create:EAGAIN@2", "pthread_create:EAGAIN@3"),
    ],
)
def test_what_the_kernel_refuses_at_the_start_ends_it_with_one_line(fault: str, tmp_path: Path) -> None:
    flags: dict[str, str | int] = {"cpu": 2, "disk": HERE, "file_bytes": MIB, "time_limit_ns": 20 * MS}
    with start_faulty("load", fault, tmp_path / "applied", **flags) as engine:
        ending = engine.finish()
    assert ending.status != 0
    assert_orderly(ending, fault)
    assert (tmp_path / "applied").read_text(encoding="utf-8")
