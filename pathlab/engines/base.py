"""What an engine is: one program that moves the data of a trial, behind one interface.

A new engine is one file in this folder: a subclass of :class:`Engine`, given as ``ENGINE``. Its name in a
campaign is that of the file. Technologies are engines, too; ``adapter.py`` runs all of them.
"""

from __future__ import annotations

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pathlab.campaign.constraints import parse_constraint
from pathlab.campaign.engine_names import ENGINES_PACKAGE
from pathlab.campaign.engine_rules import Capabilities, EngineLimit, Refusal
from pathlab.campaign.factors import FACTORS, FACTORS_BY_KEY, name_levels
from pathlab.campaign.order import PlanRow
from pathlab.campaign.technologies import list_technologies
from pathlab.engines.spec import Allowed, TrialPath, TrialSpec
from pathlab.errors import HostError, Stage
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session

#: Time for each step before the data, and what an engine may take beyond its own deadlines.
SETUP_TIMEOUT_S = 15.0
GRACE_S = 10.0
#: An interval that ends sooner shows no rate: few bytes in a moment are a number of any size.
LEAST_INTERVAL_RATIO = 0.5
#: What is observed of single streams.
BITS_PER_S, RTT_NS = "bits_per_s", "rtt_ns"

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialObserver:
    """Who follows a trial while it runs, possibly on another thread than the trial's own."""

    rate: Callable[[float, int], None]  # bit/s over the latest interval, ns since the start
    rtt: Callable[[int | None], None]  # ns of the latest loaded probe; None: no answer in time
    retransmissions: Callable[[int], None]  # segments since the start, when it changes
    losses: Callable[[int, int], None]  # datagrams lost and received since the start, after each interval
    traffic: Callable[[], None]  # twice: before the first byte may leave, and when the last has come
    idle: Callable[[], None]  # while the unloaded probes are sent
    # each stream's latest bits_per_s or rtt_ns by its number (None: unknown), ns since the start
    streams: Callable[[str, Sequence[float | None], int], None] = lambda _measure, _values, _at_ns: None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineContext:
    """What a trial gives to its engine.

    ``sending`` is the session with the end whose data are counted, ``sinks`` are those with further
    receivers. Whatever the engine starts is handed to
    ``keep``, so that it ends with the trial; ``end_probes`` may be called when the steady window is over.
    ``listening`` is called with the port of the end that listens, before the other one connects.
    """

    spec: TrialSpec
    allowed: Allowed
    sending: Session
    receiving: Session
    token: str  # of the data connections: 32 hexadecimal digits
    observer: TrialObserver
    keep: Callable[[EngineJob], None]
    end_probes: Callable[[], None]
    sinks: tuple[Session, ...] = ()
    listening: Callable[[int], None] = lambda _port: None


class Engine(ABC):
    """The traffic of one trial. Methods are called in the order of this file.

    All of them may raise HostError with the stage that failed.
    """

    name: ClassVar[str]
    flag: ClassVar[str | None] = None  # of each of its trials
    capabilities: ClassVar[Capabilities] = Capabilities()

    def __init__(self, context: EngineContext) -> None:
        self.context = context

    @classmethod
    def check(cls, row: PlanRow) -> Iterator[Refusal]:
        """What a row of a plan requests that this engine does not support."""
        levels = name_levels({name: getattr(row.cell, name) for name in FACTORS})
        given = [FACTORS[name].key for name in row.cell.given]
        for limit in (*cls.capabilities.limits, *_list_missing(cls.capabilities, given)):
            if not _parse(limit.constraint).holds(levels):
                expected = limit.expected or f"where = \"engine != '{cls.name}' or {limit.constraint}\""
                text = f"{cls.name} does not support {limit.what}; expected {expected}"
                yield Refusal(text=text, factor=limit.factor)
        if row.path.connect_from == "receiver" and not cls.capabilities.connects_from_receiver:
            expected = 'expected connect_from = "sender", or another engine in [factors]'
            yield Refusal(
                path_key="connect_from", text=f"{cls.name} cannot connect from the receiver; {expected}"
            )

    @classmethod
    def round_traffic_ns(cls, requested_ns: int) -> int:
        """How long it sends where this is requested."""
        return requested_ns

    @classmethod
    def find_interval_ns(cls, spec: TrialSpec) -> int:
        """The length of its interval records."""
        return spec.interval_ns

    def has_rate(self, record: Record) -> bool:
        """Whether an interval is long enough to show its rate: the last one ends with the traffic."""
        least_ns = LEAST_INTERVAL_RATIO * self.find_interval_ns(self.context.spec)
        return bool(record["end_ns"] - record["start_ns"] >= least_ns)

    @property
    def lifetime_s(self) -> float:
        """Seconds after which whatever the trial started has to be over."""
        spec = self.context.spec
        traffic_ns = self.round_traffic_ns(spec.cell.warmup_ns + spec.cell.duration_ns) + spec.trial.drain_ns
        return traffic_ns / 1e9 + SETUP_TIMEOUT_S + GRACE_S

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the engine's file at the sending end; None where it is not known."""
        return None

    def find_session(self, role: str) -> Session:
        """The session with the ``sender`` or the ``receiver``."""
        return self.context.sending if role == "sender" else self.context.receiving

    def fail(self, role: str, text: str) -> HostError:
        """An error of one end, to be raised."""
        return HostError(text, host=self.find_session(role).host, stage=Stage.ENGINE)

    @abstractmethod
    def prepare(self) -> None:
        """Make both ends ready; no data move yet."""

    @abstractmethod
    def run(self) -> None:
        """Move the data and wait for the result of both ends."""

    @abstractmethod
    def stop(self) -> None:
        """End the traffic early; called from another thread during ``run``."""

    @abstractmethod
    def collect(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """What sending and receiving end have reported so far, as records of native/PROTOCOL.md."""

    @abstractmethod
    def check_ends(self) -> None:
        """Raise HostError (stage engine) where an end did not finish; called after ``run``."""


@functools.cache
def load_engine(name: str) -> type[Engine]:
    """Return the class of an engine by its name. Raises ModuleNotFoundError for a name that is none."""
    if name in list_technologies():
        technology: type[Engine] = importlib.import_module(f"{ENGINES_PACKAGE}.adapter").build_adapter_engine(
            name
        )
        return technology
    engine: type[Engine] = importlib.import_module(f"{ENGINES_PACKAGE}.{name}").ENGINE
    return engine


def first(records: Iterable[Record], record_type: str) -> Record | None:
    """The first record of a type, or None."""
    return next((record for record in records if record.get("type") == record_type), None)


def describe_silence(path: TrialPath) -> str:
    """What to do where connections opened and no data arrived: full packets may be too large for the path."""
    command = f"pathlab path {path.source} {path.destination}"
    return f"the path may drop large packets silently: `{command}` finds its MTU"


def _list_missing(capabilities: Capabilities, given: Iterable[str]) -> Iterator[EngineLimit]:
    """The factors of a campaign that an engine cannot set: no level but the default."""
    missing = set(given) - capabilities.factors if capabilities.factors is not None else ()
    for key in sorted(missing):
        factor = FACTORS_BY_KEY[key]
        default = factor.unset if factor.default is None else factor.default
        if default is not None:  # else there is none to be named
            written = str(default).lower() if isinstance(default, bool) else f"'{default}'"
            yield EngineLimit(what=key, constraint=f"{key} == {written}")


_parse = functools.cache(parse_constraint)
