"""Where the native engine is, for this machine and for others, and which version it is."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pathlab
from pathlab.errors import HostError
from pathlab.remote.packing import pack_files

ENGINE_VARIABLE = "PATHLAB_ENGINE"
_HINT = "run `make engine` in the checkout; it needs a C compiler (Debian: apt-get install build-essential)"


def find_engine(*, environment: Mapping[str, str] = os.environ, package: Path | None = None) -> Path:
    """The engine binary: $PATHLAB_ENGINE, else the one in the package, else the one built in the checkout.

    HostError (host local, stage engine) when there is none, or when the variable names none.
    """
    named = environment.get(ENGINE_VARIABLE)
    if named:
        if not _is_program(Path(named)):
            raise HostError(
                f"${ENGINE_VARIABLE} is '{named}', which is no executable file",
                host="local",
                stage="engine",
                hint=f"correct or unset {ENGINE_VARIABLE}",
            )
        return Path(named).absolute()
    package = package or Path(pathlab.__file__).resolve().parent
    for candidate in (
        package / "_native" / "pathlab-engine",
        package.parent / "native" / "build" / "pathlab-engine",
    ):
        if _is_program(candidate):
            return candidate
    raise HostError("the native engine is not built", host="local", stage="engine", hint=_HINT)


MACHINES = {"amd64": "x86_64", "arm64": "aarch64", "armv8b": "aarch64", "armv8l": "aarch64"}


def find_engine_of_machine(machine: str, *, package: Path | None = None) -> Path | None:
    """The engine for hosts whose ``uname -m`` is ``machine``; None where none was built for them.

    HostError as of :func:`find_engine` for machines like this one.
    """
    machine = MACHINES.get(machine, machine)
    own = MACHINES.get(platform.machine(), platform.machine())
    root = package or Path(pathlab.__file__).resolve().parent
    prebuilt = root / "_native" / f"pathlab-engine-{machine}"
    if machine == own:
        try:
            return find_engine(package=package)
        except HostError:
            if _is_program(prebuilt):
                return prebuilt
            raise
    return prebuilt if prebuilt.is_file() else None


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
    return pack_files({f"src/{path.name}": path.read_bytes() for path in folder.glob("*.[ch]")})


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
