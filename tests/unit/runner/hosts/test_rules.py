"""Safety limits, schedule, cool-down, stop rule and changes, without a packet."""

from typing import Any

import pytest

from pathlab.campaign.conduct_model import SafetyLimits
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow, plan_rows
from pathlab.campaign.schedule import Schedule
from pathlab.runner.campaign.cool_down import IdleWatch
from pathlab.runner.campaign.precision import Precision, name_cell
from pathlab.runner.hosts.changes import find_changes, is_other_route
from pathlab.runner.trial.safety_limit import SafetyWatch
from pathlab.store.records import HostRecord, JournalRecord, TrialRecord
from tests.builders.campaigns import make_sample
from tests.builders.trials import make_record

MS = 1_000_000


def campaign_of(**extra: Any) -> Campaign:
    lab = {
        "hosts": ["a", "b", "c", "d"],
        "links": [{"between": ["a", "b"], "rate": "1Mbit/s"}, {"between": ["c", "d"], "rate": "1Mbit/s"}],
    }
    data: dict[str, Any] = {
        "order": "given",
        "paths": [{"source": "a", "destination": "b"}, {"source": "c", "destination": "d"}],
        "factors": {"streams": [1, 2]},
        "lab": lab,
    }
    return make_sample(**data | extra)


def probe(rtt_ns: int | None, sequence: int = 0) -> dict[str, Any]:
    return {"type": "probe", "sequence": sequence, "sent_ns": 1, "rtt_ns": rtt_ns}


def overdue(sequence: int) -> dict[str, Any]:
    return {"type": "overdue", "sequence": sequence, "sent_ns": 1, "waited_ns": 1}


def late(sequence: int, rtt_ns: int) -> dict[str, Any]:
    return {**probe(rtt_ns, sequence), "type": "late", "intended_ns": sequence * 20 * MS}


def test_a_probe_that_the_kernel_did_not_take_says_nothing() -> None:
    watch = SafetyWatch(SafetyLimits.model_validate({"loss": 0.1}), 20 * MS)
    unsent = {"type": "probe", "sequence": 0, "sent_ns": None, "rtt_ns": None}
    assert not any(watch.add(unsent) for _ in range(100))


def test_a_missing_answer_is_slow_at_once_and_a_late_one_is_no_loss() -> None:
    limits = SafetyLimits.model_validate({"loaded_rtt": "500ms"})
    slow = SafetyWatch(limits, 20 * MS)  # 50 probes a second
    assert not any(slow.add(probe(40 * MS, number)) for number in range(50))
    added = [slow.add(overdue(number)) for number in range(50, 100)]
    assert added.index(True) == 25  # more than half of the latest second, though none was given up
    few = SafetyWatch(limits, 20 * MS)
    assert not any(few.add(overdue(number)) for number in range(9))
    mixed = SafetyWatch(limits, 20 * MS)
    answers = (overdue(n) if n % 2 else probe(40 * MS, n) for n in range(200))
    assert not any(mixed.add(one) for one in answers)

    lossy = SafetyWatch(SafetyLimits.model_validate({"loss": 0.1}), 20 * MS)
    for number in range(100):
        assert not lossy.add(probe(None if number % 10 == 9 else MS, number))
        if number % 10 == 9:
            assert not lossy.add(late(number, 2000 * MS))
    added = [lossy.add(probe(None, 100 + number)) for number in range(20)]
    assert added.index(True) == 10


def rows_of(campaign: Campaign) -> list[PlanRow]:
    return list(plan_rows(campaign))


def ends(row: PlanRow | None) -> tuple[str, str, int] | None:
    return None if row is None else (row.path.source, row.path.destination, row.cell.streams)


def test_no_host_is_in_two_trials_at_once() -> None:
    schedule = Schedule(rows_of(campaign_of()), lanes=4)
    first, second = schedule.take(), schedule.take()
    assert ends(first) == ("a", "b", 1)
    assert ends(second) == ("c", "d", 1)
    assert schedule.take() is None  # both pairs are busy
    assert first is not None
    schedule.finish(first)
    assert ends(schedule.take()) == ("a", "b", 2)
    assert schedule.running == 2


