"""One name for one thing: a public class exists once in the product, and no file name is everywhere."""

import re
from collections import Counter
from pathlib import Path

from pathlab.agents.adapters.manifest import list_adapter_files

ROOT = Path(__file__).parents[2]
PACKAGES = ("pathlab", "agents", "analysis")
#: Names that a package or a program has to have.
COMMON_FILES = {"__init__.py", "__main__.py"}
FILES_OF_A_NAME_MAX = 4


def list_files() -> list[Path]:
    """Every Python file of the product but adapters of technologies, which are programs of their own.

    The links to other top-level folders are not followed.
    """
    technologies = list_adapter_files([ROOT / "agents" / "adapters"])
    return [
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if not any(folder.is_symlink() for folder in path.parents) and path not in technologies
    ]


def test_a_public_class_name_exists_once_in_the_product() -> None:
    names = Counter(
        name
        for path in list_files()
        for name in re.findall(r"^ *class ([A-Za-z]\w*)[:(]", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert len(names) > 400  # they were found at all
    assert {name for name, count in names.items() if count > 1} == set()


#: Functions that modules of one folder have by their interface: entry points, commands, importers.
INTERFACES = {
    "main": "",
    "run": "",  # of the command, and of the harness of technologies
    "show": "pathlab/cli/",
    "check": "pathlab/cli/",
    "read_trials": "pathlab/store/importers/",
}


def test_a_public_function_name_means_one_thing_in_the_product() -> None:
    places: dict[str, list[str]] = {}
    for path in list_files():
        for name in re.findall(r"^def ([a-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            places.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    assert len(places) > 700  # they were found at all
    twice = {
        name: where
        for name, where in places.items()
        if len(where) > 1
        and not (name in INTERFACES and all(place.startswith(INTERFACES[name]) for place in where))
    }
    assert twice == {}


def test_no_file_name_occurs_five_times_in_the_product() -> None:
    names = Counter(path.name for path in list_files())
    often = {name for name, count in names.items() if count > FILES_OF_A_NAME_MAX}
    assert often <= COMMON_FILES
