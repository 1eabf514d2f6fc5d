"""The engine's folders include only what CONTRIBUTING.md puts below them, and no files include each other."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "native"
KINDS = ("streams", "messages", "datagrams")
BELOW = {
    "base": set(),
    # A flow of one of three kinds: what they share asks the kind, and the kinds use what they share.
    "flow": {"base", *KINDS},
    "streams": {"base", "flow"},
    "messages": {"base", "flow", "streams"},
    "datagrams": {"base", "flow", "streams", "messages"},
    "probe": {"base"},
    "emulate": {"base"},
    "load": {"base"},
    "capture": {"base"},
    "calibrate": {"base", "flow"},
    "adapter": {"base", "messages", "flow"},
}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def find_includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def test_the_folders_are_those_of_the_order_and_hold_all_but_main() -> None:
    folders = {path.name for path in (NATIVE / "src").iterdir() if path.is_dir()}
    files = {path.name for path in (NATIVE / "src").iterdir() if path.is_file()}
    assert (folders, files) == (set(BELOW), {"main.c"})


@pytest.mark.parametrize("folder", BELOW)
def test_includes_point_down_only_and_name_the_folder(folder: str) -> None:
    files = sorted((NATIVE / "src" / folder).glob("*.[ch]"))
    assert files
    for path in files:
        for include in find_includes(path):
            assert (NATIVE / "src" / include).is_file(), f"{path.name} includes {include}"
            assert include.partition("/")[0] in BELOW[folder] | {folder}, f"{path.name} includes {include}"


def test_no_files_include_each_other() -> None:
    """A .c and its .h count as one file."""
    names: dict[str, set[str]] = {}
    for path in sorted((NATIVE / "src").glob("*/*.[ch]")):
        name = f"{path.parent.name}/{path.stem}"
        included = {include.removesuffix(".h") for include in find_includes(path)}
        names.setdefault(name, set()).update(included - {name})
    order = TopologicalSorter(names)
    order.prepare()  # raises CycleError with the circle


@pytest.mark.parametrize("kind", ["tests/*/test_*.c", "fuzz/*/fuzz_*.c"])
def test_tests_and_fuzz_targets_mirror_the_folders(kind: str) -> None:
    files = sorted(NATIVE.glob(kind))
    assert files
    for path in files:
        folders = {include.partition("/")[0] for include in find_includes(path) if "/" in include}
        assert path.parent.name in folders, path
        assert folders <= BELOW[path.parent.name] | {path.parent.name}, path
