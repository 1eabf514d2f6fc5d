"""Failures that quarantine a host, a pair of hosts or the lab, those that do not, and what is tried again."""

import pytest

from pathlab.runner.campaign.failures import Failures
from tests.builders.trials import make_record


def add(failures: Failures, *trials: str, sinks: tuple[str, ...] = ()) -> list[tuple[str, ...] | None]:
    """Trials of a row from a to b, ``complete`` or ``STAGE HOST`` of the failure: what each quarantines."""
    found = []
    for trial in trials:
        stage, _, host = trial.rpartition(" ")
        ended = {"status": "failed", "failed_stage": stage, "failure": "x"} if stage else {}
        found.append(failures.add(make_record(**ended), host if stage else None, sinks))
    return found


@pytest.mark.parametrize(
    ("stage", "place"),
    [
        *((stage, ("a", "b")) for stage in ("engine", "network")),
        *((stage, ("b",)) for stage in ("agent", "connect", "host key", "authentication", "deploy", "lab")),
        *((stage, None) for stage in ("adapter", "background")),  # tried again, at the cost of no host
    ],
)
def test_three_failures_in_a_row_quarantine_what_failed(stage: str, place: tuple[str, ...] | None) -> None:
    failures = Failures(retries=1)
    assert add(failures, f"{stage} b") == [None]
    assert failures.may_retry(0)
    assert add(failures, f"{stage} b") == [None]
    assert not failures.may_retry(0)
    assert add(failures, f"{stage} b") == [place]
    assert failures.is_quarantined("a", "b") == (place is not None)
    assert failures.is_quarantined("b", "c") == (place == ("b",))
    assert not failures.is_quarantined("a", "c")


def test_a_quarantined_host_has_one_trial_in_the_next_cycle_and_a_success_forgives() -> None:
    failures = Failures(retries=0)
    add(failures, *["agent b"] * 3)
    failures.release_quarantined()
    assert not failures.is_quarantined("a", "b")
    assert add(failures, "agent b") == [("b",)]
    failures.release_quarantined()
    assert add(failures, "complete", *["agent b"] * 3) == [None, None, None, ("b",)]
    assert add(failures, "network a", "network a", "complete", "network a") == [None] * 4


def test_a_quarantined_sink_leaves_out_the_path_until_a_trial_with_it_succeeds() -> None:
    failures, sinks = Failures(retries=0), ("c", "d")
    assert add(failures, *["agent c"] * 3, sinks=sinks)[-1] == ("c",)
    assert failures.is_quarantined("a", "b", *sinks)
    assert not failures.is_quarantined("a", "b")
    failures.release_quarantined()
    assert add(failures, "complete", "agent c", sinks=sinks) == [None, None]  # counted anew


def test_a_lab_that_keeps_failing_is_quarantined_for_good() -> None:
    failures = Failures(retries=5, lab_hosts=("a", "b"))
    elsewhere = make_record(path_source="c", path_destination="d")
    # A trial in the lab made anew, from a to b, forgives; one outside does not.
    assert add(failures, "lab lab", "lab lab", "complete", "lab lab") == [None] * 4
    assert failures.add(elsewhere, None) is None
    assert add(failures, "lab lab", "lab lab") == [None, ("lab",)]
    failures.release_quarantined()
    assert failures.is_quarantined("c", "d")


def test_a_trial_with_a_program_that_stood_still_is_measured_again_as_a_failed_one() -> None:
    failures, stalled = Failures(retries=2), make_record(flags=("host-stalled",))
    assert not failures.use_stall_retry(make_record(flags=("host-limited",)))
    assert [failures.use_stall_retry(stalled) for _ in range(3)] == [True, True, False]
    assert failures.use_stall_retry(make_record(plan_row=1, flags=("host-stalled",)))
    assert not failures.is_quarantined("a", "b")


def test_lab_limited_trials_are_measured_again_while_there_are_retries() -> None:
    failures, limited = Failures(retries=0, lab_retries=2), make_record(flags=("lab", "lab-limited"))
    assert not failures.use_lab_retry(make_record(flags=("lab", "busy-core")))
    assert [failures.use_lab_retry(limited) for _ in range(3)] == [True, True, False]
