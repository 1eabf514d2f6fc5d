"""Programs of the harnesses in C, Python and Java, and behind a pipe, with a stub that misbehaves."""

import contextlib
import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.built import build_once
from tests.machines.engines import NATIVE, make_native
from tests.patience import PATIENCE_S
from tests.require import require, require_engine

ROOT = Path(__file__).resolve().parents[2]
STUBS = Path(__file__).with_name("harness")
LANGUAGES = ("c", "python", "asyncio", "java", "pipe")
ANSWERING = ("c", "python", "java")
MS = 1_000_000
STALL_NS = 1500 * MS
DONE, USAGE, SETUP, PEER, ENDED = 0, 2, 3, 4, 5


def compile_with_harness(name: str) -> Path:
    """A program of ``tests/technologies/harness`` in C."""
    source, archive = STUBS / f"{name}.c", NATIVE / "build" / "harness" / "libpathlab-adapter.a"

    def build(folder: Path) -> None:
        words = ["cc", "-D_GNU_SOURCE", f"-I{NATIVE / 'src'}", str(source), str(archive), "-pthread", "-lm"]
        subprocess.run([*words, "-o", str(folder / name)], check=True)

    return build_once(f"harness-{name}", [source.read_bytes(), archive.read_bytes()], build) / name


def compile_java(name: str) -> Path:
    """The folder of the classes of a program of ``tests/technologies/harness`` in Java, with its harness."""
    sources = [*sorted((ROOT / "agents" / "adapters" / "harness").glob("*.java")), STUBS / f"{name}.java"]

    def build(folder: Path) -> None:
        words = ["javac", "-nowarn", "-d", str(folder), *map(str, sources)]
        subprocess.run(words, check=True, capture_output=True)

    return build_once(f"harness-{name}", [path.read_bytes() for path in sources], build)


@functools.cache
def build_c() -> str:
    require(shutil.which("cc"), "cc (apt-get install gcc libc6-dev)")
    make_native("harness")
    return str(compile_with_harness("stub"))


@functools.cache
def build_java() -> str:
    require(shutil.which("javac"), "javac (apt-get install default-jdk-headless)")
    return str(compile_java("Stub"))


def find_command(language: str, end: str, settings: dict[str, Any]) -> list[str]:
    words = [end, json.dumps(settings)]
    match language:
        case "c":
            return [build_c(), *words]
        case "java":
            return ["java", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-cp", build_java(), "Stub", *words]
        case "pipe":
            program = [sys.executable, str(STUBS / "stub_pipe.py"), str(settings.get("variant", ""))]
            return [str(require_engine()), *words, *program]
        case _:
            module = {"python": "stub", "asyncio": "stub_async"}[language]
            return [sys.executable, "-m", f"tests.technologies.harness.{module}", *words]


@dataclass(frozen=True)
class ProgramEnding:
    status: int
    records: list[dict[str, Any]]
    stderr: str

    def find(self, kind: str) -> dict[str, Any]:
        (record,) = (record for record in self.records if record["type"] == kind)
        return record

    @property
    def kinds(self) -> list[str]:
        return [record["type"] for record in self.records]


@contextlib.contextmanager
def start_program(words: list[str], stderr: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """A program that reads lines and writes records, as the agent starts it; it is killed at the end."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
    with subprocess.Popen(words, text=True, cwd=ROOT, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


def running(language: str, end: str, **settings: Any) -> AbstractContextManager[subprocess.Popen[str]]:
    return start_program(find_command(language, end, {"name": "stub", **settings}), subprocess.PIPE)


def await_end(process: subprocess.Popen[str]) -> ProgramEnding:
    """Its end while its stdin stays open, as the agent's."""
    stdin, process.stdin = process.stdin, None
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    with contextlib.suppress(BrokenPipeError):
        stdin.close()
    return ProgramEnding(process.returncode, [json.loads(line) for line in stdout.splitlines()], stderr)


def run_program(language: str, end: str, *lines: str, **settings: Any) -> ProgramEnding:
    with running(language, end, **settings) as process:
        tell(process, *lines)
        return await_end(process)


def tell(process: subprocess.Popen[str], *lines: str) -> None:
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()


def read_until(process: subprocess.Popen[str], *kinds: str) -> dict[str, Any]:
    """The next record of one of the kinds."""
    for line in process.stdout:
        record: dict[str, Any] = json.loads(line)
        if record["type"] in kinds:
            return record
    raise AssertionError(f"no record of {kinds}: {process.stderr.read() if process.stderr else ''}")
