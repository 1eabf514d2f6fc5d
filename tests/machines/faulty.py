"""The engine with failing system calls: ``native/tests/faults/faults.c``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from tests.native.engine import Ending, Engine, Flag, start
from tests.require import require_faulty_engine

STATUSES = (2, 3, 4, 5, 6)


@contextlib.contextmanager
def start_faulty(subcommand: str, faults: str, applied: Path, **flags: Flag) -> Iterator[Engine]:
    environment = {"PATHLAB_FAULTS": faults, "PATHLAB_FAULTS_APPLIED": str(applied)}
    with contextlib.ExitStack() as stack:
        with mock.patch.dict(os.environ, environment):
            engine = stack.enter_context(start(subcommand, require_faulty_engine(), **flags))
        yield engine


def assert_orderly(ending: Ending, fault: str) -> None:
    """Success and silence, or one line that names the fault; never a sanitizer's report."""
    if ending.status == 0:
        assert ending.stderr == ""
        assert ending.last["complete"] is True
        return
    assert ending.status in STATUSES, ending.stderr
    assert ending.stderr.startswith("pathlab-engine"), ending.stderr
    assert ending.stderr.count("\n") == 1, ending.stderr
    assert ending.stderr.endswith("\n")
    assert "runtime error" not in ending.stderr
