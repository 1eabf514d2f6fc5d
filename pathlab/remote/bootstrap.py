"""What is sent to a host first: a few lines of shell that find Python, the deployment, then agent and engine.

The command of the SSH channel is one fixed line without anything that sh, bash, csh or fish read differently;
everything else follows on stdin, counted, so that no shell parses it and none reads ahead.
"""

from __future__ import annotations

import functools
import inspect
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pathlab.agents import cache, deployment
from pathlab.remote.deploy import build_agent_zip, content_hash
from pathlab.remote.engine import (
    build_source_zip,
    check_build_machine,
    find_engine_of_machine,
    list_machines,
)

NO_INTERPRETER_STATUS = 97
#: An agent whose controller says nothing for so long ends, and its engines with it.
AGENT_SILENCE_S = 4.0
INTERPRETERS = (
    "python3",
    *(f"python3.{minor}" for minor in range(14, 7, -1)),
    "/usr/libexec/platform-python",
)
# dd with bs=1 is the one POSIX program that never reads more than its count.
COMMAND = """exec /bin/sh -c 'eval "$(dd bs=1 count={size} 2>/dev/null)"'"""
_SCRIPT = """\
PATH="$PATH:/usr/local/bin:/usr/bin:/bin"
export PATH
for p in {interpreters}; do
  if "$p" -I -c 'import sys; sys.exit(sys.version_info < (3, 8))' </dev/null >/dev/null 2>&1; then
    exec "$p" -I -c {loader}
  fi
done
echo {complaint} >&2
exit {status}
"""
# The cache is a module, since the deployment imports it by name; the deployment becomes the program.
_LOADER = """\
import os, sys, types
def read(size):
    text = b""
    while len(text) < size:
        part = os.read(0, size - len(text))
        if not part:
            raise SystemExit(0)
        text += part
    return text
cache = sys.modules["pathlab.agents.cache"] = types.ModuleType("pathlab.agents.cache")
exec(compile(read({cache_size}), "cache", "exec"), cache.__dict__)
exec(compile(read({size}), "deployment", "exec"), {{"__name__": "__main__"}})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What one host gets: its own interpreter, if named, and what the agent is started with."""

    python: str | None = None
    cores: tuple[int, ...] = ()
    numa_node: int | None = None
    arguments: tuple[str, ...] = ()
    with_engine: bool = True
    engine: Path | None = None
    against: Path | None = None  # another build of the engine, to be compared with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The request to the deployment, and the bytes that it may want, by name."""

    request: dict[str, Any]
    contents: dict[str, bytes] = field(repr=False)


def build_bootstrap(python: str | None) -> tuple[str, bytes]:
    """The command line for the host's shell, and what its stdin gets first."""
    texts = [Path(inspect.getfile(module)).read_bytes() for module in (cache, deployment)]
    names = (python,) if python else INTERPRETERS
    complaint = (
        f"{python}, named in the host's table, is missing or older than Python 3.8"
        if python
        else "no Python 3.8 or newer among python3, python3.8 to python3.14, /usr/libexec/platform-python"
    )
    script = _SCRIPT.format(
        interpreters=" ".join(shlex.quote(name) for name in names),
        loader=shlex.quote(_LOADER.format(cache_size=len(texts[0]), size=len(texts[1]))),
        complaint=shlex.quote(complaint),
        status=NO_INTERPRETER_STATUS,
    ).encode()
    return COMMAND.format(size=len(script)), script + b"".join(texts)


def build_delivery(delivery: Delivery, machine: str, host: str) -> Parts:
    """Agent, and the engine for ``machine`` (as uname -m says it), or its sources where there is none.

    HostError (stage engine) when there are neither, or the build to compare with is for another machine.
    """
    contents = {"agent": _read_agent()}
    names = {"agent": f"agent-{content_hash(contents['agent'])[:32]}.zip"}
    if delivery.with_engine:
        engine = delivery.engine or find_engine_of_machine(machine)
        if engine is not None:
            contents["engine"] = _read_engine(engine, engine.stat().st_mtime_ns)
            names["engine"] = f"pathlab-engine-{content_hash(contents['engine'])[:32]}"
        else:
            contents["sources"] = build_source_zip(host)
            names["sources"] = f"sources-{content_hash(contents['sources'])[:32]}.zip"
    if delivery.against is not None:
        check_build_machine(delivery.against, machine, host)
        contents["against"] = _read_engine(delivery.against, delivery.against.stat().st_mtime_ns)
        names["against"] = f"pathlab-engine-{content_hash(contents['against'])[:32]}"
    parts = {
        name: {"name": names[name], "sha256": content_hash(data), "bytes": len(data)}
        for name, data in contents.items()
    }
    request = {
        "parts": parts,
        "machines": list_machines(),
        "cores": list(delivery.cores),
        "numa_node": delivery.numa_node,
        "arguments": ["--silence-s", f"{AGENT_SILENCE_S:g}", *delivery.arguments],
    }
    return Parts(request=request, contents=contents)


_read_agent = functools.cache(build_agent_zip)


@functools.lru_cache(maxsize=8)
def _read_engine(path: Path, _changed_ns: int) -> bytes:
    return path.read_bytes()
