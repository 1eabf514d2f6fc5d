"""Puts agent and engine into a host's cache and becomes the agent.

Sent to the host as text with ``cache.py`` and run by the interpreter found there, before anything else of
PathLab is on it. PROTOCOL.md describes the messages. Standard library, Python 3.8.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from pathlab.agents.cache import (
    hold_file,
    holds_built,
    keep_built,
    list_cache_folders,
    prepare_folder,
    prune_folder,
    put_file,
)

CONVERSATION_S = 120  # a controller that is silent for so long is gone
BUILD_S = 180
VERSION_S = 20
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_REQUEST_BYTES = 64 * 1024
COMPILERS = ("cc", "gcc", "clang")


class DeploymentError(Exception):
    """This host cannot do it; becomes one line that names the stage."""

    def __init__(self, stage: str, text: str, hint: str) -> None:
        super().__init__(text)
        self.stage, self.text, self.hint = stage, text, hint


def read_exactly(size: int) -> bytes:
    """So many bytes of stdin and not one more: what follows is for the agent. EOFError at the end."""
    parts = []
    while size:
        data = os.read(0, min(size, 1 << 20))
        if not data:
            raise EOFError
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def send_frame(kind: str, **fields: Any) -> None:
    body = json.dumps(dict(fields, type=kind)).encode("ascii")
    frame = b"PLF1" + struct.pack(">I", len(body)) + body
    while frame:
        frame = frame[os.write(1, frame) :]


def read_request() -> Dict[str, Any]:
    magic, size = struct.unpack(">4sI", read_exactly(8))
    if magic != b"PLF1" or size > MAX_REQUEST_BYTES:
        raise DeploymentError(
            "deploy", "the controller's request is not understood", "use one PathLab version"
        )
    request: Dict[str, Any] = json.loads(read_exactly(size).decode("utf-8"))
    return request


class PartFetcher:
    """What the controller can send: fetched once at most, however many folders are tried."""

    def __init__(self, parts: Mapping[str, Mapping[str, Any]]) -> None:
        self._parts = parts
        self._data: Dict[str, bytes] = {}

    def fetch(self, name: str) -> bytes:
        """The bytes of a part, sent now if they are not here yet."""
        if name not in self._data:
            size = int(self._parts[name]["bytes"])
            send_frame("want", names=[name])
            if size > MAX_FILE_BYTES:
                raise DeploymentError(
                    "deploy", "%s has %d bytes, too many" % (name, size), "use one PathLab version"
                )
            data = read_exactly(size)
            if hashlib.sha256(data).hexdigest() != self._parts[name]["sha256"]:
                raise DeploymentError("deploy", "%s arrived damaged" % name, "try again")
            self._data[name] = data
        return self._data[name]


def deploy(request: Mapping[str, Any]) -> Tuple[str, Dict[str, str]]:
    """Agent and engines in the first folder that takes and runs them. DeploymentError: none.

    Returns the agent's path, and those of the engines by the agent's option.
    """
    parts: Dict[str, Dict[str, Any]] = request["parts"]
    fetcher = PartFetcher(parts)
    built: List[bytes] = []
    refusals = []
    for folder in list_cache_folders(os.environ):
        try:
            prepare_folder(folder)
            prune_folder(folder, time.time())
            agent = store_part(folder, "agent", parts["agent"], fetcher)
            engines: Dict[str, str] = {
                name: store_part(folder, name, parts[name], fetcher)
                for name in ("engine", "against")
                if name in parts
            }
            if "sources" in parts:
                digest, machines = parts["sources"]["sha256"], request["machines"]
                engines["engine"] = store_built_engine(
                    folder, digest, lambda: fetcher.fetch("sources"), machines, built
                )
            for engine in engines.values():
                try_engine(engine)
        except OSError as error:
            refusals.append("%s: %s" % (folder, error.strerror or error))
        else:
            return agent, engines
    raise DeploymentError(
        "deploy",
        "no folder takes agent and engine; " + "; ".join(refusals),
        "free some space on the host, or set XDG_CACHE_HOME there to a folder whose programs may run",
    )


def store_part(folder: str, name: str, part: Mapping[str, Any], fetcher: PartFetcher) -> str:
    """Path of the part in that folder, fetched and written if it is not there."""
    path = os.path.join(folder, part["name"])
    put_file(path, part["sha256"], 0o600 if name == "agent" else 0o700, lambda: fetcher.fetch(name))
    return path


def store_built_engine(
    folder: str, digest: str, read: Callable[[], bytes], machines: List[str], built: List[bytes]
) -> str:
    """Path of the engine that this host built of the sources with that digest, built now if it is not there.

    ``read`` gives the sources as a zip. ``machines`` are those with a ready engine, for the error's text.
    """
    path = os.path.join(folder, "pathlab-engine-%s-%s" % (os.uname().machine, digest[:32]))
    if not holds_built(path):
        if not built:
            built.append(build_engine(find_compiler(machines), read()))
        keep_built(path, built[0], 0o700)
    return path


def find_compiler(machines: List[str]) -> str:
    """This host's C compiler. DeploymentError when it has none."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise DeploymentError(
            "engine",
            "PathLab has no engine for %s (only for %s), and there is no C compiler to build one"
            % (os.uname().machine, ", ".join(machines) or "no machine"),
            "install a C compiler there (Debian: apt-get install gcc libc6-dev)",
        )
    return compiler


