"""The engine's protocols against native/PROTOCOL.md: the hello byte by byte, and every record's names.

The golden bytes were written by hand from the document; they change only with the protocol's version.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import pytest

from pathlab._version import VERSION
from tests.native.engine import MS, TOKEN, Ending, Flag, carry, receiving, run, sending, start
from tests.native.messages import exchange
from tests.native.peers import answering, call, listening, read_exactly, read_to_end
from tests.patience import PATIENCE_S
from tests.require import require

pytestmark = pytest.mark.engine

DOCUMENT = (Path(__file__).resolve().parents[2] / "native" / "PROTOCOL.md").read_text(encoding="utf-8")

# token 00112233445566778899aabbccddeeff; warm-up 60 ms; duration 250 ms; by time; no messages
GOLDEN_NS = 250 * MS  # the steady window of a golden hello
_TIMES = "00112233445566778899aabbccddeeff 0000000003938700 000000000ee6b280 0000000000000000"
#                    datagram flags pacing rate
_NO_DATAGRAMS = "       00000000 0000  0000   0000000000000000"
_SOME_DATAGRAMS = "     000005c0 0003  0002   00000000000f4240"
#                 bytes   encoding carrier queue
_REST = f"{_TIMES} 00000000 0000     0000    00000000 {_NO_DATAGRAMS}"
_MESSAGES = f"{_TIMES} 00000100 0001 0001    00040000 {_NO_DATAGRAMS}"
_DATAGRAMS = f"{_TIMES} 00000000 0000 0001   00000000 {_SOME_DATAGRAMS}"
#                                magic    version flags stream   streams
HELLO_0_OF_2 = bytes.fromhex(f"504c4443 0004    0001  00000000 00000002 {_REST}")
HELLO_1_OF_2 = bytes.fromhex(f"504c4443 0004    0001  00000001 00000002 {_REST}")
#: As older ends send it, which have no datagrams.
HELLO_OF_VERSION_3 = bytes.fromhex(f"504c4443 0003 0001 00000000 00000002 {_REST}")[:68]
HELLO_OF_VERSION_5 = bytes.fromhex(f"504c4443 0005 0001 00000000 00000002 {_REST}")
HELLO_OF_MESSAGES = bytes.fromhex(f"504c4443 0004 0007  00000000 00000001 {_MESSAGES}")
HELLO_OF_DATAGRAMS = bytes.fromhex(f"504c4443 0004 0003 00000000 00000001 {_DATAGRAMS}")
#                          magic    version status stream
ANSWER_0 = bytes.fromhex("504c4443 0004    0000   00000000")
ANSWER_1 = bytes.fromhex("504c4443 0004    0000   00000001")
WRONG_VERSION = bytes.fromhex("504c4443 0004 0001 00000000")

# Of probes, keyed with the same token; digests by `openssl mac … SIPHASH`.
#                               magic   version kind size  cookie           sequence         held
PROBE = bytes.fromhex("504c5042 02      01   0028 0102030405060708 1112131415161718 0000000000000000") + (
    bytes.fromhex("3ea92483b819a934")  # digest
)

Names = dict[str, Any]

TCP_INFO_NAMES = (
    "rtt_us rttvar_us min_rtt_us snd_cwnd_segments snd_ssthresh_segments snd_mss_bytes unacked_segments "
    "lost_segments total_retrans_segments reordering_segments delivery_rate_bytes_per_s "
    "delivery_rate_app_limited busy_time_us rwnd_limited_us sndbuf_limited_us bytes_sent bytes_acked "
    "bytes_retrans bytes_received delivered_segments rcv_space_bytes snd_wnd_bytes pmtu_bytes "
    "max_pacing_bytes_per_s reord_seen_events dsack_dups_segments rcv_ooopack_segments"
)
TCP_INFO: Names = dict.fromkeys(TCP_INFO_NAMES.split())
WINDOW: Names = dict.fromkeys(["requested_bytes", "sndbuf_bytes", "rcvbuf_bytes"])
SOCKET: Names = dict.fromkeys(
    [
        *("stream", "sndbuf_bytes", "rcvbuf_bytes", "congestion", "mss_bytes", "traffic_class"),
        *("max_pacing_bytes_per_s", "local_port", "remote_port"),
    ]
)
CPU: Names = dict.fromkeys(["user_ns", "system_ns", "waiting_ns", "spun_ns", "wake_ups", "system_calls"])
TRANSFER: Names = dict.fromkeys(["requested", "send", "receive", "reason"])
PACING: Names = dict.fromkeys(["requested_bits_per_s", "stream_bits_per_s", "by"])
READY: Names = {
    **dict.fromkeys(["type", "streams", "workers", "cores", "transport", "direction", "warmup_ns"]),
    **dict.fromkeys(["duration_ns", "bytes", "write_bytes", "read_bytes", "congestion"]),
    "transfer": TRANSFER,
    "pacing": PACING,
    "window": WINDOW,
    "sockets": SOCKET,
}
PHASE: Names = dict.fromkeys(["start_ns", "end_ns", "bytes"])
START: Names = dict.fromkeys(["type", "monotonic_ns", "realtime_ns"])
HELLO: Names = dict.fromkeys(
    ["type", "program", "version", "protocol", "record", "control", "subcommand", "pid"]
)
LOAD: Names = {
    **dict.fromkeys(["type", "start_ns", "end_ns", "cpu_ns"]),
    "disk": {
        **dict.fromkeys(["written_bytes", "read_bytes", "syncs"]),
        "sync_ns": dict.fromkeys(["median", "p99", "max"]),
    },
}
ERROR: Names = dict.fromkeys(["type", "stage", "errno", "errno_name", "text"])
INTERVAL: Names = {
    **dict.fromkeys(["type", "index", "phase", "start_ns", "end_ns", "bytes"]),
    "tcp_info": TCP_INFO,
    "workers": CPU,
}
RESULT: Names = {
    **dict.fromkeys(["type", "complete", "reason", "total_bytes", "reset_streams"]),
    "transfer": TRANSFER,
    "phases": {"warmup": PHASE, "steady": PHASE, "drain": PHASE},
    "workers": CPU,
    "tcp_info": TCP_INFO,
}
RECORDS: dict[str, dict[str, Names]] = {
    "receive": {
        "hello": HELLO,
        "listening": {"type": None, "address": None, "port": None, "window": WINDOW},
        "ready": {**READY, "rejected": None},
        "start": START,
        "interval": INTERVAL,
        "result": {**RESULT, "rejected": None},
    },
    "send": {
        "hello": HELLO,
        "ready": {**READY, "unsent_limited": None},
        "start": START,
        "interval": INTERVAL,
        "result": {
            **RESULT,
            **dict.fromkeys(["confirmed_bytes", "undelivered_bytes", "effective_window_bytes"]),
        },
    },
    "echo": {
        "hello": HELLO,
        "listening": dict.fromkeys(["type", "address", "port", "transport"]),
        "result": dict.fromkeys(["type", "complete", "reason", "echoed", "refused", "other_version"]),
    },
    "load": {
        "hello": HELLO,
        "start": START,
        "ready": {
            **dict.fromkeys(["type", "cpu_threads", "nice"]),
            "disk": dict.fromkeys(["file_bytes", "write_bytes", "reads"]),
        },
        "load": LOAD,
        "result": {**LOAD, **dict.fromkeys(["complete", "reason", "quiet", "quiet_after_ns"])},
    },
    "capture": {
        "hello": HELLO,
        "ready": dict.fromkeys(
            ["type", "interfaces", "snap_bytes", "ring_bytes", "limit_bytes", "monotonic_ns", "realtime_ns"]
        ),
        "result": {
            **dict.fromkeys(["type", "complete", "reason", "captured_packets", "dropped_packets"]),
            **dict.fromkeys(["file_bytes", "cpu_ns"]),
        },
    },
    "calibrate": {
        "hello": HELLO,
        "clock": dict.fromkeys(["type", "clock", "resolution_ns", "step_ns", "read_ns"]),
        "timer": {
            **dict.fromkeys(["type", "interval_ns", "wake_ups"]),
            "late_ns": {"median": None, "p99": None, "max": None},
        },
        "loopback": {
            **dict.fromkeys(["type", "streams", "transfer", "congestion", "sender_workers"]),
            **dict.fromkeys(["receiver_workers", "bytes", "length_ns", "bits_per_s", "cpu_s_per_gb"]),
            "tcp_info_read_ns": None,
        },
        "result": dict.fromkeys(["type", "complete"]),
    },
    "ping": {
        "hello": HELLO,
        "start": dict.fromkeys(
            ["type", "method", "stamps", "address", "payload_bytes", "monotonic_ns", "realtime_ns"]
        ),
        "probe": dict.fromkeys(
            ["type", "sequence", "intended_ns", "sent_ns", "rtt_ns", "stamps", "held_ns", "reordered"]
        ),
        "result": {
            **dict.fromkeys(["type", "complete", "reason", "method", "sent", "received", "duplicates"]),
            **dict.fromkeys(["late", "reordered", "send_errors"]),
            "send_error_ns": {"median": None, "p99": None, "max": None},
        },
    },
}


def _name(value: object) -> Names | None:
    """The names in a record, nested; a list of objects stands for one of them, and all must agree."""
    if isinstance(value, dict):
        return {key: _name(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        names = [_name(inner) for inner in value]
        assert all(other == names[0] for other in names)
        return names[0]
    return None


def _section(subcommand: str) -> str:
    """The document's section on one subcommand or on intervals."""
    sections = DOCUMENT.split("\n## ")
    return next(text for text in sections if f"`{subcommand}`" in text.splitlines()[0])


