"""Programs of technologies on this host: how they are built, and where they are kept.

A program is built once and kept in the user's cache as ``adapter-FILE-DIGEST``, a single file: the digest is
over all that goes into it, and the compiler's file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import sys
import time
import zipfile
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from pathlab.agents.adapters.manifest import (
    COMPILERS,
    Manifest,
    list_user_folders,
    read_manifests,
)
from pathlab.agents.adapters.needs import (
    ASK_S,
    COMPILER_PACKAGES,
    TechnologyError,
    describe_missing,
    fill_placeholders,
    find_missing,
    find_program,
    has_module,
    resolve_words,
    run_command,
)
from pathlab.agents.adapters.sandbox import probe_namespaces, run_in_first_process
from pathlab.agents.adapters.scratch import scratch_folder
from pathlab.agents.cache import (
    hold_file,
    holds_built,
    holds_content,
    keep_built,
    list_cache_folders,
    prepare_folder,
    prune_folder,
)
from pathlab.agents.jobs import find_own_archive
from pathlab.agents.peers import die_with_parent

BUILD_S = 120.0
#: Folders of the agent's zip: our adapters, the user's in folders by number, sources of the harness.
OWN_FOLDER, USER_FOLDER, NATIVE_FOLDER = "pathlab/agents/adapters", "adapters", "native/src"
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto")  # PerfData leaves a file in /tmp
_C_FLAGS = ("-std=c11", "-O2", "-D_GNU_SOURCE", "-pthread", "-Isrc")
_FAULT = re.compile(r"\berror\b|\bld: ")  # a line of a compiler or of the linker
_HARNESS_LIBRARIES = ("-pthread", "-lm")


@dataclass(frozen=True)
class AdapterProgram:
    """How a technology's program is started, and where its source is if its commands name it, else ""."""

    words: Tuple[str, ...]
    source: str


def list_adapter_folders() -> List[Any]:
    """Where this agent's technologies are: in its own zip, else in the package and the user's folders."""
    archive = find_own_archive()
    if archive is None:
        from pathlib import Path  # only where the agent is no zip

        return [Path(__file__).parent, *map(Path, list_user_folders(os.environ))]
    inside = zipfile.Path(archive, USER_FOLDER + "/")
    users = [folder for folder in inside.iterdir() if folder.is_dir()] if inside.exists() else []
    return [zipfile.Path(archive, OWN_FOLDER + "/"), *sorted(users, key=lambda folder: str(folder.name))]


def find_manifest(name: str) -> Manifest:
    """The technology of that name. TechnologyError where this agent has none."""
    faults: List[str] = []
    result = read_manifests(list_adapter_folders(), faults).get(name)
    if result is None:
        reason = "; ".join(faults) or "its adapter is neither PathLab's nor in the user's folders"
        raise TechnologyError("contract", f"there is no technology '{name[:40]}' here: {reason}")
    return result


def prepare_program(manifest: Manifest, engine: Optional[str]) -> AdapterProgram:
    """The technology's program, built now if it is not in the cache. TechnologyError: needs, build."""
    for need in manifest.needs:
        if "program" in need and find_program(need["program"]) is None:
            raise describe_missing(manifest)
    stem = os.path.basename(manifest.file)
    commands = [*(manifest.server or ()), *manifest.client, *manifest.config, *sum(manifest.prepare, ())]
    source = ""
    if any("{source}" in word for word in commands):
        source = _keep(f"adapter-{stem}", manifest.source.encode("utf-8"), os.path.splitext(stem)[1])
    if manifest.language == "pipe":
        if engine is None:
            raise TechnologyError(
                "start", "this agent was started without an engine, which asks through a pipe"
            )
        return AdapterProgram((engine,), source)
    kind = {"python": _pack_python, "java": _build_java}.get(manifest.language, _build_native)
    return AdapterProgram(kind(manifest, stem), source)


def open_cache() -> str:
    """The first folder of the user's cache that can be used. TechnologyError: none."""
    refusals = []
    for folder in list_cache_folders(os.environ):
        try:
            prepare_folder(folder)
            if not os.access(folder, os.W_OK):
                raise PermissionError(errno.EACCES, "may not be written to")
            return folder
        except OSError as error:
            refusals.append(f"{folder}: {error.strerror or error}")
    raise TechnologyError("build", f"no folder takes programs; {'; '.join(refusals)}")


