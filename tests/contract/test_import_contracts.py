"""The import contracts of pyproject.toml name every module that they are about."""

import tomllib
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
