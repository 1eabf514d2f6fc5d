"""The engines that ship, and QEMU's user mode that runs those of other machines here."""

import fcntl
import functools
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from pathlab.remote.machines import find_own_machine
from tests.require import require

NATIVE = Path(__file__).resolve().parents[2] / "native"
#: Every machine of the wheel (native/Makefile), and QEMU's name of it.
MACHINES = {
    "x86_64": "x86_64",
    "aarch64": "aarch64",
    "armv7l": "arm",
    "riscv64": "riscv64",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "i686": "i386",
}


@functools.cache
def make_shipped(*targets: str) -> str:
    """What make prints for targets of native/Makefile, made with zig; once in a test process."""
    require(find_spec("ziglang"), "a compiler for other machines (pip install ziglang)")
    return make_native("-j2", f"ZIG={sys.executable} -m ziglang", *targets)


def make_native(*words: str) -> str:
    """What make prints in native; one at a time, since several processes may run tests."""
    (NATIVE / "build").mkdir(exist_ok=True)
    with (NATIVE / "build" / "machines.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-s", "-C", str(NATIVE), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def build_engine(machine: str) -> Path:
    """The engine that ships for a machine."""
    make_shipped(f"build/machines/pathlab-engine-{machine}")
    return NATIVE / "build" / "machines" / f"pathlab-engine-{machine}"


def build_units(machine: str) -> Path:
    """All native tests for a machine, as one program."""
    make_shipped(f"build/machines/units-{machine}")
    return NATIVE / "build" / "machines" / f"units-{machine}"


def find_emulator(machine: str) -> list[str]:
    """What runs a machine's programs here: QEMU's user mode, or nothing for programs of this machine."""
    if machine == find_own_machine():
        return []
    name = f"qemu-{MACHINES[machine]}-static"
    path = shutil.which(name)
    require(path, f"{name} (Debian: qemu-user-static)")
    return [str(path)]
