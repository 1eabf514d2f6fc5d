"""Technologies as engines: what both ends are started with, their records and their failures."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any, cast

import pytest

from pathlab.agents.adapters.manifest import Manifest, read_manifest_file
from pathlab.campaign.order import PlanRow
from pathlab.engines import adapter, base
from pathlab.engines.adapter import NEXT_STEPS, build_adapter_engine
from pathlab.engines.base import EngineContext, TrialObserver, load_engine
from pathlab.engines.settings import find_refused, list_settings
from pathlab.engines.spec import Allowed, TrialSpec
from pathlab.errors import HostError, Stage, UsageError
from pathlab.remote.session import Session
from pathlab.runner.trial.adapter_record import is_hop_long
from pathlab.runner.trial.choreography import TrialData
from pathlab.store.flags import Flag
from pathlab.store.records import TrialRecord
from tests.builders.campaigns import PATH, make_sample, make_spec
from tests.builders.trials import make_record, record_trial

SOURCE = """# pathlab-adapter
# {"contract": 1, "name": "parrot", "title": "A parrot", "language": "python", "beneath": "tcp",
#  "variants": {"small-parrot": {"limits": [{"what": "long words", "constraint": "message <= 1KiB"}]},
#               "odd-parrot": {"limits": [{"what": "songs", "constraint": "songs == 1"}]}}}
# end
"""
TRIP = {"count": 90, "min": 4000, "max": 9000, "mean": 5000.0, "hdr": None}
READY = {
    "type": "ready",
    "messages": {"bytes": 64, "replies": True, "offered_per_s": None, "priority": None,
                 "clock_ns": 40.0, "record_ns": 9.0},
    "streams": 1,
    "cores": [0],
    "adapter": {"versions": "beak 1.2", "settings": {"no_delay": True, "tongue": "wet"}, "hop_ns": None},
}  # fmt: skip
ASKED = [
    {"type": "hello", "contract": 1, "program": "parrot", "language": "python"},
    READY,
    {"type": "start", "monotonic_ns": 5000, "realtime_ns": 7000},
    {"type": "round_trips", "phase": "steady", "stream": 0, "start_ns": 0, "end_ns": 10**9,
     "round_trip_ns": TRIP},
    {"type": "result", "complete": True, "reason": None,
     "messages": {"sent": [100], "received": [100], "missing": [0], "out_of_order": [0],
                  "send_error_ns": None, "round_trip_ns": {"count": 0}},
     "phases": {"steady": {"start_ns": 0, "end_ns": 10**9, "messages": [90], "user_ns": 600_000,
                           "system_ns": 300_000}}},
]  # fmt: skip
ANSWERED = [
    {"type": "listening", "port": 7001, "versions": "beak 1.2, perch 3.4", "settings": {"no_delay": True},
     "server_start_ns": 12_000_000, "sandbox": True},
    {"type": "server_cpu", "at_ns": 4900, "user_ns": 1, "system_ns": 2, "parts": {}},
    {"type": "result", "complete": True, "reason": None, "user_ns": 1_000_000, "system_ns": 500_000},
]  # fmt: skip


class ScriptedJob:
    """An end that has written every record already; it ends with its script."""

    def __init__(self, records: list[dict[str, Any]], host: str, log: list[str]) -> None:
        self.records, self._host, self._log = records, host, log

    def wait_for(self, record_type: str, _timeout_s: float) -> dict[str, Any]:
        for record in self.records:
            if record["type"] == record_type:
                return record
            if record["type"] == "error":
                raise HostError(f"parrot: {record['text']}", host=self._host, stage=Stage.ENGINE)
        raise HostError("parrot: ended with status 4", host=self._host, stage=Stage.ENGINE)

    def wait(self, _timeout_s: float) -> None:
        self._log.append(f"{self._host} ended")

    def command(self, line: str) -> None:
        self._log.append(f"{self._host} {line}")


@dataclasses.dataclass
class ScriptedSession:
    """A host that runs one end of the technology."""

    host: str
    records: list[dict[str, Any]]
    log: list[str]
    dead: bool = False
    started: dict[str, Any] = dataclasses.field(default_factory=dict)
    on_record: Callable[[dict[str, Any]], None] | None = None

    def start_adapter(self, name: str, role: str, settings: dict[str, Any], **given: Any) -> ScriptedJob:
        self.log.append(f"{self.host} {role} {name}")
        self.started = {**settings, "ports": given["ports"], "seconds": given["seconds"]}
        self.on_record = given["on_record"]
        return ScriptedJob(self.records, self.host, self.log)

    def death(self) -> HostError | None:
        return HostError("gone", host=self.host, stage=Stage.AGENT) if self.dead else None


@pytest.fixture(autouse=True)
def _parrots(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Manifest] = {one.name: one for one in read_manifest_file("parrot.py", SOURCE)}
    for module in (adapter, base):
        monkeypatch.setattr(module, "list_technologies", lambda: known)
    build_adapter_engine.cache_clear()
    load_engine.cache_clear()


class Pair:
    """An engine between two scripted hosts."""

    def __init__(
        self,
        asked: list[dict[str, Any]] = ASKED,
        answered: list[dict[str, Any]] = ANSWERED,
        *,
        name: str = "parrot",
        **levels: Any,
    ) -> None:
        self.log: list[str] = []
        self.rates: list[float] = []
        self.sending = ScriptedSession("a", asked, self.log)
        self.receiving = ScriptedSession("b", answered, self.log)
        nothing: Callable[..., None] = lambda *_: None  # noqa: E731
        ignored = ("rtt", "retransmissions", "traffic", "losses", "idle")
        observer = TrialObserver(
            rate=lambda rate, _at: self.rates.append(rate), **dict.fromkeys(ignored, nothing)
        )
        self.engine = build_adapter_engine(name)(
            EngineContext(
                spec=make_parrot_spec(**levels),
                allowed=Allowed(probe_method="icmp", congestion=None),
                sending=cast("Session", self.sending),
                receiving=cast("Session", self.receiving),
                token="",
                observer=observer,
                keep=lambda job: self.log.append(f"kept {job._host}"),  # type: ignore[attr-defined]
                end_probes=lambda: self.log.append("probes end"),
            )
        )


def make_parrot_spec(**levels: Any) -> TrialSpec:
    given = {"message_bytes": 64, "reply": True, "no_delay": True, **levels}
    spec = make_spec({}, warmup_ns=10**9, duration_ns=2 * 10**9, **given)
    return dataclasses.replace(
        spec,
        path=dataclasses.replace(PATH, destination_ports="7001-7009"),
        cell=dataclasses.replace(spec.cell, engine="parrot"),
    )


def test_the_server_is_started_first_and_told_to_go_first_and_to_stop_last() -> None:
    pair = Pair()
    pair.engine.prepare()
    assert pair.log == ["b answer parrot", "kept b", "a ask parrot", "kept a"]
    pair.log.clear()
    pair.engine.run()
    pair.engine.check_ends()
    assert pair.log == ["b go", "a go", "b stop"]
    both = {"contract": 1, "name": "parrot", "variant": "", "address": PATH.destination_address, "bytes": 64,
            "streams": 2, "priority": 5}  # fmt: skip
    pair = Pair(streams=2, priority=5, cpus_sender="0-1", cpus_receiver="3", message_rate_per_s=500)
    pair.engine.prepare()
    both["scope"] = pair.sending.started["scope"]
    both["local_address"] = PATH.source_address
    receiving = dict(pair.receiving.started)
    assert receiving.pop("seconds") > 3
    assert receiving == {**both, "cores": [3], "ports": "7001-7009"}
    sending = dict(pair.sending.started)
    assert sending.pop("seconds") > 3
    assert sending == {
        **both, "cores": [0, 1], "ports": "0", "port": 7001,
        "interval_ns": 10**8, "warmup_ns": 10**9, "duration_ns": 2 * 10**9, "rate_per_s": 500,
        "stall_ns": 10**9,
    }  # fmt: skip


def test_a_variant_is_named_and_a_loaded_server_may_take_longer() -> None:
    pair = Pair(name="small-parrot", background="cpu")
    pair.engine.prepare()
    assert (pair.sending.started["name"], pair.sending.started["variant"]) == ("small-parrot", "small-parrot")
    assert pair.sending.started["stall_ns"] == 5 * 10**9


def test_replies_are_shown_while_they_come() -> None:
    pair = Pair()
    pair.engine.prepare()
    assert pair.sending.on_record is not None
    moment = {"start_ns": 10**9, "end_ns": 10**9 + 10**6}  # after the last interval: it shows no rate
    for record in (*ASKED[:-1], ASKED[-2] | moment, ASKED[-1]):
        pair.sending.on_record(record)
    assert pair.rates == [90 * 64 * 8]
    assert pair.log[-1] == "probes end"


def build_trial(
    asked: list[dict[str, Any]] = ASKED, answered: list[dict[str, Any]] = ANSWERED, **levels: Any
) -> TrialRecord:
    pair = Pair(asked, answered, **levels)
    pair.engine.prepare()
    sender, receiver = pair.engine.collect()
    return record_trial(make_parrot_spec(**levels), TrialData(sender=sender, receiver=receiver), {})


def test_a_trial_has_what_both_ends_stated_and_nothing_that_none_did() -> None:
    record = build_trial()
    assert (record.engine_version, record.adapter_versions) == ("parrot, contract 1", "beak 1.2, perch 3.4")
    assert record.adapter_settings == (
        '{"receiver": {"no_delay": true}, "sender": {"no_delay": true, "tongue": "wet"}}'
    )
    assert (record.server_start_ns, record.adapter_hop_ns) == (12_000_000, None)
    assert (record.messages_per_s, record.messages_missing, record.clock_cost_ns) == (90.0, 0, 40.0)
    assert record.sender_cpu_ns_per_message == 900_000 / 90  # in the steady window
    assert record.receiver_cpu_ns_per_message == 1_500_000 / 100  # from go to stop
    assert (record.receiver_cpu_user_s, record.sender_cpu_user_s) == (0.001, None)
    assert (record.sent_total_bytes, record.received_total_bytes) == (6400, None)
    assert (record.throughput_bits_per_s, record.undelivered_bytes, record.steady_ns) == (None, None, None)
    assert record.flags == ()


def test_cpu_time_that_was_lost_with_a_child_is_no_figure() -> None:
    lost = {**ANSWERED[-1], "user_ns": -30, "system_ns": 10}
    assert build_trial(answered=[*ANSWERED[:-1], lost]).receiver_cpu_ns_per_message is None
    unknown = {**ANSWERED[-1], "user_ns": None, "system_ns": None}
    record = build_trial(answered=[*ANSWERED[:-1], unknown])
    assert (record.receiver_cpu_ns_per_message, record.receiver_cpu_user_s) == (None, None)


def test_settings_that_were_not_granted_are_flags_and_own_ones_are_listed() -> None:
    pair = Pair()
    pair.engine.prepare()
    ready = [next(one for one in end if one["type"] == "ready") for end in pair.engine.collect()]
    lines = {line["name"]: line for line in list_settings(make_parrot_spec(), *ready)}
    assert lines["no_delay"] == {"name": "no_delay", "requested": "yes", "sender": "yes", "receiver": "yes"}
    own = {"name": "adapter.tongue", "requested": None, "sender": "wet", "receiver": None}
    assert lines["adapter.tongue"] == own
    assert find_refused(list(lines.values())) == []
    granted = {**READY, "messages": {**READY["messages"], "priority": 5}}  # type: ignore[dict-item]
    record = build_trial([granted if one is READY else one for one in ASKED], priority=5)
    assert record.flags == ("priority-not-granted",)  # to the server
    late = {**READY, "adapter": {"versions": None, "settings": {"no_delay": False}, "hop_ns": None}}
    record = build_trial([late if one is READY else one for one in ASKED])
    assert record.flags == ("no-delay-not-granted",)


@pytest.mark.parametrize(("count", "flags"), [(None, ()), (0, ()), (2, (Flag.FOREIGN_CONNECTIONS,))])
def test_connections_of_others_are_flagged(count: int | None, flags: tuple[Flag, ...]) -> None:
    record = build_trial(answered=[*ANSWERED[:-1], {**ANSWERED[-1], "foreign_connections": count}])
    assert (record.foreign_connections, record.flags) == (count, flags)


def test_every_trial_has_names_of_its_own() -> None:
    """Both ends get the same, and the answering one the address of the asking end."""
    scopes = []
    for _ in range(2):
        pair = Pair()
        pair.engine.prepare()
        given = [end.started["scope"] for end in (pair.sending, pair.receiving)]
        assert given[0] == given[1]
        assert pair.receiving.started["local_address"] == pair.sending.started["local_address"]
        assert re.fullmatch("[a-z][a-z0-9]{30}", given[0])
        scopes.append(given[0])
    assert scopes[0] != scopes[1]


@pytest.mark.parametrize(("hop_ns", "long"), [(None, False), (150.0, False), (151.0, True)])
def test_a_hop_above_three_percent_of_the_median_is_flagged(hop_ns: float | None, long: bool) -> None:
    assert is_hop_long(make_record(adapter_hop_ns=hop_ns, round_trip_median_ns=5000.0)) == long
    assert not is_hop_long(make_record(adapter_hop_ns=hop_ns))
    ready = {**READY, "adapter": {**READY["adapter"], "hop_ns": hop_ns}}  # type: ignore[dict-item]
    record = build_trial([ready if one is READY else one for one in ASKED])
    assert record.adapter_hop_ns == hop_ns
    assert Flag.ADAPTER_HOP not in record.flags  # there is no median


def fail(asked: list[dict[str, Any]], answered: list[dict[str, Any]] = ANSWERED) -> HostError:
    pair = Pair(asked, answered)
    with pytest.raises(HostError) as caught:
        pair.engine.prepare()
        pair.engine.run()
        pair.engine.check_ends()
    return caught.value


STALL = {"type": "error", "stage": "stall", "text": "no reply within 1 s"}
KILLED = {"type": "error", "stage": "exit", "text": "the server was killed by SIGKILL"}


@pytest.mark.parametrize(
    ("asked", "answered", "host", "stage", "words"),
    [
        (ASKED, [{"type": "error", "stage": "build", "text": "p.c:1: no"}], "b", "build", "build: p.c:1: no"),
        ([READY, STALL], ANSWERED, "a", "stall", "stall: no reply within 1 s"),
        ([READY, STALL], [ANSWERED[0], KILLED], "a", "stall", "exit: the server was killed by SIGKILL"),
        ([], ANSWERED, "a", None, "ended with status 4"),
        ([READY, {**ASKED[-1], "complete": False, "reason": "stopped"}], ANSWERED, "a", None, "stopped"),
    ],
)
def test_a_failure_is_the_technologys_with_its_stage_and_with_the_servers_words(
    asked: list[dict[str, Any]], answered: list[dict[str, Any]], host: str, stage: str | None, words: str
) -> None:
    pair = Pair(asked, answered)
    with pytest.raises(HostError) as caught:
        pair.engine.prepare()
        pair.engine.run()
        pair.engine.check_ends()
    assert (caught.value.stage, caught.value.host) == (Stage.ADAPTER, host)
    assert caught.value.reason.startswith(f"parrot: {stage or ''}")
    assert caught.value.reason.endswith(words)
    assert caught.value.hint == (NEXT_STEPS[stage] if stage else None)


def test_a_host_that_is_gone_is_not_the_technologys_failure() -> None:
    pair = Pair(ASKED, [])
    pair.receiving.dead = True
    with pytest.raises(HostError) as caught:
        pair.engine.prepare()
    assert caught.value.stage == "engine"  # as the session said


def test_what_the_contract_or_the_manifest_excludes_is_refused_with_the_way_out() -> None:
    def refuse(name: str, **levels: Any) -> list[str]:
        given = {"message_bytes": 64, "reply": True, "no_delay": True, **levels}
        cell = dataclasses.replace(make_spec({}, **given).cell, engine=name)
        row = PlanRow(row=0, cycle=0, path=make_sample().paths[0], cell=cell)
        return [refusal.text for refusal in build_adapter_engine(name).check(row)]

    assert refuse("parrot") == []
    assert refuse("parrot", placement="process", cpus_sender="1", background="cpu", priority=5) == []
    expected = "parrot does not support messages without reply; expected where = "
    assert refuse("parrot", reply=False) == [expected + "\"engine != 'parrot' or reply == true\""]
    for levels in ({"no_delay": False}, {"transport": "udp"}, {"direction": "reverse"}, {"wait": "poll"},
                   {"placement": "fused"}, {"window_bytes": 4096}, {"batch_bytes": 8192}):  # fmt: skip
        assert len(refuse("parrot", **levels)) >= 1, levels
    assert len(refuse("small-parrot", message_bytes=2048)) == 1
    with pytest.raises(UsageError, match=r"parrot\.py: key 'limits'"):
        build_adapter_engine("odd-parrot")
