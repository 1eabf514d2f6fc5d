"""One boot of a kernel with netem, bonding, SCTP and fq, emulated in software, for all tests of it."""

from __future__ import annotations

import fcntl
import json
import os
from typing import Any

import pytest

from tests.guest.image import build_image, require_guest, run_guest


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each task measured in the guest, also for other processes that run tests."""
    require_guest()
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    kept = shared / "guest-answers"
    with (shared / "guest.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_file():
            text, console = run_guest(build_image(tmp_path_factory.mktemp("guest")))
            assert text.strip(), console[-3000:]
            kept.write_text(text.splitlines()[-1])
    found: dict[str, Any] = json.loads(kept.read_text())
    return found


@pytest.fixture(scope="session")
def netem(answers: dict[str, Any]) -> dict[str, Any]:
    return find_answer(answers, "netem")


@pytest.fixture(scope="session")
def pacing(answers: dict[str, Any]) -> dict[str, Any]:
    return find_answer(answers, "pacing")


def find_answer(answers: dict[str, Any], task: str) -> dict[str, Any]:
    answer: dict[str, Any] = answers[task]
    assert "error" not in answer, answer["error"]
    return answer