def build_engine(compiler: str, sources: bytes) -> bytes:
    """The engine, compiled by this host's own compiler."""
    folder = tempfile.mkdtemp(prefix="pathlab-build-")
    try:
        with zipfile.ZipFile(io.BytesIO(sources)) as archive:
            archive.extractall(folder)
            files = sorted(name for name in archive.namelist() if name.endswith(".c"))
        command = [compiler, "-std=c11", "-O2", "-D_GNU_SOURCE", "-pthread", "-Isrc", "-o", "engine"]
        command += [*files, "-lm"]
        said = ""
        for static in (["-static"], []):
            done = subprocess.run(
                command + static,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=BUILD_S,
                check=False,
            )
            if done.returncode == 0:
                with open(os.path.join(folder, "engine"), "rb") as file:
                    return file.read()
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            errors = [line for line in lines if "error" in line] or lines or ["it said nothing"]
            said = errors[0].strip()
        raise DeploymentError(
            "engine", "%s cannot build it: %s" % (compiler, said), "check the host's compiler"
        )
    except subprocess.TimeoutExpired as error:
        raise DeploymentError(
            "engine", "not built within %d s" % BUILD_S, "check whether the host is busy"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def try_engine(path: str) -> None:
    """Run it once. OSError where this folder's programs may not run, DeploymentError if it is at fault."""
    hint = "pathlab doctor shows the engine of the controller; $PATHLAB_ENGINE may name another one"
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=VERSION_S,
            check=False,
        )
    except PermissionError as error:
        raise PermissionError(error.errno, "programs may not run there (noexec)") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DeploymentError("engine", "the engine does not run: %s" % reason, hint) from error
    if done.returncode or not done.stdout.startswith(b"pathlab-engine"):
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        said = lines[-1] if lines else "it ended with status %d" % done.returncode
        raise DeploymentError("engine", "the engine does not run: %s" % said, hint)


def choose_cores(cores: List[int], node: Optional[int]) -> None:
    """Keep this process, and so the agent and its engines, on some processors."""
    if node is not None and not cores:
        name = "/sys/devices/system/node/node%d/cpulist" % node
        try:
            with open(name, encoding="ascii") as file:
                for part in file.read().strip().split(","):
                    first, _, last = part.partition("-")
                    cores = cores + list(range(int(first), int(last or first) + 1))
        except (OSError, ValueError) as error:
            raise DeploymentError("agent", "there is no NUMA node %d" % node, "correct numa_node") from error
    if cores:
        try:
            os.sched_setaffinity(0, cores)
        except OSError as error:
            named = ", ".join(map(str, cores))
            raise DeploymentError(
                "agent", "cannot use the processors %s: %s" % (named, error.strerror), "correct cpus"
            ) from error


def read_first_line(name: str) -> Optional[str]:
    """A small file's first line, None where it cannot be read."""
    try:
        with open(name, encoding="ascii", errors="replace") as file:
            return file.readline().strip() or None
    except OSError:
        return None


def run_deployment() -> None:
    """Send hello, take the request, deploy, and become the agent."""
    system = os.uname()
    send_frame(
        "deployment",
        python="%d.%d.%d" % sys.version_info[:3],
        interpreter=sys.executable,
        system=system.sysname,
        machine=system.machine,
        boot_id=read_first_line("/proc/sys/kernel/random/boot_id"),
    )
    request = read_request()
    if system.sysname != "Linux":
        raise DeploymentError(
            "engine", "this is %s, not Linux" % system.sysname, "measure between Linux hosts"
        )
    choose_cores(request["cores"], request["numa_node"])
    agent, engines = deploy(request)
    for path in (agent, *engines.values()):
        descriptor = hold_file(path)
        if descriptor is not None:
            os.set_inheritable(descriptor, True)  # held by the agent until it ends
    send_frame("ready", agent=agent, engine=engines.get("engine"))
    signal.alarm(0)  # an alarm outlives exec
    command = [sys.executable, "-I", agent]
    for name, engine in sorted(engines.items(), reverse=True):
        command += ["--" + name, engine]
    os.execv(sys.executable, command + request["arguments"])


def main() -> int:
    """Exit status 3 where this host cannot, 0 when the controller went away."""
    signal.alarm(CONVERSATION_S + BUILD_S)
    try:
        run_deployment()
    except DeploymentError as refusal:
        send_frame("failure", stage=refusal.stage, text=refusal.text, hint=refusal.hint)
        return 3
    except OSError as error:
        if error.errno == errno.EPIPE:
            return 0
        send_frame("failure", stage="deploy", text=str(error), hint="check the host")
        return 3
    except EOFError:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
