"""Fixtures of the emulator's tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.lab.wires import Wires, open_wires
from tests.require import require


@pytest.fixture
def wires() -> Iterator[Wires]:
    with open_wires() as opened:
        yield opened


@pytest.fixture(params=["packet", "tun"])
def backend(request: pytest.FixtureRequest) -> str:
    chosen = str(request.param)
    if chosen == "tun":
        require(os.access("/dev/net/tun", os.R_OK | os.W_OK), "access to /dev/net/tun")
    return chosen
