"""Fixtures of tests of the emulator and of labs. ``tests/conftest.py`` loads this file as a plugin."""

import contextlib
import os
import time
from collections.abc import Iterator

import pytest

from pathlab.lab.lab import Lab
from pathlab.lab.topology import Topology
from tests.lab.labs import make_lab
from tests.lab.wires import Wires, open_wires
from tests.patience import PATIENCE_S
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


class SharedLabs:
    """Labs that stay up until the test process ends, one for each topology and back end."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._running: dict[tuple[Topology, str], Lab] = {}

    def lend(self, topology: Topology, backend: str = "auto") -> Lab:
        """The lab, with nothing under way. A test that changes it must change it back."""
        key = topology, backend
        if key not in self._running:
            self._running[key] = self._stack.enter_context(make_lab(topology, backend))
        lab = self._running[key]
        assert lab.topology == topology, "an earlier test left the lab changed"
        _wait_until_empty(lab)
        return lab


def _wait_until_empty(lab: Lab) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while any(one[way]["waiting_packets"] for one in lab.counters() for way in ("forward", "reverse")):
        assert time.monotonic() < deadline, "the queues of the lab do not drain"


@pytest.fixture(scope="session")
def shared_labs() -> Iterator[SharedLabs]:
    with contextlib.ExitStack() as stack:
        yield SharedLabs(stack)
