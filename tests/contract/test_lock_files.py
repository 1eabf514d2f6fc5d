"""The lock files have all that is required, with digests, and name no place."""

import re
import runpy
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.lock_files import FOLDER, Pin, parse_pins, read_pins

ROOT = Path(__file__).resolve().parents[2]
FILES = ("build", "dev", "docs", "run")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.fixture(scope="module")
def required() -> dict[str, list[str]]:
    """What each lock file has to have, as setup.py, pyproject.toml and build_backend.py say it."""
    said: dict[str, list[str]] = {}

    def note(*, install_requires: list[str], extras_require: dict[str, list[str]], **_: object) -> None:
        said.update(extras_require, run=install_requires)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", note)
        patch.syspath_prepend(str(ROOT))
        runpy.run_path(str(ROOT / "setup.py"))
    system = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    manual = runpy.run_path(str(ROOT / "build_backend.py"))["MANUAL"]
    return {
        "run": said["run"],
        "docs": said["run"] + said["docs"],
        # The wheel is built with it, and every extra is tested.
        "dev": [line for lines in said.values() for line in lines] + system["requires"] + manual,
        "build": system["requires"],
    }


def list_missing(requirements: Iterable[str], pins: Mapping[str, Pin]) -> list[str]:
    """Requirements without a pin, or whose pin is out of their range."""
    missing = []
    for line in requirements:
        requirement = Requirement(line)
        pin = pins.get(canonicalize_name(requirement.name))
        if pin is None or not requirement.specifier.contains(pin.version, prereleases=True):
            missing.append(line)
    return missing


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", FILES)
def test_every_requirement_has_a_version_in_its_range(
    name: str, python: str, required: dict[str, list[str]]
) -> None:
    assert required[name]
    assert list_missing(required[name], read_pins(name, python)) == [], "run make lock"


def test_a_requirement_that_the_lock_lacks_would_be_found() -> None:
    pins = read_pins("run", "3.11")
    missing = ["no-such-library>=1", "numpy>=99"]
    assert list_missing(["click", *missing], pins) == missing


@pytest.mark.parametrize("name", ["run", "docs", "dev"])
def test_what_the_requirements_bring_along_is_locked_too(name: str, required: dict[str, list[str]]) -> None:
    """As the installed packages say it; pip is told to install nothing that the lock does not name."""
    list_closure = runpy.run_path(str(ROOT / "tools" / "dependency_table.py"))["list_closure"]
    closure = list_closure([Requirement(line).name for line in required[name]])
    pins = read_pins(name, f"{sys.version_info.major}.{sys.version_info.minor}")
    assert {canonicalize_name(package) for package in closure} - set(pins) == set()


@pytest.mark.parametrize("python", PYTHONS)
def test_a_package_has_one_version_in_all_files(python: str) -> None:
    everything = read_pins("dev", python)
    for name in FILES:
        for package, pin in read_pins(name, python).items():
            one = everything[package]
            assert (package, pin.version, pin.sha256) == (package, one.version, one.sha256)


@pytest.mark.parametrize("name", FILES)
def test_a_python_has_one_version_of_each_package(name: str) -> None:
    pins = parse_pins((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    for python in PYTHONS:
        packages = [pin.requirement.name for pin in pins if pin.holds_for(python)]
        assert len(packages) == len(set(packages))


@pytest.mark.parametrize(
    "line",
    [
        "click==8.5.1\n",
        "click>=8.2 \\\n    --hash=sha256:" + 64 * "0" + "\n",
        "click==8.5.1 \\\n    --hash=md5:" + 32 * "0" + "\n",
        "--index-url https://packages.example/simple\n",
        "click @ https://packages.example/click.whl \\\n    --hash=sha256:" + 64 * "0" + "\n",
    ],
)
def test_lines_without_a_digest_or_with_a_place_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"digests"):
        parse_pins(line)


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_a_place(name: str) -> None:
    assert not re.search(
        r"://|--(extra-)?index-url|--find-links", (FOLDER / f"{name}.txt").read_text("utf-8")
    )
