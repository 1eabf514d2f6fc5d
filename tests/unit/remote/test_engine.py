"""Which engine runs: the checkout's, the one that came with an installed PathLab, or one built here."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import tempfile
from pathlib import Path

import pytest

from pathlab.agents import deployment
from pathlab.errors import HostError, UsageError
from pathlab.remote.engine import (
    find_engine,
    find_engine_of_machine,
    list_machines,
    refuse_foreign_build,
    take_other_build,
)
from pathlab.remote.machines import find_own_machine
from tests.machines.engines import NATIVE
from tests.require import require
from tests.unit.remote.test_machines import write_header

ENGINE = "#!/bin/sh\necho pathlab-engine 4.5.6\n"


def make_program(path: Path, text: str = ENGINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def install(folder: Path, *machines: str) -> Path:
    """An installed package with engines for these machines."""
    package = folder / "site-packages" / "pathlab"
    engines = {name: make_program(package / "_native" / f"pathlab-engine-{name}") for name in machines}
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in engines.items()}
    (package / "_native").mkdir(parents=True, exist_ok=True)
    (package / "_native" / "engines.json").write_text(json.dumps(digests))
    return package


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package for x86_64, as this machine is, and for aarch64; its user's cache is below ``tmp_path``."""
    monkeypatch.delenv("PATHLAB_ENGINE", raising=False)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return install(tmp_path, "x86_64", "aarch64")


def read_states(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.lstat().st_mode, path.lstat().st_mtime_ns) for path in folder.rglob("*")}


def assert_one_line(error: HostError) -> None:
    assert (error.host, error.stage) == ("local", "engine")
    assert "\n" not in str(error)
    assert error.hint
    assert "\n" not in error.hint
    assert "make engine" not in error.hint


def test_a_checkout_uses_what_it_built(tmp_path: Path) -> None:
    package = tmp_path / "pathlab"
    make_program(tmp_path / "native" / "Makefile")
    with pytest.raises(HostError, match="engine is not built") as caught:
        find_engine(environment={}, package=package)
    assert (caught.value.host, caught.value.stage) == ("local", "engine")
    assert "make engine" in str(caught.value.hint)
    assert "C compiler" in str(caught.value.hint)
    built = make_program(tmp_path / "native/build/pathlab-engine")
    assert find_engine(environment={}, package=package) == built
    named = make_program(tmp_path / "mine")
    assert find_engine(environment={"PATHLAB_ENGINE": str(named)}, package=package) == named
    assert find_engine(environment={"PATHLAB_ENGINE": ""}, package=package) == built
    assert find_engine_of_machine("armv8l", package=package) is None
    other = make_program(tmp_path / "native/build/machines/pathlab-engine-armv7l")
    assert find_engine_of_machine("armv8l", package=package) == other
    assert list_machines(package) == sorted({"armv7l", find_own_machine()})


def test_a_wheel_has_an_engine_for_each_machine(package: Path) -> None:
    native = package / "_native"
    assert find_engine(package=package) == native / "pathlab-engine-x86_64"
    for name in ("x86_64", "amd64"):
        assert find_engine_of_machine(name, package=package) == native / "pathlab-engine-x86_64"
    for name in ("aarch64", "arm64"):
        assert find_engine_of_machine(name, package=package) == native / "pathlab-engine-aarch64"
    assert find_engine_of_machine("mips64", package=package) is None
    assert list_machines(package) == ["aarch64", "x86_64"]


