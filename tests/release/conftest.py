"""One release for all tests, also for those of several processes."""

import fcntl
import importlib.util
import shutil
from pathlib import Path

import pytest

from release.debian import PROGRAMS as DEBIAN_PROGRAMS
from tests.machines.engines import make_shipped
from tests.release.making import can_build_image, commit_checkout, release
from tests.require import require


@pytest.fixture(scope="session")
def released_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean checkout with the files of this one."""
    require(shutil.which("git"), "git")
    return commit_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory, released_checkout: Path, worker_id: str) -> Path:
    """The folder of a release."""
    for name in ("sphinx", "myst_parser", "ziglang"):
        require(importlib.util.find_spec(name), f"{name} (pip install -e '.[dev]')")
    for program, package in DEBIAN_PROGRAMS.items():
        require(shutil.which(program), f"{program} (apt-get install {package})")
    options = () if can_build_image() else ("--no-image",)
    make_shipped("engines")  # zig then has all of them, and its C library, in its cache
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder = shared / "dist"
    with (shared / "dist.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            made = shared / "dist-being-made"
            done = release(released_checkout, made, *options)
            assert (done.status, done.errors) == (0, []), done.out
            made.rename(folder)
    return folder


@pytest.fixture(scope="session")
def worker_id(request: pytest.FixtureRequest) -> str:
    """This process among those of pytest-xdist, or ``master``."""
    return str(getattr(request.config, "workerinput", {}).get("workerid", "master"))
