"""Rates of a background load from its records: the window, the least of several hosts, what is weak."""

import dataclasses
from typing import Any

import pytest

from pathlab.campaign.background_model import BackgroundSettings
from pathlab.engines.spec import TrialPath
from pathlab.runner.trial.background import BackgroundLoad, BackgroundRates, LoadedHost, LoadPlan, integrate

S = 1_000_000_000
PATH = TrialPath(source="c", destination="d", source_address="10.0.0.1", destination_address="10.0.0.2")


class FakeJob:
    """A job whose records are all there, and that may have ended."""

    def __init__(self, subcommand: str, records: list[dict[str, Any]]) -> None:
        self.subcommand, self.records, self.ended = subcommand, records, False
        self.commands: list[str] = []

    def wait_for(self, kind: str, _timeout_s: float, *, after: int = 0) -> dict[str, Any]:
        return next(record for record in self.records[after:] if record["type"] == kind)

    def command(self, line: str) -> None:
        self.commands.append(line)

    def kill(self) -> None:
        self.ended = True

    def wait(self, _timeout_s: float) -> Any:
        return self

    def describe(self) -> str:
        return "was killed by SIGKILL"


class FakeSession:
    """A host whose clock stands at the given times, one after the other."""

    def __init__(self, host: str, clocks_s: list[int], jobs: dict[str, FakeJob]) -> None:
        self.host, self._clocks_s, self._jobs = host, clocks_s, jobs
        self.started: list[tuple[str, dict[str, Any]]] = []

    def clock(self) -> tuple[int, int]:
        return self._clocks_s.pop(0) * S, 0

    def start_engine(self, subcommand: str, options: dict[str, Any], **_given: Any) -> FakeJob:
        self.started.append((subcommand, options))
        return self._jobs[subcommand]


def load_records(begin_s: int, cpu_s: list[float], written: int = 0, **result: Any) -> list[dict[str, Any]]:
    """Two threads; one record per second."""
    records: list[dict[str, Any]] = [{"type": "start", "monotonic_ns": begin_s * S}]
    for number, seconds in enumerate(cpu_s):
        disk = {"written_bytes": written, "read_bytes": written}
        cpu_ns = [round(seconds * S)] * 2
        span = {"start_ns": number * S, "end_ns": (number + 1) * S}
        records.append({"type": "load", **span, "cpu_ns": cpu_ns, "disk": disk})
    return [*records, {"type": "result", **result}]


def make_plan(
    parts: str, *hosts: FakeSession, network: tuple[FakeSession, FakeSession] | None = None
) -> LoadPlan:
    given: Any = network
    loaded: Any = [LoadedHost(session=host, disk_folder=f"/disk/{host.host}") for host in hosts]  # type: ignore[arg-type]
    return LoadPlan(
        parts=frozenset(parts.split()),
        settings=BackgroundSettings.model_validate({"cpu_threads": 2, "network_rate": "10Mbit/s"}),
        interval_ns=S,
        hosts=tuple(loaded),
        network=None if given is None else (*given, PATH),
    )


def run(plan: LoadPlan, warmup_s: int, duration_s: int | None) -> BackgroundRates:
    kept: list[Any] = []
    load = BackgroundLoad(plan, 60.0, kept.append)
    load.start()
    load.begin()
    load.end()
    load.stop()
    assert kept
    return load.measure(warmup_s * S, None if duration_s is None else duration_s * S)


def test_a_span_counts_by_its_part_in_the_window() -> None:
    spans = [(0, 10, 100.0), (10, 20, 40.0), (20, 30, 1000.0)]
    assert integrate(spans, 5, 20) == pytest.approx((50 + 40) / 15 * S)
    assert integrate(spans, 20, 30) == 100.0 * S
    assert integrate(spans, 25, 45) is None  # a quarter is covered
    assert integrate(spans, 30, 40) is None
    assert integrate([], 0, 10) is None


