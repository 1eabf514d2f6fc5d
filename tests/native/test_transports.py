"""Transports: TCP, MPTCP, Unix sockets by path and by name, others where available."""

import errno
import socket
import stat
import struct
from pathlib import Path

import pytest

from tests.native.engine import (
    MS,
    TOKEN,
    Ending,
    Flag,
    assert_complete,
    assert_counters_agree,
    assert_refused,
    both_ready,
    go,
    receiving,
    run,
    sending,
)
from tests.native.messages import name_end
from tests.native.peers import answering, build_answer
from tests.patience import PATIENCE_S
from tests.require import require

pytestmark = pytest.mark.engine

SETUP, ENDED = 3, 5
ANY_PORT = 1  # for a sender whose transport has no ports
#: A receiver that takes the times of its sender.
OPEN: dict[str, Flag] = {"duration_ns": -1, "warmup_ns": -1}
IPPROTO_MPTCP = 262
SOL_MPTCP, MPTCP_INFO = 284, 1
MPTCP_FALLBACK = 1  # flag of struct mptcp_info: plain TCP after all
VMADDR_CID_LOCAL = 1


def _carry(transport: str, address: str, **flags: Flag) -> tuple[Ending, Ending]:
    """One complete trial, both ends on this host; ``flags`` go to the sender."""
    settings: dict[str, Flag] = {"address": address, "duration_ns": 60 * MS, "warmup_ns": 0, **flags}
    accepting: dict[str, Flag] = {"bind": address, **OPEN}
    with both_ready(accepting, settings, transport=transport) as ends:
        return go(*ends)


def _assert_carried(accepted: Ending, connected: Ending, transport: str, streams: int) -> None:
    for end in (accepted, connected):
        assert end.of("result"), end.stderr
        assert end.of("ready")[0]["transport"] == transport
        assert_counters_agree(end, streams)
    assert connected.last["total_bytes"] == accepted.last["total_bytes"]
    # An SCTP association ends in both directions at once, so it cannot carry a confirmation after the end.
    confirmed = [None] * streams if transport == "sctp" else accepted.last["total_bytes"]
    assert connected.last["confirmed_bytes"] == confirmed
    assert sum(accepted.last["total_bytes"]) > 0
    if transport in ("tcp", "unix"):
        assert connected.last["undelivered_bytes"] == [0] * streams


def _refusal_of_socket(family: int, protocol: int) -> str | None:
    """The errno's name with which this kernel refuses such a socket; None when it supports it."""
    try:
        socket.socket(family, socket.SOCK_STREAM, protocol).close()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return None


# IP


@pytest.mark.parametrize("streams", [1, 64])
@pytest.mark.parametrize("transport", ["tcp", "mptcp"])
def test_ip_transports_carry(transport: str, streams: int) -> None:
    require(transport == "tcp" or _refusal_of_socket(socket.AF_INET, IPPROTO_MPTCP) is None, "MPTCP")
    accepted, connected = _carry(transport, "127.0.0.1", streams=streams)
    _assert_carried(accepted, connected, transport, streams)
    assert any(connected.last["tcp_info"]["rtt_us"])
    assert connected.of("ready")[0]["sockets"][0]["mss_bytes"] > 500


@pytest.mark.parametrize("transport", ["tcp", "mptcp"])
def test_mptcp_is_used_only_on_request(transport: str) -> None:
    require(_refusal_of_socket(socket.AF_INET, IPPROTO_MPTCP) is None, "MPTCP")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(PATIENCE_S)
        with sending(listener.getsockname()[1], transport=transport) as sender:
            with answering(listener, build_answer()) as (connection, _):
                sender.expect("ready")
                try:
                    (flags,) = struct.unpack_from("=I", connection.getsockopt(SOL_MPTCP, MPTCP_INFO, 64), 8)
                except OSError as error:  # a connection that fell back before accept is TCP
                    if error.errno != errno.EOPNOTSUPP:
                        raise
                    flags = MPTCP_FALLBACK
                sender.send_line("stop")
            sender.finish()
    assert (flags & MPTCP_FALLBACK == 0) == (transport == "mptcp")


@pytest.mark.parametrize(
    ("accepting", "connecting"), [("tcp", "mptcp"), ("mptcp", "tcp"), ("mptcp", "mptcp")]
)
def test_mptcp_fallback_is_stated_as_tcp(accepting: str, connecting: str) -> None:
    require(_refusal_of_socket(socket.AF_INET, IPPROTO_MPTCP) is None, "MPTCP")
    spoken = "mptcp" if accepting == connecting else "tcp"
    settings: dict[str, Flag] = {"streams": 3, "duration_ns": 20 * MS, "warmup_ns": 0}
    with both_ready({"transport": accepting, **OPEN}, {"transport": connecting, **settings}) as ends:
        assert [end.latest["transport"] for end in ends] == [spoken, spoken]
        assert [end.last["type"] for end in go(*ends)] == ["result", "result"]


