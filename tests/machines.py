"""Engines for other machines, and QEMU's user mode that runs them here."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.require import require, require_engine

NATIVE = Path(__file__).resolve().parents[1] / "native"


def build_cross(target: str) -> Path:
    """A target of native/Makefile for another machine, made now: in no time where nothing has changed."""
    require(find_spec("ziglang"), "a compiler for other machines (pip install ziglang)")
    require_engine()
    command = ["make", "-s", "-C", str(NATIVE), f"ZIG={sys.executable} -m ziglang", target]
    (NATIVE / "build").mkdir(exist_ok=True)
    with (NATIVE / "build" / "cross.lock").open("w") as lock:  # several processes may run tests
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return NATIVE / target


def build_engine(machine: str) -> Path:
    """The engine for a machine."""
    return build_cross(f"build/cross/pathlab-engine-{machine}")


def find_emulator(machine: str) -> str:
    """QEMU's user mode for a machine."""
    path = shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")
    require(path, f"qemu-{machine}-static (Debian: qemu-user-static)")
    return str(path)
