"""One boot of a kernel with netem, bonding and SCTP, emulated in software, for all tests of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.guest.image import build_image, require_guest, run_guest

TIMEOUT_S = 360
TASK = Path(__file__).with_name("netem_task.py")


@pytest.fixture(scope="session")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the task measured in the guest."""
    require_guest()
    text, console = run_guest(build_image(TASK, tmp_path_factory.mktemp("guest")), TIMEOUT_S)
    assert text.strip(), console[-3000:]
    said: dict[str, Any] = json.loads(text.splitlines()[-1])
    assert "error" not in said, f"{said['error']}\n{console[-3000:]}"
    return said