def _documented(section: str, begin: str) -> set[str]:
    """The outermost names of the sample in the document that begins like this."""
    depth = 0
    outermost = ""
    for character in section[section.index(begin) :]:
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(character, 0)
        if depth == 0:
            return set(re.findall(r'"(\w+)":', outermost))
        if depth == 1:
            outermost += character
    raise AssertionError(f"the sample {begin} has no end")


def _documented_record(section: str, kind: str) -> set[str]:
    return _documented(section, f'{{"type":"{kind}"')


def _assert_records_are_named(ending: Ending, subcommand: str) -> None:
    expected = RECORDS[subcommand]
    assert {record["type"] for record in ending.records} == set(expected)
    for record in ending.records:
        assert _name(record) == expected[record["type"]], record


def test_golden_hello_is_admitted_with_the_golden_answer() -> None:
    with (
        receiving(streams=2) as (receiver, port),
        call(port, HELLO_1_OF_2) as second,
        call(port, HELLO_0_OF_2) as first,
    ):
        assert read_exactly(second, 12) == ANSWER_1
        assert read_exactly(first, 12) == ANSWER_0
        assert receiver.expect("ready")["streams"] == 2


@pytest.mark.parametrize("hello", [HELLO_OF_VERSION_3, HELLO_OF_VERSION_5], ids=["older", "newer"])
def test_golden_answer_to_another_version(hello: bytes) -> None:
    with receiving(streams=2) as (_, port), call(port, hello) as other:
        assert read_to_end(other) == WRONG_VERSION


