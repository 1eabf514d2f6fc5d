"""What `make` says where something that it needs is missing: one line that names it, and the next step."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.require import require

ROOT = Path(__file__).resolve().parents[2]


def run_make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    make = shutil.which("make")
    require(make, "make")
    command = [str(make), "-C", str(ROOT), f"VENV={folder / 'environment'}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write_program(path: Path, text: str) -> Path:
    path.write_text(text, encoding="ascii")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (None, "no Python ('{}') here"),
        ("#!/bin/sh\nexit 1\n", "'{}' is older than Python 3.11"),
        (
            '#!/bin/sh\ncase "$2" in *version_info*) exit 0;; esac\nexit 1\n',
            "'{}' cannot make virtual environments",
        ),
    ],
)
def test_a_python_that_does_not_do_is_named_with_the_fix(
    tmp_path: Path, script: str | None, words: str
) -> None:
    python = tmp_path / "python"
    if script:
        write_program(python, script)
    done = run_make(tmp_path, f"PYTHON={python}", str(tmp_path / "environment/bin/python"))
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert lines[0] == f"pathlab: {words.format(python)}."
    assert lines[1].startswith("  fix: ")
    assert len(lines) == 2


def test_a_release_has_what_builds_it_installed_first(tmp_path: Path) -> None:
    done = run_make(tmp_path, "-n", "release", "RELEASE_ARGS=--no-image")
    assert done.returncode == 0, done.stderr
    python = tmp_path / "environment" / "bin" / "python"
    before, release, _ = done.stdout.partition(f"{python} -m release --no-image")
    assert release
    assert "requirements/dev.txt" in before


@pytest.mark.parametrize("target", ["install", "dev", "docs"])
def test_what_is_installed_is_locked(tmp_path: Path, target: str) -> None:
    done = run_make(tmp_path, "-n", target)
    assert done.returncode == 0, done.stderr
    installed = [line for line in done.stdout.splitlines() if " -m pip install " in line]
    assert installed
    for line in installed:
        assert " --no-deps " in line  # nothing that is not named
        assert " --require-hashes " in line or line.endswith(" --no-build-isolation -e .")


def test_libraries_are_compiled_without_their_tests_wherever_the_project_is(tmp_path: Path) -> None:
    project = tmp_path / "tests" / "project"
    packages = project / "environment" / "lib" / "python3" / "site-packages"
    for module in ("library/code.py", "library/tests/test_code.py"):
        (packages / module).parent.mkdir(parents=True, exist_ok=True)
        (packages / module).touch()
    printed = run_make(project, "-n", str(project / "environment" / ".installed"))
    (line,) = (line for line in printed.stdout.splitlines() if " -m compileall " in line)
    words = shlex.split(line.partition(">")[0])
    subprocess.run([sys.executable, *words[1:]], check=True, capture_output=True, timeout=300)
    compiled = {path.parent.parent.name for path in packages.rglob("*.pyc")}
    assert compiled == {"library"}
