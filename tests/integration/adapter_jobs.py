"""Technologies of an agent that has a stub: started, and what they could leave on the host."""

import contextlib
import os
from pathlib import Path
from typing import Any

from pathlab.agents.listeners import list_descendants
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session
from tests.patience import PATIENCE_S

SEGMENT_BYTES = 12345 + os.getpid()
SETTINGS = {"address": "127.0.0.1", "bytes": 64, "streams": 1}


def describe_host(cache: Path, stub_zip: Path) -> dict[str, Any]:
    """All that a technology of these tests could leave, but the programs that are kept.

    A segment of System V shared memory is the stub's by its size. Other tests may run meanwhile.
    """
    running = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text()
            if str(cache) in words or (str(stub_zip) in words and "--adapter" in words):
                running.append(words)
    segments = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {
        "processes": running,
        "segments": [words for words in segments if words[3] == str(SEGMENT_BYTES)],
        "files": sorted(
            str(path) for path in cache.rglob("*") if path.is_dir() or not path.name.startswith("adapter-")
        ),
    }


def start(host: Session, name: str, role: str = "answer", ports: str = "0", **settings: Any) -> EngineJob:
    return host.start_adapter(name, role, {**SETTINGS, **settings}, ports=ports, seconds=60)


def fail(job: EngineJob) -> tuple[str, str, int | None]:
    """Stage and text of a technology that fails before it listens, and the exit status."""
    end = job.wait(PATIENCE_S)
    errors = [record for record in end.records if record["type"] == "error"]
    assert len(errors) == 1, end
    assert "listening" not in [record["type"] for record in end.records]
    return errors[0]["stage"], errors[0]["text"], end.status


def find_process(job: EngineJob, *words: str) -> int:
    """The process below a job whose command line has all words; the first process of its sandbox for none."""
    for pid in list_descendants(job.pid)[1:]:
        with contextlib.suppress(OSError):  # one that has ended meanwhile
            line = Path(f"/proc/{pid}/cmdline").read_text()
            if all(word in line for word in words) and (words or "--adapter" in line):
                return pid
    raise AssertionError(f"no process with {words}")