def test_sender_sends_the_golden_hello_and_accepts_the_golden_answer() -> None:
    with (
        listening() as (listener, port),
        sending(port, streams=2, token=TOKEN, duration_ns=GOLDEN_NS) as sender,
        answering(listener, ANSWER_0) as (_, first),
        answering(listener, ANSWER_1) as (_, second),
    ):
        assert (first, second) == (HELLO_0_OF_2, HELLO_1_OF_2)
        assert sender.expect("ready")["streams"] == 2


def test_sender_of_messages_sends_the_golden_hello() -> None:
    flags: dict[str, Flag] = {
        "transport": "udp",
        "message_bytes": 256,
        "encoding": "protobuf",
        "reply": "yes",
    }
    with (
        listening() as (listener, port),
        sending(port, token=TOKEN, duration_ns=GOLDEN_NS, queue_bytes=2**18, **flags),
        listener.accept()[0] as connection,
    ):
        assert read_exactly(connection, 84) == HELLO_OF_MESSAGES


def test_sender_of_datagrams_sends_the_golden_hello() -> None:
    flags: dict[str, Flag] = {
        "transport": "udp",
        "direction": "both",
        "datagram_bytes": 1472,
        "gso": "yes",
        "ecn": 2,
        "pacing": "user",
        "rate_bits_per_s": 10**6,
    }
    with (
        listening() as (listener, port),
        sending(port, token=TOKEN, duration_ns=GOLDEN_NS, **flags),
        listener.accept()[0] as connection,
    ):
        assert read_exactly(connection, 84) == HELLO_OF_DATAGRAMS


