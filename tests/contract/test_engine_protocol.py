"""The engine's protocols against native/PROTOCOL.md: the hello byte by byte, and every record's names.

The golden bytes were written by hand from the document; they change only with the protocol's version.
"""

import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab._version import VERSION
from tests.native.engine import MS, TOKEN, Ending, Engine, Flag, carry, receiving, run, sending, start
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


def find_section(words: str) -> str:
    """The document's section with these words in its heading."""
    return next(text for text in DOCUMENT.split("\n## ") if f"`{words}`" in text.splitlines()[0])


#: Inner names that samples elide, as the document shows them elsewhere.
ELIDED: dict[str, Names] = {}


def read_sample(text: str, begin: str) -> Names:
    """The names of the first object that begins like this, nested; values have none."""
    open_objects: list[Names] = []
    latest = ""
    for name, list_or_object, brace in re.findall(r'"(\w+)":(?=([\[{])?)|([{}])', text[text.index(begin) :]):
        if name:
            open_objects[-1][name] = dict(ELIDED.get(name, {})) if list_or_object else {}
            latest = name
        elif brace == "{":
            open_objects.append(open_objects[-1][latest] if open_objects else {})
        elif len(open_objects) > 1:
            open_objects.pop()
        else:
            return open_objects[0]
    raise AssertionError(f"the sample {begin} has no end")


RECEIVE, INTERVAL, LOAD = find_section("receive"), find_section("interval"), find_section("load")
PHASE = read_sample(RECEIVE.partition("each phase")[2], "{")
ELIDED |= {
    **dict.fromkeys(["warmup", "steady", "drain"], PHASE),
    "window": read_sample(RECEIVE, '{"requested_bytes":'),
    "transfer": read_sample(RECEIVE, '{"requested":'),
    "workers": read_sample(INTERVAL, '{"user_ns":'),
    "tcp_info": {name: {} for name in re.findall(r"with the unit added:\n`([^`]+)`", INTERVAL)[0].split()},
}
#: One sample stands for both ends: what only the other one states.
OTHERS = {
    "receive": {"unsent_limited", "confirmed_bytes", "undelivered_bytes", "effective_window_bytes"},
    "send": {"rejected"},
}
ASKED_FOR = {"tcp_info_raw", "subflows"}
#: Only in the text of the result of a load, which has those of its `load` records.
OF_A_LOAD = {**read_sample(LOAD, '{"type":"load"'), "quiet": {}, "quiet_after_ns": {}}


def read_record(subcommand: str, kind: str) -> Names:
    """The names of a record in the document, nested."""
    begin = f'{{"type":"{kind}"'
    sections = (find_section(subcommand), INTERVAL, RECEIVE, DOCUMENT)
    sample = read_sample(next(text for text in sections if begin in text), begin)
    if (subcommand, kind) == ("load", "result"):
        sample |= OF_A_LOAD
    unstated = OTHERS.get(subcommand, set()) | ASKED_FOR
    return {name: inner for name, inner in sample.items() if name not in unstated}