def _keep(stem: str, data: bytes, suffix: str, *, mode: int = 0o600) -> str:
    """A file of the cache with that content, named by it."""
    digest = hashlib.sha256(data).hexdigest()
    path = os.path.join(open_cache(), f"{stem}-{digest[:32]}{suffix}")
    with contextlib.suppress(OSError):  # it is written anew
        if holds_content(path, digest) and hold_file(path) is not None:
            return path
    return _store(path, data, mode)


def _store(path: str, data: bytes, mode: int) -> str:
    try:
        prune_folder(os.path.dirname(path), time.time())
        keep_built(path, data, mode)
    except OSError as error:
        raise TechnologyError("build", f"cannot store {path}: {error.strerror or error}") from error
    hold_file(path)
    return path


def _is_kept(path: str) -> bool:
    """Whether it is there as it was built; then it is in use for as long as this process runs."""
    return holds_built(path) and hold_file(path) is not None


def _pack_python(manifest: Manifest, stem: str) -> Tuple[str, ...]:
    """A zip that Python runs: the adapter, the harness and the manifest's files."""
    missing = [need for need in manifest.needs if "module" in need and not has_module(need["module"])]
    if missing:
        raise describe_missing(manifest)
    entries = {"__main__.py": manifest.source, **_read_own("harness", ".py"), **manifest.files}
    return (sys.executable, "-I", _keep(f"adapter-{stem}", _pack(entries), ".zip"))


def _pack(entries: Mapping[str, Any]) -> bytes:
    """A zip whose bytes depend on names and contents alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            archive.writestr(zipfile.ZipInfo(name), entries[name])
    return buffer.getvalue()


def _read_own(folder: str, suffix: str) -> Dict[str, str]:
    """Files of a folder alongside this one, in the zip or in the package, by their paths from here on."""
    parent = list_adapter_folders()[0].joinpath(folder)
    paths = [path for path in parent.iterdir() if path.name.endswith(suffix)] if parent.is_dir() else []
    if not paths:
        raise TechnologyError("build", f"this agent has no folder {folder} with {suffix} files")
    return {f"{folder}/{path.name}": path.read_text(encoding="utf-8") for path in paths}


def _build_java(manifest: Manifest, stem: str) -> Tuple[str, ...]:
    """A jar of the adapter's and the harness's classes, and how it is started."""
    harness = _read_own("harness", ".java")
    path = _find_built(manifest, stem + ".jar", {**harness, **manifest.files})
    if not _is_kept(path):
        with _building(manifest, harness) as folder:
            _compile(manifest, folder, sorted(harness))
            _store(path, _pack(_read_classes(os.path.join(folder, "program"))), 0o600)
    java = find_program("java")
    if java is None:
        raise describe_missing(manifest)
    return (java, *JAVA_OPTIONS, "-cp", path, os.path.splitext(stem)[0])


def _read_classes(folder: str) -> Dict[str, bytes]:
    classes = {}
    for root, _folders, names in os.walk(folder):
        for path in (os.path.join(root, name) for name in names):
            with open(path, "rb") as file:
                classes[os.path.relpath(path, folder)] = file.read()
    return classes


def _build_native(manifest: Manifest, stem: str) -> Tuple[str, ...]:
    """An adapter in C or C++, linked with the harness."""
    sources = _read_harness_sources()
    path = _find_built(manifest, stem, {**sources, **manifest.files})
    if not _is_kept(path) or _lacks_library(path):
        with _building(manifest, sources) as folder:
            archive = _build_harness(folder, sources)
            _compile(manifest, folder, ["-Isrc", archive, *_HARNESS_LIBRARIES])
            with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, "program"), "rb") as file:
                _store(path, file.read(), 0o700)
            if not os.path.exists(path):
                raise TechnologyError("build", f"{manifest.name}: its commands made no {{program}}")
    return (path,)


def _read_harness_sources() -> Dict[str, str]:
    """The harness's files in C by their paths from ``src`` on. TechnologyError: this agent has none."""
    archive = find_own_archive()
    if archive is not None:
        with zipfile.ZipFile(archive) as opened:
            names = [name for name in opened.namelist() if name.startswith(NATIVE_FOLDER + "/")]
            if names:
                return {
                    "src" + name[len(NATIVE_FOLDER) :]: opened.read(name).decode("utf-8") for name in names
                }
    raise TechnologyError("build", "this agent has no sources of the harness")


