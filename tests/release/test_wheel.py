"""The wheel of a release, installed: nothing of the checkout is used, and nothing is written to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pathlab.remote.machines import find_own_machine
from tests.machines.engines import MACHINES
from tests.release.making import MAKING_SECONDS, find, run
from tests.require import require_namespaces

#: The first test waits for the whole release to be made.
pytestmark = pytest.mark.timeout(MAKING_SECONDS)
MEASURE = ("-m", "pathlab", "measure", "local", "--time=300ms", "--warmup=100ms", "--unloaded=0", "--json")
# Mounts the folder $1 read-only, and runs the rest of the arguments.
READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
touch "$1/file" 2>/dev/null && exit 98
shift
exec "$@"
"""


def install_wheel(dist: Path, folder: Path) -> Path:
    """A folder of packages with the wheel, without what it needs."""
    packages = folder / "packages"
    words = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target")
    run(sys.executable, *words, packages, find(dist, "*.whl"))
    return packages


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_wheel(dist, tmp_path_factory.mktemp("installed"))


def run_installed(
    packages: Path, *words: str, prefix: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """This Python with the installed wheel, in a folder that is not the checkout."""
    variables = {name: value for name, value in os.environ.items() if name != "PATHLAB_ENGINE"}
    home = packages.parent / "home"
    home.mkdir(exist_ok=True)
    variables |= {"PYTHONPATH": str(packages), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    return subprocess.run(
        [*prefix, sys.executable, *words],
        cwd=home,
        env={**variables, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def assert_refused(done: subprocess.CompletedProcess[str], *texts: str) -> None:
    """Exit status 3, one line with the texts, and one with the fix."""
    assert done.returncode == 3, done.stderr
    line, fix = done.stderr.splitlines()
    for text in texts:
        assert text in line
    assert fix.startswith("  fix: ")
    assert "make engine" not in fix


@pytest.mark.netns
def test_it_measures_from_packages_that_are_read_only(installed: Path) -> None:
    require_namespaces()
    user = () if os.getuid() == 0 else ("--map-root-user",)
    prefix = ("unshare", *user, "--mount", "sh", "-c", READ_ONLY, "sh", str(installed))
    done = run_installed(installed, *MEASURE, prefix=prefix)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trial"]["status"] == "complete"


def test_it_has_an_engine_for_hosts_of_every_machine(installed: Path) -> None:
    program = (
        "from pathlab.remote.engine import *\n"
        f"for machine in {list(MACHINES)}: print(find_engine_of_machine(machine))\n"
        "print(find_engine())\n"
    )
    done = run_installed(installed, "-c", program)
    native = installed / "pathlab" / "_native"
    machines = [*MACHINES, find_own_machine()]
    assert done.stdout.splitlines() == [str(native / f"pathlab-engine-{machine}") for machine in machines]


def test_its_command_for_the_engine_is_the_packed_engine(installed: Path) -> None:
    done = run_installed(installed, str(installed / "bin" / "pathlab-engine"), "--version")
    assert done.stdout.startswith("pathlab-engine "), done.stderr


def test_an_engine_that_was_tampered_with_is_one_line(dist: Path, tmp_path: Path) -> None:
    packages = install_wheel(dist, tmp_path)
    engine = packages / "pathlab" / "_native" / f"pathlab-engine-{find_own_machine()}"
    data = bytearray(engine.read_bytes())
    data[-1] ^= 1
    engine.write_bytes(data)
    assert_refused(run_installed(packages, *MEASURE), f"{engine} was changed", "SHA-256")


def leave_out_own_engine(packages: Path) -> None:
    manifest = packages / "pathlab" / "_native" / "engines.json"
    digests = json.loads(manifest.read_text())
    del digests[find_own_machine()]
    manifest.write_text(json.dumps(digests))


def test_a_machine_without_an_engine_and_a_compiler_is_one_line(dist: Path, tmp_path: Path) -> None:
    packages = install_wheel(dist, tmp_path)
    leave_out_own_engine(packages)
    machines = ", ".join(sorted(set(MACHINES) - {find_own_machine()}))
    done = run_installed(packages, *MEASURE, PATH=str(tmp_path))
    assert_refused(done, f"no engine for {find_own_machine()} (only for {machines})", "no C compiler")


@pytest.mark.long
def test_a_machine_without_an_engine_builds_its_own(dist: Path, tmp_path: Path) -> None:
    packages = install_wheel(dist, tmp_path)
    leave_out_own_engine(packages)
    done = run_installed(packages, *MEASURE)
    assert done.returncode == 0, done.stderr
    (built,) = (tmp_path / "home" / "cache" / "pathlab").glob("pathlab-engine-*")
    assert built.stat().st_mode & 0o777 == 0o700
