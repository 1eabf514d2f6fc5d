"""Failures that quarantine a host or a pair of hosts, and those that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.runner.campaign.failures import FAILURES_IN_A_ROW, Failures
from pathlab.store.flags import Stage, Status
from tests.builders.trials import make_record


@pytest.mark.parametrize(
    ("stage", "quarantined"),
    [(Stage.ENGINE, True), (Stage.AGENT, True), (Stage.ADAPTER, False), (Stage.BACKGROUND, False)],
)
def test_a_technology_that_fails_is_tried_again_but_costs_no_host(stage: Stage, quarantined: bool) -> None:
    failures = Failures(retries=1)
    failed = replace(make_record(), status=Status.FAILED, failed_stage=stage)
    ends = failed.path_source, failed.path_destination
    for row in range(FAILURES_IN_A_ROW):
        failures.add(replace(failed, plan_row=row), host=ends[1])
    assert failures.is_quarantined(*ends) == quarantined
    assert failures.may_retry(0)
    failures.add(replace(failed, plan_row=0), host=ends[1])
    assert not failures.may_retry(0)
