"""The agent under a Python of another machine, with that machine's engine, in QEMU's user mode."""

from pathlib import Path

import pytest

from pathlab.remote.deploy import ensure_agent
from pathlab.remote.local import agent_command, start_process
from pathlab.remote.process import ProcessChannel
from pathlab.remote.session import Session
from pathlab.remote.transport import Transport
from tests.integration.test_agent_engine import carry_exactly
from tests.machines.engines import build_engine, find_emulator
from tests.patience import PATIENCE_S
from tests.require import require

pytestmark = pytest.mark.engine

MACHINE = "aarch64"
ROOT = Path(__file__).resolve().parents[2] / "build" / MACHINE  # filled by tests/guest/python.sh


class EmulatedTransport(Transport):
    """An agent whose interpreter and engine are those of another machine."""

    def __init__(self, folder: Path) -> None:
        require((ROOT / "usr/bin/python3").exists(), "a Python for aarch64 (sh tests/guest/python.sh)")
        (self._qemu,) = find_emulator(MACHINE)
        engine = build_engine(MACHINE)
        # This machine's kernel starts the engine for the emulated agent, so it needs a program of its own.
        self._engine = folder / "engine"
        self._engine.write_text(f'#!/bin/sh\nexec {self._qemu} {engine} "$@"\n', encoding="ascii")
        self._engine.chmod(0o755)

    def open(self) -> ProcessChannel:
        """Start the emulated agent."""
        command = agent_command(ensure_agent(), self._engine, python=str(ROOT / "usr/bin/python3"))
        return start_process([self._qemu, "-L", str(ROOT), *command], host=MACHINE)

    def close(self) -> None:
        """Nothing is held between channels."""


def test_an_agent_of_another_machine_reports_its_facts_and_carries_exact_bytes(tmp_path: Path) -> None:
    session = Session(EmulatedTransport(tmp_path), host=MACHINE, request_timeout_s=PATIENCE_S)
    session.open(PATIENCE_S)
    with session:
        assert session.facts(PATIENCE_S)["kernel"]["machine"] == MACHINE
        carry_exactly(session)
