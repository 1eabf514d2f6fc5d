"""Building technologies: what is missing is named, and what was built is kept while it starts."""

import json
import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents.adapters import build
from pathlab.agents.adapters.manifest import Manifest, read_manifest_file
from pathlab.agents.adapters.needs import (
    TechnologyError,
    find_missing,
    find_program,
    read_server_versions,
    run_command,
)
from pathlab.agents.adapters.sandbox import probe_namespaces
from pathlab.agents.adapters.scratch import scratch_folder
from tests.patience import PATIENCE_S
from tests.require import require

HARNESS = {
    "src/adapter/main.c": '#include "adapter/adapter.h"\n'
    "int main(int n, char **w) { return n > 1 ? 0 : answer(); }\n",
    "src/adapter/adapter.h": "int answer(void);\n",
}
SOURCE = '#include "adapter/adapter.h"\nint answer(void) { return 7; }\n'
BUILD = [["cc", "{source}", "{harness}", "-o", "{program}"]]


def read(name: str = "tried.c", source: str = SOURCE, **changes: Any) -> Manifest:
    table = {
        "contract": 1,
        "name": "tried",
        "title": "Tried",
        "language": "c",
        "beneath": "tcp",
        "build": BUILD,
    }
    body = json.dumps({**table, **changes})
    lead = "#" if name.endswith(".py") else "//"
    text = f"{lead} pathlab-adapter\n{lead} {body}\n{lead} end\n{source}"
    return read_manifest_file(name, text)[0]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_read_harness_sources", lambda: HARNESS)
    return tmp_path / "cache" / "pathlab"


@pytest.fixture
def compiler() -> None:
    require(shutil.which("cc"), "a C compiler (apt-get install gcc libc6-dev)")


def make(manifest: Manifest) -> tuple[str, ...]:
    return build.prepare_program(manifest, None).words


def run(words: tuple[str, ...]) -> int:
    return subprocess.run(words, check=False).returncode


@pytest.mark.usefixtures("compiler")
def test_a_program_is_built_once_and_again_when_anything_of_it_changes(cache: Path) -> None:
    first = make(read())
    assert run(first) == 7
    made_ns = Path(first[0]).stat().st_ctime_ns
    assert make(read()) == first
    assert make(read(title="Another title of the same program")) != first  # its text is its source
    assert Path(first[0]).stat().st_ctime_ns >= made_ns
    changed = make(read(source=SOURCE.replace("7", "8")))
    assert changed != first
    assert run(changed) == 8
    assert {path.name.split("-")[1] for path in cache.iterdir() if path.is_file()} == {"tried", "harness"}


@pytest.mark.usefixtures("compiler")
def test_a_program_that_was_changed_since_is_built_anew(cache: Path) -> None:
    """Also the archive of the harness, of which every program is made."""
    (built,) = make(read())
    before = Path(built).read_bytes()
    Path(built).write_bytes(b"#!/bin/sh\nexit 7\n")
    for archive in cache.rglob("adapter-harness-*.a"):
        archive.write_bytes(b"another archive")
    assert make(read()) == (built,)
    assert Path(built).read_bytes() == before


def test_a_program_whose_library_is_gone_is_rebuilt(tmp_path: Path) -> None:
    library = tmp_path / "libown.so"

    def make_library(path: Path, text: str) -> None:
        subprocess.run(["cc", "-shared", "-x", "c", "-", "-o", str(path)], input=text.encode(), check=True)

    make_library(library, "int own(void) { return 9; }")
    source = "int own(void); int answer(void) { return own(); }\n"
    words = [
        ["cc", "{source}", "{harness}", f"-L{tmp_path}", "-lown", f"-Wl,-rpath,{tmp_path}", "-o", "{program}"]
    ]
    first = make(read(source=source, build=words))
    assert run(first) == 9
    before_ns = Path(first[0]).stat().st_mtime_ns
    library.unlink()
    assert refuse(read(source=source, build=words)).stage == "build"
    make_library(library, "int own(void) { return 10; }")
    assert run(make(read(source=source, build=words))) == 10
    assert Path(first[0]).stat().st_mtime_ns >= before_ns


@pytest.mark.usefixtures("compiler")
def test_a_program_that_starts_is_not_rebuilt_without_the_loader_of_glibc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that is linked statically ignores the variables of ld.so, as all do with musl."""
    static = read(build=[["cc", "-static", "{source}", "{harness}", "-o", "{program}"]])
    first = make(static)
    monkeypatch.setattr(build, "_compile", None)
    assert make(static) == first


@pytest.mark.usefixtures("compiler")
def test_a_compiler_is_known_by_its_file_and_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, wrapper = tmp_path / "calls", tmp_path / "bin" / "cc"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {shutil.which("cc")} "$@"\n')
    wrapper.chmod(0o700)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    first = make(read())
    calls.unlink()
    assert make(read()) == first
    assert not calls.exists()
    os.utime(wrapper, ns=(0, 0))  # another version of it
    assert make(read()) != first


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[list[str], int]]:
    """A command whose child holds a FIFO open, and the FIFO: it becomes readable when that child ends."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield ["sh", "-c", f"sh -c 'echo >&3; exec sleep 60' 3> {path} & wait"], reader
    finally:
        os.close(reader)


