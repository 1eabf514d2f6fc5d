"""Records of both ends of a UDP flow, as native/PROTOCOL.md has them."""

from typing import Any

from pathlab.campaign.factor import Level
from pathlab.engines.spec import TrialSpec
from pathlab.runner.trial.choreography import TrialData
from pathlab.store.records import TrialRecord
from tests.builders import campaigns
from tests.builders.trials import record_trial

Record = dict[str, Any]
STEP_NS = 100_000_000
STEADY_NS = 1_000_000_000
DATAGRAM_BYTES = 1000
#: What the receiver below states of all streams together.
HISTOGRAMS: Record = {
    "loss_runs": [[1, 1, 3], [7, 7, 1]],
    "reorder_extents": [[1, 1, 4], [300, 301, 1]],
    "late_times_ns": [[1000, 1007, 4], [90_000, 90_111, 1]],
    "n_reordering": [[0, 0, 2], [1, 1, 1], [3, 3, 1], [128, 128, 1]],
    "reorder_density": [[-1, 4], [0, 1980], [1, 4]],
    "displaced_beyond": 1,
    "buffer_density": [[0, 1985], [1, 5]],
    "occupied_beyond": 0,
}
THREAD = {"user_ns": 6_000_000, "system_ns": 4_000_000, "waiting_ns": 0, "spun_ns": 2_000_000}


def make_udp_spec(**levels: Level) -> TrialSpec:
    times: dict[str, Level] = {"warmup_ns": STEP_NS, "duration_ns": STEADY_NS, "transport": "udp"}
    return campaigns.make_spec({"interval": "100ms"}, **{"streams": 2, **times, **levels})


def _make_end(
    steady: Record, steady_packets: int, of_interval: Record, stated: Record, total: Record
) -> list[Record]:
    """One end with two streams, each with half of the packets; its thread works 10 ms of each 100 ms."""
    none: Record = {name: [0] * len(values) for name, values in steady.items()}
    half = steady_packets // 2 * DATAGRAM_BYTES
    phases = {
        "warmup": {"start_ns": 0, "end_ns": STEP_NS, "bytes": [5000, 5000], "datagrams": none},
        "steady": {
            **{"start_ns": STEP_NS, "end_ns": STEP_NS + STEADY_NS, "bytes": [half, half]},
            "datagrams": steady,
        },
        "drain": {
            **{"start_ns": STEP_NS + STEADY_NS, "end_ns": 2 * STEADY_NS, "bytes": [0, 0]},
            "datagrams": none,
        },
    }
    intervals = [
        {"type": "interval", "index": index, "phase": "steady" if index else "warmup", "bytes": [0, 0]}
        | {"start_ns": index * STEP_NS, "end_ns": (index + 1) * STEP_NS, "workers": [THREAD]}
        | {"tcp_info": {"unacked_segments": [None] * 2, "snd_mss_bytes": [None] * 2}}
        | {"datagrams": of_interval}
        for index in range(11)
    ]
    ready = {"type": "ready", "streams": 2, "transport": "udp", "sockets": []}
    ready["datagrams"] = {"bytes": DATAGRAM_BYTES, "gso": False, "segments": 1, "gro": False} | stated
    start = {"type": "start", "monotonic_ns": 0, "realtime_ns": 0}
    result = {"type": "result", "complete": True, "phases": phases, "total_bytes": [half + 5000] * 2}
    return [ready, start, *intervals, {**result, "tcp_info": {}, "workers": [THREAD], "datagrams": total}]


def make_udp_sender(sent: tuple[int, int] = (1000, 1000), **stated: Any) -> list[Record]:
    errors = {"median": 1_500, "p99": 40_000, "max": 900_000}
    return _make_end(
        {"sent": list(sent), "refused": [1, 2]},
        sum(sent),
        {"sent": [100, 100], "refused": [0, 1]},
        {"pacing": "user", "offered_packets_per_s": 2000, **stated},
        {"sent": sum(sent), "refused": 3, "pacing_error_ns": errors, "icmp_unreachable": 0},
    )


def make_udp_receiver(
    received: tuple[int, int] = (990, 1000), *, socket_drops: int | None = 4, **total: Any
) -> list[Record]:
    counts = {
        **{"received": list(received), "lost": [10, 0], "duplicate": [2, 0], "reordered": [5, 0]},
        "jitter_ns": [3000, 5000],
    }
    interval = {"received": [99, 100], "lost": [1, 0], "duplicate": [0, 0], "reordered": [1, 0]}
    stated = {"host_lost": {"socket": socket_drops}, "foreign": 7, "histograms": HISTOGRAMS, **total}
    return _make_end(counts, 1980, {**interval, "jitter_ns": [3000, None]}, {}, stated)


def make_host_sample(time_ns: int, *, softnet: int | None = 0, missed: int | None = 0) -> Record:
    """What an agent counts in a span of 100 ms."""
    core = {"core": 0, "processed": 10, "dropped": softnet, "time_squeeze": 0}
    nic = dict.fromkeys(("rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "tx_bytes", "tx_packets"), 0)
    return {
        **{"type": "counters", "time_ns": time_ns, "span_ns": STEP_NS, "cores": [], "tcp": {}},
        "softnet": {"cores": [core]},
        "nics": [{"interface": name, **nic} for name in ("lo", "eth0", "bond0")],
        "nic_drops": [
            {"interface": name, "rx_missed": count, "rx_fifo": 0, "rx_nohandler": 0}
            for name, count in (("lo", 0), ("eth0", missed), ("bond0", missed))
        ],
    }


def build_udp_record(
    sender: list[Record],
    receiver: list[Record],
    *,
    spec: TrialSpec | None = None,
    counters: list[Record] | None = None,
    **outcome: Any,
) -> TrialRecord:
    data = TrialData(sender=sender, receiver=receiver, receiver_counters=counters or [])
    return record_trial(spec or make_udp_spec(), data, **outcome)
