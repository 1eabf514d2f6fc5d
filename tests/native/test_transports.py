"""Transports: TCP, MPTCP, Unix sockets by path and by name, others where available."""

from __future__ import annotations

import errno
import os
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
    assert_counters_agree,
    assert_refused,
    receiving,
    run,
    sending,
)
from tests.native.peers import answering, build_answer, listening
from tests.native.test_directions import assert_complete
from tests.patience import PATIENCE_S
from tests.require import require

pytestmark = pytest.mark.engine

USAGE, SETUP, ENDED = 2, 3, 5
ANY_PORT = 1  # for a sender whose transport has no ports
IPPROTO_MPTCP = 262
SOL_MPTCP, MPTCP_INFO = 284, 1
MPTCP_FALLBACK = 1  # flag of struct mptcp_info: plain TCP after all
VMADDR_CID_LOCAL = 1


def _carry(transport: str, bind: str, address: str, **flags: Flag) -> tuple[Ending, Ending]:
    """One complete trial, both ends on this host; ``flags`` go to the sender."""
    with receiving(transport=transport, bind=bind, duration_ns=-1, warmup_ns=-1) as (receiver, port):
        settings: dict[str, Flag] = {"duration_ns": 120 * MS, "warmup_ns": 0, **flags}
        with sending(port or ANY_PORT, transport=transport, address=address, **settings) as sender:
            sender.expect("ready")
            receiver.expect("ready")
            sender.send_line("go")
            sent = sender.finish()
        return receiver.finish(), sent


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
    accepted, connected = _carry(transport, "127.0.0.1", "127.0.0.1", streams=streams)
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
    with receiving(transport=accepting, duration_ns=-1, warmup_ns=-1) as (receiver, port):
        settings: dict[str, Flag] = {"duration_ns": 20 * MS, "warmup_ns": 0, "streams": 3}
        with sending(port, transport=connecting, **settings) as sender:
            assert sender.expect("ready")["transport"] == spoken
            assert receiver.expect("ready")["transport"] == spoken
            sender.send_line("go")
            sender.finish()
        receiver.finish()


def test_sctp_ends_both_directions_at_once() -> None:
    ending = run("send", address="127.0.0.1", port=9, transport="sctp", direction="both")
    assert ending.status == USAGE
    assert "--direction both: an SCTP association ends in both directions at once" in ending.stderr


def test_sctp_is_carried_or_clearly_refused() -> None:
    refusal = _refusal_of_socket(socket.AF_INET, socket.IPPROTO_SCTP)
    if refusal is None:
        accepted, connected = _carry("sctp", "127.0.0.1", "127.0.0.1", streams=2)
        _assert_carried(accepted, connected, "sctp", 2)
        return
    flags: dict[str, Flag] = {"transport": "sctp", "token": TOKEN, "port": 9}
    for ending in (run("receive", bind="127.0.0.1", **flags), run("send", address="127.0.0.1", **flags)):
        assert_refused(ending, SETUP, "socket", errno_name=refusal)
        assert "this kernel has no sctp" in ending.stderr
        assert "choose another --transport" in ending.stderr


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
        accepted, connected = _carry("vsock", str(VMADDR_CID_LOCAL), str(VMADDR_CID_LOCAL), streams=2)
        _assert_carried(accepted, connected, "vsock", 2)
        return
    stage, name = refusal
    ending = run("receive", transport="vsock", bind=VMADDR_CID_LOCAL, port=9, token=TOKEN)
    assert_refused(ending, SETUP, stage, errno_name=name)
    assert {"socket": "this kernel has no vsock", "bind": "port 9 of 1"}[stage] in ending.stderr


@pytest.mark.parametrize("address", ["localhost", "-1", "4294967296", "1.5"])
def test_context_ids_are_numbers(address: str) -> None:
    ending = run("send", transport="vsock", address=address, port=9, token=TOKEN)
    assert_refused(ending, USAGE, "options")
    assert f"--address: '{address}' is not a vsock context id" in ending.stderr


