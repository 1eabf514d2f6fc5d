"""A trial among unauthenticated peers on the sanitized builds: no finding, nothing on stderr."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.machines.engines import NATIVE
from tests.native.datagrams import assert_sent_agrees
from tests.native.engine import (
    LONG_NS,
    MS,
    Ending,
    Flag,
    assert_complete,
    assert_counters_agree,
    assert_cut,
    assert_refused,
    both_ready,
    go,
    receiving,
    sending,
    start,
    start_command,
)
from tests.native.messages import CARRIERS, exchange
from tests.native.peers import VERSION, build_answer, build_hello, call, read_to_end
from tests.native.test_sequence_meter import STREAMS as STREAMS_OF_DATAGRAMS
from tests.native.test_sequence_meter import check_stream, use_meter
from tests.require import require, require_sanitized_engine

pytestmark = pytest.mark.engine

STREAMS = 8
STUB = Path(__file__).resolve().parents[1] / "technologies" / "harness" / "stub_pipe.py"
EACH = pytest.mark.parametrize("sanitizer", ["asan", "tsan"])


def _disturb(port: int) -> int:
    """Unauthenticated peers of every kind, and how many were rejected."""
    for data in (b"GET / HTTP/1.1\r\n\r\n", bytes(5000), build_hello(token="ff" * 16, streams=STREAMS)):
        with call(port, data) as peer:
            assert read_to_end(peer) == b""
    with call(port, build_hello(version=VERSION + 1) + bytes(100)) as newer:
        assert read_to_end(newer) == build_answer(status=1)
    with call(port, build_hello()[:20]):
        pass  # closes within the hello
    return 4


@EACH
def test_trial_among_unauthenticated_peers(sanitizer: str) -> None:
    binary = require_sanitized_engine(sanitizer)
    with contextlib.ExitStack() as stack:
        receiver, port = stack.enter_context(
            receiving(binary, streams=STREAMS, workers=2, duration_ns=LONG_NS)
        )
        rejected = _disturb(port)
        # Incomplete handshakes are still pending when the receiver ends.
        for size in (0, 1, 55):
            stack.enter_context(call(port, build_hello(streams=STREAMS)[:size]))
        sender = stack.enter_context(sending(port, binary, streams=STREAMS, workers=2, duration_ns=LONG_NS))
        sender.expect("ready")
        receiver.expect("ready")
        sender.send_line("go")
        receiver.expect("start")
        rejected += _disturb(port)
        sender.send_line("stop")
        sent, received = sender.finish(), receiver.finish()
    for end in (sent, received):
        assert_cut(end, "")
        assert_counters_agree(end, STREAMS)
    assert received.last["rejected"] >= rejected
    assert received.last["total_bytes"] == sent.last["total_bytes"]


@EACH
@pytest.mark.parametrize("transport", CARRIERS)
@pytest.mark.parametrize("wait", ["block", "poll"])
def test_messages_that_return(sanitizer: str, transport: str, wait: str) -> None:
    """Sending and receiving are two threads of the sender, or one that spins."""
    binary = require_sanitized_engine(sanitizer)
    flags: dict[str, Flag] = {"reply": "yes", "messages_per_s": 3000, "streams": 2, "encoding": "protobuf"}
    flags |= {"batch_bytes": 500, "wait": wait, "warmup_ns": 40 * MS, "duration_ns": 120 * MS}
    assert_complete(*exchange(transport, {"wait": wait}, binary, **flags))


@EACH
def test_messages_between_two_threads(sanitizer: str) -> None:
    flags: dict[str, Flag] = {"placement": "threaded", "message_bytes": 64, "duration_ns": 100 * MS}
    with start("send", require_sanitized_engine(sanitizer), streams=2, **flags) as sender:
        ended = sender.finish()
    assert_complete(ended)
    assert ended.last["messages"]["received"] == ended.last["messages"]["sent"]


@EACH
def test_runs_that_are_cut(sanitizer: str) -> None:
    """Early ends: a limit reached by the workers, and a controller that is gone."""
    binary = require_sanitized_engine(sanitizer)
    long: dict[str, Flag] = {"duration_ns": LONG_NS}
    limited: dict[str, Flag] = {"volume_limit_bytes": 2_000_000}
    with both_ready(long, limited, binary, streams=STREAMS, workers=2) as (receiver, sender):
        sender.send_line("go")
        sent, received = sender.finish(), receiver.finish()
    assert received.last["total_bytes"] == sent.last["total_bytes"]
    for end in (sent, received):
        assert_cut(end, "")

    with receiving(binary, streams=STREAMS) as (receiver, _):
        receiver.close_stdin()
        assert_refused(receiver.finish(), 5, "accept")


def _ask(sanitizer: str, settings: dict[str, Any], *program: str) -> Ending:
    """How requests to a program behind pipes ended."""
    command = [str(require_sanitized_engine(sanitizer)), "ask", json.dumps(settings), *program]
    with start_command(command) as engine:
        engine.send_line("go")
        return engine.finish()


@EACH
def test_streams_of_programs_behind_a_pipe(sanitizer: str) -> None:
    settings = {"requests": 3000, "streams": 3, "bytes": 20_000, "interval_ns": 10 * MS}
    ending = _ask(sanitizer, settings, "cat")
    assert (ending.status, ending.stderr) == (0, "")
    assert ending.last["messages"]["received"] == [1000, 1000, 1000]


@EACH
def test_streams_that_stall_at_an_offered_rate(sanitizer: str) -> None:
    """What they recorded is read while their threads hang."""
    settings = {"rate_per_s": 3000, "streams": 3, "interval_ns": 10 * MS, "stall_ns": 1500 * MS}
    ending = _ask(sanitizer, settings, sys.executable, str(STUB), "hang")
    assert ending.status == 4, ending.stderr
    assert ending.stderr.splitlines() == ["hangs"] * 3 + [f"adapter: {ending.last['reason']}"]
    assert ending.last["messages"]["missing"] == [1, 1, 1]


@settings(max_examples=100)
@given(STREAMS_OF_DATAGRAMS)
def test_the_meter_of_datagrams(stream: dict[str, Any]) -> None:
    program = NATIVE / "build" / "asan" / "meter"
    require(program.is_file(), f"the meter at {program} (make -C native sanitize)")
    check_stream(use_meter(program), stream)


@EACH
@pytest.mark.parametrize("coalesced", ["no", "yes"])
def test_datagrams_in_both_directions(sanitizer: str, coalesced: str) -> None:
    """Four threads an end, of which two share each stream."""
    binary = require_sanitized_engine(sanitizer)
    shape: dict[str, Flag] = {"streams": 5, "direction": "both", "datagram_bytes": 300, "gso": coalesced}
    common: dict[str, Flag] = {"transport": "udp", "gro": coalesced, "workers": 2}
    with both_ready({"ecn": 2}, {"ecn": 1, **shape}, binary, **common) as ends:
        received, sent = go(*ends)
    assert_complete(received, sent)
    assert_sent_agrees(sent, received)
    assert_sent_agrees(received, sent)
