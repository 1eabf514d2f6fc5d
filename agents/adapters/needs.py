"""What technologies need of this host: programs, headers, modules, classes; and commands that find them."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
from typing import Callable, Dict, List, Mapping, Optional, Tuple

from pathlab.agents.adapters.manifest import Manifest
from pathlab.agents.peers import die_with_parent

ASK_S = 10.0  # for a version, or whether a header is there
COMPILER_PACKAGES = {
    "cc": "gcc libc6-dev",
    "c++": "g++ libc6-dev",
    "javac": "default-jdk-headless",
    "omniidl": "omniidl",
}
_COMPILER_NAMES = {"cc": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
#: Of servers, besides PATH: an ordinary user's has no sbin, and PostgreSQL's own are in a folder by version.
_MORE_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
_VERSION = re.compile(r"\d+(?:\.\d+)+")


class TechnologyError(Exception):
    """A technology that cannot run on this host; ``stage`` is one of CONTRACT.md's."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage, self.text = stage, text


def find_program(word: str) -> Optional[str]:
    """A program's path by its name, on PATH and where servers are; of several versions the newest."""
    if "/" in word:
        return word if os.access(word, os.X_OK) else None
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for pattern in _MORE_FOLDERS:
        folders += sorted(glob.glob(pattern), key=_split_numbers, reverse=True)
    paths = os.pathsep.join(folders)
    names = _COMPILER_NAMES.get(word, (word,))
    return next(filter(None, (shutil.which(name, path=paths) for name in names)), None)


def _split_numbers(text: str) -> List[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


def resolve_words(words: Tuple[str, ...], values: Mapping[str, str]) -> List[str]:
    """A command with its program's path and its placeholders filled in. TechnologyError: no program."""
    path = find_program(words[0])
    if path is None:
        raise TechnologyError("needs", f"{words[0]} is not installed on this host")
    return [path, *(fill_placeholders(word, values) for word in words[1:])]


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda result: values.get(result.group(1), result.group(0)), text)


def find_missing(manifest: Manifest) -> List[Dict[str, Optional[str]]]:
    """What the technology needs and this host lacks: ``what``, and the ``debian`` and ``pip`` packages."""
    needs: List[Mapping[str, str]] = list(manifest.needs)
    stated = {need.get("program") for need in needs}
    compilers = dict.fromkeys(words[0] for words in manifest.build)
    if manifest.language == "c++":
        compilers["cc"] = None  # of the harness
    needs += [
        {"program": name, "debian": COMPILER_PACKAGES[name]} for name in compilers if name not in stated
    ]
    if manifest.language == "java" and "java" not in stated:
        needs.append({"program": "java", "debian": COMPILER_PACKAGES["javac"]})
    lacking = {need["header"] for need in needs if "header" in need} and _find_missing_headers(manifest)
    missing = []
    for need in needs:
        ((kind, what),) = [
            (key, need[key]) for key in ("program", "header", "module", "class") if key in need
        ]
        absent = what in lacking if kind == "header" else not _IS_THERE[kind](what)
        if absent:
            missing.append({"what": what, "debian": need.get("debian"), "pip": need.get("pip")})
    return missing


def has_module(name: str) -> bool:
    import importlib.util  # seldom needed

    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _has_class(name: str) -> bool:
    javap = find_program("javap")
    return javap is not None and run_command([javap, name], ASK_S)[0] == 0


_IS_THERE = {
    "program": lambda name: find_program(name) is not None,
    "module": has_module,
    "class": _has_class,
}


def _find_missing_headers(manifest: Manifest) -> List[str]:
    """By one call of the preprocessor; all of them where there is no compiler."""
    headers = [need["header"] for need in manifest.needs if "header" in need]
    language = "c++" if manifest.language == "c++" else "c"
    compiler = find_program("c++" if language == "c++" else "cc")
    if compiler is None:
        return headers
    text = "".join(
        f"#if !__has_include(<{header}>)\npathlab_missing {number}\n#endif\n"
        for number, header in enumerate(headers)
    )
    _status, printed, _errors = run_command([compiler, "-x", language, "-E", "-P", "-"], ASK_S, given=text)
    return [headers[int(number)] for number in re.findall(r"pathlab_missing (\d+)", printed)]


def read_server_versions(manifest: Manifest) -> Optional[str]:
    """What the manifest's ``versions`` print, as ``redis-server 7.0.15``; None where none is stated."""
    result = []
    for words in manifest.versions:
        with contextlib.suppress(TechnologyError):
            _status, printed, errors = run_command(resolve_words(words, {}), ASK_S)
            version = _VERSION.search(printed) or _VERSION.search(errors)
            if version is not None:
                result.append(f"{os.path.basename(words[0])} {version.group()}")
    return ", ".join(result) or None


def describe_missing(manifest: Manifest) -> TechnologyError:
    """The failure that names all that is missing, with the packages that bring it."""
    missing = find_missing(manifest)
    names = ", ".join(str(need["what"]) for need in missing)
    debian = " ".join(dict.fromkeys(need["debian"] for need in missing if need["debian"]))
    pip = " ".join(dict.fromkeys(need["pip"] for need in missing if need["pip"]))
    ways = [f"apt-get install {debian}"] if debian else []
    ways += [f"pip install {pip}"] if pip else []
    return TechnologyError(
        "needs", f"{manifest.name} needs {names}" + (f" ({'; '.join(ways)})" if ways else "")
    )


def run_command(
    command: List[str],
    timeout_s: float,
    *,
    folder: Optional[str] = None,
    given: str = "",
    prepare: Callable[[], None] = die_with_parent,
) -> Tuple[int, str, str]:
    """Status, output and errors; the status is 127 where it does not start, 124 after the time.

    After the time all that it started is ended as well. ``prepare`` is called in the new process.
    """
    environment = {**os.environ, "LC_ALL": "C", **({"TMPDIR": folder} if folder else {})}
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 -- this process has one thread
        )
    except (OSError, subprocess.SubprocessError) as error:
        return 127, "", f"error: {getattr(error, 'strerror', None) or error}"
    with process:
        try:
            printed, errors = process.communicate(given.encode("utf-8"), timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return 124, "", f"error: not done within {timeout_s:g} s"
    return process.returncode, printed.decode("utf-8", "replace"), errors.decode("utf-8", "replace")
