"""Kinds of machine by the names of ``uname -m``, and the kind that a program was built for."""

from __future__ import annotations

import platform
from pathlib import Path

#: armv8l is a 64-bit kernel that shows itself as 32-bit.
ALIASES = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    "armv8l": "armv7l",
    "i386": "i686",
    "i486": "i686",
    "i586": "i686",
}
#: (e_machine, little-endian) of the ELF header, as in <elf.h>.
_ELF_MACHINES = {
    (3, True): "i686",
    (21, False): "ppc64",
    (21, True): "ppc64le",
    (22, False): "s390x",
    (40, True): "armv7l",
    (62, True): "x86_64",
    (183, True): "aarch64",
    (243, True): "riscv64",
}
_HEADER_BYTES = 20


def normalize_machine(name: str) -> str:
    """One name for machines that run the same programs."""
    return ALIASES.get(name, name)


def find_own_machine() -> str:
    """This machine, as its kernel names it."""
    return normalize_machine(platform.machine())


def read_machine(program: Path) -> str | None:
    """The machine that an ELF program was built for; None for scripts and all else that is not ELF.

    An ELF file of a machine without a name here is ``ELF machine N``. OSError when it cannot be read.
    """
    with program.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or header[:4] != b"\x7fELF":
        return None
    little_endian = header[5] == 1
    number = int.from_bytes(header[18:20], "little" if little_endian else "big")
    return _ELF_MACHINES.get((number, little_endian), f"ELF machine {number}")


def runs_here(program: Path) -> bool:
    """Whether this machine's kernel can start the program.

    True for what is not an ELF file, for the kernel's machine, and for this interpreter's machine, which
    differs in a 32-bit system on a 64-bit kernel. An emulator that the kernel starts for foreign programs
    (binfmt_misc) does not count: it would be measured too. OSError when the program cannot be read.
    """
    machine = read_machine(program)
    return machine in (None, find_own_machine(), _interpreter_machine())


def _interpreter_machine() -> str | None:
    try:
        return read_machine(Path("/proc/self/exe"))
    except OSError:
        return None
