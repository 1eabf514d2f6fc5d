"""Surveys of paths, such as those of a journal: hops, estimates of capacity, and the narrowest hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.store.records import JournalRecord

#: Kinds of the journal's entries: a survey, and what it found to differ from the one before.
SURVEY, CHANGE = "path", "path-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """A path that was surveyed: ``document`` is what ``pathlab path --json`` writes."""

    number: int
    name: str
    surveyed_utc: str
    document: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What its figure says besides its subject."""
        return f"{self.name} · {self.surveyed_utc[:10]}"

    @property
    def route(self) -> Mapping[str, Any]:
        """The first route that reached the target, else the first."""
        routes: Sequence[Mapping[str, Any]] = self.document.get("routes") or [{}]
        return next((route for route in routes if route.get("reached")), routes[0])

    @property
    def hops(self) -> Sequence[Mapping[str, Any]]:
        """The hops of the route."""
        return self.route.get("hops") or ()

    @property
    def estimates(self) -> Mapping[int, Mapping[str, Any]]:
        """The estimates of capacity, with the latency up to the hop, by their hop."""
        result = (self.document.get("capacity") or {}).get("hops") or ()
        return {item["hop"]: {**item, **(item.get("estimate") or {})} for item in result}

    def read(self, name: str, size: float) -> Floats:
        """One figure of every hop, divided by ``size``; NaN where there is none."""
        hops = [{**self.estimates.get(hop["hop"], {}), **hop} for hop in self.hops]
        values: Floats = np.array([_read_number(hop.get(name)) for hop in hops]) / size
        return values

    def read_capacity(self, hop: int) -> tuple[float, float, float]:
        """Capacity of a hop and the ends of its interval, bit/s; NaN: not known."""
        estimate = self.estimates.get(hop, {})
        interval = estimate.get("capacity_interval") or {}
        ends = _read_number(interval.get("low")), _read_number(interval.get("high"))
        return _read_number(estimate.get("capacity_bits_per_s")), *ends

    def find_narrowest(self) -> int | None:
        """The hop with the least capacity, the first of equals; None where none was estimated."""
        known = {int(hop["hop"]): self.read_capacity(int(hop["hop"]))[0] for hop in self.hops}
        known = {hop: capacity for hop, capacity in known.items() if np.isfinite(capacity)}
        return min(known, key=lambda hop: known[hop], default=None)


def list_surveys(journal: Sequence[JournalRecord]) -> list[Survey]:
    """Every survey with a route, in the order of the journal."""
    surveys: list[Survey] = []
    for entry in journal:
        document = entry.facts.get("report") if entry.kind == SURVEY else None
        if isinstance(document, Mapping) and document.get("routes"):
            ends = f"{document.get('source')} → {entry.facts.get('destination') or document.get('target')}"
            name = f"{ends}, {entry.facts.get('when') or 'surveyed'} the trials"
            surveys.append(
                Survey(number=len(surveys) + 1, name=name, surveyed_utc=entry.recorded_utc, document=document)
            )
    return surveys


def _read_number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else np.nan
