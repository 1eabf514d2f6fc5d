"""Files of other programs, written by hand from descriptions of the formats; all numbers are made up."""

import copy
import gzip
import json
from pathlib import Path
from typing import Any

from pathlab.store.imported_trial import ImportedTrial
from pathlab.store.importing import read_file

Node = dict[str, Any]
BEGIN_S = 1_700_000_000  # 2023-11-14T22:13:20Z


def make_iperf3(*, version: str = "iperf 3.12", streams: int = 2, omit: int = 1, reverse: int = 0) -> Node:
    """A client's TCP test: ``omit`` warm-up intervals and two of 1 s; each stream carries 1000 bytes/s.

    After the warm-up iperf3's times begin at 0 again.
    """
    times = [(n, n + 1, True) for n in range(omit)] + [(n, n + 1, False) for n in range(2)]
    intervals = [
        {
            "streams": [
                {
                    "socket": 5 + 2 * stream,
                    "start": start,
                    "end": end,
                    "seconds": 1.0,
                    "bytes": 1000 + stream,
                    "bits_per_second": 8000.0,
                    "retransmits": 1,
                    "snd_cwnd": 14480,
                    "snd_wnd": 65536,
                    "rtt": 40_000,
                    "rttvar": 10,
                    "pmtu": 1500,
                    "omitted": omitted,
                    "sender": not reverse,
                }
                for stream in range(streams)
            ],
            "sum": {"start": start, "end": end, "seconds": 1.0, "bytes": 2001, "omitted": omitted},
        }
        for start, end, omitted in times
    ]
    ends = [
        {
            "sender": {
                "socket": 5 + 2 * n,
                "bytes": 2100,
                "seconds": 2.0,
                "mean_rtt": 40_000,
                "sender": True,
            },
            "receiver": {"socket": 5 + 2 * n, "bytes": 2000, "seconds": 2.0, "sender": True},
        }
        for n in range(streams)
    ]
    return {
        "start": {
            "connected": [
                {
                    "socket": 5 + 2 * n,
                    "local_host": "192.0.2.1",
                    "local_port": 40_000 + n,
                    "remote_host": "192.0.2.2",
                    "remote_port": 5201,
                }
                for n in range(streams)
            ],
            "version": version,
            "system_info": "Linux",
            "timestamp": {"time": "Tue, 14 Nov 2023 22:13:20 GMT", "timesecs": BEGIN_S},
            "connecting_to": {"host": "192.0.2.2", "port": 5201},
            "cookie": "x",
            "tcp_mss_default": 1448,
            "sock_bufsize": 65_536,
            "sndbuf_actual": 131_072,
            "rcvbuf_actual": 131_072,
            "test_start": {
                "protocol": "TCP",
                "num_streams": streams,
                "blksize": 131_072,
                "omit": omit,
                "duration": 2,
                "bytes": 0,
                "blocks": 0,
                "reverse": reverse,
            },
        },
        "intervals": intervals,
        "end": {
            "streams": ends,
            "sum_sent": {"seconds": 2.0, "bytes": 2100 * streams, "retransmits": 2 * streams},
            "sum_received": {"seconds": 2.0, "bytes": 2000 * streams},
            "cpu_utilization_percent": {"host_total": 10.0, "remote_total": 20.0},
            "sender_tcp_congestion": "cubic",
            "receiver_tcp_congestion": "cubic",
        },
    }


def make_iperf3_bidir(*, named: bool) -> Node:
    """A bidirectional test; since 3.13 ``bidir`` is named at the start, before only the sums tell."""
    node = make_iperf3(streams=1, omit=0)
    if named:
        node["start"]["test_start"]["bidir"] = 1
    for interval in node["intervals"]:
        back = {"socket": 7, "start": 0, "end": 1, "seconds": 1.0, "bytes": 300, "omitted": False}
        back |= {"start": interval["sum"]["start"], "end": interval["sum"]["end"], "sender": False}
        interval["streams"].append(back)
        interval["sum_bidir_reverse"] = {"start": 0, "end": 1, "bytes": 300}
    node["end"]["streams"].append(
        {
            "sender": {"socket": 7, "bytes": 650, "seconds": 2.0, "sender": False},
            "receiver": {"socket": 7, "bytes": 600, "seconds": 2.0, "sender": False},
        }
    )
    node["end"]["sum_sent_bidir_reverse"] = {"seconds": 2.0, "bytes": 650, "retransmits": 7}
    node["end"]["sum_received_bidir_reverse"] = {"seconds": 2.0, "bytes": 600}
    return node