def test_the_named_engine_is_for_machines_like_this_one_only(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = make_program(tmp_path / "mine")
    monkeypatch.setenv("PATHLAB_ENGINE", str(named))
    assert find_engine_of_machine("x86_64", package=package) == named
    assert find_engine_of_machine("aarch64", package=package) == package / "_native/pathlab-engine-aarch64"


def test_a_changed_engine_is_never_used(package: Path) -> None:
    path = package / "_native" / "pathlab-engine-aarch64"
    path.write_text(ENGINE.replace("4.5.6", "4.5.7"))
    with pytest.raises(HostError, match=f"{path} was changed: its SHA-256") as caught:
        find_engine_of_machine("aarch64", package=package)
    assert_one_line(caught.value)
    assert find_engine(package=package).name == "pathlab-engine-x86_64"


@pytest.mark.parametrize("text", ["{", "[]", '{"x86_64": 1}', "\xff"])
def test_a_damaged_manifest_is_named(package: Path, text: str) -> None:
    path = package / "_native" / "engines.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(HostError, match=str(path)) as caught:
        find_engine(package=package)
    assert_one_line(caught.value)


def test_an_engine_that_is_missing_is_named(package: Path) -> None:
    (package / "_native" / "pathlab-engine-x86_64").unlink()
    with pytest.raises(HostError, match="pathlab-engine-x86_64: No such file") as caught:
        find_engine(package=package)
    assert_one_line(caught.value)


def test_an_engine_of_another_machine_never_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    foreign = write_header(tmp_path / "engine", 183, little_endian=True)
    foreign.chmod(0o755)
    package = install(tmp_path)
    shutil.copy(foreign, package / "_native" / "pathlab-engine-x86_64")
    digest = hashlib.sha256(foreign.read_bytes()).hexdigest()
    (package / "_native" / "engines.json").write_text(json.dumps({"x86_64": digest}))
    with pytest.raises(HostError, match="was built for aarch64, and this is x86_64") as caught:
        find_engine(environment={}, package=package)
    assert_one_line(caught.value)
    with pytest.raises(HostError, match=r"this is x86_64 .named in .PATHLAB_ENGINE"):
        find_engine(environment={"PATHLAB_ENGINE": str(foreign)}, package=package)


def test_an_engine_that_may_not_be_executed_runs_from_the_users_cache(package: Path, tmp_path: Path) -> None:
    """Installers may drop the mode, and file systems be mounted noexec. The package stays as it is."""
    path = package / "_native" / "pathlab-engine-x86_64"
    path.chmod(0o644)
    before = read_states(package)
    copy = find_engine(package=package)
    assert copy.is_relative_to(tmp_path / "cache" / "pathlab")
    assert copy.stat().st_mode & 0o777 == 0o700
    assert copy.read_bytes() == path.read_bytes()
    assert find_engine(package=package) == copy
    assert read_states(package) == before


def test_without_engine_and_compiler_the_machine_and_the_engines_are_named(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(NATIVE / "src", package / "_native" / "src")
    monkeypatch.setattr(platform, "machine", lambda: "mips64")
    monkeypatch.setattr(deployment, "COMPILERS", ("no-such-compiler",))
    with pytest.raises(HostError, match=r"only for aarch64, x86_64.*no C compiler") as caught:
        find_engine(package=package)
    assert_one_line(caught.value)
    assert "install a C compiler" in str(caught.value.hint)
    assert "PATHLAB_ENGINE" in str(caught.value.hint)
    shutil.rmtree(package / "_native" / "src")
    with pytest.raises(HostError, match="_native/src with the engine's sources is missing"):
        find_engine(package=package)


def test_without_an_engine_it_is_built_once_in_the_users_cache(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(shutil.which("cc"), "a C compiler")
    monkeypatch.setattr(platform, "machine", lambda: "mips64")
    sources = package / "_native" / "src"
    sources.mkdir()
    (sources / "main.c").write_text('#include <stdio.h>\nint main(void) { puts("pathlab-engine 4.5.6"); }\n')
    built = find_engine(package=package)
    assert built.parent == tmp_path / "cache" / "pathlab"
    changed = built.stat().st_mtime_ns
    assert find_engine(package=package) == built
    assert built.stat().st_mtime_ns == changed
    (sources / "main.c").write_text("no C\n")
    with pytest.raises(HostError, match="cannot build it") as caught:
        find_engine(package=package)
    assert_one_line(caught.value)


def test_a_cache_that_nobody_can_write_to_is_named(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "_native" / "pathlab-engine-x86_64").chmod(0o644)
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    with pytest.raises(HostError, match="cannot store pathlab-engine-") as caught:
        find_engine(package=package)
    assert "XDG_CACHE_HOME" in str(caught.value.hint)


def test_a_variable_that_names_no_program_is_named_itself(tmp_path: Path) -> None:
    with pytest.raises(
        HostError, match=f"'{tmp_path}' is not an executable file .named in .PATHLAB_ENGINE"
    ) as caught:
        find_engine(environment={"PATHLAB_ENGINE": str(tmp_path)})
    assert "unset PATHLAB_ENGINE" in str(caught.value.hint)


VERSIONS = "pathlab-engine 4.5.6 protocol 1 record 1 control 2"


def make_build(path: Path, versions: str) -> Path:
    return make_program(path, f"#!/bin/sh\n[ -n '{path.name}' ] && echo {versions}\n")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    engine = make_build(tmp_path / "own", VERSIONS)
    monkeypatch.setenv("PATHLAB_ENGINE", str(engine))
    return engine


@pytest.mark.usefixtures("own")
def test_another_build_is_kept_by_its_content(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    other = make_build(
        tmp_path / "other", VERSIONS.replace("4.5.6", "4.5.7").replace("protocol 1", "protocol 9")
    )
    kept = take_other_build(other, environment=environment)
    data = other.read_bytes()
    assert (kept.parent, kept.read_bytes()) == (tmp_path / "cache" / "pathlab", data)
    assert hashlib.sha256(data).hexdigest()[:32] in kept.name
    other.write_text("another file by now")
    assert kept.read_bytes() == data


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("versions", "fault"),
    [
        (
            VERSIONS.replace("record 1", "record 2"),
            "its records have version 2, this PathLab's have version 1",
        ),
        (
            VERSIONS.replace("control 2", "control 1"),
            "its commands have version 1, this PathLab's have version 2",
        ),
        ("pathlab-engine 0.0.9", "its records have no version, this PathLab's have version 1"),
        ("hello", "--version ended with status 0 and no version"),
    ],
)
def test_a_build_that_cannot_be_driven_is_refused(tmp_path: Path, versions: str, fault: str) -> None:
    other = make_build(tmp_path / "other", versions)
    with pytest.raises(UsageError, match=fault) as caught:
        take_other_build(other)
    assert str(caught.value).startswith("--against: ")
    assert "\n" not in str(caught.value)
    assert "--against" in str(caught.value.hint)


@pytest.mark.usefixtures("own")
def test_another_build_is_a_program_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="nothing' is not an executable file"):
        take_other_build(tmp_path / "nothing")
    plain = tmp_path / "plain"
    plain.write_text("no program")
    with pytest.raises(UsageError, match="plain' is not an executable file"):
        take_other_build(plain)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    foreign = write_header(tmp_path / "foreign", 183, little_endian=True)
    foreign.chmod(0o755)
    with pytest.raises(UsageError, match="was built for aarch64, and this is x86_64"):
        take_other_build(foreign)
    refuse_foreign_build(foreign, "arm64", "far")
    with pytest.raises(HostError, match="engine of --against was built for aarch64, and this host is x86_64"):
        refuse_foreign_build(foreign, "x86_64", "far")