def test_one_lane_keeps_the_order_and_retries_come_last() -> None:
    rows = rows_of(campaign_of())
    schedule = Schedule(rows, lanes=1)
    first = schedule.take()
    assert first is not None
    schedule.restore(first)  # it may not start yet, and waits in front
    taken = []
    while (row := schedule.take()) is not None:
        taken.append(row.row)
        schedule.finish(row)
        if taken == [0]:
            schedule.put_back(row)
    assert taken == [*[row.row for row in rows], 0]
    assert schedule.running == 0


def test_the_queue_has_drained_when_three_probes_in_a_row_are_idle() -> None:
    watch = IdleWatch(40 * MS)
    seen = [watch.add(probe(rtt)) for rtt in (40 * MS, 41 * MS, 90 * MS, 40 * MS, None, 40 * MS, 41 * MS)]
    assert not any(seen)
    assert watch.add(probe(40 * MS))


def start_precision(**extra: Any) -> tuple[Precision, list[PlanRow]]:
    """The rule of a campaign of one or two streams from six cycles on, and the rows of its plan."""
    campaign = campaign_of(until="5% of the median", cycles_min=6, **extra)
    rows = rows_of(campaign)
    return Precision(campaign, {row.row: row for row in rows}), rows


def measure(row: PlanRow, rate: float, **changes: Any) -> TrialRecord:
    return make_record(plan_row=row.row, cycle=row.cycle, throughput_bits_per_s=rate, **changes)


def test_a_cell_is_done_when_its_interval_is_narrow_and_later_cycles_do_not_count() -> None:
    precision, rows = start_precision(cycles_max=20)
    narrow, wide = (name_cell(row) for row in rows[:2])
    for row in rows:
        if row.cycle < 8 and name_cell(row) in (narrow, wide):
            spread = row.cycle % 2 if name_cell(row) == narrow else 100.0 * (row.cycle % 3)
            precision.add([measure(row, 100.0 + spread)])
    assert precision.list_done(5) == frozenset()
    assert precision.list_done(8) == {narrow}
    decision = precision.evaluate(8)
    assert not decision.stop


@pytest.mark.parametrize("flag", ["lab-limited", "host-limited", "congestion-not-granted", "window-short"])
def test_trials_that_the_report_excludes_say_nothing_about_precision(flag: str) -> None:
    precision, rows = start_precision(cycles_max=20)
    precision.add(
        measure(row, 1e6 + row.cycle, flags=(flag,) if row.cell.streams == 1 else ()) for row in rows
    )
    done = {row.cell.streams for row in rows if name_cell(row) in precision.list_done(12)}
    assert done == {2}


def test_failed_trials_and_control_rows_say_nothing_about_precision() -> None:
    precision, rows = start_precision(cycles_max=6, control={"streams": 1, "every": 2})
    precision.add(measure(row, 1.0, status="complete" if row.control else "failed") for row in rows)
    decision = precision.evaluate(6)
    assert {cell.n for cell in decision.cells} == {0}


def host(**parts: Any) -> HostRecord:
    return HostRecord(name="a", recorded_utc="2026-01-05T12:00:00+00:00", facts=parts)


def started(**facts: Any) -> JournalRecord:
    return JournalRecord(recorded_utc="x", kind="started", plan_row=None, text="", facts=facts)


def test_what_was_not_known_is_no_change() -> None:
    now = [host(kernel={"release": "6.2"})]
    unknown: dict[str, str | None] = {"program_version": "1", "engine_sha256": None}
    assert find_changes([host(kernel=None)], now, [started(engine_sha256="aa")], unknown) == []
    assert find_changes([], now, [], {"program_version": "1"}) == []


def test_a_hop_that_answers_from_elsewhere_is_another_route() -> None:
    class Flow:
        hops = (("192.0.2.1",), (), ("192.0.2.9", "192.0.2.10"))

    class Found:
        flows = (Flow(),)

    route: Any = Found()
    assert not is_other_route(("192.0.2.1", None, "192.0.2.10"), route)
    assert not is_other_route(("192.0.2.1", "192.0.2.5"), route)  # that hop is silent now
    assert is_other_route(("192.0.2.2",), route)
    assert not is_other_route((), route)
