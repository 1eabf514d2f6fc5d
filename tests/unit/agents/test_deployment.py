"""Where the agent zip is put: a refusal names the thing and the next step."""

import errno
import os
import resource
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.agents import deployment
from pathlab.agents.cache import prune_folder
from pathlab.errors import HostError
from pathlab.remote.deploy import build_agent_zip, content_hash, ensure_agent


def test_the_zip_lands_in_the_users_cache_privately_and_once(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path / "home")}
    path = ensure_agent(environment=environment)
    assert path.parent == tmp_path / "cache" / "pathlab"
    assert path.read_bytes() == build_agent_zip()
    assert content_hash(build_agent_zip())[:32] in path.name
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    number = path.stat().st_ino
    assert ensure_agent(environment=environment) == path
    assert path.stat().st_ino == number  # not written again
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("damage", [b"", b"PK broken", None])
def test_a_damaged_zip_or_a_link_in_its_place_is_replaced(tmp_path: Path, damage: bytes | None) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    path = ensure_agent(environment=environment)
    if damage is None:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.write_bytes(damage)
    assert ensure_agent(environment=environment) == path
    assert not path.is_symlink()
    assert path.read_bytes() == build_agent_zip()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "{tmp}/home"}, "{tmp}/home/.cache/pathlab"),
        ({"HOME": "{tmp}/home", "XDG_CACHE_HOME": "relative"}, "{tmp}/home/.cache/pathlab"),
        ({}, "{tmp}/temp/pathlab-{uid}"),
        ({"XDG_CACHE_HOME": "{tmp}/file/below", "HOME": "{tmp}/home"}, "{tmp}/temp/pathlab-{uid}"),
    ],
)
def test_the_order_of_cache_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    (tmp_path / "temp").mkdir()
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    given = {name: value.format(tmp=tmp_path) for name, value in environment.items()}
    assert str(ensure_agent(environment=given).parent) == expected.format(tmp=tmp_path, uid=os.getuid())


@pytest.mark.parametrize("trap", ["link", "open", "file"])
def test_a_folder_that_another_user_could_have_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"pathlab-{os.getuid()}"
    if trap == "link":
        (tmp_path / "target").mkdir()
        folder.symlink_to(tmp_path / "target")
    elif trap == "open":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.write_text("no folder")
    with pytest.raises(HostError, match=str(folder)) as caught:
        ensure_agent(environment={})
    assert caught.value.stage == "deploy"
    assert caught.value.hint is not None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_read_only_disk_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_descriptor: int, _data: bytes) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refuse)
        with pytest.raises(HostError) as caught:
            ensure_agent(host="alpha", environment={"HOME": str(tmp_path / "home")})
    assert (caught.value.host, caught.value.stage) == ("alpha", "deploy")
    assert os.strerror(number) in str(caught.value)
    assert str(tmp_path / "home/.cache/pathlab") in str(caught.value)
    assert str(tmp_path / "temp") in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "XDG_CACHE_HOME" in str(caught.value.hint)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_write_cut_short_by_the_kernel_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A true limit on file size: a write that ends half-way, then EFBIG."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(HostError) as caught:
            ensure_agent(environment={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.stage == "deploy"
    assert os.strerror(errno.EFBIG) in str(caught.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def replace(path: Path, make: Callable[[], None]) -> None:
    path.unlink()
    make()


def test_an_engine_that_was_built_here_is_used_again_only_as_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged, replaced, a link, a pipe, or without its digest: it is built anew."""
    builds: list[bytes] = []

    def build(_compiler: str, sources: bytes) -> bytes:
        builds.append(sources)
        return b"engine of " + sources

    monkeypatch.setattr(deployment, "build_engine", build)
    monkeypatch.setattr(deployment, "find_compiler", lambda _machines: "cc")

    def store() -> Path:
        return Path(deployment.store_built_engine(str(tmp_path), "5" * 64, lambda: b"sources", [], []))

    path = store()
    store()
    assert len(builds) == 1
    digest = path.with_name(path.name + ".sha256")
    (tmp_path / "elsewhere").write_bytes(b"another program")
    damages: list[Callable[[], object]] = [
        lambda: path.write_bytes(b"another program"),
        lambda: replace(path, lambda: path.symlink_to(tmp_path / "elsewhere")),
        lambda: replace(path, lambda: os.mkfifo(path)),
        digest.unlink,
        lambda: digest.write_bytes(b"\xff" * 500),
        lambda: replace(digest, lambda: os.mkfifo(digest)),
    ]
    for number, damage in enumerate(damages, start=2):
        damage()
        assert store().read_bytes() == b"engine of sources"
        assert len(builds) == number
        assert not path.is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == b"another program"
    # The digest goes with its program, and not before it.
    for file in (path, digest):
        os.utime(file, (0, 0))
    assert prune_folder(str(tmp_path), time.time()) == [path.name, digest.name]