def list_names(value: object) -> Names:
    """The names in a record, nested; a list of objects stands for one of them, and all must agree."""
    if isinstance(value, dict):
        return {key: list_names(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        names = [list_names(inner) for inner in value]
        assert all(other == names[0] for other in names)
        return names[0]
    return {}


def check_records(ending: Ending, subcommand: str, kinds: str) -> None:
    """Records of these types, and no others; each has the names that the document shows."""
    assert {record["type"] for record in ending.records} == set(kinds.split())
    for record in ending.records:
        assert list_names(record) == read_record(subcommand, record["type"]), record


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


MESSAGES: dict[str, Flag] = {
    **{"message_bytes": 256, "encoding": "protobuf", "reply": "yes", "queue_bytes": 2**18}
}
DATAGRAMS: dict[str, Flag] = {
    **{"direction": "both", "datagram_bytes": 1472, "gso": "yes", "ecn": 2},
    **{"pacing": "user", "rate_bits_per_s": 10**6},
}


@pytest.mark.parametrize(("flags", "hello"), [(MESSAGES, HELLO_OF_MESSAGES), (DATAGRAMS, HELLO_OF_DATAGRAMS)])
def test_sender_by_udp_sends_the_golden_hello(flags: dict[str, Flag], hello: bytes) -> None:
    with (
        listening() as (listener, port),
        sending(port, token=TOKEN, duration_ns=GOLDEN_NS, transport="udp", **flags),
        listener.accept()[0] as connection,
    ):
        assert read_exactly(connection, 84) == hello


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
    stated = re.search(r"version (\d+) of the\s+probes", find_section("echo"))
    assert int(stated[1]) == reply[4]


def test_records_of_a_trial_have_the_documented_names() -> None:
    received, sent = carry(streams=2, window_bytes=65536)
    assert received.status == sent.status == 0
    check_records(received, "receive", "hello listening ready start interval result")
    check_records(sent, "send", "hello ready start interval result")


def test_records_of_messages_have_the_documented_names() -> None:
    section = find_section("send --message-bytes")
    accepted, connected = exchange(reply="yes", messages_per_s=1000)
    settings, stated = connected.of("ready")[0]["messages"], accepted.of("ready")[0]["messages"]
    assert list_names(settings) == read_sample(section, '{"bytes":')
    assert set(stated) == set(list(settings)[: len(stated)])
    counts = connected.last["messages"]
    trips = read_sample(section, '{"type":"round_trips"')
    assert list_names(counts) == read_sample(section, '{"sent":') | {"round_trip_ns": trips["round_trip_ns"]}
    assert set(accepted.last["messages"]) == set(counts) - {"send_error_ns", "round_trip_ns"}
    assert list_names(connected.of("round_trips")[0]) == trips
    for end in (accepted, connected):
        assert {"messages", "sent_bytes"} == set(end.of("interval")[0]) - set(read_record("send", "interval"))
        assert {"messages", "sent_bytes"} == set(end.last["phases"]["steady"]) - set(PHASE)


@contextlib.contextmanager
def echoing() -> Iterator[tuple[Engine, dict[str, Flag]]]:
    """An echo, and the flags of probes to it."""
    with start("echo", bind="127.0.0.1", port=0, token=TOKEN, control="stdin") as echo:
        port = echo.wait_for("listening")["port"]
        yield echo, {"address": "127.0.0.1", "method": "udp", "port": port, "token": TOKEN}


def test_records_of_many_probes_have_the_documented_names() -> None:
    with echoing() as (_, to):
        probed = run("ping", count=20, interval_ns=MS, histogram_interval_ns=10 * MS, **to)
    first, second = probed.of("round_trips")
    check_records(probed, "ping", "hello start round_trips result")
    assert first["sent"] + second["sent"] == 20


def test_records_of_probes_have_the_documented_names() -> None:
    with echoing() as (echo, to):
        probed = run("ping", count=3, interval_ns=MS, **to)
        echo.send_line("stop")
        echoed = echo.finish()
    assert probed.status == echoed.status == 0
    check_records(probed, "ping", "hello start probe result")
    check_records(echoed, "echo", "hello listening result")


def test_records_of_a_calibration_have_the_documented_names() -> None:
    short: dict[str, Flag] = {"duration_ns": 20 * MS, "warmup_ns": 0, "timer_count": 20}
    ended = run("calibrate", streams="1,3", transfer="both", **short)
    assert (ended.status, ended.stderr) == (0, "")
    check_records(ended, "calibrate", "hello clock timer loopback result")
    measured = [(record["streams"], record["transfer"]) for record in ended.of("loopback")]
    assert measured == [(1, "copy"), (1, "zero-copy"), (3, "copy"), (3, "zero-copy")]
    assert all(record["bits_per_s"] > 0 for record in ended.of("loopback"))
    ended = run("calibrate", streams="2", transfer="copy", **short)
    assert [(record["streams"], record["transfer"]) for record in ended.of("loopback")] == [(2, "copy")]


def test_records_of_a_load_have_the_documented_names() -> None:
    ended = run("load", cpu=2, disk=str(Path(__file__).parent), file_bytes=1 << 20, time_limit_ns=20 * MS)
    assert (ended.status, ended.stderr) == (0, "")
    check_records(ended, "load", "hello start ready load result")


def test_records_of_a_capture_have_the_documented_names(tmp_path: Path) -> None:
    ended = run("capture", file=str(tmp_path / "x"), port=5210, keep_free_bytes=0, time_limit_ns=20 * MS)
    require(ended.status != 3, f"packet sockets: {ended.stderr}")
    assert (ended.status, ended.stderr) == (0, "")
    check_records(ended, "capture", "hello ready result")


def test_hello_and_error_state_what_the_document_says() -> None:
    failed = run("receive", bind="127.0.0.1", port=0, token=TOKEN, congestion="no-such")
    check_records(failed, "receive", "hello error")
    stated = dict(re.findall(r"`(protocol|record|control)`,\s+now (\d+)", DOCUMENT))
    assert stated == {"protocol": "4", "record": "1", "control": "2"}
    hello = failed.records[0]
    assert {name: str(hello[name]) for name in stated} == stated
    assert hello["version"] == VERSION


def test_an_interval_has_what_is_asked_for_as_well() -> None:
    names = set(read_sample(INTERVAL, '{"type":"interval"'))
    assert names == set(read_record("send", "interval")) | ASKED_FOR
