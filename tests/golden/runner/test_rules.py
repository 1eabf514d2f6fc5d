"""Failures, safety limits, schedule, cool-down, stop rule and changes, without a packet."""

from typing import Any

from pathlab.campaign.conduct_model import SafetyLimits
from pathlab.runner.hosts.changes import find_changes
from pathlab.runner.hosts.window_limits import find_short_windows
from pathlab.runner.trial.safety_limit import SafetyWatch
from pathlab.store.records import HostRecord
from tests.builders.series import describe_round_trips
from tests.golden.conftest import Say
from tests.unit.runner.hosts.test_rules import campaign_of, host, overdue, probe, rows_of, started


def test_kernel_sysctls_and_programs_that_changed_are_named(say: Say) -> None:
    before = host(kernel={"release": "6.1"}, tcp={"tcp_sack": 1, "tcp_ecn": 2}, load={"one": 0.1})
    now = host(kernel={"release": "6.2"}, tcp={"tcp_sack": 0, "tcp_ecn": 2}, load={"one": 3.0})
    entries = [started(engine_sha256="00"), started(program_version="1", engine_sha256="aa")]
    programs = {"program_version": "1", "engine_sha256": "bb"}
    say(find_changes([host(kernel={"release": "5.9"}), before], [now], entries, programs))


MS = 1_000_000


def interval(number: int, rtts_ns: list[int], *, lost: int = 0) -> dict[str, Any]:
    """What the prober says of 100 ms of probes that were counted together."""
    times = {"start_ns": number * 100 * MS, "end_ns": (number + 1) * 100 * MS}
    trips = describe_round_trips(rtts_ns)
    return {"type": "round_trips", **times, "sent": len(rtts_ns) + lost, "lost": lost, "round_trip_ns": trips}


def test_one_late_probe_is_below_the_limit_and_a_second_of_them_is_above(say: Say) -> None:
    watch = SafetyWatch(SafetyLimits.model_validate({"loaded_rtt": "100ms"}), 100 * MS)
    assert not any(watch.add(probe(50 * MS, n)) for n in range(10))
    assert not watch.add(probe(900 * MS, 10))
    passed = [watch.add(probe(200 * MS, n)) for n in range(11, 21)]
    assert passed.count(True) == 1
    say(watch.reason)


def test_loss_is_tested_from_twenty_probes_on(say: Say) -> None:
    watch = SafetyWatch(SafetyLimits.model_validate({"loss": 0.1}), 20 * MS)
    assert not any(watch.add(probe(None, n)) for n in range(19))
    assert watch.add(probe(None, 19))
    say(watch.reason)
    watch = SafetyWatch(SafetyLimits.model_validate({"loss": 0.1}), 20 * MS)
    assert not any(watch.add(probe(None if n % 10 == 9 else MS, n)) for n in range(200))


def test_loss_is_tested_over_the_intervals_of_a_second(say: Say) -> None:
    watch = SafetyWatch(SafetyLimits.model_validate({"loss": 0.1}), MS // 10)
    assert not any(watch.add(interval(number, [MS] * 9, lost=1)) for number in range(30))
    assert not watch.add(interval(30, []))  # nothing was sent
    assert watch.add(interval(31, [MS] * 5, lost=5))
    say(watch.reason)


def test_overdue_probes_of_a_second_are_above_the_limit_where_intervals_are_counted(say: Say) -> None:
    watch = SafetyWatch(SafetyLimits.model_validate({"loaded_rtt": "100ms"}), MS)
    assert not any(watch.add(interval(number, [50 * MS] * 100)) for number in range(10))
    added = [watch.add(overdue(1000 + number)) for number in range(1000)]
    assert added.index(True) == 500
    say(str(watch.reason))


def test_windows_beyond_a_hosts_limit_are_reported_with_the_sysctl(say: Say) -> None:
    factors = {"streams": 1, "window": ["64KiB", "1MiB"], "direction": ["reverse"]}
    rows = rows_of(campaign_of(factors=factors))
    small = {"wmem_max_bytes": 212992, "rmem_max_bytes": 212992}
    hosts = [
        HostRecord(name=name, recorded_utc="x", facts={"buffers": facts})
        for name, facts in (("a", small), ("b", {"wmem_max_bytes": 2**20}), ("c", None), ("d", small))
    ]
    reported = find_short_windows(rows, hosts)
    # against the path: b and d send, a and c receive; b has room, what c may is not known
    assert [line.split(" grants")[0] for line in reported] == ["a", "d"]
    say(reported[0])
    assert "sysctl -w net.core.wmem_max=1048576" in reported[1]
