"""A host that replays a conversation: what its engines and agent state is given, and may be changed.

Every program states all of its records when it is started, and every series of counters its samples when it
is stopped, so that a trial takes milliseconds.
"""

import base64
import copy
import random
import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from pathlab.agents.protocol import MAGIC
from pathlab.remote.session import Session
from pathlab.store.series_columns import SERIES
from tests.builders.datagram_ends import make_udp_receiver, make_udp_sender
from tests.builders.series import describe_round_trips
from tests.builders.spoiling import list_places
from tests.unit.remote.scripted_agent import (
    HELLO,
    Message,
    ScriptedAgent,
    ScriptedTransport,
    answer,
    ended,
    reply_plainly,
)

Conversation = dict[str, list[Message]]
STREAMS = 2
STEP_NS, STEADY_NS = 100_000_000, 1_000_000_000
STRUCT_BYTES = 8
_NOT_TCP = ("index", "phase", "start_ns", "end_ns", "stream", "bytes", "sent_bytes", "messages")
TCP_INFO = [
    name
    for name in SERIES["intervals"].columns
    if name not in (*_NOT_TCP, "snd_cwnd_bytes", "packets", "lost_packets", "jitter_ns")
]
WORKER = {"user_ns": 10**7, "system_ns": 10**7, "waiting_ns": 0, "spun_ns": 0}
_NIC = dict.fromkeys(
    [f"{way}_{what}" for way in ("rx", "tx") for what in ("bytes", "packets", "errors", "dropped")], 1000
)


def make_conversation(traffic: str) -> Conversation:
    """What the programs of ``tcp``, ``messages``, ``udp`` or ``technology`` state; samples of counters."""
    if traffic == "technology":
        return {**_make_technology(), "ping": _make_probes(), "counters": _make_samples()}
    if traffic == "udp":
        ends = [_finish(end) for end in (make_udp_sender(), make_udp_receiver())]
    else:
        ends = [_make_end(replies=traffic == "messages", sends=sends) for sends in (True, False)]
    listening = {"type": "listening", "address": "127.0.0.1", "port": 5210}
    return {
        "send": ends[0],
        "receive": [listening, *ends[1]],
        "ping": _make_probes(),
        "counters": _make_samples(),
    }


def _make_technology() -> Conversation:
    """What the ends of a technology state of two streams."""
    span = {"start_ns": STEP_NS, "end_ns": STEP_NS + STEADY_NS}
    adapter = {"versions": "beak 1.2", "settings": {"no_delay": True}, "hop_ns": 900.0}
    trips = {"round_trip_ns": describe_round_trips(range(1000, 1100))}
    counted = {"sent": [100, 90], "received": [100, 90], "missing": [0, 0], "out_of_order": [0, 0]}
    steady = {**span, "messages": [90, 80], "user_ns": 10**6, "system_ns": 10**6}
    messages = {"bytes": 100, "replies": True, "priority": None, "clock_ns": 40.0}
    ended = {"type": "result", "complete": True, "reason": None}
    return {
        "answer": [
            {"type": "hello", "contract": 1, "program": "parrot"},
            {"type": "listening", "port": 5210, "versions": "beak 1.2", "settings": {"no_delay": True}}
            | {"server_start_ns": 10**6, "sandbox": True, "priority": None},
            {"type": "server_cpu", "at_ns": 10**12, "user_ns": 1, "system_ns": 2},
            {**ended, "user_ns": 10**6, "system_ns": 10**6, "foreign_connections": 0},
        ],
        "ask": [
            {"type": "hello", "contract": 1, "program": "parrot"},
            {"type": "ready", "streams": 2, "cores": [0], "messages": messages, "adapter": adapter},
            {"type": "start", "monotonic_ns": 10**12, "realtime_ns": 10**18},
            *({"type": "round_trips", "phase": "steady", "stream": n, **span, **trips} for n in range(2)),
            {**ended, "messages": {**counted, **trips}, "phases": {"steady": steady}},
        ],
    }


def _make_samples() -> list[Message]:
    return [_make_sample(number) for number in range(1, 12)]


def _finish(end: Sequence[Message]) -> list[Message]:
    """The builders leave out what no column comes from."""
    records = [copy.deepcopy(record) for record in end]
    records[-1] |= {"complete": True, "reason": None}
    totals = records[-1]["datagrams"]
    totals |= {name: [totals[name], 0] for name in ("sent", "refused") if name in totals}
    return [{"type": "hello", "program": "pathlab-engine", "version": "0.1.0"}, *records]


