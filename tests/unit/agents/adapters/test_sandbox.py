"""The sandbox of servers by itself: its folder is full at its limit, and nobody else sees it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.agents.adapters.sandbox import probe_namespaces

TRY = """
import os, sys
from pathlab.agents.adapters.sandbox import Sandbox
sandbox = Sandbox(sys.argv[1], size_bytes=1 << 20)
assert sandbox.namespaces and not sandbox.is_full()
words = ["dd", "if=/dev/zero", "of=big", "bs=64k", "count=64"]
cores = [min(os.sched_getaffinity(0))]
process = sandbox.start(words, environment=dict(os.environ), cores=cores, memory_bytes=1 << 30)
errors = process.communicate()[1].decode()
assert process.returncode == 1 and "No space left" in errors, errors
assert sandbox.is_full()
process = sandbox.start(["id", "-u"], environment=dict(os.environ), cores=[], memory_bytes=1 << 30)
print(process.communicate()[0].decode().strip(), os.listdir(sandbox.folder), flush=True)
sys.stdin.readline()
sandbox.close()
"""


TRY_TMP = """
import os, sys
from pathlab.agents.adapters.sandbox import Sandbox
sandbox = Sandbox(sys.argv[1], size_bytes=1 << 20, paths=sys.argv[3:])
words = ["sh", "-c", "ls $0; echo > $0-made", sys.argv[2]]
process = sandbox.start(words, environment=dict(os.environ), cores=[], memory_bytes=1 << 30)
print(process.communicate()[0].decode(), end="", flush=True)
sandbox.close()
"""


@pytest.fixture
def namespaces(tmp_path: Path) -> None:
    reason = probe_namespaces(str(tmp_path))
    if reason is not None:
        pytest.skip(f"no user namespaces here: {reason}")


@pytest.mark.usefixtures("namespaces")
def test_a_full_folder_is_noticed_and_unseen_from_outside(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", TRY, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout.readline() == "65534 ['big']\n"
        assert [path.name for path in tmp_path.iterdir()] == ["adapter-folder"]
        assert list((tmp_path / "adapter-folder").iterdir()) == []
        process.communicate("end\n")
        assert process.returncode == 0


@pytest.fixture
def folders() -> Iterator[tuple[Path, Path]]:
    """One below /tmp, with a file, and one that is not, with a link to it."""
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as below,
        tempfile.TemporaryDirectory(dir="/var/tmp") as other,
    ):
        Path(below, "program").touch()
        Path(other, "link").symlink_to(Path(below, "program"))
        yield Path(below), Path(other)


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("needed", ["nothing", "cache", "program", "link"])
def test_tmp_is_in_memory_unless_something_needed_is_below_it(
    folders: tuple[Path, Path], needed: str
) -> None:
    below, other = folders
    program, cache = below / "program", below if needed == "cache" else other
    paths = {"program": [program], "link": [other / "link"]}.get(needed, [])
    words = [sys.executable, "-c", TRY_TMP, cache, program, "/usr/bin", *paths]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        list(map(str, words)), stdout=subprocess.PIPE, text=True, env=environment, check=True
    )
    seen = needed != "nothing"
    assert done.stdout == (f"{program}\n" if seen else "")
    assert Path(f"{program}-made").exists() is seen
