"""Where the native engine is, for this machine and for others, and which version it is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pathlab
from pathlab.errors import HostError
from pathlab.remote.deploy import pack_files
from pathlab.remote.machines import find_own_machine, normalize_machine, read_machine, runs_here

ENGINE_VARIABLE = "PATHLAB_ENGINE"
_HINT = "run `make engine` in the checkout; it needs a C compiler (Debian: apt-get install build-essential)"


def find_engine(*, environment: Mapping[str, str] = os.environ, package: Path | None = None) -> Path:
    """The engine binary: $PATHLAB_ENGINE, else the one built in the checkout, else the one in the package.

    HostError (host local, stage engine) when there is none, when the variable names none, or when what there
    is was built for another machine.
    """
    named = environment.get(ENGINE_VARIABLE)
    if named:
        return _check_named_engine(Path(named))
    package = package or Path(pathlab.__file__).resolve().parent
    foreign: str | None = None
    for candidate in (
        package.parent / "native" / "build" / "pathlab-engine",
        package / "_native" / f"pathlab-engine-{find_own_machine()}",
    ):
        if _is_program(candidate):
            if runs_here(candidate):
                return candidate
            foreign = f"{candidate} was built for {read_machine(candidate)}, and this is {find_own_machine()}"
    if foreign is None and not _is_checkout(package):
        raise HostError(
            f"no engine for {find_own_machine()} comes with this PathLab",
            host="local",
            stage="engine",
            hint="install PathLab from its sources, which builds one with this machine's C compiler, or name "
            f"one in ${ENGINE_VARIABLE}",
        )
    raise HostError(foreign or "the native engine is not built", host="local", stage="engine", hint=_HINT)


def _check_named_engine(engine: Path) -> Path:
    if not _is_program(engine):
        fault = "is not an executable file"
    elif not runs_here(engine):
        fault = f"was built for {read_machine(engine)}, and this is {find_own_machine()}"
    else:
        return engine.absolute()
    raise HostError(
        f"'{engine}', named in ${ENGINE_VARIABLE}, {fault}",
        host="local",
        stage="engine",
        hint=f"correct or unset {ENGINE_VARIABLE}",
    )


def find_engine_of_machine(machine: str, *, package: Path | None = None) -> Path | None:
    """The engine for hosts whose ``uname -m`` is ``machine``; None where none was built for them.

    HostError as of :func:`find_engine` for machines like this one.
    """
    machine = normalize_machine(machine)
    if machine == find_own_machine():
        return find_engine(package=package)
    root = package or Path(pathlab.__file__).resolve().parent
    prebuilt = root / "_native" / f"pathlab-engine-{machine}"
    return prebuilt if prebuilt.is_file() else None


def _is_checkout(package: Path) -> bool:
    return (package.parent / "native" / "Makefile").is_file()


def build_source_zip(host: str, *, package: Path | None = None) -> bytes:
    """The engine's sources below ``src/``, the same bytes every time. HostError when they are not at hand."""
    root = package or Path(pathlab.__file__).resolve().parent
    places = (root / "_native" / "src", root.parent / "native" / "src")
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise HostError(
            "no engine for that machine comes with this PathLab, and its sources are not here either",
            host=host,
            stage="engine",
            hint="run PathLab from a checkout, which has the sources",
        )
    return pack_files(
        {f"src/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*.[ch]")}
    )


def engine_version(engine: Path, *, timeout_s: float = 10.0) -> str:
    """The version that ``pathlab-engine --version`` states. HostError when it does not run or states none."""
    try:
        done = subprocess.run(
            [engine, "--version"],
            capture_output=True,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _broken(engine, str(error)) from error
    words = done.stdout.decode("utf-8", "replace").split()
    if done.returncode == 0 and len(words) >= 2 and words[0] == "pathlab-engine":
        return words[1]
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    raise _broken(
        engine, said[-1] if said else f"--version ended with status {done.returncode} and no version"
    )


def _broken(engine: Path, reason: str) -> HostError:
    return HostError(f"{engine} does not run: {reason}", host="local", stage="engine", hint=_HINT)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
