"""Which engine runs: the checkout's, the one that came with an installed PathLab, or one built here.

Those that cannot be used: tests/golden/remote/test_engine.py.
"""

import hashlib
import json
import platform
import shutil
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.remote.engine import (
    check_build_machine,
    engine_version,
    find_engine,
    find_engine_of_machine,
    list_machines,
    take_other_build,
)
from pathlab.remote.machines import find_own_machine
from tests.require import require
from tests.unit.remote.test_machines import write_header

ENGINE = "#!/bin/sh\necho pathlab-engine 4.5.6\n"


def make_program(path: Path, text: str = ENGINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def write_manifest(package: Path, *machines: str) -> None:
    paths = {name: package / "_native" / f"pathlab-engine-{name}" for name in machines}
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
    (package / "_native" / "engines.json").write_text(json.dumps(digests))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package for x86_64, as this machine is, and aarch64; the cache is below ``tmp_path``."""
    monkeypatch.delenv("PATHLAB_ENGINE", raising=False)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    package = tmp_path / "site-packages" / "pathlab"
    for machine in ("x86_64", "aarch64"):
        make_program(package / "_native" / f"pathlab-engine-{machine}")
    write_manifest(package, "x86_64", "aarch64")
    return package


def install_foreign(package: Path) -> None:
    """Put an engine for aarch64 where the one for x86_64 was."""
    write_header(package / "_native" / "pathlab-engine-x86_64", 183, little_endian=True)
    write_manifest(package, "x86_64")


def read_states(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.lstat().st_mode, path.lstat().st_mtime_ns) for path in folder.rglob("*")}


def test_a_checkout_uses_what_it_built(tmp_path: Path) -> None:
    package = tmp_path / "pathlab"
    make_program(tmp_path / "native" / "Makefile")
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
    for machine, names in {"x86_64": ("x86_64", "amd64"), "aarch64": ("aarch64", "arm64")}.items():
        for name in names:
            assert find_engine_of_machine(name, package=package) == native / f"pathlab-engine-{machine}"
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
    with pytest.raises(HostError, match=str(path)):
        find_engine_of_machine("aarch64", package=package)
    assert find_engine(package=package).name == "pathlab-engine-x86_64"


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
    with pytest.raises(HostError) as caught:
        find_engine(package=package)
    assert (caught.value.host, caught.value.stage) == ("local", "engine")
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_the_engines_version_is_what_it_states(tmp_path: Path) -> None:
    text = "#!/bin/sh\necho pathlab-engine 4.5.6 protocol 1 record 1\n"
    assert engine_version(make_program(tmp_path / "engine", text)) == "4.5.6"


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
    versions = VERSIONS.replace("4.5.6", "4.5.7").replace("protocol 1", "protocol 9")
    other = make_build(tmp_path / "other", versions)
    kept = take_other_build(other, environment=environment)
    data = other.read_bytes()
    assert (kept.parent, kept.read_bytes()) == (tmp_path / "cache" / "pathlab", data)
    assert hashlib.sha256(data).hexdigest()[:32] in kept.name
    other.write_text("another file by now")
    assert kept.read_bytes() == data


def test_another_build_is_one_for_its_host(tmp_path: Path) -> None:
    foreign = write_header(tmp_path / "foreign", 183, little_endian=True)
    check_build_machine(foreign, "arm64", "far")
    with pytest.raises(HostError) as caught:
        check_build_machine(foreign, "x86_64", "far")
    assert (caught.value.host, caught.value.stage) == ("far", "engine")
