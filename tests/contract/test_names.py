"""One name for one thing: a public class exists once in the product, and no file name is everywhere."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("pathlab", "agents", "analysis")
#: Names that a package or a program has to have.
COMMON_FILES = {"__init__.py", "__main__.py"}
FILES_OF_A_NAME_MAX = 4


def list_files() -> list[Path]:
    """Every Python file of the product; the links to other top-level folders are not followed."""
    return [
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if not any(folder.is_symlink() for folder in path.parents)
    ]


def test_a_public_class_name_exists_once_in_the_product() -> None:
    names = Counter(
        node.name
        for path in list_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert len(names) > 400  # they were found at all
    assert {name for name, count in names.items() if count > 1} == set()


def test_no_file_name_occurs_five_times_in_the_product() -> None:
    names = Counter(path.name for path in list_files())
    often = {name for name, count in names.items() if count > FILES_OF_A_NAME_MAX}
    assert often <= COMMON_FILES
