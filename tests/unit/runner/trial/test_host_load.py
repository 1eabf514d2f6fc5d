"""What an end's cores and the engine's threads did in the steady window, and when a trial is the host's."""

import dataclasses
from typing import Any

import pytest

from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.engines.spec import TrialSpec
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.host_load import measure_host_load
from pathlab.runner.trial.series import build_series
from tests.builders.campaigns import make_spec
from tests.builders.trials import record_trial

S, STEP_NS = 10**9, 10**8
START_NS = 5 * S
SPEC = make_spec({"interval": "100ms"}, warmup_ns=2 * STEP_NS, duration_ns=5 * STEP_NS)
PHASES = ("warmup",) * 2 + ("steady",) * 5 + ("drain",)
Worker = dict[str, int | None]


def make_records(*workers: Worker, **changes: Any) -> list[dict[str, Any]]:
    """An engine's records; every thread does the same in each 100 ms, ten times that outside the window."""
    records: list[dict[str, Any]] = [{"type": "start", "monotonic_ns": START_NS}]
    for index, phase in enumerate(PHASES):
        often = 1 if phase == "steady" else 10
        used = [{key: None if n is None else n * often for key, n in one.items()} for one in workers]
        span = {"start_ns": index * STEP_NS, "end_ns": (index + 1) * STEP_NS}
        info: dict[str, list[None]] = {"unacked_segments": [None], "snd_mss_bytes": [None]}
        interval = {"type": "interval", "index": index, "phase": phase, "bytes": [0], "workers": used}
        records.append({**interval, "tcp_info": info, **span, **changes})
    return records


def make_samples(idle_ratio: float | None) -> list[dict[str, Any]]:
    """Samples of two cores; the first has no time left outside the steady window, the second is idle."""
    samples = []
    for index, phase in enumerate(PHASES):
        first = idle_ratio if phase == "steady" else 0.0
        cores = [{"core": 0, "idle_ratio": first}, {"core": 1, "idle_ratio": 1.0}]
        time_ns = START_NS + (index + 1) * STEP_NS
        samples.append({"time_ns": time_ns, "span_ns": STEP_NS, "cores": cores})
    return samples


def measure(samples: list[dict[str, Any]], records: list[dict[str, Any]]) -> HostLoad:
    """The load of a sender that reported this."""
    return measure_host_load(SPEC, build_series(TrialData(sender=records, sender_counters=samples)), "sender")


def thread(user_ns: int, system_ns: int, waiting_ns: int | None) -> Worker:
    return {"user_ns": user_ns, "system_ns": system_ns, "waiting_ns": waiting_ns}


def test_the_load_is_that_of_the_steady_window_and_of_the_busiest_thread() -> None:
    records = make_records(thread(10_000_000, 20_000_000, 5_000_000), thread(1_000_000, 0, 60_000_000))
    found = measure(make_samples(0.25), records)
    assert found.busiest_core_ratio == pytest.approx(0.75)
    assert found.engine_core_ratio == pytest.approx(0.3)
    assert found.waiting_ratio == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("workers", "own", "waiting"),
    [
        ([thread(10_000_000, 0, None)], 0.1, None),  # a kernel that does not tell
        ([{"user_ns": 10_000_000, "system_ns": 0}], 0.1, None),  # an engine that does not
        ([thread(10_000_000, 0, 1_000_000), thread(0, 0, None)], 0.1, None),
        ([{"user_ns": 10_000_000, "system_ns": None, "waiting_ns": 0}], None, 0.0),
        ([], None, None),
    ],
)
def test_what_a_record_does_not_tell_is_not_measured(
    workers: list[Worker], own: float | None, waiting: float | None
) -> None:
    found = measure([], make_records(*workers))
    assert found == HostLoad(engine_core_ratio=own, waiting_ratio=waiting)
    assert measure(make_samples(0.5), []) == HostLoad()
    assert measure(make_samples(None), make_records()) == HostLoad(busiest_core_ratio=0.0)
    stood_still = make_records(*workers, end_ns=0, start_ns=0)
    assert measure([], stood_still) == HostLoad()


def find_flags(spec: TrialSpec, waiting_ns: int, **pacing: int | None) -> tuple[str, ...]:
    """The flags of a trial of 8 Mbit/s whose threads wait for so much of every 100 ms."""
    phases = {"steady": {"start_ns": 2 * STEP_NS, "end_ns": 7 * STEP_NS, "bytes": [500_000]}}
    ready: dict[str, Any] = {"type": "ready", "sockets": [], "cores": [], "pacing": pacing}
    cpu = thread(1_000_000, 0, waiting_ns)
    result: dict[str, Any] = {"type": "result", "phases": phases, "total_bytes": [500_000], "workers": [cpu]}
    data = TrialData(
        sender=[ready, *make_records(cpu), {**result, "tcp_info": {}}],
        receiver=[ready, *make_records(cpu), {**result, "rejected": 0}],
        sender_counters=make_samples(0.0),
    )
    return record_trial(spec, data).flags


def test_a_trial_whose_threads_wait_for_a_shared_core_is_the_hosts_unless_a_rate_was_requested() -> None:
    assert find_flags(SPEC, 60_000_000) == ("busy-core", "host-limited")
    assert find_flags(SPEC, 10_000_000) == ("busy-core",)
    paced = dataclasses.replace(SPEC, cell=dataclasses.replace(SPEC.cell, pacing_bits_per_s=8_000_000))
    assert find_flags(paced, 60_000_000) == ("busy-core",)
    capped = dataclasses.replace(SPEC, rate_cap_bits_per_s=8_000_000)
    assert find_flags(capped, 60_000_000) == ("busy-core",)
    faster = dataclasses.replace(SPEC, rate_cap_bits_per_s=16_000_000)
    assert "host-limited" in find_flags(faster, 60_000_000)
    # the host's own limit, which the engine got instead
    assert find_flags(faster, 60_000_000, requested_bits_per_s=8_000_000) == ("busy-core",)