def assert_started(reader: int) -> None:
    assert select.select([reader], [], [], PATIENCE_S)[0]
    assert os.read(reader, 64) == b"\n"


def assert_ended(reader: int) -> None:
    assert select.select([reader], [], [], PATIENCE_S)[0], "a child of the command goes on"
    assert os.read(reader, 64) == b""


def test_after_its_time_a_command_is_ended_with_its_children(
    held: tuple[list[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time ends as soon as its child runs."""
    command, reader = held
    communicate = subprocess.Popen.communicate

    def wait_for_the_child(process: subprocess.Popen[bytes], given: bytes, timeout_s: float) -> Any:
        assert timeout_s == 2.0
        assert_started(reader)
        return communicate(process, given, 0.01)

    monkeypatch.setattr(subprocess.Popen, "communicate", wait_for_the_child)
    assert run_command(command, 2.0) == (124, "", "error: not done within 2 s")
    assert_ended(reader)


BUILDING = """
import sys
from pathlab.agents.adapters import build
build._run_or_fail("all", sys.argv[1:], None)
"""


def test_a_killed_build_ends_with_all_that_it_started(cache: Path, held: tuple[list[str], int]) -> None:
    reason = probe_namespaces(build.open_cache())
    if reason is not None:
        pytest.skip(f"no user namespaces here: {reason}")
    command, reader = held
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", BUILDING, *command], env=environment) as building:
        assert_started(reader)
        building.kill()
    assert_ended(reader)


@pytest.mark.usefixtures("compiler")
def test_what_a_killed_build_left_is_removed_by_the_next(cache: Path) -> None:
    with pytest.raises(KeyboardInterrupt), scratch_folder(build.open_cache()) as folder:
        abandoned = Path(shutil.copytree(folder, f"{folder}-killed"))
        (abandoned / "part.o").write_text("x")
        raise KeyboardInterrupt
    assert [path.name for path in cache.iterdir()] == [abandoned.name]
    with scratch_folder(str(cache)) as held:
        make(read())
        assert Path(held).exists()  # of a process that runs
    assert not list(cache.glob("adapter-run-*"))


def refuse(manifest: Manifest) -> TechnologyError:
    with pytest.raises(TechnologyError) as caught:
        make(manifest)
    return caught.value


@pytest.mark.usefixtures("compiler")
def test_an_error_of_the_compiler_is_its_first(cache: Path) -> None:
    error = refuse(read(source='#include <nowhere.h>\n#include "adapter/adapter.h"\n'))
    assert error.stage == "build"
    assert re.search(r"tried.c:\d+:.*error: .*nowhere", error.text)
    assert not list(cache.glob("adapter-run-*"))


@pytest.mark.usefixtures("compiler")
def test_missing_headers_are_found_by_one_call_of_the_preprocessor() -> None:
    needs = [{"header": "stdio.h"}, {"header": "no/such.h", "debian": "libno-dev"}, {"header": "none.hpp"}]
    assert find_missing(read(needs=needs)) == [
        {"what": "no/such.h", "debian": "libno-dev", "pip": None},
        {"what": "none.hpp", "debian": None, "pip": None},
    ]
    error = refuse(read(needs=needs))
    assert (error.stage, error.text) == (
        "needs",
        "tried needs no/such.h, none.hpp (apt-get install libno-dev)",
    )


def test_without_a_compiler_its_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("pathlab.agents.adapters.needs._MORE_FOLDERS", ())
    error = refuse(read())
    assert (error.stage, error.text) == ("needs", "tried needs cc (apt-get install gcc libc6-dev)")
    found = find_missing(read("T.java", language="java", build=[["javac", "-d", "{program}", "{source}"]]))
    assert [need["what"] for need in found] == ["javac", "java"]
    assert read_server_versions(read(versions=[["no-such", "--version"]])) is None


def make_server(path: Path, version: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version} >&2\n")
    path.chmod(0o755)


def test_servers_are_found_where_no_ordinary_path_leads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for version in ("9", "15", "13"):
        make_server(tmp_path / version / "bin" / "serverd", "Server v=15.2.1 64 bit build 2.3")
    monkeypatch.setattr("pathlab.agents.adapters.needs._MORE_FOLDERS", (f"{tmp_path}/*/bin",))
    assert find_program("serverd") == str(tmp_path / "15" / "bin" / "serverd")
    # A version is the first number with a dot.
    assert read_server_versions(read(versions=[["serverd", "-V"]])) == "serverd 15.2.1"


def test_a_python_adapter_is_packed_with_the_harness() -> None:
    adapter = 'import harness\nimport sys\nsys.exit(0 if harness.run and sys.argv[1] == "ask" else 1)\n'
    words = make(read("tried.py", adapter, language="python", build=[]))
    assert run((*words, "ask")) == 0
    needs = [{"module": "no_such", "pip": "no-such"}]
    error = refuse(read("tried.py", language="python", build=[], needs=needs))
    assert error.text == "tried needs no_such (pip install no-such)"
