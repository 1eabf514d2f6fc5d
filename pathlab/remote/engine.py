"""Where the native engine is, for this machine and for others, and which version it is."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pathlab
from pathlab.agents import deployment
from pathlab.errors import HostError, Stage, UsageError
from pathlab.remote.deploy import content_hash, find_native_sources, pack_files, put_in_cache, store_content
from pathlab.remote.machines import find_own_machine, normalize_machine, read_machine, runs_here

ENGINE_VARIABLE = "PATHLAB_ENGINE"
#: Names the other build of a comparison; what of it has to have this PathLab's version, by ``--version``.
OTHER_BUILD_OPTION = "--against"
DRIVEN_BY = {"record": "records", "control": "commands"}
#: In the installed package, next to the engines: {machine: SHA-256}, written by setup.py.
MANIFEST = "engines.json"
#: Sources that programs of technologies have and the engine does not, as in native/Makefile.
HARNESS_ONLY = {"adapter/answering.c", "adapter/main.c"}
_BUILD_HINT = (
    "run `make engine` in the checkout; it needs a C compiler (Debian: apt-get install build-essential)"
)
_INSTALL_HINT = "install PathLab's wheel again with pip's --force-reinstall"


def find_engine(*, environment: Mapping[str, str] = os.environ, package: Path | None = None) -> Path:
    """The engine for this machine: $PATHLAB_ENGINE, else the one built in the checkout.

    An installed PathLab has no checkout: it uses the packed engine, else one that it builds from the packed
    sources and keeps in the user's cache. HostError (host local, stage engine) when there is none, when it
    was built for another machine, and when a packed engine differs from the manifest.
    """
    named = environment.get(ENGINE_VARIABLE)
    if named:
        return _check_named_engine(Path(named))
    package = package or Path(pathlab.__file__).resolve().parent
    if not _is_checkout(package):
        engine = find_packed_engine(find_own_machine(), package, environment=environment)
        return engine or _build_engine(package, environment)
    engine = package.parent / "native" / "build" / "pathlab-engine"
    if not _is_program(engine):
        raise _fault("the native engine is not built", _BUILD_HINT)
    if not runs_here(engine):
        raise _fault(_format_foreign(engine), _BUILD_HINT)
    return engine


def _check_named_engine(engine: Path) -> Path:
    if not _is_program(engine):
        fault = f"'{engine}' is not an executable file"
    elif not runs_here(engine):
        fault = _format_foreign(engine)
    else:
        return engine.absolute()
    raise _fault(f"{fault} (named in ${ENGINE_VARIABLE})", f"correct or unset {ENGINE_VARIABLE}")


def find_engine_of_machine(machine: str, *, package: Path | None = None) -> Path | None:
    """The engine for hosts whose ``uname -m`` is ``machine``; None where none was built for them.

    HostError as of :func:`find_engine`.
    """
    machine = normalize_machine(machine)
    package = package or Path(pathlab.__file__).resolve().parent
    own = machine == find_own_machine()
    if own and (os.environ.get(ENGINE_VARIABLE) or _is_checkout(package)):
        return find_engine(package=package)
    if not _is_checkout(package):
        return find_packed_engine(machine, package)
    built = package.parent / "native" / "build" / "machines" / f"pathlab-engine-{machine}"
    return built if built.is_file() else None


def find_packed_engine(
    machine: str, package: Path, *, environment: Mapping[str, str] = os.environ
) -> Path | None:
    """The engine that came with an installed PathLab for a machine; None where none did.

    It is copied to the user's cache where it may not be executed in its place. HostError (host local, stage
    engine) when its digest is not the manifest's, or when it is a program for another machine.
    """
    digest = read_manifest(package).get(machine)
    if digest is None:
        return None
    path = package / "_native" / f"pathlab-engine-{machine}"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _fault(f"cannot read {path}: {error.strerror}", _INSTALL_HINT) from error
    if content_hash(data) != digest:
        raise _fault(f"{path} was changed: its SHA-256 is not the one in {MANIFEST}", _INSTALL_HINT)
    if read_machine(path) not in (machine, None):
        raise _fault(_format_foreign(path), _INSTALL_HINT)
    if _is_program(path):
        return path
    return store_content(data, "pathlab-engine", "", host="local", environment=environment, mode=0o700)


def read_manifest(package: Path) -> dict[str, str]:
    """SHA-256 of each packed engine, by machine. HostError (host local, stage engine) when it is damaged."""
    path = package / "_native" / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _fault(f"cannot read {path}: {error}", _INSTALL_HINT) from error
    if not isinstance(manifest, dict) or not all(isinstance(value, str) for value in manifest.values()):
        raise _fault(f"{path} is not a table of machines and SHA-256", _INSTALL_HINT)
    return manifest


def list_machines(package: Path | None = None) -> list[str]:
    """The machines that this PathLab has engines for, sorted. HostError as of :func:`find_engine`."""
    package = package or Path(pathlab.__file__).resolve().parent
    if not _is_checkout(package):
        return sorted(read_manifest(package))
    built = (package.parent / "native" / "build" / "machines").glob("pathlab-engine-*")
    return sorted({find_own_machine(), *(path.name.removeprefix("pathlab-engine-") for path in built)})


def _build_engine(package: Path, environment: Mapping[str, str]) -> Path:
    sources = build_source_zip("local", package=package)
    built: list[bytes] = []

    def put(folder: str) -> Path:
        digest = content_hash(sources)
        path = deployment.store_built_engine(folder, digest, lambda: sources, list_machines(package), built)
        deployment.try_engine(path)
        return Path(path)

    try:
        return put_in_cache(put, "a built engine", host="local", environment=environment)
    except deployment.DeploymentError as error:
        raise _fault(error.text, f"{error.hint}, or name an engine in ${ENGINE_VARIABLE}") from error


def _fault(text: str, hint: str) -> HostError:
    return HostError(text, host="local", stage=Stage.ENGINE, hint=hint)


def _format_foreign(engine: Path) -> str:
    return f"'{engine}' was built for {read_machine(engine)}, and this is {find_own_machine()}"


def _is_checkout(package: Path) -> bool:
    return (package.parent / "native" / "Makefile").is_file()


def build_source_zip(host: str, *, package: Path | None = None) -> bytes:
    """The engine's sources below ``src/``, the same bytes every time. HostError when they are not at hand."""
    folder = find_native_sources(package)
    if not folder.is_dir():
        raise HostError(
            f"PathLab has no engine for this machine, and {folder} with the engine's sources is missing",
            host=host,
            stage=Stage.ENGINE,
            hint=_INSTALL_HINT,
        )
    names = {str(path.relative_to(folder)) for path in folder.rglob("*.[ch]")} - HARNESS_ONLY
    return pack_files({f"src/{name}": (folder / name).read_bytes() for name in names})


