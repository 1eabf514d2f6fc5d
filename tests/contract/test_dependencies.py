"""What the product imports is declared."""

import re
import runpy
import sys
from pathlib import Path
from typing import Any

from pathlab.runner.hosts.controller_check import LIBRARIES

ROOT = Path(__file__).resolve().parents[2]
TABLE: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "dependency_table.py"))
#: Imported, and brought by a declared package as a part of its interface.
PARTS = {"cycler": "matplotlib", "markupsafe": "jinja2", "pydantic_core": "pydantic"}
#: Declared for what is to come.
UNUSED = {"scapy"}


def name_packages(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~ ]", line)[0].lower() for line in requirements}


def list_product_files() -> list[Path]:
    """Python files of the product; adapters are not imported, but run beside it."""
    files = [path for folder in ("pathlab", "agents", "analysis") for path in (ROOT / folder).rglob("*.py")]
    return [path for path in files if ROOT / "agents" / "adapters" not in path.parents]


def list_imports(paths: list[Path]) -> set[str]:
    """Top-level names of all modules outside the standard library that these files import."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    names = [
        *re.findall(r"^ *from (\w[\w.]*) import ", text, re.MULTILINE),
        *re.findall(r"^ *import (\w[\w.]*)(?: as \w+)?$", text, re.MULTILINE),
        # by name: LazyModule("scipy.stats"), importlib.import_module("weasyprint")
        *re.findall(r'\b(?:LazyModule|import_module)\(\s*"(\w[\w.]*)"', text),
    ]
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"pathlab"}


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    declared = name_packages(TABLE["list_requirements"](["pdf"]))
    assert (list_imports(list_product_files()) - set(PARTS)) | UNUSED == declared
    assert set(PARTS.values()) <= declared


def test_what_adapters_import_is_in_the_extra_technologies() -> None:
    adapters = list((ROOT / "agents" / "adapters").rglob("*.py"))
    beside = {path.stem for path in (ROOT / "agents" / "adapters").iterdir()}  # the harness is a folder
    declared = name_packages(TABLE["list_requirements"](["technologies"]))
    assert list_imports(adapters) - beside <= declared


def test_the_doctor_asks_for_nothing_that_is_not_installed_along() -> None:
    assert name_packages(list(LIBRARIES)) <= name_packages(TABLE["list_requirements"]([]))


def test_every_dependency_has_its_row() -> None:
    declared = name_packages(TABLE["list_requirements"](["pdf"]))
    rows = re.findall(r"^\| ([\w-]+) \|", TABLE["PAGE"].read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) - {"package"} == declared == set(TABLE["PURPOSES"])