def test_golden_probe_gets_a_reply_that_the_document_describes() -> None:
    """All of it but direction, time held and digest is the probe's own."""
    with start("echo", bind="127.0.0.1", port=0, token=TOKEN, control="stdin") as echo:
        port = echo.wait_for("listening")["port"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.connect(("127.0.0.1", port))
            peer.settimeout(PATIENCE_S)
            peer.send(PROBE)
            reply = peer.recv(65536)
    assert len(reply) == len(PROBE) == 40
    assert reply[:5] + reply[6:24] == PROBE[:5] + PROBE[6:24]
    assert reply[5] == 2
    stated = re.search(r"version (\d+) of the\s+probes", _section("echo"))
    assert stated is not None
    assert int(stated[1]) == reply[4]


def test_records_of_a_trial_have_the_documented_names() -> None:
    received, sent = carry(streams=2, window_bytes=65536)
    assert received.status == sent.status == 0
    _assert_records_are_named(received, "receive")
    _assert_records_are_named(sent, "send")


def test_records_of_messages_have_the_documented_names() -> None:
    section = _section("send --message-bytes")
    accepted, connected = exchange(reply="yes", messages_per_s=1000)
    settings, stated = connected.of("ready")[0]["messages"], accepted.of("ready")[0]["messages"]
    assert set(settings) == _documented(section, '{"bytes":')
    assert set(stated) == set(list(settings)[: len(stated)])
    counts = connected.last["messages"]
    assert set(counts) == _documented(section, '{"sent":')
    assert set(accepted.last["messages"]) == set(counts) - {"send_error_ns", "round_trip_ns"}
    assert set(counts["send_error_ns"]) == _documented(section, '{"median":')
    trips = connected.of("round_trips")[0]
    assert set(trips) == _documented_record(section, "round_trips")
    assert set(trips["round_trip_ns"]) == _documented(section, '{"count":') == set(counts["round_trip_ns"])
    for end in (accepted, connected):
        assert {"messages", "sent_bytes"} == set(end.of("interval")[0]) - set(INTERVAL)
        assert {"messages", "sent_bytes"} == set(end.last["phases"]["steady"]) - set(PHASE)


def test_records_of_many_probes_have_the_documented_names() -> None:
    with start("echo", bind="127.0.0.1", port=0, token=TOKEN, control="stdin") as echo:
        port = echo.wait_for("listening")["port"]
        to: dict[str, Flag] = {"address": "127.0.0.1", "method": "udp", "port": port, "token": TOKEN}
        probed = run("ping", count=20, interval_ns=MS, histogram_interval_ns=10 * MS, **to)
    assert not probed.of("probe")
    first, second = probed.of("round_trips")
    assert set(first) == _documented_record(_section("ping"), "round_trips")
    assert first["sent"] + second["sent"] == 20


def test_records_of_probes_have_the_documented_names() -> None:
    with start("echo", bind="127.0.0.1", port=0, token=TOKEN, control="stdin") as echo:
        echo.expect("hello")
        port = echo.expect("listening")["port"]
        probed = run(
            "ping", address="127.0.0.1", method="udp", port=port, token=TOKEN, count=3, interval_ns=MS
        )
        echo.send_line("stop")
        echoed = echo.finish()
    assert probed.status == echoed.status == 0
    _assert_records_are_named(probed, "ping")
    _assert_records_are_named(echoed, "echo")


def test_records_of_a_calibration_have_the_documented_names() -> None:
    ended = run("calibrate", streams="1,3", transfer="both", duration_ns=20 * MS, warmup_ns=0, timer_count=20)
    assert (ended.status, ended.stderr) == (0, "")
    _assert_records_are_named(ended, "calibrate")
    measured = [(record["streams"], record["transfer"]) for record in ended.of("loopback")]
    assert measured == [(1, "copy"), (1, "zero-copy"), (3, "copy"), (3, "zero-copy")]
    assert all(record["bits_per_s"] > 0 for record in ended.of("loopback"))
    ended = run("calibrate", streams="2", transfer="copy", duration_ns=20 * MS, warmup_ns=0, timer_count=20)
    assert [(record["streams"], record["transfer"]) for record in ended.of("loopback")] == [(2, "copy")]


def test_records_of_a_load_have_the_documented_names() -> None:
    ended = run("load", cpu=2, disk=str(Path(__file__).parent), file_bytes=1 << 20, time_limit_ns=20 * MS)
    assert (ended.status, ended.stderr) == (0, "")
    _assert_records_are_named(ended, "load")


def test_records_of_a_capture_have_the_documented_names(tmp_path: Path) -> None:
    ended = run("capture", file=str(tmp_path / "x"), port=5210, keep_free_bytes=0, time_limit_ns=20 * MS)
    require(ended.status != 3, f"packet sockets: {ended.stderr}")
    assert (ended.status, ended.stderr) == (0, "")
    _assert_records_are_named(ended, "capture")


def test_error_has_the_documented_names() -> None:
    failed = run("receive", bind="127.0.0.1", port=0, token=TOKEN, congestion="no-such")
    assert _name(failed.last) == ERROR
    assert _documented_record(DOCUMENT, "error") == set(ERROR)


def test_hello_states_what_the_document_says() -> None:
    failed = run("receive", bind="127.0.0.1", port=0, token=TOKEN, congestion="no-such")
    hello = failed.records[0]
    assert _documented_record(DOCUMENT, "hello") == set(hello) == set(HELLO)
    stated = dict(re.findall(r"`(protocol|record|control)`,\s+now (\d+)", DOCUMENT))
    assert {name: int(version) for name, version in stated.items()} == {
        "protocol": 4,
        "record": 1,
        "control": 2,
    }
    assert {name: hello[name] for name in stated} == {"protocol": 4, "record": 1, "control": 2}
    assert hello["version"] == VERSION


@pytest.mark.parametrize(
    ("subcommand", "kind"),
    [
        ("receive", "listening"),
        ("receive", "start"),
        ("ping", "start"),
        ("ping", "probe"),
        ("ping", "result"),
        ("echo", "listening"),
        ("echo", "result"),
        ("load", "ready"),
        ("load", "load"),
        ("capture", "ready"),
        ("capture", "result"),
        ("calibrate", "clock"),
        ("calibrate", "timer"),
        ("calibrate", "loopback"),
        ("calibrate", "result"),
    ],
)
def test_names_pinned_here_are_those_of_the_document(subcommand: str, kind: str) -> None:
    assert _documented_record(_section(subcommand), kind) == set(RECORDS[subcommand][kind])


@pytest.mark.parametrize("kind", ["ready", "result"])
def test_one_sample_in_the_document_stands_for_both_ends(kind: str) -> None:
    both = set(RECORDS["receive"][kind]) | set(RECORDS["send"][kind])
    assert _documented_record(_section("receive"), kind) == both


def test_the_sample_of_an_interval_has_what_is_asked_for_as_well() -> None:
    assert _documented_record(_section("interval"), "interval") == {*INTERVAL, "tcp_info_raw", "subflows"}


def test_inner_names_pinned_here_are_those_of_the_document() -> None:
    receive = _section("receive")
    listed = re.search(r"with the unit added:\n`([^`]+)`", DOCUMENT)
    assert listed is not None
    assert listed[1].split() == list(TCP_INFO)
    interval = _section("interval")
    for key, names, section in (
        ("window", WINDOW, receive),
        ("sockets", SOCKET, receive),
        ("pacing", PACING, receive),
        ("workers", CPU, interval),
    ):
        sample = re.search(rf'"{key}":\[?\{{([^}}]*)\}}', section)
        assert sample is not None
        assert re.findall(r'"(\w+)":', sample[1]) == list(names)
    phase = re.search(r"each phase `\{([^}]*)\}`", receive)
    assert phase is not None
    assert re.findall(r'"(\w+)":', phase[1]) == list(PHASE)
