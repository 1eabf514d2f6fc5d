"""PathLab's own engine: which end listens, what each end is started with, and what its records set off."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import pytest

from pathlab.campaign.factor import Level
from pathlab.engines.base import EngineContext, TrialObserver
from pathlab.engines.native import NativeEngine
from pathlab.engines.spec import Allowed, TrialSink, TrialSpec
from pathlab.errors import HostError
from pathlab.remote.session import Session
from tests.builders.campaigns import PATH, make_spec

TOKEN = "0" * 32
S = 10**9
ANSWERS: dict[str, dict[str, Any]] = {
    "listening": {"type": "listening", "port": 5201},
    "ready": {"type": "ready"},
    "result": {"type": "result", "complete": True},
}


class ScriptedJob:
    """An engine that has written every record already."""

    def __init__(self, host: str, log: list[str]) -> None:
        self.host, self._log = host, log
        self.answers = dict(ANSWERS)
        self.records = [{"type": "hello"}]

    def wait_for(self, record_type: str, _timeout_s: float) -> dict[str, Any]:
        self._log.append(f"{self.host} {record_type}")
        return self.answers[record_type]

    def command(self, line: str) -> None:
        self._log.append(f"{self.host} {line}")


@dataclasses.dataclass
class ScriptedSession:
    """A host that starts such engines and keeps what they were started with."""

    host: str
    log: list[str]
    started: dict[str, dict[str, Any]]
    jobs: dict[str, ScriptedJob]
    on_record: dict[str, Callable[[dict[str, Any]], None]]

    def start_engine(
        self,
        subcommand: str,
        options: dict[str, Any],
        *,
        seconds: float,
        token: str,
        build: str,
        on_record: Callable[[dict[str, Any]], None],
    ) -> ScriptedJob:
        assert (seconds > 0, token, build) == (True, TOKEN, "this")
        self.log.append(f"{self.host} {subcommand}")
        self.started[self.host], self.on_record[self.host] = options, on_record
        self.jobs[self.host] = ScriptedJob(self.host, self.log)
        return self.jobs[self.host]


class Stage:
    """An engine between the host that sends the counted data and the one that receives them."""

    def __init__(self, spec: TrialSpec) -> None:
        self.log: list[str] = []
        self.started: dict[str, dict[str, Any]] = {}
        self.jobs: dict[str, ScriptedJob] = {}
        self.on_record: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.rates: list[tuple[float, int]] = []
        self.retransmissions: list[int] = []
        self.losses: list[tuple[int, int]] = []
        self.probes_ended = 0
        self.kept: list[object] = []
        sending, receiving = (self._open_session(role) for role in ("sender", "receiver"))
        observer = TrialObserver(
            rate=lambda rate, at_ns: self.rates.append((rate, at_ns)),
            rtt=lambda _rtt_ns: None,
            retransmissions=self.retransmissions.append,
            losses=lambda lost, received: self.losses.append((lost, received)),
            traffic=lambda: None,
            idle=lambda: None,
        )
        self.engine = NativeEngine(
            EngineContext(
                spec=spec,
                allowed=Allowed(probe_method="icmp", congestion="cubic"),
                sending=sending,
                receiving=receiving,
                token=TOKEN,
                observer=observer,
                keep=self.kept.append,
                end_probes=self._end_probes,
                sinks=tuple(
                    cast(
                        "Session",
                        ScriptedSession(sink.host, self.log, self.started, self.jobs, self.on_record),
                    )
                    for sink in spec.path.sinks
                ),
            )
        )

    def _open_session(self, host: str) -> Session:
        session = ScriptedSession(host, self.log, self.started, self.jobs, self.on_record)
        return cast("Session", session)

    def _end_probes(self) -> None:
        self.probes_ended += 1


def test_retransmissions_are_reported_when_they_change() -> None:
    stage = make_stage()
    stage.engine.prepare()
    for counts in ([0, 0], [0, 0], [2, None], [2, 3], [2, 3], [None, None]):
        info = {"total_retrans_segments": counts}
        stage.on_record["sender"]({"type": "interval", "phase": "steady", "tcp_info": info})
    stage.on_record["sender"]({"type": "interval", "phase": "steady"})
    assert stage.retransmissions == [0, 2, 5]


def test_losses_of_a_udp_flow_are_reported_after_each_interval() -> None:
    stage = make_stage()
    stage.engine.prepare()
    interval = {"type": "interval", "phase": "steady", "bytes": [0, 0], "start_ns": 0, "end_ns": 10**8}
    for lost, received in (([2, 0], [8, 10]), ([-3, 0], [13, 10]), ([1, 1], [9, 9])):
        stage.on_record["receiver"]({**interval, "datagrams": {"received": received, "lost": lost}})
    stage.on_record["receiver"](interval)
    stage.on_record["sender"]({**interval, "datagrams": {"sent": [10, 10]}})
    assert stage.losses == [(2, 18), (0, 41), (1, 59)]


def make_stage(direction: str = "forward", connect_from: str = "sender") -> Stage:
    spec = make_spec({"duration": "1s", "warmup": "1s"}, direction=direction)
    path = dataclasses.replace(PATH, connect_from=connect_from, destination_ports="5201-5300")
    return Stage(dataclasses.replace(spec, path=path))


@pytest.mark.parametrize(
    ("direction", "connect_from", "listening", "bind", "stated"),
    [
        ("forward", "sender", "receiver", "192.0.2.2", "forward"),
        ("reverse", "sender", "sender", "192.0.2.2", "reverse"),
        ("forward", "receiver", "sender", "192.0.2.1", "reverse"),
        ("reverse", "receiver", "receiver", "192.0.2.1", "forward"),
        ("both", "sender", "receiver", "192.0.2.2", "both"),
    ],
)
def test_the_end_that_does_not_connect_listens_first(
    direction: str, connect_from: str, listening: str, bind: str, stated: str
) -> None:
    stage = make_stage(direction, connect_from)
    stage.engine.prepare()
    connecting = "sender" if listening == "receiver" else "receiver"
    assert stage.log[:3] == [f"{listening} receive", f"{listening} listening", f"{connecting} send"]
    assert f"{connecting} go" not in stage.log  # no data move yet
    ports = "5201-5300" if connect_from == "sender" else "0"
    assert (stage.started[listening]["bind"], stage.started[listening]["port"]) == (bind, ports)
    assert (stage.started[connecting]["address"], stage.started[connecting]["port"]) == (bind, 5201)
    assert {options["direction"] for options in stage.started.values()} == {stated}
    assert stage.kept == [stage.jobs[listening], stage.jobs[connecting]]


MESSAGE: dict[str, Level] = {"message_bytes": 64, "message_rate_per_s": 500, "wait": "poll", "priority": 3}


def test_the_end_that_connects_is_told_about_messages() -> None:
    stage = Stage(make_spec({}, **MESSAGE, reply=True, batch_bytes=8192, encoding="protobuf"))
    stage.engine.prepare()
    sent, received = stage.started["sender"], stage.started["receiver"]
    both = {"wait": "poll", "priority": 3}
    own = {"message-bytes": 64, "messages-per-s": 500, "batch-bytes": 8192, "encoding": "protobuf"}
    assert sent.items() >= {**both, **own, "reply": "yes", "direction": "forward"}.items()
    assert received.items() >= {**both, "direction": "both"}.items()
    assert received.keys().isdisjoint({*own, "reply", "placement"})


@pytest.mark.parametrize("transport", ["unix", "unix-datagram", "pipe", "shared-memory", "eventfd"])
def test_local_transports_meet_at_an_abstract_name(transport: str) -> None:
    names = set()
    for _ in range(2):
        stage = Stage(make_spec({}, message_bytes=64, transport=transport))
        stage.engine.prepare()
        sent, received = stage.started["sender"], stage.started["receiver"]
        assert (sent["transport"], received["transport"]) == (transport, "unix")
        assert sent["address"] == received["bind"]
        assert received["bind"].startswith("@pathlab-")
        assert TOKEN not in received["bind"]
        assert "bind" not in sent
        assert "port" not in received
        names.add(received["bind"])
    assert len(names) == 2  # one for each trial


@pytest.mark.parametrize("placement", ["threaded", "fused"])
def test_one_program_is_both_ends(placement: str) -> None:
    stage = Stage(make_spec({}, message_bytes=64, placement=placement))
    stage.engine.prepare()
    (options,) = stage.started.values()
    assert options["placement"] == placement
    assert options.keys().isdisjoint({"address", "bind", "port"})
    stage.engine.run()
    assert stage.log[-3:] == ["sender go", "sender result", "sender result"]
    interval = {"type": "interval", "phase": "steady", "start_ns": 0, "end_ns": S, "bytes": [125]}
    stage.on_record["sender"](interval)
    assert stage.rates == [(1000.0, S)]
    sent, received = stage.engine.collect()
    assert sent == received == [{"type": "hello"}]
    stage.engine.check_ends()


def make_fan_out() -> Stage:
    spec = make_spec({}, streams=6, message_bytes=64)
    sinks = (TrialSink(host="c", address="192.0.2.3", ports="6000-6001"), TrialSink(host="d", address="::2"))
    return Stage(dataclasses.replace(spec, path=dataclasses.replace(PATH, sinks=sinks)))


def test_every_receiver_of_a_fan_out_gets_its_share_of_the_streams() -> None:
    stage = make_fan_out()
    stage.engine.prepare()
    for host, address, ports in (("receiver", "192.0.2.2", "0"), ("c", "192.0.2.3", "6000-6001")):
        options = stage.started[host]
        assert (options["bind"], options["port"], options["streams"]) == (address, ports, 2)
    sent = stage.started["sender"]
    assert (sent["receivers"], sent["streams"]) == ("192.0.2.2:5201,192.0.2.3:5201,[::2]:5201", 6)
    assert sent.keys().isdisjoint({"address", "bind", "port"})
    assert stage.log.index("sender send") > stage.log.index("d listening")
    assert set(stage.log[-4:]) == {f"{host} ready" for host in stage.started}
    assert stage.kept == [stage.jobs[host] for host in ("receiver", "c", "d", "sender")]
    stage.log.clear()
    stage.engine.run()
    assert stage.log == [
        *("sender go", "sender result", "receiver result", "c result", "d result"),
    ]


def test_the_rate_of_a_fan_out_is_that_of_all_receivers() -> None:
    stage = make_fan_out()
    stage.engine.prepare()
    interval = {"type": "interval", "phase": "steady", "start_ns": 0, "end_ns": S, "bytes": [125, 0]}
    for host in ("c", "d", "receiver"):
        stage.on_record[host](interval)
    assert stage.rates == [(3000.0, S)]


def test_a_receiver_of_a_fan_out_that_did_not_finish_is_named() -> None:
    stage = make_fan_out()
    stage.engine.prepare()
    stage.engine.check_ends()
    assert stage.engine.collect()[1] == [{"type": "hello"}]
    stage.jobs["d"].answers["result"] = {"complete": False, "reason": "volume limit"}
    with pytest.raises(HostError, match="the receiver did not finish: volume limit") as caught:
        stage.engine.check_ends()
    assert (caught.value.host, caught.value.stage) == ("d", "engine")


def test_the_connecting_end_starts_and_stops_both() -> None:
    stage = make_stage("reverse")
    stage.engine.prepare()
    stage.log.clear()
    stage.engine.run()
    stage.engine.stop()
    assert stage.log == ["receiver go", "sender result", "receiver result", "receiver stop"]


def test_records_show_the_rate_and_end_the_loaded_probes_with_the_steady_window() -> None:
    stage = make_stage()
    stage.engine.prepare()
    interval = {"type": "interval", "phase": "steady", "start_ns": S, "end_ns": 2 * S, "bytes": [100, 25]}
    stage.on_record["receiver"](interval)
    stage.on_record["receiver"]({**interval, "start_ns": 2 * S})  # an empty span has no rate
    assert stage.rates == [(1000.0, 2 * S)]
    stage.on_record["sender"](interval)
    assert stage.probes_ended == 0
    stage.on_record["sender"]({**interval, "phase": "drain"})
    stage.on_record["sender"]({"type": "result"})
    assert stage.probes_ended == 2


def test_an_end_that_did_not_finish_is_named_with_its_reason() -> None:
    stage = make_stage()
    assert stage.engine.collect() == ([], [])
    stage.engine.prepare()
    stage.engine.check_ends()
    stage.jobs["receiver"].answers["result"] = {"complete": False, "reason": "volume limit"}
    with pytest.raises(HostError, match="the receiver did not finish: volume limit") as caught:
        stage.engine.check_ends()
    assert (caught.value.host, caught.value.stage) == ("receiver", "engine")
    stage.jobs["sender"].answers["result"] = {"complete": False, "reason": None}
    with pytest.raises(HostError, match="the sender did not finish: ended early"):
        stage.engine.check_ends()
    assert stage.engine.collect() == ([{"type": "hello"}], [{"type": "hello"}])
