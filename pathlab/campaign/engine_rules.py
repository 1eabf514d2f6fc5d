"""The engines as a plan needs to know them: their names, and what each one supports.

An engine is one file in the folder ``pathlab/engines``, a layer above this one. Its name is the file's; its
class is loaded by name when a plan uses it, so that no file here lists the engines. Each technology of
``pathlab.campaign.technologies`` is an engine as well.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from pathlab.campaign.technologies import list_technologies

if TYPE_CHECKING:
    from pathlab.campaign.order import PlanRow

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
    found = {module.name for module in pkgutil.iter_modules(folders)} - SHARED_FILES
    programs = sorted(found, key=lambda name: (name != DEFAULT_ENGINE, name))
    return (*programs, *(name for name in list_technologies() if name not in found))


if TYPE_CHECKING:
    EngineName = str
else:
    EngineName = Literal[list_engines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLimit:
    """Something that an engine does not support. Every combination has to meet ``constraint``.

    ``constraint`` is one of the campaign file (``pathlab.campaign.constraints``), over all factors, and what
    the message recommends unless ``expected`` says something else. ``factor`` is the key that it names.
    """

    what: str
    constraint: str
    expected: str = ""
    factor: str = "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine can do, as far as plans and records depend on it."""

    #: Keys of the factors that it can set; None: all. Others are refused beyond their default.
    factors: frozenset[str] | None = None
    limits: tuple[EngineLimit, ...] = ()
    connects_from_receiver: bool = True
    #: It can count while it runs: so it stops at a number of bytes, and a trial that ended early has a count.
    counts_while_running: bool = True
    #: It ends when all that it sent has arrived, or says how much has not.
    confirms_delivery: bool = True
    #: It keeps the caps on rate and bytes of a host (``max_rate``, ``max_bytes``).
    keeps_host_caps: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why an engine cannot measure a plan row: in words, with what is expected instead.

    ``path_key`` is the key of the path that requests it, None where it is the combination: ``factor`` then.
    """

    text: str
    path_key: str | None = None
    factor: str = "engine"


class EngineRules(Protocol):
    """The part of ``pathlab.engines.base.Engine`` that a plan depends on."""

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    @classmethod
    def check(cls, row: PlanRow) -> Iterable[Refusal]: ...

    @classmethod
    def round_traffic_ns(cls, requested_ns: int) -> int: ...


def load_rules(name: str) -> type[EngineRules]:
    """Return the class of an engine. Raises ModuleNotFoundError for a name that is none."""
    rules: type[EngineRules] = importlib.import_module(f"{ENGINES_PACKAGE}.base").load_engine(name)
    return rules