def test_rates_are_of_the_steady_window_on_the_clock_of_the_host() -> None:
    """The records begin at 100 s; the traffic does at 101 s: a warm-up of one second, then two."""
    job = FakeJob("load", load_records(100, [0, 0, 0.5, 1.0, 0, 0], 500, quiet=True, quiet_after_ns=7))
    job.records[1]["cpu_ns"] = [1, 1]  # the first rate
    host = FakeSession("b", [101, 110], {"load": job})
    rates = run(make_plan("cpu disk", host), 1, 2)
    assert rates == BackgroundRates(cpu_ratio=0.75, disk_bytes_per_s=1000.0, quiet=True)
    assert job.commands == ["stop"]
    ((_, options),) = host.started
    assert (options["cpu"], options["disk"], options["nice"]) == (2, "/disk/b", 19)


def test_without_a_length_the_window_ends_with_the_traffic() -> None:
    job = FakeJob("load", load_records(100, [1, 1, 0, 0]))
    host = FakeSession("b", [100, 104], {"load": job})
    plan = make_plan("cpu", host)
    plan = dataclasses.replace(plan, settings=plan.settings.model_copy(update={"cpu_threads": None}))
    rates = run(plan, 1, None)
    assert host.started[0][1]["cpu"] == "all"
    assert rates.cpu_ratio == pytest.approx(1 / 3)


def test_of_two_hosts_the_lesser_one_is_stated_and_a_busy_disk_is_not_quiet() -> None:
    first = FakeJob("load", load_records(100, [1.0, 1.0], quiet=True, quiet_after_ns=0))
    second = FakeJob("load", load_records(700, [0.25, 0.25], quiet=False, quiet_after_ns=None))
    hosts = FakeSession("a", [100, 102], {"load": first}), FakeSession("b", [700, 702], {"load": second})
    assert run(make_plan("cpu", *hosts), 0, 2) == BackgroundRates(cpu_ratio=0.25, quiet=False)


def test_a_network_load_is_what_its_receiver_counts() -> None:
    spans = [{"start_ns": n * S, "end_ns": (n + 1) * S} for n in range(3)]
    received = [{"type": "start", "monotonic_ns": 40 * S}, {"type": "listening", "port": 5201}]
    received += [{"type": "interval", **span, "bytes": [125]} for span in spans]
    receiver = FakeJob("receive", [*received, {"type": "result"}])
    sent: list[dict[str, Any]] = [
        {"type": "ready"},
        {"type": "start", "monotonic_ns": 9 * S},
        {"type": "result"},
    ]
    sender = FakeJob("send", sent)
    source = FakeSession("c", [9, 12], {"send": sender})
    sink = FakeSession("d", [40, 43], {"receive": receiver})
    rates = run(make_plan("network", network=(source, sink)), 1, 2)
    assert rates == BackgroundRates(network_bits_per_s=1000.0)
    assert sender.commands == ["go", "stop"]
    ((_, options),) = source.started
    assert (options["nice"], options["rate-bits-per-s"], options["port"]) == (19, 10_000_000, 5201)
    assert sink.started[0][1]["bind"] == "10.0.0.2"


@pytest.mark.parametrize(
    ("rates", "weak"),
    [
        ({"cpu_ratio": 0.19, "disk_bytes_per_s": 50.0}, True),
        ({"cpu_ratio": 0.2, "disk_bytes_per_s": 50.0}, False),
        ({"network_bits_per_s": 1.0}, False),  # not measured alone
    ],
)
def test_weak_is_below_a_share_of_what_it_did_alone(rates: dict[str, Any], weak: bool) -> None:
    alone = BackgroundRates(cpu_ratio=1.0, disk_bytes_per_s=100.0)
    assert BackgroundRates(**rates).is_weak(alone, 0.2) == weak
    others_had_the_cores = BackgroundRates(cpu_ratio=0.3)
    assert BackgroundRates(cpu_ratio=0.19).is_weak(others_had_the_cores, 0.2)