def _make_end(*, replies: bool, sends: bool) -> list[Message]:
    count = [100, 90]
    raw = {"bytes": STRUCT_BYTES, "base64": base64.b64encode(bytes(STREAMS * STRUCT_BYTES)).decode()}
    intervals: list[Message] = []
    for index in range(12):
        phase = "warmup" if index == 0 else "steady" if index < 11 else "drain"
        times = {"start_ns": index * STEP_NS, "end_ns": (index + 1) * STEP_NS}
        interval = {"type": "interval", "index": index, "phase": phase, **times, "late_ns": 10}
        interval |= {"bytes": [100_000, 90_000], "workers": [dict(WORKER)], "tcp_info_raw": dict(raw)}
        interval["tcp_info"] = {name: [1000 + index, None] for name in TCP_INFO}
        if replies:
            interval["messages"] = list(count)
            if sends and phase != "drain":
                intervals += [
                    {"type": "round_trips", "phase": phase, "stream": stream, **times}
                    | {"round_trip_ns": describe_round_trips(range(1000, 1100))}
                    for stream in range(STREAMS)
                ]
        else:
            subflow = {"stream": 0, "id": 1, "local": "10.0.0.1", "local_port": 1, "remote": "10.0.0.2"}
            interval["subflows"] = [{**subflow, "remote_port": 2, "bytes_sent": 5, "bytes_retrans": 1}]
        intervals.append(interval)
    edges = {"warmup": (0, 1), "steady": (1, 11), "drain": (11, 12)}
    phases = {
        name: {
            **{"start_ns": low * STEP_NS, "end_ns": high * STEP_NS},
            "bytes": [size * (high - low) for size in (100_000, 90_000)],
            **({"messages": [one * (high - low) for one in count]} if replies else {}),
        }
        for name, (low, high) in edges.items()
    }
    socket = {"sndbuf_bytes": 131072, "rcvbuf_bytes": 131072, "congestion": "cubic", "mss_bytes": 1448}
    ready: Message = {"type": "ready", "streams": STREAMS, "rejected": 0, "workers": 1, "cores": [None]}
    ready |= {"transport": "tcp", "direction": "forward", "congestion": "cubic", "bytes": None}
    ready["sockets"] = [{"stream": n, **socket, "traffic_class": 0} for n in range(STREAMS)]
    total = [12 * 100_000, 12 * 90_000]
    result: Message = {"type": "result", "complete": True, "reason": None, "phases": phases}
    result |= {"total_bytes": total, "confirmed_bytes": total, "undelivered_bytes": [0, 0], "rejected": 0}
    result |= {"reset_streams": 0, "workers": [dict(WORKER)], "tcp_info": dict(intervals[-1]["tcp_info"])}
    if replies:
        ready["messages"] = {"bytes": 100, "placement": "apart", "replies": True, "clock_ns": 20.5}
        counted: Message = {
            "sent": [1100, 1000],
            "received": [1100, 1000],
            "missing": [0, 0],
            "out_of_order": [0, 0],
        }
        counted |= {"first_arrival_ns": [7, 8], "last_arrival_ns": [10**9, None], "send_calls": [1100, 1000]}
        late = {"median": 10, "p99": 20, "max": 30}
        trips = describe_round_trips(range(1000, 3000))
        result["messages"] = {**counted, "send_error_ns": late, "round_trip_ns": trips}
    start = {"type": "start", "monotonic_ns": 10**12, "realtime_ns": 10**18}
    hello = {"type": "hello", "program": "pathlab-engine", "version": "0.1.0"}
    return [hello, ready, start, *intervals, result]


def _make_probes() -> list[Message]:
    start: Message = {"type": "start", "method": "icmp-raw", "stamps": "kernel", "address": "127.0.0.1"}
    start |= {"payload_bytes": 56, "monotonic_ns": 10**12, "realtime_ns": 10**18}
    probes: list[Message] = [
        {"type": "probe", "sequence": n, "intended_ns": n * 10**7, "sent_ns": n * 10**7 + 5, "held_ns": None}
        | {"rtt_ns": 10**6 + n, "stamps": "kernel", "reordered": False}
        for n in range(120)
    ]
    probes[3] |= {"rtt_ns": None, "stamps": None}
    late = {"type": "late", **{key: probes[3][key] for key in ("sequence", "intended_ns", "sent_ns")}}
    result = {"type": "result", "complete": True, "reason": None, "method": "icmp-raw", "sent": 120}
    result |= {"received": 119, "duplicates": 0, "late": 1, "reordered": 0, "send_errors": 0}
    result |= {"timeout_ns": 10**9, "ended_ns": 3 * 10**9, "send_error_ns": {"median": 1, "p99": 2, "max": 3}}
    return [start, *probes, {**late, "rtt_ns": 10**9, "stamps": "kernel"}, result]