def make_iperf3_udp(*, received: int | None) -> Node:
    """A client's UDP test; old versions tell no count of the receiver (``received`` None)."""
    node = make_iperf3(streams=1, omit=0)
    node["start"]["test_start"]["protocol"] = "UDP"
    for interval in node["intervals"]:
        (stream,) = interval["streams"]
        for key in ("retransmits", "snd_cwnd", "snd_wnd", "rtt", "rttvar", "pmtu"):
            del stream[key]
        stream["packets"] = 10
    total = {"seconds": 2.0, "bytes": 2000, "jitter_ms": 0.5, "lost_packets": 3, "packets": 20}
    node["end"] = {"streams": [{"udp": {"socket": 5, **total}}], "sum": total}
    if received is not None:
        node["end"]["sum_sent"] = {**total, "lost_packets": 0}
        node["end"]["sum_received"] = {**total, "bytes": received}
    return node


def make_json_stream(node: Node) -> str:
    """The same test as ``--json-stream`` writes it."""
    events = [{"event": "start", "data": node["start"]}]
    events += [{"event": "interval", "data": interval} for interval in node["intervals"]]
    events.append({"event": "end", "data": node["end"]})
    return "".join(json.dumps(event) + "\n" for event in events)


def make_irtt() -> Node:
    """Four round trips 10 ms apart: the second lost on the way there, the third untold whether answered."""
    trips: list[Node] = [
        {
            "seqno": n,
            "lost": "false",
            "timestamps": {"client": {"send": {"wall": 10**18 + n * 10**7, "monotonic": 5000 + n * 10**7}}},
            "delay": {"rtt": 200_000 + n, "send": 120_000, "receive": 80_000},
            "ipdv": {},
        }
        for n in range(4)
    ]
    trips[1] |= {"lost": "true_up", "delay": {}}
    trips[2] |= {"lost": True, "delay": {}}
    return {
        "version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1},
        "config": {
            "local_address": "192.0.2.1:40000",
            "remote_address": "[2001:db8::2]:2112",
            "params": {"duration": 40_000_000, "interval": 10_000_000, "length": 60},
        },
        "stats": {"start_time": "2023-11-14T22:13:20.123456789Z", "packets_sent": 4, "packets_received": 2},
        "round_trips": trips,
    }


def make_flent() -> Node:
    """Both directions from 1 s to 3 s at steps of 0.5 s, 8 Mbit/s up and 16 down, pings from 0 to 4 s.

    Upload series also hold points of ``ss``, which have no ``val``; ``results`` is interpolated nonsense.
    """
    loads = {"TCP upload BE": 8.0, "TCP download BE": 16.0}
    raw: Node = {
        name: [{"t": BEGIN_S + 1 + n / 2, "val": rate, "dur": 0.5} for n in range(1, 5)]
        for name, rate in loads.items()
    }
    raw["TCP upload BE"].insert(1, {"t": BEGIN_S + 1.7, "tcp_cwnd": 10, "tcp_rtt": 40.0})
    raw["TCP upload avg"] = [{"t": BEGIN_S + 2, "val": 999.0}]
    raw["Ping (ms) ICMP"] = [
        {"t": BEGIN_S + n / 2, "val": 90.0 if 2 <= n < 6 else 40.0, "seq": n} for n in range(8)
    ]
    raw["Ping (ms) UDP BE"] = [{"t": BEGIN_S + 1.5, "val": 500.0, "seq": 0}]
    units = {name: {"UNITS": "ms" if name.startswith("Ping") else "Mbits/s"} for name in raw}
    return {
        "version": 4,
        "metadata": {
            "NAME": "rrul",
            "TITLE": "made up",
            "T0": "2023-11-14T22:13:20.000000Z",
            "TIME": "2023-11-14T22:13:19.000000Z",
            "HOST": "192.0.2.2",
            "LOCAL_HOST": "here",
            "LENGTH": 2,
            "TOTAL_LENGTH": 4,
            "STEP_SIZE": 0.5,
            "FLENT_VERSION": "2.1.1",
            "SERIES_META": units,
        },
        "x_values": [0.0, 0.5],
        "results": {"TCP upload BE": [12_345.0, None]},
        "raw_values": raw,
    }


def make_pscheduler(*, diags: bool) -> Node:
    """A throughput run with two streams; ``diags`` holds the tool's own output besides."""
    rows = [
        [
            {"stream-id": n, "start": t, "end": t + 1, "throughput-bits": 8000.0, "throughput-bytes": 1000}
            for n in (5, 7)
        ]
        for t in range(2)
    ]
    totals = [
        {"stream-id": n, "start": 0, "end": 2.0, "throughput-bits": 8000.0, "throughput-bytes": 2000}
        for n in (5, 7)
    ]
    result: Node = {
        "succeeded": True,
        "mss": 1448,
        "requested-tcp-window-size": 65_536,
        "intervals": [{"streams": row, "summary": {}} for row in rows],
        "summary": {
            "streams": totals,
            "summary": {
                "start": 0,
                "end": 2.0,
                "throughput-bits": 16_000.0,
                "receiver-throughput-bits": 15_000.0,
                "retransmits": 4,
            },
        },
    }
    if diags:
        inner = json.dumps(make_iperf3(), indent=1)
        result["diags"] = f"/usr/bin/iperf3 -c 192.0.2.2 --json {{not json}}\n\n{inner}\n\nthat was all"
    return {
        "test": {
            "type": "throughput",
            "spec": {"source": "ps1.example", "dest": "ps2.example", "parallel": 2, "duration": "PT2S"},
        },
        "tool": {"name": "iperf3"},
        "schedule": {"start": "2023-11-14T22:13:20+00:00", "duration": "PT13S"},
        "result": result,
    }


