"""`ping` and `echo`: every probe is reported as answered or lost, and only its own answer counts."""

import os
import re
import select
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pathlab.lab.namespaces import Namespaces
from tests.native.engine import MS, TOKEN, Ending, Engine, Flag, run, start
from tests.native.pinging import (
    LOOPBACKS,
    check_all_answered,
    check_probe_counts,
    echoing,
    probed,
    require_address,
    require_raw_sockets,
    stop,
    udp_flags,
)
from tests.native.probes import REPLY, Head, build_probe, parse_probe, reply_to
from tests.patience import PATIENCE_S
from tests.require import require, require_engine, require_namespaces

pytestmark = pytest.mark.engine

FIRST_ONLY_NS = 3_600_000 * MS  # an hour to the second probe, so only one is sent
RAW: dict[str, Flag] = {"method": "icmp-raw", "interval_ns": 2 * MS, "timeout_ns": 60_000 * MS}


@pytest.fixture
def open_engine() -> Iterator[str]:
    """A copy of the engine that every user may run, wherever the checkout is."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        engine = Path(folder) / "pathlab-engine"
        shutil.copy(require_engine(), engine)
        engine.chmod(0o755)
        yield str(engine)


@pytest.mark.parametrize("address", LOOPBACKS)
def test_raw_icmp_over_loopback_with_kernel_stamps(address: str) -> None:
    require_raw_sockets()
    require_address(address)
    ending = run("ping", **RAW, address=address, count=50)
    check_all_answered(ending, 50)
    (begin,) = ending.of("start")
    assert (begin["method"], begin["stamps"], begin["payload_bytes"]) == ("icmp-raw", "kernel", 56)
    assert begin["address"] == address
    assert any(probe["stamps"] == "kernel" for probe in ending.of("probe"))
    assert all(probe["rtt_ns"] > 0 for probe in ending.of("probe"))
    assert [probe["intended_ns"] for probe in ending.of("probe")] == [2 * MS * n for n in range(50)]


def test_raw_probes_of_two_runs_do_not_mix() -> None:
    require_raw_sockets()  # a raw socket receives the answers to all probes
    flags: dict[str, Flag] = {**RAW, "address": "127.0.0.1", "count": 50}
    with start("ping", **flags) as first, start("ping", **flags) as second:
        check_all_answered(first.finish(), 50)
        check_all_answered(second.finish(), 50)


def test_a_thousand_a_second_keep_their_time() -> None:
    """No error adds up: at some time in the second half a probe is sent before the next one is due."""
    require_raw_sockets()
    ending = run("ping", **{**RAW, "interval_ns": MS}, address="127.0.0.1", count=500)
    check_all_answered(ending, 500)
    errors_ns = [probe["sent_ns"] - probe["intended_ns"] for probe in ending.of("probe")]
    assert min(errors_ns[250:]) < MS
    errors_ns.sort()
    stated_ns = ending.last["send_error_ns"]
    assert stated_ns["max"] == errors_ns[-1]
    # The median comes from a histogram and is at most 0.8 % high.
    assert errors_ns[249] <= stated_ns["median"] <= 1.032 * errors_ns[249]


@pytest.mark.netns
def test_datagram_icmp_where_the_group_is_admitted() -> None:
    require_namespaces()
    with Namespaces() as lab:
        lab.add_node("a")
        lab.set_sysctl("a", "net.ipv4.ping_group_range", f"{os.getegid()} {os.getegid()}")
        words = ["ping", "--count", "3", "--interval-ns", str(2 * MS), "--timeout-ns", str(60_000 * MS)]
        words.append("--address")
        automatic = lab.run("a", require_engine(), *words, "127.0.0.1")
        explicit = lab.run("a", require_engine(), *words, "127.0.0.1", "--method", "icmp-datagram")
    for output in (automatic, explicit):  # the first by `auto`
        assert '"method":"icmp-datagram"' in output
        assert '"received":3' in output


@contextmanager
def echoing_in(lab: Namespaces, node: str, port: int) -> Iterator[None]:
    """An echo inside a node of the lab, until the lab ends."""
    output, lab_output = os.pipe()
    command = [require_engine(), "echo", "--bind", "127.0.0.1", "--port", str(port), "--token", TOKEN]
    with Path(os.devnull).open("r+b") as nothing:
        lab.spawn(node, command, (nothing.fileno(), lab_output, nothing.fileno()))
    os.close(lab_output)
    try:
        automatic = b""
        while b'"listening"' not in automatic:
            assert select.select([output], [], [], PATIENCE_S)[0], f"no echo, only {automatic!r}"
            piece = os.read(output, 65536)
            assert piece, f"the echo ended after {automatic!r}"
            automatic += piece
        yield
    finally:
        os.close(output)


@pytest.mark.netns
def test_without_permission_udp_is_used_and_without_an_echo_the_next_step_is_named(open_engine: str) -> None:
    require(os.geteuid() == 0, "root, to become another user")
    require_namespaces()
    drop = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all"
    command = f"{drop} {open_engine} ping --address 127.0.0.1 --count 2 --interval-ns {2 * MS}"
    command += f" --timeout-ns {60_000 * MS}"
    with Namespaces() as lab:
        require(lab.privilege == "root", "namespaces made by root, where another user can be taken on")
        lab.add_node("a")
        lab.set_sysctl("a", "net.ipv4.ping_group_range", "1 0")  # nobody
        with echoing_in(lab, "a", 7007):
            done = lab.run("a", "sh", "-c", f"{command} --port 7007 --token {TOKEN}")
        refused = lab.run("a", "sh", "-c", f"{command} 2>&1 >/dev/null; echo status $?")
        raw = lab.run("a", "sh", "-c", f"{command} --method icmp-raw 2>&1 >/dev/null; echo status $?")
    assert '"method":"udp"' in done
    assert '"received":2' in done
    assert "give --port (and --token) of an echo" in refused
    assert refused.splitlines()[1:] == ["status 3"]
    assert "icmp-raw probes are not possible here: Operation not permitted" in raw
    assert raw.splitlines()[1:] == ["status 3"]


def test_a_missing_peer_is_loss_and_no_failure() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        # A socket connected to itself receives nothing else, and occupies its port.
        taken.bind(("127.0.0.1", 0))
        taken.connect(taken.getsockname())
        ending = run("ping", **udp_flags(taken.getsockname()[1], count=5, timeout_ns=50 * MS))
    assert (ending.status, ending.stderr) == (0, "")
    check_probe_counts(ending, 5)
    assert (ending.last["received"], ending.last["send_errors"]) == (0, 0)


def count_answers(ending: Ending) -> list[int]:
    return [ending.last[name] for name in ("received", "duplicates", "late")]


def test_a_second_answer_is_a_duplicate() -> None:
    with probed(interval_ns=FIRST_ONLY_NS) as (ping, peer):
        reply = reply_to(peer.recv(65536))
        for _ in range(3):
            peer.send(reply)
        ping.wait_for("probe", sequence=0)
        peer.send(reply)
        ending = stop(ping)
    check_probe_counts(ending, 1)
    assert count_answers(ending) == [1, 3, 0]


def test_an_answer_after_the_time_out_is_late_and_extends_it() -> None:
    with probed(interval_ns=FIRST_ONLY_NS, timeout_ns=20 * MS) as (ping, peer):
        reply = reply_to(peer.recv(65536))
        given_up = ping.wait_for("probe", sequence=0, rtt_ns=None)
        peer.send(reply)
        late = ping.wait_for("late", sequence=0)
        peer.send(reply)
        ending = stop(ping)
    check_probe_counts(ending, 1)
    assert count_answers(ending) == [0, 1, 1]
    assert (late["sent_ns"], late["intended_ns"]) == (given_up["sent_ns"], 0)
    assert late["rtt_ns"] > 20 * MS
    assert ending.last["timeout_ns"] == 3 * late["rtt_ns"]


def test_answers_behind_a_queue_deeper_than_the_time_out_are_awaited_at_the_end() -> None:
    """All probes were given up when the last one had been sent; a later answer to them ends the wait."""
    flags: dict[str, Flag] = {"interval_ns": MS, "timeout_ns": 5 * MS, "count": 10}
    with probed(**flags, final_wait_ns=60_000 * MS, overdue_ns=2 * MS) as (ping, peer):
        replies = [reply_to(peer.recv(65536)) for _ in range(10)]
        ping.wait_for("probe", sequence=9, rtt_ns=None)
        for reply in replies:
            peer.send(reply)
        ending = ping.finish()
    check_probe_counts(ending, 10)
    assert count_answers(ending) == [0, 0, 10]
    assert [answer["sequence"] for answer in ending.of("late")] == [*range(10)]
    overdue = ending.of("overdue")
    assert [one["sequence"] for one in overdue] == [*range(10)]
    assert {one["waited_ns"] for one in overdue} == {2 * MS}
    sent = {probe["sequence"]: probe["sent_ns"] for probe in ending.of("probe")}
    assert all(one["sent_ns"] == sent[one["sequence"]] for one in overdue)
    assert ending.last["ended_ns"] > max(sent.values()) + 5 * MS


def test_other_messages_are_ignored() -> None:
    with probed(interval_ns=FIRST_ONLY_NS) as (ping, peer):
        request = peer.recv(65536)
        reply = reply_to(request)
        explicit = parse_probe(request)
        forged = [
            build_probe(Head(cookie=explicit.cookie ^ 1), kind=REPLY, size=len(request)),
            build_probe(Head(cookie=explicit.cookie, sequence=1), kind=REPLY, size=len(request)),  # not sent
            reply_to(request, token=TOKEN[:-1] + "0"),
            bytes([*reply[:31], reply[31] ^ 1, *reply[32:]]),  # another time held
            request,  # from a reflector without the token
        ]
        for datagram in [b"", reply[:24], reply[:-1], reply + b"x", bytes(len(reply)), *forged]:
            peer.send(datagram)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:  # the right bytes from another socket
            other.sendto(reply, peer.getpeername())
        peer.send(reply)
        answered = ping.wait_for("probe")
        ending = stop(ping)
    assert answered["sequence"] == 0
    check_probe_counts(ending, 1)
    assert count_answers(ending) == [1, 0, 0]


def test_a_round_trip_is_as_long_as_the_peer_held_the_probe() -> None:
    with probed(interval_ns=50 * MS) as (ping, peer):
        held = reply_to(peer.recv(65536))
        began_ns = time.monotonic_ns()
        peer.recv(65536)  # the second one, 50 ms later
        held_ns = time.monotonic_ns() - began_ns
        peer.send(held)
        probe = ping.wait_for("probe", sequence=0)
    assert probe["stamps"] == "kernel"
    assert probe["rtt_ns"] > 0.99 * held_ns  # of another clock


CULPRITS = {"hang up": "controller", "SIGINT": "signal", "SIGTERM": "signal"}


def request_end(engine: Engine, how: str) -> None:
    if how == "stop":
        engine.send_line("stop")
    elif how == "hang up":
        engine.close_stdin()
    else:
        engine.process.send_signal(signal.Signals[how])


def check_end(ending: Ending, how: str) -> None:
    complete = how == "stop"
    assert ending.last["type"] == "result"
    assert (ending.status, ending.last["complete"]) == ((0, True) if complete else (5, False))
    if complete:
        assert ending.last["reason"] is None
        check_probe_counts(ending, ending.last["sent"])
    else:
        assert CULPRITS[how] in ending.last["reason"]


@pytest.mark.parametrize("how", CULPRITS)
def test_an_echo_ends_on_request_and_states_its_count(how: str) -> None:
    with echoing() as (echo, port):
        check_all_answered(run("ping", **udp_flags(port, count=3)), 3)
        request_end(echo, how)
        ending = echo.finish()
    check_end(ending, how)
    assert (ending.last["echoed"], ending.last["refused"]) == (3, 0)


@pytest.mark.parametrize("how", ["stop", *CULPRITS])
def test_it_ends_on_request_before_it_sends_overdue_probes(how: str) -> None:
    with (
        echoing() as (_, port),
        start("ping", **udp_flags(port, interval_ns=100_000, timeout_ns=500 * MS, control="stdin")) as ping,
    ):
        began_ns = ping.wait_for("start")["monotonic_ns"]
        ping.wait_for("probe")
        ping.process.send_signal(signal.SIGSTOP)
        run("ping", **udp_flags(port, count=150, timeout_ns=500 * MS))  # 300 ms, in which 3000 probes are due
        owed = (time.monotonic_ns() - began_ns) // 100_000
        request_end(ping, how)
        ping.process.send_signal(signal.SIGCONT)
        ending = ping.finish()
    check_end(ending, how)
    assert 0 < ending.last["sent"] < owed - 2000


@pytest.mark.netns
def test_unreachable_address_is_named() -> None:
    require_namespaces()
    with Namespaces() as lab:
        lab.add_node("a")
        command = f"{require_engine()} ping --address 198.18.7.7 --count 1 2>&1 >/dev/null; echo status $?"
        line, status = lab.run("a", "sh", "-c", command).splitlines()
    # The C library's words: musl's and glibc's.
    assert re.search("cannot reach 198.18.7.7: Network (is )?unreachable", line)
    assert status == "status 3"
