"""The machine that a program was built for, read from ELF headers as <elf.h> lays them out."""

import platform
import sys
from pathlib import Path
from typing import Literal

import pytest

from pathlab.remote.machines import normalize_machine, read_machine, runs_here


def write_header(path: Path, number: int, *, little_endian: bool) -> Path:
    order: Literal["little", "big"] = "little" if little_endian else "big"
    identity = b"\x7fELF" + bytes([2, 1 if little_endian else 2, 1]) + bytes(9)
    path.write_bytes(identity + (2).to_bytes(2, order) + number.to_bytes(2, order) + bytes(44))
    return path


@pytest.mark.parametrize(
    ("number", "little_endian", "machine"),
    [
        (62, True, "x86_64"),
        (183, True, "aarch64"),
        (243, True, "riscv64"),
        (21, True, "ppc64le"),
        (22, False, "s390x"),
        (40, True, "armv7l"),
        (3, True, "i686"),
        (8, False, "ELF machine 8"),
    ],
)
def test_the_machine_of_a_program(tmp_path: Path, number: int, little_endian: bool, machine: str) -> None:
    program = write_header(tmp_path / "program", number, little_endian=little_endian)
    assert read_machine(program) == machine


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\nexit 0\n", b"\x00" * 64])
def test_what_is_no_elf_file_has_no_machine(tmp_path: Path, content: bytes) -> None:
    program = tmp_path / "program"
    program.write_bytes(content)
    assert read_machine(program) is None
    assert runs_here(program)


def test_this_interpreter_runs_here_and_programs_of_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = read_machine(Path(sys.executable).resolve())
    assert runs_here(Path(sys.executable).resolve())
    other = write_header(tmp_path / "other", 22, little_endian=False)
    assert own != "s390x"
    assert not runs_here(other)
    monkeypatch.setattr(platform, "machine", lambda: "s390x")
    assert runs_here(other)
    assert runs_here(Path(sys.executable).resolve()), "a system may be another than its kernel"


def test_names_of_one_kind_of_machine_are_one() -> None:
    assert normalize_machine("arm64") == "aarch64"
    assert normalize_machine("armv8l") == "armv7l"
    assert {normalize_machine(f"i{number}86") for number in (3, 4, 5, 6)} == {"i686"}
    assert normalize_machine("riscv64") == "riscv64"
