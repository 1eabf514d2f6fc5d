"""Engines that cannot be used: one line each, and what to do."""

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pathlab.agents import deployment
from pathlab.errors import HostError, UsageError
from pathlab.remote.engine import check_build_machine, engine_version, find_engine, take_other_build
from tests.golden.conftest import Say
from tests.unit.remote.test_engine import VERSIONS, install_foreign, make_build, make_program, own, package
from tests.unit.remote.test_machines import write_header

__all__ = ["own", "package"]
ENGINE, MANIFEST = "_native/pathlab-engine-x86_64", "_native/engines.json"


def refuse(find: Callable[[], object]) -> HostError:
    with pytest.raises(HostError) as caught:
        find()
    assert (caught.value.host, caught.value.stage) == ("local", "engine")
    assert "\n" not in f"{caught.value}{caught.value.hint}"
    return caught.value


DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "changed": lambda package: (package / ENGINE).write_text("another"),
    "missing": lambda package: (package / ENGINE).unlink(),
    "of another machine": install_foreign,
    "no manifest": lambda package: (package / MANIFEST).write_text("{"),
    "a list for a manifest": lambda package: (package / MANIFEST).write_text("[]"),
    "a number for a digest": lambda package: (package / MANIFEST).write_text('{"x86_64": 1}'),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_of_an_installation(say: Say, package: Path, name: str) -> None:
    DAMAGES[name](package)
    say(refuse(lambda: find_engine(package=package)))


def test_of_a_checkout(say: Say, tmp_path: Path) -> None:
    make_program(tmp_path / "native" / "Makefile")
    say(refuse(lambda: find_engine(environment={}, package=tmp_path / "pathlab")))


def test_named_by_the_user(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    foreign = write_header(tmp_path / "engine", 183, little_endian=True)
    foreign.chmod(0o755)
    for path in (tmp_path, foreign):
        environment = {"PATHLAB_ENGINE": str(path)}
        say(refuse(lambda environment=environment: find_engine(environment=environment)))  # type: ignore[misc]


def test_none_and_none_can_be_built(say: Say, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "mips64")
    say(refuse(lambda: find_engine(package=package)))
    monkeypatch.setattr(deployment, "COMPILERS", ("no-such-compiler",))
    (package / "_native" / "src").mkdir()
    error = refuse(lambda: find_engine(package=package))
    say(str(error).replace(f" for {os.uname().machine} ", " for MACHINE "))
    say(error.hint)


def test_with_a_cache_that_nobody_can_write_to(
    say: Say, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / ENGINE).chmod(0o644)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    with pytest.raises(HostError) as caught:
        find_engine(package=package)
    say(str(caught.value).partition("engine-")[0])  # the digest of what cannot be stored follows
    say(caught.value.hint)


@pytest.mark.parametrize("change", ["record 1", "control 2", "all", "none"])
def test_other_builds(say: Say, tmp_path: Path, own: Path, change: str) -> None:
    versions = {"all": "pathlab-engine 0.0.9", "none": "hello"}
    other = make_build(tmp_path / "other", versions.get(change, VERSIONS.replace(change, f"{change[:-1]}3")))
    with pytest.raises(UsageError) as caught:
        take_other_build(other)
    say(caught.value)


def test_other_builds_that_are_no_program_of_this_machine(
    say: Say, tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    plain, foreign = tmp_path / "plain", write_header(tmp_path / "foreign", 183, little_endian=True)
    plain.write_text("no program")
    foreign.chmod(0o755)
    for path in (tmp_path / "nothing", plain, foreign):
        with pytest.raises(UsageError) as caught:
            take_other_build(path)
        say(caught.value)
    with pytest.raises(HostError) as refused:
        check_build_machine(foreign, "x86_64", "far")
    say(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\necho wrong machine >&2\nexit 126\n",
        "#!/bin/sh\necho GNU tar 1.34\n",
        "#!/bin/sh\nexit 1\n",
        "no program at all",
    ],
)
def test_that_do_not_run(say: Say, tmp_path: Path, text: str) -> None:
    program = make_program(tmp_path / "engine", text)
    say(refuse(lambda: engine_version(program)))