def _build_harness(folder: str, sources: Mapping[str, str]) -> str:
    """The harness as an archive, from the cache if it is there."""
    compiler, archiver = find_program("cc"), find_program("ar")
    if compiler is None or archiver is None:
        raise TechnologyError(
            "needs", f"no C compiler on this host (apt-get install {COMPILER_PACKAGES['cc']})"
        )
    digest = _digest([_describe_compiler("cc"), *_C_FLAGS], sources)
    path = os.path.join(open_cache(), f"adapter-harness-{digest}.a")
    if not _is_kept(path):
        files = sorted(name for name in sources if name.endswith(".c"))
        _run_or_fail("the harness", [compiler, *_C_FLAGS, "-c", *files], folder)
        objects = [os.path.basename(name)[:-2] + ".o" for name in files]
        _run_or_fail("the harness", [archiver, "rcsD", "harness.a", *objects], folder)
        with open(os.path.join(folder, "harness.a"), "rb") as file:
            _store(path, file.read(), 0o600)
    return path


def _find_built(manifest: Manifest, stem: str, others: Mapping[str, str]) -> str:
    """Where the program of these sources is in the cache, once it was built."""
    words = [word for command in manifest.build for word in command]
    compilers = dict.fromkeys(command[0] for command in manifest.build)
    facts = [*words, *(_describe_compiler(name) for name in compilers)]
    name, suffix = os.path.splitext(stem)
    digest = _digest(facts, {**others, stem: manifest.source})
    return os.path.join(open_cache(), f"adapter-{name}-{digest}{suffix if suffix == '.jar' else ''}")


def _digest(words: List[str], files: Mapping[str, str]) -> str:
    digest = hashlib.sha256("\0".join(words).encode("utf-8"))
    for name in sorted(files):
        digest.update(f"\0{name}\0{files[name]}".encode())
    return digest.hexdigest()[:32]


def _describe_compiler(name: str) -> str:
    """By its file, since a compiler that has to state its version, such as javac, takes a second."""
    path = find_program(name)
    if path is None:
        return f"no {name}"
    path = os.path.realpath(path)
    state = os.stat(path)
    return f"{path} {state.st_mtime_ns} {state.st_size}"


@contextlib.contextmanager
def _building(manifest: Manifest, others: Mapping[str, str]) -> Iterator[str]:
    """A folder with the adapter's source, the manifest's files and others; removed afterwards."""
    if find_missing(manifest):
        raise describe_missing(manifest)
    with scratch_folder(open_cache()) as folder:
        files = {**others, **manifest.files, os.path.basename(manifest.file): manifest.source}
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        yield folder


def _compile(manifest: Manifest, folder: str, harness: List[str]) -> None:
    """Run the manifest's build commands; the program is ``program`` in the folder."""
    values = {"source": os.path.basename(manifest.file), "program": "program", "folder": folder}
    for words in manifest.build:
        assert words[0] in COMPILERS
        command = resolve_words(words[:1], {})
        for word in words[1:]:
            command += harness if word == "{harness}" else [fill_placeholders(word, values)]
        _run_or_fail(manifest.name, command, folder)


def _run_or_fail(what: str, command: List[str], folder: str) -> None:
    prepare = die_with_parent if probe_namespaces(open_cache()) else run_in_first_process
    status, printed, errors = run_command(command, BUILD_S, folder=folder, prepare=prepare)
    if status:
        lines = (errors.strip() or printed.strip() or f"status {status}").splitlines()
        fault = next(filter(_FAULT.search, lines), lines[-1]).strip()
        raise TechnologyError("build", f"{os.path.basename(command[0])} cannot build {what}: {fault[:300]}")


def _lacks_library(path: str) -> bool:
    """Whether a program built before no longer starts, as after an upgrade of a library."""
    return run_command([path, "--version"], ASK_S)[0] != 0
