"""What a plan needs to know of each engine: what it supports, by its class.

The class is of a layer above this one; it is loaded by the engine's name when a plan uses it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from pathlab.campaign.engine_names import ENGINES_PACKAGE
from pathlab.campaign.order import PlanRow


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
