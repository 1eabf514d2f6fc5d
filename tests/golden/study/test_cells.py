"""Conditions and cells have what the model of the results put in, and nothing that was not measured."""

from __future__ import annotations

from dataclasses import replace

from pathlab.study.analyses import Study
from tests.builders.results import (
    SyntheticResults,
    make_quickstart,
)
from tests.golden.conftest import Say

KIB = 1024


def test_other_factors_and_control_rows_never_share_a_cell(say: Say) -> None:
    results = make_quickstart(cycles=6, levels=[(1, 64 * KIB)])
    plan = [
        replace(
            row,
            settings={
                **row.settings,
                "duration_ns": duration_s * 10**9,
                "no_delay": True,
                "family": "any",
                "warmup_ns": 10**9,
            },
        )
        for row, duration_s in zip(results.plan(), (100, 20, 100, 20, 100, 100), strict=True)
    ]
    plan[5] = replace(plan[5], settings={**plan[5].settings, "control": True})
    durations = [row.settings["duration_ns"] for row in plan]
    records = [replace(one, duration_ns=ns) for one, ns in zip(results.records, durations, strict=True)]
    apart = SyntheticResults(results.campaign, plan, records, {})
    say([(one.name, len(one.complete)) for one in Study(apart).conditions()])
