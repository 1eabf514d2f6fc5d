"""The ready-made labs that ship with the product: one TOML file each, with a ``[lab]`` table alone."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

_PACKAGE = "pathlab.campaigns"
_FOLDER = "labs"


def list_ready_labs() -> list[str]:
    """Return the names, sorted."""
    entries = resources.files(_PACKAGE).joinpath(_FOLDER).iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def read_ready_lab(name: str) -> dict[str, Any]:
    """Return the ``[lab]`` table of one of them."""
    table: dict[str, Any] = tomllib.loads(_read_text(name))["lab"]
    return table


def describe_ready_lab(name: str) -> str:
    """Return what the file says of itself: its first comment line."""
    return _read_text(name).split("\n", 1)[0].removeprefix("#").strip()


def _read_text(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(_FOLDER, f"{name}.toml").read_text(encoding="utf-8")
