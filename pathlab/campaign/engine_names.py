"""The names of all engines.

An engine is one file in the folder ``pathlab/engines``, a layer above this one. Its name is the file's, so
that no file here lists the engines. Each technology of ``pathlab.campaign.technologies`` is an engine too.
"""

from __future__ import annotations

import functools
import importlib.util
import pkgutil
from typing import TYPE_CHECKING, Literal

from pathlab.campaign.technologies import list_technologies

ENGINES_PACKAGE = "pathlab.engines"
DEFAULT_ENGINE = "native"
#: Files of the folder that are no engines.
SHARED_FILES = frozenset(
    {"adapter", "base", "datagram_limits", "fan_out", "message_limits", "settings", "spec"}
)


@functools.cache
def list_engines() -> tuple[str, ...]:
    """Return the names of all engines, the default one first, technologies last; none of them is loaded."""
    spec = importlib.util.find_spec(ENGINES_PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    modules = {module.name for module in pkgutil.iter_modules(folders)} - SHARED_FILES
    programs = sorted(modules, key=lambda name: (name != DEFAULT_ENGINE, name))
    return (*programs, *(name for name in list_technologies() if name not in modules))


if TYPE_CHECKING:
    EngineName = str
else:
    EngineName = Literal[list_engines()]
