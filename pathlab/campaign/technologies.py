"""The technologies whose round trips can be measured: one file each, with its manifest, next to the agent.

Each is an engine of a campaign. agents/adapters/CONTRACT.md describes the files.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path

from pathlab.agents.adapters import manifest as manifests
from pathlab.agents.adapters.manifest import FOLDERS_VARIABLE, Manifest, list_user_folders, read_manifests

#: As a level of `engine`: every technology that is not named besides.
TECHNOLOGIES = "technologies"
#: Those that ship.
ADAPTERS_FOLDER = Path(manifests.__file__).parent


@functools.cache
def list_technologies() -> Mapping[str, Manifest]:
    """The manifests by name; broken files are left out (``list_adapter_faults``)."""
    return _read_all()[0]


@functools.cache
def list_shipped_technologies() -> frozenset[str]:
    """The names of those that are not the user's own."""
    return frozenset(
        name for name, technology in list_technologies().items() if is_shipped_technology(technology)
    )


def is_shipped_technology(technology: Manifest) -> bool:
    """Whether it is none of the user's own."""
    return Path(technology.file).parent == ADAPTERS_FOLDER


def list_adapter_faults() -> tuple[str, ...]:
    """What is wrong with files that are left out, each with its file and key."""
    return _read_all()[1]


@functools.cache
def _read_all() -> tuple[Mapping[str, Manifest], tuple[str, ...]]:
    faults: list[str] = []
    folders = [ADAPTERS_FOLDER, *map(Path, list_user_folders(os.environ))]
    named = [folder for folder in os.environ.get(FOLDERS_VARIABLE, "").split(":") if folder]
    missing = [
        f"{FOLDERS_VARIABLE}: {folder} is not a folder" for folder in named if not Path(folder).is_dir()
    ]
    return read_manifests(folders, faults), (*missing, *faults)
