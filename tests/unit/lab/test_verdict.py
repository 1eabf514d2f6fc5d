"""The lab's verdict on a trial: each limit alone, and what is not reported."""

from dataclasses import replace
from typing import Any

import pytest

from pathlab.lab.verdict import OUTSIDE_THE_MODEL, LabSnapshot, evaluate_lab

RTT_NS = 40_000_000
IDLE = (0, 0, 0, 1000, 0, 0, 0, 0)


def count(
    *,
    cpu_ns: int | None = 0,
    elapsed_ns: int | None = 0,
    late_p99_ns: int | None = 50_000,
    **outside: int | None,
) -> dict[str, Any]:
    way: dict[str, Any] = {**dict.fromkeys(OUTSIDE_THE_MODEL, 0), "lost_packets": 10**6, **outside}
    late = None if late_p99_ns is None else {"median": 1, "p99": late_p99_ns, "max": 10**9}
    return {"cpu_ns": cpu_ns, "elapsed_ns": elapsed_ns, "late_ns": late, "forward": way, "reverse": way}


def snapshot(*links: dict[str, Any], drops: int = 0, ticks: tuple[int, ...] = (0,) * 8) -> LabSnapshot:
    return LabSnapshot(links=links, device_drops=drops, cpu_ticks=ticks)


def test_a_quiet_lab_is_trusted_whatever_it_is_set_to_lose() -> None:
    verdict = evaluate_lab(snapshot(count()), snapshot(count(elapsed_ns=10**9), ticks=IDLE), RTT_NS)
    assert verdict.trusted
    assert verdict.reasons == ()
    assert (verdict.outside_packets, verdict.late_p99_ns, verdict.emulator_cores) == (0, 50_000, 0.0)


def test_drops_of_the_devices_count_as_well() -> None:
    verdict = evaluate_lab(snapshot(count(), drops=7), snapshot(count(), drops=10, ticks=IDLE), RTT_NS)
    assert verdict.outside_packets == 3
    assert not verdict.trusted


@pytest.mark.parametrize(
    ("late_ns", "rtt_ns", "trusted"),
    [
        (300_000, 1_000_000, True),
        (300_001, 1_000_000, False),
        (2_000_000, 40_000_000, True),
        (2_000_001, 40_000_000, False),
        (4_000_000, 160_000_000, True),
        (4_000_001, 160_000_000, False),
    ],
)
def test_lateness_is_tested_by_the_round_trip(late_ns: int, rtt_ns: int, trusted: bool) -> None:
    verdict = evaluate_lab(snapshot(count()), snapshot(count(late_p99_ns=late_ns), ticks=IDLE), rtt_ns)
    assert verdict.trusted is trusted


def test_lateness_of_laps_that_others_ended_meanwhile_counts() -> None:
    before = replace(snapshot(count()), laps_ns=(9_000_000, None))
    after = replace(snapshot(count(), ticks=IDLE), laps_ns=(9_000_000, None, 3_000_000, None, 50_000))
    verdict = evaluate_lab(before, after, RTT_NS)
    assert verdict.late_p99_ns == 3_000_000
    assert not verdict.trusted


@pytest.mark.parametrize("ticks", [(980, 0, 0, 20, 0, 0, 0, 0), (0, 0, 0, 930, 0, 0, 0, 70)])
def test_busy_cores_and_stolen_time_that_make_no_delivery_late_are_no_flaw(ticks: tuple[int, ...]) -> None:
    assert evaluate_lab(snapshot(count()), snapshot(count(), ticks=ticks), RTT_NS).trusted
    late = evaluate_lab(snapshot(count()), snapshot(count(late_p99_ns=2_500_000), ticks=ticks), RTT_NS)
    assert len(late.reasons) == 2  # the late deliveries and what caused them
    assert late.reasons[0] == "1 % of the packets came more than 2.50 ms late (limit 2.00 ms)"


SILENT: dict[str, Any] = {"cpu_ns": None, "elapsed_ns": None, "late_ns": None, "forward": {}, "reverse": {}}


def test_what_netem_does_not_tell_is_not_made_up() -> None:
    verdict = evaluate_lab(snapshot(SILENT), snapshot(SILENT, ticks=IDLE), RTT_NS)
    assert (verdict.late_p99_ns, verdict.emulator_cores) == (None, None)
    assert verdict.trusted