# Unix sockets


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("streams", [1, 64])
def test_unix_path_carries_and_is_removed(tmp_path: Path, streams: int, direction: str) -> None:
    path = tmp_path / "socket"
    accepted, connected = _carry(
        "unix", str(path), str(path), streams=streams, direction=direction, bytes=10_000_003
    )
    for end in (accepted, connected):
        assert_complete(end)
        assert_counters_agree(end, streams)
        assert sum(end.last["total_bytes"]) == 10_000_003
    listened = accepted.of("listening")[0]
    assert (listened["address"], listened["port"]) == (str(path), None)
    assert not path.exists()


def test_unix_abstract_name_carries() -> None:
    name = f"@pathlab-{os.getpid()}"
    accepted, connected = _carry("unix", name, name, streams=3)
    _assert_carried(accepted, connected, "unix", 3)
    assert accepted.of("listening")[0]["address"] == name


def test_unix_socket_exists_between_flows_and_is_removed_after_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with receiving(transport="unix", bind=str(path), flows=0, duration_ns=-1, warmup_ns=-1) as (receiver, _):
        for streams in (1, 2):
            with sending(
                ANY_PORT,
                transport="unix",
                address=str(path),
                streams=streams,
                duration_ns=50 * MS,
                warmup_ns=0,
            ) as sender:
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
    _, sent = _carry("unix", path, path, streams=2, tcp_info="raw")
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
    assert f"{path} exists: remove it if no receiver listens on it" in received.stderr
    assert path.exists()
    assert_refused(run("send", address=str(path), **flags), SETUP, "connect", errno_name="ECONNREFUSED")


def test_impossible_unix_path(tmp_path: Path) -> None:
    path = tmp_path / "none" / "socket"
    flags: dict[str, Flag] = {"transport": "unix", "token": TOKEN}
    received = run("receive", bind=str(path), **flags)
    assert_refused(received, SETUP, "bind", errno_name="ENOENT")
    assert f"cannot create the socket {path}" in received.stderr
    sent = run("send", address=str(path), **flags)
    assert_refused(sent, SETUP, "connect", errno_name="ENOENT")
    assert f"cannot connect to {path}: " in sent.stderr


@pytest.mark.parametrize("address", ["@", "x" * 108, "@" + "x" * 107])
def test_invalid_unix_address(address: str) -> None:
    ending = run("send", transport="unix", address=address, token=TOKEN)
    assert_refused(ending, USAGE, "options")
    assert "is not a path of a Unix socket (1 to 107 bytes, or @NAME)" in ending.stderr


# Invalid combinations


@pytest.mark.parametrize("transport", ["unix", "sctp", "vsock"])
@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ({"congestion": "reno"}, "--congestion is for TCP only"),
        ({"mss_bytes": 1000}, "--mss-bytes is for TCP only"),
        ({"no_delay": "yes"}, "--no-delay is for TCP only"),
        ({"pacing": "kernel", "rate_bits_per_s": 1000}, "--pacing kernel: the kernel paces TCP only"),
    ],
)
def test_flags_of_tcp_are_refused_elsewhere(transport: str, flags: dict[str, Flag], named: str) -> None:
    ending = run("receive", transport=transport, bind="1", token=TOKEN, **flags)
    assert_refused(ending, USAGE, "options")
    assert named in ending.stderr
    assert f"--transport {transport}" in ending.stderr


def test_unknown_transport() -> None:
    ending = run("receive", transport="quic", token=TOKEN)
    assert_refused(ending, USAGE, "options")
    assert "--transport: 'quic' is none of tcp, mptcp, unix, sctp, vsock, udp, unix-datagram" in ending.stderr


def test_ends_of_different_transports_do_not_meet(tmp_path: Path) -> None:
    with listening() as (_, port):
        ending = run("send", transport="unix", address=str(tmp_path / "none"), port=port, token=TOKEN)
    assert_refused(ending, SETUP, "connect", errno_name="ENOENT")