def take_other_build(engine: Path, *, environment: Mapping[str, str] = os.environ) -> Path:
    """A copy, in the user's cache by its content, of another build that this PathLab can drive as its own.

    It stays the same while it is measured, whatever becomes of the file. UsageError for what is none: no
    program, one of another machine, or one whose records or commands have another version.
    """
    hint = f"give the pathlab-engine of another build with {OTHER_BUILD_OPTION}"
    if not _is_program(engine):
        raise UsageError(f"{OTHER_BUILD_OPTION}: '{engine}' is not an executable file", hint=hint)
    if not runs_here(engine):
        raise UsageError(f"{OTHER_BUILD_OPTION}: {_format_foreign(engine)}", hint=hint)
    try:
        own, other = (read_versions(path) for path in (find_engine(), engine.absolute()))
    except HostError as error:
        raise UsageError(f"{OTHER_BUILD_OPTION}: {error.reason}", hint=hint) from error
    for name, what in DRIVEN_BY.items():
        if other.get(name) != own.get(name):
            stated = "no version" if other.get(name) is None else f"version {other[name]}"
            text = f"its {what} have {stated}, this PathLab's have version {own.get(name)}"
            raise UsageError(f"{OTHER_BUILD_OPTION}: '{engine}' cannot be driven: {text}", hint=hint)
    data = engine.read_bytes()
    return store_content(data, "pathlab-engine", "", host="local", environment=environment, mode=0o700)


def check_build_machine(engine: Path, machine: str, host: str) -> None:
    """HostError (stage engine) unless the program is one for a host whose ``uname -m`` is ``machine``."""
    built = read_machine(engine)
    if built not in (None, normalize_machine(machine)):
        raise HostError(
            f"the engine of {OTHER_BUILD_OPTION} was built for {built}, and this host is {machine}",
            host=host,
            stage=Stage.ENGINE,
            hint="measure between hosts of one machine, or give a build for this one",
        )


def read_versions(engine: Path) -> dict[str, str]:
    """What ``pathlab-engine --version`` states, by name: ``pathlab-engine``, ``record``, ``control`` ...

    HostError as of :func:`engine_version`.
    """
    words = _read_version_words(engine)
    return dict(zip(words[::2], words[1::2], strict=False))


def engine_version(engine: Path, *, timeout_s: float = 10.0) -> str:
    """The version that ``pathlab-engine --version`` states. HostError when it does not run or states none."""
    return _read_version_words(engine, timeout_s=timeout_s)[1]


def _read_version_words(engine: Path, *, timeout_s: float = 10.0) -> list[str]:
    try:
        done = subprocess.run(
            [engine, "--version"],
            capture_output=True,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as error:
        raise _broken(engine, error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise _broken(engine, f"no version within {timeout_s:g} s") from error
    words = done.stdout.decode("utf-8", "replace").split()
    if done.returncode == 0 and len(words) >= 2 and words[0] == "pathlab-engine":
        return words
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    raise _broken(
        engine, said[-1] if said else f"--version ended with status {done.returncode} and no version"
    )


def _broken(engine: Path, reason: str) -> HostError:
    hint = _BUILD_HINT if engine.parent.name == "build" else f"name another engine in ${ENGINE_VARIABLE}"
    return _fault(f"{engine} does not run: {reason}", hint)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