def make_pscheduler_rtt() -> Node:
    """An RTT run of three round trips, the second unanswered."""
    return {
        "test": {
            "type": "rtt",
            "spec": {"source": "ps1.example", "dest": "ps2.example", "interval": "PT0.5S"},
        },
        "tool": {"name": "ping"},
        "schedule": {"start": "2023-11-14T22:13:20Z"},
        "result": {
            "succeeded": True,
            "roundtrips": [
                {"seq": 1, "rtt": "PT0.04S"},
                {"seq": 2, "rtt": None},
                {"seq": 3, "rtt": "PT0.042S"},
            ],
        },
    }


def _seconds(value: float) -> Node:
    return {"secs": int(value), "nanos": round(value % 1 * 1e9)}


def make_crusader() -> Node:
    """A download of two streams from 2 s to 4 s, then an upload, pings every half second from 0 s."""

    def stream(begin_s: float, step_bytes: int) -> Node:
        return {
            "data": [
                {"time": _seconds(begin_s + n / 2), "bytes": 5_000_000 + n * step_bytes} for n in range(5)
            ]
        }

    return {
        "version": 2,
        "generated_by": "Crusader 0.3.2",
        "config": {
            "stagger": _seconds(0),
            "load_duration": _seconds(2),
            "grace_duration": _seconds(2),
            "ping_interval": _seconds(0.5),
            "bandwidth_interval": _seconds(0.5),
        },
        "ipv6": False,
        "server_overload": False,
        "server_latency": _seconds(0.01),
        "start": _seconds(0),
        "duration": _seconds(9),
        "stream_groups": [
            {"download": True, "both": False, "streams": [stream(2, 1000), stream(2, 500)]},
            {"download": False, "both": False, "streams": [stream(6, 250)]},
        ],
        "pings": [
            {
                "index": n,
                "sent": _seconds(n / 2),
                "latency": None if n == 1 else {"total": _seconds(0.04), "up": _seconds(0.015)},
            }
            for n in range(10)
        ],
        "peer_pings": None,
        "test_data": [],
    }


def make_transfer() -> Node:
    """Ten megabytes in four seconds."""
    return {
        "pathlab_transfer": 1,
        "started_utc": "2026-11-22T10:00:00Z",
        "source": "a",
        "destination": "b",
        "command": "client b",
        "exit_status": 0,
        "bytes": 10_000_000,
        "seconds": 4.0,
    }


#: Every kind of file by name, as text.
TEXTS: dict[str, str] = {
    "iperf3": json.dumps(make_iperf3()),
    "iperf3-stream": make_json_stream(make_iperf3()),
    "irtt": json.dumps(make_irtt()),
    "flent": json.dumps(make_flent()),
    "pscheduler": json.dumps(make_pscheduler(diags=True)),
    "pscheduler-rtt": json.dumps(make_pscheduler_rtt()),
    "crusader": json.dumps(make_crusader()),
    "transfer": json.dumps(make_transfer()),
}


def write_sample(folder: Path, name: str) -> Path:
    """One of the samples as a file, Flent's packed."""
    data = TEXTS[name].encode("utf-8")
    path = folder / f"{name}.json"
    path.write_bytes(gzip.compress(data, mtime=0) if name == "flent" else data)
    return path


def read_node(folder: Path, node: Any) -> list[ImportedTrial]:
    """The trials of a file with this node, or with this text."""
    path = folder / "given.json"
    path.write_text(node if isinstance(node, str) else json.dumps(node), encoding="utf-8")
    return list(read_file(path).trials)


def change(node: Node, path: str, value: Any) -> Node:
    """A copy with one value replaced; ``path`` is keys and places joined by dots."""
    changed = copy.deepcopy(node)
    keys = path.split(".")
    at: Any = changed
    for key in keys[:-1]:
        at = at[int(key)] if isinstance(at, list) else at[key]
    at[int(keys[-1]) if isinstance(at, list) else keys[-1]] = value
    return changed


def pause_iperf3(late_s: float, reported: bool) -> Node:
    """The second interval begins late; or it does so because the first one was reported late."""
    node = make_iperf3(omit=0)
    for index, interval in enumerate(node["intervals"]):
        for one in (*interval["streams"], interval["sum"]):
            one["start"] += late_s * (index > 0)
            one["end"] += late_s * (index > 0 or reported)
            one["seconds"] = one["end"] - one["start"]
    return node