def test_sctp_is_carried_or_clearly_refused() -> None:
    refusal = _refusal_of_socket(socket.AF_INET, socket.IPPROTO_SCTP)
    if refusal is None:
        accepted, connected = _carry("sctp", "127.0.0.1", streams=2)
        _assert_carried(accepted, connected, "sctp", 2)
        return
    flags: dict[str, Flag] = {"transport": "sctp", "token": TOKEN, "port": 9}
    for ending in (run("receive", bind="127.0.0.1", **flags), run("send", address="127.0.0.1", **flags)):
        assert_refused(ending, SETUP, "socket", errno_name=refusal)
        assert "no sctp" in ending.stderr


# Machine-to-host sockets


def _refusal_of_vsock() -> tuple[str, str] | None:
    """Stage and errno with which this kernel refuses a vsock over loopback; None when it supports it."""
    refusal = _refusal_of_socket(socket.AF_VSOCK, 0)
    if refusal is not None:
        return "socket", refusal
    try:
        with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as probe:
            probe.bind((VMADDR_CID_LOCAL, socket.VMADDR_PORT_ANY))
    except OSError as error:
        return "bind", errno.errorcode[error.errno or 0]
    return None


def test_vsock_is_carried_or_clearly_refused() -> None:
    refusal = _refusal_of_vsock()
    if refusal is None:
        accepted, connected = _carry("vsock", str(VMADDR_CID_LOCAL), streams=2)
        _assert_carried(accepted, connected, "vsock", 2)
        return
    stage, name = refusal
    ending = run("receive", transport="vsock", bind=VMADDR_CID_LOCAL, port=9, token=TOKEN)
    assert_refused(ending, SETUP, stage, errno_name=name)
    assert {"socket": "no vsock", "bind": "port 9 of 1"}[stage] in ending.stderr


# Unix sockets


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("streams", [1, 64])
def test_unix_path_carries_and_is_removed(tmp_path: Path, streams: int, direction: str) -> None:
    path = tmp_path / "socket"
    accepted, connected = _carry("unix", str(path), streams=streams, direction=direction, bytes=10_000_003)
    assert_complete(accepted, connected)
    for end in (accepted, connected):
        assert_counters_agree(end, streams)
        assert sum(end.last["total_bytes"]) == 10_000_003
    listened = accepted.of("listening")[0]
    assert (listened["address"], listened["port"]) == (str(path), None)
    assert not path.exists()


def test_unix_abstract_name_carries() -> None:
    name = name_end("unix")
    accepted, connected = _carry("unix", name, streams=3)
    _assert_carried(accepted, connected, "unix", 3)
    assert accepted.of("listening")[0]["address"] == name


def test_unix_socket_exists_between_flows_and_is_removed_after_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    where: dict[str, Flag] = {"transport": "unix", "address": str(path), "warmup_ns": 0}
    with receiving(transport="unix", bind=str(path), flows=0, **OPEN) as (receiver, _):
        for streams in (1, 2):
            with sending(ANY_PORT, streams=streams, duration_ns=50 * MS, **where) as sender:
                assert stat.S_ISSOCK(path.stat().st_mode)
                sender.expect("ready")
                sender.send_line("go")
                assert_complete(sender.finish())
            assert receiver.wait_for("result")["complete"] is True
        receiver.wait_for("listening")
        receiver.process.terminate()
        ended = receiver.finish()
    assert_refused(ended, ENDED, "accept")
    assert not path.exists()


def test_unix_has_no_fields_of_tcp(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    _, sent = _carry("unix", path, streams=2, tcp_info="raw")
    assert_complete(sent)
    for stated in sent.of("ready")[0]["sockets"]:
        for key in ("congestion", "mss_bytes", "traffic_class", "local_port", "remote_port"):
            assert stated[key] is None, key
        assert stated["sndbuf_bytes"] > 0
    assert sent.of("ready")[0]["congestion"] is None
    for record in [*sent.of("interval"), sent.last]:
        assert {tuple(values) for values in record["tcp_info"].values()} == {(None, None)}
        assert record["tcp_info_raw"] == {"bytes": 0, "base64": ""}
    assert "effective_window_bytes" not in sent.last


def test_unix_file_of_another_process_is_kept(tmp_path: Path) -> None:
    """A stale socket of another process: nothing listens, and the engine does not remove it."""
    path = tmp_path / "stale"
    with socket.socket(socket.AF_UNIX) as owner:
        owner.bind(str(path))
    flags: dict[str, Flag] = {"transport": "unix", "token": TOKEN}
    received = run("receive", bind=str(path), **flags)
    assert_refused(received, SETUP, "bind", errno_name="EADDRINUSE")
    assert str(path) in received.stderr
    assert path.exists()
    assert_refused(run("send", address=str(path), **flags), SETUP, "connect", errno_name="ECONNREFUSED")


def test_impossible_unix_path(tmp_path: Path) -> None:
    path = tmp_path / "none" / "socket"
    flags: dict[str, Flag] = {"transport": "unix", "token": TOKEN}
    for subcommand, end, stage in (("receive", "bind", "bind"), ("send", "address", "connect")):
        refused = run(subcommand, **{end: str(path)}, **flags)
        assert_refused(refused, SETUP, stage, errno_name="ENOENT")
        assert str(path) in refused.stderr
