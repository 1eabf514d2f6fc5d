"""What the engine says of flags that it refuses: one line each, with its exit status and its stage."""

from collections.abc import Mapping

import pytest

from tests.golden.conftest import Say
from tests.native.engine import TOKEN, Flag, assert_refused, run

pytestmark = pytest.mark.engine

Row = Mapping[str, Flag]

TO: Row = {"address": "127.0.0.1"}
MESSAGES: Row = {**TO, "message_bytes": 64}
UDP: Row = {"method": "udp", "port": 9, "token": TOKEN}
#: What only TCP has, by the transports that refuse it.
OF_TCP: tuple[Row, ...] = ({"congestion": "reno"}, {"mss_bytes": 1000}, {"no_delay": "yes"})
PACED: Row = {"pacing": "kernel", "rate_bits_per_s": 1000}
FILE: Row = {"file": "/proc/nonexistent/x"}
LINK: Row = {"interface_a": "x", "interface_b": "y"}
WITHOUT_WINDOW = ("pipe", "unix-datagram", "shared-memory", "eventfd")

#: By subcommand; values and bounds of one flag alone: native/tests/base/test_options.c and its neighbours.
REFUSED: dict[str, list[Row]] = {
    "receive": [
        {"speed": 1},
        {"streams": 4097},
        {"interval_ns": 1000},
        {"bind": "no name"},
        *({"bind": address, "port": 0} for address in ("fe80::1%nosuch0", "fe80::1", "[fe80::1]")),
        {"control": "fifo"},
        {"token": "secret"},
        {"memory_limit_bytes": (16 << 20) - 1},
        {"port": 0, "mss_bytes": 1},
        {"port": 0, "ecn": 1},
        {"port": 0, "device": "no-such-device"},
        *({"pin": cores} for cores in ("0,", ",0", "a", "-1", "0-1", "1024", "0,,1")),
        *({"transport": name, **of} for name in ("unix", "sctp", "vsock") for of in (*OF_TCP, PACED)),
    ],
    "send": [
        {},
        {"address": "no/name"},
        {"address": "no-such-host.invalid", "port": 9},  # RFC 6761: never there
        {"address": "::1", "window_bytes": -1},
        {"address": "fe80::1"},
        {**TO, "pacing": "fair"},
        {**TO, "tcp_info": "all"},
        {**TO, "transport": "quic"},
        {**TO, "transport": "sctp", "direction": "both"},
        *({"transport": "vsock", "address": cid} for cid in ("localhost", "-1", "4294967296", "1.5")),
        *({"transport": "unix", "address": path} for path in ("@", "x" * 108, "@" + "x" * 107)),
        {**TO, "message_bytes": 3},
        {**TO, "message_bytes": 65537},
        {**TO, "reply": "yes"},
        {**TO, "transport": "pipe"},
        {**MESSAGES, "queue_bytes": 300_000},
        {**MESSAGES, "batch_bytes": 2**20, "transport": "eventfd"},
        {**MESSAGES, "direction": "both"},
        {**MESSAGES, "streams": 257},
        {**TO, "message_bytes": 65400, "transport": "udp"},
        {**MESSAGES, "batch_max_delay_ns": 5},
        {**MESSAGES, "placement": "fused", "reply": "yes"},
        {**MESSAGES, "placement": "threaded"},
        {**MESSAGES, "bytes": 100, "streams": 2},
        *({**MESSAGES, "transport": "udp", **of} for of in (*OF_TCP, {"cork": "yes"})),
        *({**MESSAGES, "transport": name, "window_bytes": 65536} for name in WITHOUT_WINDOW),
        {**MESSAGES, "encoding": "json"},
        {**MESSAGES, "wait": "sleep"},
        {**MESSAGES, "receivers": "127.0.0.1:1"},
        {**MESSAGES, "priority": 1, "nice": 19},
        *(
            {"message_bytes": 64, "receivers": listed}
            for listed in ("10.0.0.1", "::1:5000", "[::1]", "10.0.0.1:0", "[]:1", "10.0.0.1:1,")
        ),
    ],
    "ping": [
        {**TO, "method": "sctp"},
        {**TO, "method": "tcp"},
        {**TO, "method": "tcp", "port": 9, "payload_bytes": 39},
        {**TO, "payload_bytes": 15},
        {**TO, "interval_ns": 99_999},
        {**TO, "method": "udp"},
        {**TO, **UDP, "payload_bytes": 39},
        {**TO, "port": 9, "token": "xyz"},
        {**TO, **UDP, "interval_ns": 100_000, "timeout_ns": 3_600_000_000_000},
        {"address": "no/name"},
        {"address": "fe80::1"},
        {**TO, "bind": "fe80::1"},
    ],
    "echo": [{"bind": address, "port": 0} for address in ("fe80::1%nosuch0", "fe80::1")],
    "load": [
        {},
        {"disk": "/tmp", "write_bytes": 5000},
        {"disk": "/tmp", "write_bytes": 3 * 4096},
        {"cpu": 1, "nice": 0},
        {"disk": "/proc/nonexistent"},
        {"disk": "/dev/shm"},
    ],
    "capture": [
        FILE,
        *({**FILE, "port": ports} for ports in ("0", "1,2,3,4,5,6,7,8,9", "80,")),
        *({**FILE, "address": of} for of in ("10.0.0.256", ",".join(["10.0.0.1"] * 9))),
        {**FILE, "protocol": "icmp"},
        *({**FILE, "port": 80, "ring_bytes": size} for size in (131072, 300_000)),
        {**FILE, "port": 80, "snap_bytes": 20},
        {**FILE, "port": 80, "descriptor": 7},
        *({**FILE, "port": 80, "interface": name} for name in (",", "no-such-interface")),
    ],
    "emulate": [
        {**LINK, "forward": "delay_ns=3ms"},
        {**LINK, "reverse": "speed=1"},
        {**LINK, "backend": "netem"},
        {**LINK, "interface_b": "x"},
        {"interface_a": "x"},
        {**LINK, "interface_a": "a/b"},
    ],
}


@pytest.mark.parametrize("subcommand", REFUSED)
def test_flags_of(subcommand: str, say: Say) -> None:
    for flags in REFUSED[subcommand]:
        ending = run(subcommand, **flags)
        error = ending.last
        assert_refused(ending, ending.status, error["stage"], errno_name=error["errno_name"])
        say(" ".join([f"{name}={value}" for name, value in flags.items()]))
        say(f"  {ending.status} {error['stage']}: {error['text']}")
