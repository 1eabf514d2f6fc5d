"""The import contracts of pyproject.toml name every module that they are about."""

import ast
import importlib.util
import os
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from pathlab.agents.adapters.manifest import list_adapter_files

ROOT = Path(__file__).parents[2]
#: What the controller uses of the agent: frames, files to send, where a host keeps them, what it tries here.
USED = {"activity", "adapters", "cache", "congestion", "deployment", "protocol"}
#: Of the host side of technologies: their manifests, and their harness, which is a program's.
USED_ADAPTERS = {"manifest", "harness"}
DATA = "pathlab.campaigns"
#: It goes with the agent.
VERSION = "pathlab._version"


def read_contract(words: str) -> dict[str, Any]:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (found,) = [one for one in data["tool"]["importlinter"]["contracts"] if words in one["name"]]
    return dict(found)


def list_modules(package: str) -> set[str]:
    """The modules and packages directly in a package, without ``__init__`` and ``__main__``."""
    folder = ROOT.joinpath(*package.split("."))
    names = {item.stem for item in folder.glob("*.py")} | {
        item.parent.name for item in folder.glob("*/__init__.py")
    }
    return {f"{package}.{name}" for name in names if not name.startswith("__")}


def test_the_agents_own_modules_are_forbidden_to_all_others() -> None:
    contract = read_contract("of the agent are used from outside")
    hidden = list_modules("pathlab.agents") - {f"pathlab.agents.{name}" for name in USED}
    adapters = "pathlab.agents.adapters"
    technologies = {f"{adapters}.{path.stem}" for path in list_adapter_files([ROOT / "agents" / "adapters"])}
    hidden |= list_modules(adapters) - technologies - {f"{adapters}.{name}" for name in USED_ADAPTERS}
    assert set(contract["forbidden_modules"]) == hidden
    assert set(contract["source_modules"]) == list_modules("pathlab") - {"pathlab.agents", DATA}


def test_the_agent_is_kept_from_every_other_part() -> None:
    named = {name for name in read_contract("the agent stands alone")["forbidden_modules"] if "." in name}
    assert named == list_modules("pathlab") - {"pathlab.agents", VERSION}


def read_modules() -> dict[str, Path]:
    """Every module of the product, through the links to agents and analysis as well."""
    files = [
        Path(folder, name).relative_to(ROOT)
        for folder, _, names in os.walk(ROOT / "pathlab", followlinks=True)
        for name in names
        if name.endswith(".py")
    ]
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def list_imports(module: str, path: Path) -> Iterator[str]:
    """What a module imports anywhere: at its top, in functions and for type checkers alone."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def test_no_modules_import_each_other() -> None:
    """Lazy and type-only imports count: each module can be read without those that are built on it."""
    modules = read_modules()
    assert {"pathlab.agents.agent", "pathlab.analysis.fits.surface", "pathlab.study.base.answer"} <= set(
        modules
    )
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = set(list_imports(module, path))
        used = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = used & set(modules) - {module}
    TopologicalSorter(graph).prepare()  # CycleError names the modules of a circle
