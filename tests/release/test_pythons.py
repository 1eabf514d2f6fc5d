"""`make test-pythons`: each Python that is here is tested, missing ones are named, failures count."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: An interpreter, or that of an environment which it made, that writes down what it is asked for.
INTERPRETER = """#!/bin/sh
case "$1 $2" in
    "-c "*) echo {version};;
    "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python";;
    *) echo "{version} $*" >>"$CALLS"; [ "$2" != "{fails}" ];;
esac
"""


def run_pythons(
    folder: Path, fakes: dict[str, str], *words: str, names: dict[str, str] | None = None
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run the script among fakes: versions with the module that fails. ``names``: other versions' names."""
    programs = folder / "bin"
    programs.mkdir()
    for version, fails in fakes.items():
        path = programs / f"python{(names or {}).get(version, version)}"
        path.write_text(INTERPRETER.format(version=version, fails=fails))
        path.chmod(0o755)
    calls = folder / "calls"
    calls.touch()
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(folder),
        "PATHLAB_PYTHONS": str(folder / "environments"),
        "CALLS": str(calls),
    }
    done = subprocess.run(
        ["sh", str(ROOT / "tests" / "pythons.sh"), *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done, calls.read_text().splitlines()


def list_absent() -> list[str]:
    """Versions that no folder of the fakes' PATH has: Debian's own 3.11 may be there."""
    versions = ("3.11", "3.12", "3.13", "3.14")
    return [
        v
        for v in versions
        if not any(Path(f"{folder}/python{v}").exists() for folder in ("/usr/bin", "/bin"))
    ]


def test_each_version_is_tested_and_the_missing_ones_are_named(tmp_path: Path) -> None:
    done, calls = run_pythons(tmp_path, {"3.11": "none", "3.13": "none"}, "-k", "something")
    assert done.returncode == 0, done.stderr
    missing = [version for version in list_absent() if version not in ("3.11", "3.13")]
    assert done.stdout.splitlines()[-1] == (
        f"Python versions: passed: 3.11 3.13; failed: none; not here: {' '.join(missing)}"
    )
    for version in ("3.11", "3.13"):
        *set_up, tested = (call for call in calls if call.startswith(version))
        assert any(call.endswith("--require-hashes --no-deps -r requirements/dev.txt") for call in set_up)
        assert tested == f"{version} -m pytest -k something"


@pytest.mark.parametrize("fails", ["pip", "pytest"])
def test_a_failure_with_one_version_fails_and_the_others_are_tested(tmp_path: Path, fails: str) -> None:
    fakes = {"3.11": fails, "3.12": "none", "3.13": "none", "3.14": "none"}
    done, calls = run_pythons(tmp_path, fakes)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == (
        "Python versions: passed: 3.12 3.13 3.14; failed: 3.11; not here: none"
    )
    assert sum("tests/unit tests/contract" in call for call in calls) == 3 + (fails == "pytest")


def test_a_program_of_another_version_is_not_taken(tmp_path: Path) -> None:
    fakes = {"3.11": "none", "3.10": "none"}
    done, _ = run_pythons(tmp_path, fakes, names={"3.10": "3.14"})
    assert done.returncode == 0
    assert "3.14" in done.stdout.splitlines()[-1].partition("not here:")[2]


def test_versions_that_pyenv_keeps_are_found(tmp_path: Path) -> None:
    kept = tmp_path / ".pyenv" / "versions" / "3.14.2" / "bin"
    kept.mkdir(parents=True)
    path = kept / "python3.14"
    path.write_text(INTERPRETER.format(version="3.14", fails="none"))
    path.chmod(0o755)
    done, _ = run_pythons(tmp_path, {"3.11": "none"})
    assert f"Python 3.14: {path}" in done.stdout
    assert os.access(tmp_path / "environments" / "3.14" / "bin" / "python", os.X_OK)