def _make_sample(number: int) -> Message:
    core: Message = {
        "core": 0,
        "user_ratio": 0.1,
        "system_ratio": 0.1,
        "softirq_ratio": 0.0,
        "irq_ratio": 0.0,
    }
    core |= {"irq_ratio": 0.0, "steal_ratio": 0.0, "idle_ratio": 0.8}
    qdisc = {"interface": "lo", "handle": "1:", "parent": "root", "kind": "fq", "bytes": 1, "packets": 1}
    return {
        **{"time_ns": 10**12 + number * STEP_NS, "span_ns": STEP_NS, "cores": [core]},
        "nics": [{"interface": "lo", **_NIC}],
        "nic_drops": [{"interface": "lo", "rx_missed": 0, "rx_fifo": 0, "rx_nohandler": 0}],
        "softnet": {"processed": 5, "dropped": 0, "cores": [{"core": 0, "processed": 5, "dropped": 0}]},
        **{"tcp": {"OutSegs": 5}, "udp": {"UdpInDatagrams": 3}, "qdiscs": [qdisc], "stopped": []},
    }


ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        1,
        7,
        2**31,
        2**53 + 1,
        2**62,
        2**63 - 1,
        2**63,
        2**70,
        -(2**63),
        0.5,
        1e300,
        1e-300,
    ),
    *("", "x", "-1", "\ud800", "a\x00b", "x" * 100_000, [], {}, [None], [[]], [[1, 2, 3]], {"a": None}),
    *([0] * 5000, {"type": "interval"}, "AAAA", "\u202e", [1, 2, 3], [0.5, 0.5], {"bytes": [1, 2]}),
)


def spoil(conversation: Conversation, rng: random.Random) -> Conversation:
    """One to three changes of a conversation: a value, a key, an item, a whole record."""
    changed = copy.deepcopy(conversation)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        records = changed[rng.choice(list(changed))]
        number = rng.randrange(len(records))
        way = rng.randrange(12)
        if way == 0:
            records.pop(number)
        elif way == 1:
            records.insert(number, copy.deepcopy(rng.choice(records)))
        elif way == 2:
            records.insert(rng.randrange(len(records)), records.pop(number))
        else:
            if way < 7:  # the records that are few say most
                few = [n for n, one in enumerate(records) if one.get("type") not in ("probe", "interval")]
                number = rng.choice(few or [number])
            _change_record(records[number], rng)
        if not records:
            records.append({"type": "hello"})
    return changed


def _change_record(record: Message, rng: random.Random) -> None:
    path = rng.choice(list(list_places(record)))
    holder: Any = record
    for key in path[:-1]:
        holder = holder[key]
    way = rng.randrange(6)
    if way == 0:
        del holder[path[-1]]
    elif way == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(rng.choice(holder)))
    elif way == 2 and isinstance(holder, dict):
        holder[rng.choice(("x", *holder))] = holder.pop(path[-1])
    elif way == 3 and isinstance(holder[path[-1]], int) and not isinstance(holder[path[-1]], bool):
        holder[path[-1]] += rng.choice((-1, 1, 100, -(10**9), 10**12))
    else:
        holder[path[-1]] = copy.deepcopy(rng.choice(ODD))


class ReplayingHost:
    """A session with an agent that replays; ``conversation`` may be another one before each trial.

    ``raw``: by program, bytes in the place of its records, as what follows ``"record":`` in a frame.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.raw: dict[str, bytes] = {}
        self._agent: ScriptedAgent | None = None
        self._session: Session | None = None
        self._jobs = 0

    @property
    def session(self) -> Session:
        """An open session, a new one where the last one has ended."""
        if self._session is None or self._session.death() is not None:
            self.close()
            self._agent = ScriptedAgent(self._reply)
            self._session = Session(ScriptedTransport(self._agent), host="local")
            self._session.open()
        return self._session

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            self._session.close(0.0)

    def _reply(self, request: Message) -> list[Message]:
        if request["op"] == "hello":
            return [HELLO]
        if request["op"] == "counters.start":
            return [answer(request, watch=4, interval_ns=STEP_NS, monotonic_ns=10**12)]
        if request["op"] == "counters.stop":
            samples = self.conversation["counters"]
            return [*({"type": "counters", "watch": 4, "sample": one} for one in samples), answer(request)]
        if request["op"] not in ("engine.start", "adapter.start"):
            return reply_plainly(request)
        self._jobs += 1
        limits = {"seconds": 60.0, "bytes": None, "rate_bits_per_s": None}
        started = answer(request, job=self._jobs, pid=11, limits=limits, engine_sha256="ab")
        program = request.get("subcommand") or request["role"]
        stated = [{"type": "engine", "job": self._jobs, "record": one} for one in self.conversation[program]]
        if program in self.raw:
            self._agent.say(started)
            body = b'{"type":"engine","job":%d,"record":%b}' % (self._jobs, self.raw[program])
            self._agent.say_bytes(MAGIC + struct.pack(">I", len(body)) + body)
            return []
        return [started, *stated, {**ended(), "job": self._jobs}]


def make_environment(host: ReplayingHost) -> Any:
    """What a run of rows asks of its hosts, all of which are this one."""
    environment = SimpleNamespace(lab=None, facts={"fallback": None}, run_flags=())
    environment.session = lambda _name: host.session
    environment.probe_method = lambda _path: "icmp-raw"
    environment.usable_congestion = lambda name: name
    environment.is_by_hand = lambda _name: False
    environment.find_bottleneck = lambda _path, _transport: (None, None)
    for name in (
        "find_lab_fault",
        "rebuild_lab",
        "check_lab",
        "lab_snapshot",
        "host_ceiling",
        "evaluate_lab",
    ):
        setattr(environment, name, lambda *_given: None)
    return environment
