"""Round trips by technology: which loads one may compare, and the round trips of each from low to high."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.tails import Tail
from pathlab.campaign.factors import find_default
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer, Spread, measure_spread
from pathlab.study.base.message_values import read_round_trips_ns
from pathlab.study.base.selection import Sample
from pathlab.study.base.trials import TrialTable
from pathlab.study.messages.combination_names import (
    CORES,
    list_varying,
    name_message_combination,
    name_technology,
)
from pathlab.study.messages.message_setups import (
    MessageLoad,
    MessageSetup,
    list_message_loads,
    make_load_answer,
)
from pathlab.study.messages.round_trips import LoadTail

#: Settings of a technology. Loads that differ in another one - placement, cores, background, priority - are
#: not compared with each other.
OWN_SETTINGS = frozenset(
    (
        *("engine", "transport", "wait", "no_delay", "cork", "encoding", "congestion", "write_bytes"),
        *("batch_bytes", "batch_min_delay_ns", "batch_max_delay_ns", "zero_copy", "worker_threads"),
        *("mss_bytes", "window_bytes", "window_sender_bytes", "window_receiver_bytes"),
    )
)
#: What sets the loads of one path apart that are not compared, in the order in which it is named.
NAMED_APART = ("placement", "cpus_sender", "cpus_receiver", "background", "priority")


class TechnologyFacts(Protocol):
    """What the manifest of a technology says of it."""

    @property
    def language(self) -> str: ...

    @property
    def beneath(self) -> str: ...

    @property
    def baseline(self) -> str | None: ...

    @property
    def adds(self) -> Sequence[str]: ...

    @property
    def lacks(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TechnologyLoad:
    """One load by the name of its technology, with what else sets it apart from others of its group."""

    technology: str
    load: MessageLoad

    @property
    def engine(self) -> str:
        """The program that carries the messages."""
        return str(self.load.setup.read("engine"))

    @property
    def is_native(self) -> bool:
        """Whether PathLab's own engine carries the messages."""
        return self.engine == find_default("engine")

    @property
    def median_ns(self) -> float | None:
        """The median of its trials' medians, by which loads are ordered."""
        values = read_round_trips_ns(self.load.kept, "median")
        return None if np.isnan(values).all() else float(np.nanmedian(values))

    def read_cycles_ns(self, name: str) -> dict[int, float]:
        """A quantile of each cycle in which it was measured, the mean of several trials."""
        return self.load.kept.average_cycles(read_round_trips_ns(self.load.kept, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class TechnologyGroup:
    """Loads that are compared with each other, from the least median to the largest.

    They have path, size, offered rate and every setting in common that is no technology's own; ``name`` says
    which of these set the group apart from others of its path: ``cores 0 and 1, disk load``.
    """

    name: str
    size_bytes: int
    offered_messages_per_s: int | None
    loads: tuple[TechnologyLoad, ...]

    @property
    def load_levels(self) -> tuple[int, int | None]:
        """Size and offered rate."""
        return self.size_bytes, self.offered_messages_per_s

    def find(self, engine: str) -> TechnologyLoad | None:
        """The load that this engine carried."""
        return next((load for load in self.loads if load.engine == engine), None)

    def find_beneath(self, transport: str | None) -> TechnologyLoad | None:
        """The load of PathLab's own engine on that transport with the least median."""
        return next(
            (
                load
                for load in self.loads
                if load.is_native
                and load.median_ns is not None
                and load.load.setup.read("transport") == transport
                and load.load.setup.read("placement") not in ("threaded", "fused")
            ),
            None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TechnologyRoundTrips:
    """Round trips of one technology with messages of one size, each of its trials with equal weight.

    ``group`` says what sets its group apart, ``place`` is its own in it, from 1 for the least median.
    ``median_ns`` is over the trials' medians, ``mean_ns`` the mean of their means; minimum and maximum are
    of all ``round_trips``. ``tail`` has as many samples as the trials are worth with equal weight.
    ``asking_cpu_ns`` and ``answering_cpu_ns`` are CPU time per request; of an answering end with a broker
    they are those of both its programs. ``versions``, ``settings`` (JSON, as both ends read them back),
    ``language``, ``adds`` (what it does besides carrying the message) and ``lacks`` are None or empty where
    they are not known. ``hop_ns``: the part of a round trip between our loop and a program that is asked over
    a pipe; ``hop_trials``: trials of which it is more than 3 %. ``weak_trials``: those whose background load
    was weak.
    """

    technology: str
    setup: MessageSetup
    group: str
    place: int
    message_bytes: int
    offered_messages_per_s: int | None
    trials: int
    round_trips: int
    missed: int
    weak_trials: int
    least_ns: float | None
    mean_ns: float | None
    most_ns: float | None
    median_ns: Spread
    tail: Tail
    asking_cpu_ns: Spread
    answering_cpu_ns: Spread
    versions: str | None
    settings: str | None
    language: str | None
    adds: tuple[str, ...]
    lacks: tuple[str, ...]
    hop_ns: float | None
    hop_trials: int
    undecided: Undecided | None = None

    @property
    def engine(self) -> str:
        """The program that carries the messages."""
        return str(self.setup.read("engine"))


Facts = Mapping[str, TechnologyFacts]


def list_technology_groups(table: TrialTable) -> tuple[TechnologyGroup, ...]:
    """The groups of every path and rate at which a technology other than PathLab's own was measured.

    Those without load, priority or pinned cores first, by size. A load without a usable trial is in its
    group, last.
    """
    loads = list_message_loads(table)
    wanted = {_find_place(load) for load in loads if load.setup.read("engine") != find_default("engine")}
    parts: dict[tuple[object, ...], list[MessageLoad]] = {}
    for load in loads:
        if _find_place(load) in wanted:
            key = (*_find_place(load), _list_apart(load.setup), load.size_bytes)
            parts.setdefault(key, []).append(load)
    naming = {
        place: choose_apart([load.setup for load in loads if _find_place(load) == place]) for place in wanted
    }
    ordered = sorted(parts.values(), key=lambda part: _rank_group(part[0], naming[_find_place(part[0])]))
    return tuple(_build_group(part, naming[_find_place(part[0])]) for part in ordered)


def _find_place(load: MessageLoad) -> tuple[object, ...]:
    return (*load.setup.path, load.offered_messages_per_s)


def _rank_group(load: MessageLoad, naming: Sequence[str]) -> tuple[object, ...]:
    """The place of a group: by path, rate, and the settings that set it apart, their defaults first."""
    levels = [(name, load.setup.read(name)) for name in reversed(naming)]
    apart = tuple((level != find_default(name), str(level)) for name, level in levels)
    return (*load.setup.path, load.offered_messages_per_s or 0, apart, load.size_bytes)


def _list_apart(setup: MessageSetup) -> tuple[tuple[str, object], ...]:
    """Every setting that is no technology's own, without those at their default."""
    settings = (*setup.condition.settings, ("streams", setup.streams))
    return tuple(
        (name, level)
        for name, level in sorted(settings)
        if name not in OWN_SETTINGS and level is not None and level != find_default(name)
    )


def choose_apart(setups: Sequence[MessageSetup]) -> list[str]:
    """The settings that set groups of one path apart, in the order in which they are named.

    Cores that ends are bound to are named in any case: the order of technologies depends on them.
    """
    varying = [name for name in list_varying(setups) if name not in OWN_SETTINGS]
    pinned = [name for name in ("cpus", *CORES) if any(setup.read(name) is not None for setup in setups)]
    result = dict.fromkeys((*varying, *pinned))
    return sorted(result, key=lambda name: NAMED_APART.index(name) if name in NAMED_APART else -1)


def name_technologies(setups: Iterable[MessageSetup]) -> Mapping[MessageSetup, str]:
    """Each setup by its technology, with what sets it apart from others of the same technology."""
    by_technology: dict[str, list[MessageSetup]] = {}
    for setup in setups:
        by_technology.setdefault(name_technology(setup), []).append(setup)
    names: dict[MessageSetup, str] = {}
    for result in by_technology.values():
        own = [name for name in list_varying(result) if name in OWN_SETTINGS]
        names |= {setup: name_message_combination(setup, ("transport", *own)) for setup in result}
    return names


def _build_group(loads: Sequence[MessageLoad], naming: Sequence[str]) -> TechnologyGroup:
    names = name_technologies(load.setup for load in loads)
    named = [TechnologyLoad(technology=names[load.setup], load=load) for load in loads]
    named.sort(key=lambda item: (item.median_ns is None, item.median_ns or 0.0, item.technology))
    return TechnologyGroup(
        name=name_message_combination(loads[0].setup, naming),
        size_bytes=loads[0].size_bytes,
        offered_messages_per_s=loads[0].offered_messages_per_s,
        loads=tuple(named),
    )


def measure_technologies(
    groups: Iterable[TechnologyGroup], tails: Iterable[Answer[LoadTail]], facts: Facts
) -> Iterator[Answer[TechnologyRoundTrips]]:
    """The round trips of every load of the groups; ``tails``: those of all loads of the same trials."""
    known = {
        (item.result.setup, item.result.message_bytes, item.result.offered_messages_per_s): item.result.tail
        for item in tails
    }
    for group in groups:
        for index, load in enumerate(group.loads, 1):
            tail = known[load.load.setup, *group.load_levels]
            yield make_load_answer(load.load, _describe(group, index, tail, facts.get(load.engine)))


def _describe(
    group: TechnologyGroup, index: int, tail: Tail, facts: TechnologyFacts | None
) -> TechnologyRoundTrips:
    item = group.loads[index - 1]
    kept, medians = item.load.kept, measure_spread(read_round_trips_ns(item.load.kept, "median"))
    flagged = {flag: int(kept.table.flagged(flag)[kept.places].sum()) for flag in _NOTED}
    return TechnologyRoundTrips(
        technology=item.technology,
        setup=item.load.setup,
        group=group.name,
        place=index,
        message_bytes=group.size_bytes,
        offered_messages_per_s=group.offered_messages_per_s,
        trials=len(kept),
        round_trips=int(np.nansum(kept.get("round_trips"))),
        missed=len(item.load.missed),
        weak_trials=flagged[Flag.BACKGROUND_WEAK],
        least_ns=measure_spread(kept.get("round_trip_min_ns")).least,
        mean_ns=_average(kept.get("round_trip_mean_ns")),
        most_ns=measure_spread(kept.get("round_trip_max_ns")).most,
        median_ns=medians,
        tail=tail,
        asking_cpu_ns=measure_spread(kept.get("sender_cpu_ns_per_message")),
        answering_cpu_ns=measure_spread(kept.get("receiver_cpu_ns_per_message")),
        versions=_join_texts(kept, "adapter_versions"),
        settings=_join_texts(kept, "adapter_settings"),
        language=facts.language if facts else ("c" if item.is_native else None),
        adds=tuple(facts.adds) if facts else (),
        lacks=tuple(facts.lacks) if facts else (),
        hop_ns=measure_spread(kept.get("adapter_hop_ns")).median,
        hop_trials=flagged[Flag.ADAPTER_HOP],
        undecided=None if medians.n else Undecided.NOT_MEASURED,
    )


_NOTED = (Flag.ADAPTER_HOP, Flag.BACKGROUND_WEAK)


def _join_texts(kept: Sample, column: str) -> str | None:
    """What the trials state, each text once."""
    return "; ".join(filter(None, dict.fromkeys(kept.read_texts(column)))) or None


def _average(means: np.ndarray) -> float | None:
    """The mean of the trials' means; None where none is known."""
    return None if np.isnan(means).all() else float(np.nanmean(means))
