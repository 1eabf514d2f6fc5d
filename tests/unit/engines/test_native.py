"""PathLab's own engine: which end listens, what each end is started with, and what its records set off."""

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
INTERVAL = {"type": "interval", "phase": "steady", "start_ns": 0, "end_ns": S, "bytes": [125]}


class ScriptedJob:
    """An engine that has written every record already."""

    def __init__(self, host: str, log: list[str]) -> None:
        self.host, self._log = host, log
        self.answers: dict[str, dict[str, Any]] = {
            "listening": {"type": "listening", "port": 5201},
            "ready": {"type": "ready"},
            "result": {"type": "result", "complete": True},
        }
        self.records = [{"type": "hello"}]

    def wait_for(self, record_type: str, _timeout_s: float) -> dict[str, Any]:
        self._log.append(f"{self.host} {record_type}")
        return self.answers[record_type]

    def command(self, line: str) -> None:
        self._log.append(f"{self.host} {line}")


class Stage:
    """An engine between scripted hosts: what was started on each, what was said, and what was reported."""

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
        observer = TrialObserver(
            rate=lambda rate, at_ns: self.rates.append((rate, at_ns)),
            rtt=lambda _rtt_ns: None,
            retransmissions=self.retransmissions.append,
            losses=lambda lost, received: self.losses.append((lost, received)),
            traffic=lambda: None,
            idle=lambda: None,
        )
        sending, receiving, *sinks = (
            cast("Session", ScriptedSession(host, self))
            for host in ("sender", "receiver", *(sink.host for sink in spec.path.sinks))
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
                sinks=tuple(sinks),
            )
        )

    def _end_probes(self) -> None:
        self.probes_ended += 1


@dataclasses.dataclass
class ScriptedSession:
    """A host that starts such engines and keeps what they were started with."""

    host: str
    stage: Stage

    def start_engine(self, subcommand: str, options: dict[str, Any], **given: Any) -> ScriptedJob:
        assert (given["seconds"] > 0, given["token"], given["build"]) == (True, TOKEN, "this")
        stage, host = self.stage, self.host
        stage.log.append(f"{host} {subcommand}")
        stage.started[host], stage.on_record[host] = options, given["on_record"]
        stage.jobs[host] = ScriptedJob(host, stage.log)
        return stage.jobs[host]


def prepare(spec: TrialSpec) -> Stage:
    """An engine whose ends have been started."""
    stage = Stage(spec)
    stage.engine.prepare()
    return stage


def choose_direction(direction: str = "forward", connect_from: str = "sender") -> TrialSpec:
    spec = make_spec({"duration": "1s", "warmup": "1s"}, direction=direction)
    path = dataclasses.replace(PATH, connect_from=connect_from, destination_ports="5201-5300")
    return dataclasses.replace(spec, path=path)


def test_retransmissions_are_reported_when_they_change() -> None:
    stage = prepare(choose_direction())
    for counts in ([0, 0], [0, 0], [2, None], [2, 3], [2, 3], [None, None]):
        info = {"total_retrans_segments": counts}
        stage.on_record["sender"]({"type": "interval", "phase": "steady", "tcp_info": info})
    stage.on_record["sender"]({"type": "interval", "phase": "steady"})
    assert stage.retransmissions == [0, 2, 5]


def test_losses_of_a_udp_flow_are_reported_after_each_interval() -> None:
    stage = prepare(choose_direction())
    for lost, received in (([2, 0], [8, 10]), ([-3, 0], [13, 10]), ([1, 1], [9, 9])):
        stage.on_record["receiver"]({**INTERVAL, "datagrams": {"received": received, "lost": lost}})
    stage.on_record["receiver"](INTERVAL)
    stage.on_record["sender"]({**INTERVAL, "datagrams": {"sent": [10, 10]}})
    assert stage.losses == [(2, 18), (0, 41), (1, 59)]


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
    stage = prepare(choose_direction(direction, connect_from))
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
    stage = prepare(make_spec({}, **MESSAGE, reply=True, batch_bytes=8192, encoding="protobuf"))
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
        started = prepare(make_spec({}, message_bytes=64, transport=transport)).started
        sent, received = started["sender"], started["receiver"]
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
    stage = prepare(make_spec({}, message_bytes=64, placement=placement))
    (options,) = stage.started.values()
    assert options["placement"] == placement
    assert options.keys().isdisjoint({"address", "bind", "port"})
    stage.engine.run()
    assert stage.log[-3:] == ["sender go", "sender result", "sender result"]
    stage.on_record["sender"](INTERVAL)
    assert stage.rates == [(1000.0, S)]
    sent, received = stage.engine.collect()
    assert sent == received == [{"type": "hello"}]
    stage.engine.check_ends()


def prepare_fan_out() -> Stage:
    spec = make_spec({}, streams=6, message_bytes=64)
    sinks = (TrialSink(host="c", address="192.0.2.3", ports="6000-6001"), TrialSink(host="d", address="::2"))
    return prepare(dataclasses.replace(spec, path=dataclasses.replace(PATH, sinks=sinks)))


def test_every_receiver_of_a_fan_out_gets_its_share_of_the_streams() -> None:
    stage = prepare_fan_out()
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
    assert stage.log == ["sender go", "sender result", "receiver result", "c result", "d result"]
    assert stage.engine.collect()[1] == [{"type": "hello"}]
    for host in ("c", "d", "receiver"):
        stage.on_record[host]({**INTERVAL, "bytes": [125, 0]})
    assert stage.rates == [(3000.0, S)]  # of all receivers


def test_the_connecting_end_starts_and_stops_both() -> None:
    stage = prepare(choose_direction("reverse"))
    stage.log.clear()
    stage.engine.run()
    stage.engine.stop()
    assert stage.log == ["receiver go", "sender result", "receiver result", "receiver stop"]


def test_records_show_the_rate_and_end_the_loaded_probes_with_the_steady_window() -> None:
    stage = prepare(choose_direction())
    interval = {**INTERVAL, "start_ns": S, "end_ns": 2 * S, "bytes": [100, 25]}
    stage.on_record["receiver"](interval)
    for span_ns in (0, S // 25):  # an empty span has no rate, nor has the last part of an interval of 100 ms
        stage.on_record["receiver"]({**interval, "start_ns": 2 * S - span_ns})
    assert stage.rates == [(1000.0, 2 * S)]
    stage.on_record["sender"](interval)
    assert stage.probes_ended == 0
    stage.on_record["sender"]({**interval, "phase": "drain"})
    stage.on_record["sender"]({"type": "result"})
    assert stage.probes_ended == 2


def test_an_end_that_did_not_finish_is_named_with_its_reason() -> None:
    stage = Stage(choose_direction())
    assert stage.engine.collect() == ([], [])
    stage.engine.prepare()
    assert stage.engine.collect() == ([{"type": "hello"}], [{"type": "hello"}])
    for one, host in ((stage, "receiver"), (prepare_fan_out(), "d")):
        one.engine.check_ends()
        one.jobs[host].answers["result"] = {"complete": False, "reason": "volume limit"}
        with pytest.raises(HostError, match=r"receiver .*: volume limit") as caught:
            one.engine.check_ends()
        assert (caught.value.host, caught.value.stage) == (host, "engine")
    stage.jobs["sender"].answers["result"] = {"complete": False, "reason": None}
    with pytest.raises(HostError, match="sender"):
        stage.engine.check_ends()
