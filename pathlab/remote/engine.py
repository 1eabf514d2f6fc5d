"""Where the native engine of this machine is, and which version it is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pathlab
from pathlab.errors import HostError

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
