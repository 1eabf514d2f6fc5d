"""Surveys of the journal: their hops, the capacity of each, and the narrowest one."""

import math
from typing import Any

from pathlab.store.records import JournalRecord
from pathlab.study.paths.surveys import list_surveys


def make_entry(capacities: dict[int, float | None], kind: str = "path") -> JournalRecord:
    estimates = [{"hop": hop, "estimate": {"capacity_bits_per_s": rate}} for hop, rate in capacities.items()]
    hops: list[dict[str, Any]] = [{"hop": hop} for hop in (1, 2, 3)]
    report = {"source": "a", "target": "b", "routes": [{"hops": hops}], "capacity": {"hops": estimates}}
    facts = {"report": report, "when": "before"}
    return JournalRecord(
        recorded_utc="2026-11-22T07:00:00.000+00:00", kind=kind, plan_row=None, text="", facts=facts
    )


def test_the_narrowest_hop_has_the_least_capacity() -> None:
    (survey,) = list_surveys([make_entry({}, kind="note"), make_entry({1: 1e9, 2: 4e7, 3: 4e7})])
    assert (survey.number, survey.title) == (1, "a → b, before the trials · 2026-11-22")
    assert survey.find_narrowest() == 2
    assert survey.read_capacity(2)[0] == 4e7
    assert all(map(math.isnan, survey.read_capacity(2)[1:]))


def test_without_an_estimate_no_hop_is_narrowest() -> None:
    (survey,) = list_surveys([make_entry({1: None})])
    assert survey.find_narrowest() is None
