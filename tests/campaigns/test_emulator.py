"""The link emulator between two real network stacks, in both of its back ends."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.emulation import build_command, carry_traffic, check_balance, emulate, measure_rtt_ms
from tests.lab.fates import read_begin_ns, read_fates
from tests.lab.wires import ADDRESS_B, Wires, plug_cables
from tests.patience import PATIENCE_S
from tests.require import require, require_engine

pytestmark = [pytest.mark.netns, pytest.mark.engine]


def test_tcp_fills_the_rate(wires: Wires, backend: str, tmp_path: Path) -> None:
    rate_bits_per_s, delay_ns, trace = 40_000_000, 5_000_000, tmp_path / "trace"
    link = f"rate_bits_per_s={rate_bits_per_s},delay_ns={delay_ns},queue_bytes=100000,slice_ns=50000"
    with emulate(wires, backend, forward=link, reverse=link, trace=str(trace)) as emulator:
        _, heard = carry_traffic(wires, emulator, "tcp", {"size_bytes": 8 << 20})
        result = emulator.stop()
    # Segments were counted, not the super-packets that the stack handed over.
    forward = result["forward"]
    assert forward["arrived_packets"] >= heard["bytes"] // 1448
    assert forward["arrived_bytes"] / forward["arrived_packets"] <= 1500
    assert forward["queue_dropped_packets"] > 0
    assert forward["lost_packets"] == 0
    check_balance(result)
    # What meets the packet before it still waiting leaves behind it, at the link's rate.
    delivered = [fate for fate in read_fates(trace, "forward") if fate.due_ns is not None]
    queued = [
        (later.due_ns - earlier.due_ns, later.ip_bytes)
        for earlier, later in itertools.pairwise(delivered)
        if earlier.due_ns is not None and later.due_ns is not None
        if later.arrival_ns < earlier.due_ns - delay_ns
    ]
    assert len(queued) > 0.5 * len(delivered)
    assert all(abs(gap_ns - 8e9 * size / rate_bits_per_s) <= 2 for gap_ns, size in queued)


def test_the_queue_drops_the_tail(wires: Wires, backend: str, tmp_path: Path) -> None:
    # Ten packets fit, and one leaves per 1.2 ms; 200 come within a few milliseconds, if nothing stalls.
    trace = tmp_path / "trace"
    link = "rate_bits_per_s=10000000,queue_bytes=15000"
    with emulate(wires, backend, forward=link, trace=str(trace)) as emulator:
        sender = {"count": 200, "payload_bytes": 1472, "burst": 200}
        _, heard = carry_traffic(wires, emulator, "udp", sender)
        result = emulator.stop()
    forward = result["forward"]
    assert forward["arrived_packets"] == 200
    fates = read_fates(trace, "forward")
    left = (fates[-1].arrival_ns - fates[0].arrival_ns) / 1_200_000
    assert 10 <= forward["delivered_packets"] <= 12 + left
    assert forward["queue_dropped_packets"] == 200 - forward["delivered_packets"]
    assert len(heard["numbers"]) == forward["delivered_packets"]
    assert heard["numbers"][:10] == list(range(10))
    check_balance(result)


def test_the_buffers_are_bounded(wires: Wires) -> None:
    # 3000 packets wait for half a second in room for some 300.
    with emulate(wires, "packet", forward="delay_ns=500000000", buffer_bytes=str(1 << 20)) as emulator:
        sender = {"count": 3000, "payload_bytes": 1400, "burst": 20}
        _, heard = carry_traffic(wires, emulator, "udp", sender)
        result = emulator.stop()
    forward = result["forward"]
    assert forward["overflow_dropped_packets"] > 2000
    assert len(heard["numbers"]) == forward["delivered_packets"] > 200
    assert forward["arrived_packets"] == 3000
    check_balance(result)


def test_settings_change_while_it_runs(wires: Wires, tmp_path: Path) -> None:
    trace, delays = tmp_path / "trace", "delay_ns=5000000"
    with emulate(wires, "packet", forward=delays, reverse=delays, trace=str(trace)) as emulator:
        measure_rtt_ms(wires.a, count=5)
        emulator.wait_until_delivered(5)
        emulator.say("forward delay_ns=20000000,queue_bytes=90000")
        settings = emulator.expect("settings")
        measure_rtt_ms(wires.a, count=5)
        emulator.wait_until_delivered(10)
        emulator.say("reverse delay_ns=soon")
        refused = emulator.expect("refused")
        emulator.say("faster")
        unknown = emulator.expect("refused")
        counters = emulator.ask_counters()
        emulator.stop()
    held = {way: [fate.held_ns for fate in read_fates(trace, way)] for way in ("forward", "reverse")}
    assert held == {"forward": 5 * [5_000_000] + 5 * [20_000_000], "reverse": 10 * [5_000_000]}
    assert (settings["forward"]["delay_ns"], settings["forward"]["queue_bytes"]) == (20_000_000, 90_000)
    assert settings["reverse"]["delay_ns"] == 5_000_000
    assert "delay_ns" in refused["text"]
    assert "soon" in refused["text"]
    assert "forward SPEC" in unknown["text"]
    assert counters["forward"]["delivered_packets"] == 10
    assert "complete" not in counters


def test_an_emulator_that_slept_costs_packets_no_time(wires: Wires, tmp_path: Path) -> None:
    """What arrived while it could not run is due by the kernel's stamp, not by when it was read."""
    trace = tmp_path / "trace"
    send = f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('{ADDRESS_B}', 9))"
    with emulate(wires, "packet", forward="delay_ns=1000000", trace=str(trace)) as emulator:
        emulator.process.send_signal(signal.SIGSTOP)
        wires.a.run(sys.executable, "-I", "-c", send)
        continued_ns = time.monotonic_ns()
        emulator.process.send_signal(signal.SIGCONT)
        emulator.wait_until_delivered(1, "forward")
        result = emulator.stop()
    (fate,) = read_fates(trace, "forward")
    assert read_begin_ns(trace) + fate.arrival_ns < continued_ns
    assert fate.held_ns == 1_000_000
    assert result["forward"]["delivered_packets"] == 1


@pytest.mark.parametrize("reason", ["ended by a signal", "the controller is gone"])
def test_an_early_end_gives_the_result(wires: Wires, reason: str) -> None:
    with emulate(wires, "packet", forward="delay_ns=1000000") as emulator:
        measure_rtt_ms(wires.a, count=3)
        emulator.wait_until_delivered(3)
        if "signal" in reason:
            emulator.process.send_signal(signal.SIGTERM)
        else:
            emulator.hang_up()
        result = emulator.expect("result")
        assert emulator.wait() == 5
    assert result["complete"] is False
    assert result["reason"] == reason
    assert result["forward"]["delivered_packets"] == 3


def test_an_interface_that_vanishes_ends_it(wires: Wires, backend: str) -> None:
    with emulate(wires, backend) as emulator:
        measure_rtt_ms(wires.a, count=3)
        emulator.wait_until_delivered(3)
        wires.a.run("ip", "link", "delete", "wan0")
        result = emulator.expect("result")
        error = emulator.expect("error")
        assert emulator.wait() == 5
        reported = emulator.read_errors()
    name = "wan0" if backend == "tun" else "ma"
    assert result["complete"] is False
    assert f"'{name}'" in error["text"]
    assert reported == f"pathlab-engine emulate: {error['text']}\n"
    assert result["forward"]["delivered_packets"] == 3


def _refusal_of(command: list[str]) -> tuple[int, str]:
    """Exit status and the one line on standard error."""
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S
    )
    assert done.stderr.count("\n") == 1, done.stderr
    return done.returncode, done.stderr


def test_missing_things_are_named(wires: Wires) -> None:
    status, reported = _refusal_of(build_command(wires, "packet", {"interface-b": "nowhere9"}))
    assert (status, "'ma'" in reported) == (3, True)
    plug_cables(wires)
    status, reported = _refusal_of(build_command(wires, "packet", {"interface-b": "nowhere9"}))
    assert (status, "'nowhere9'" in reported) == (3, True)
    wires.middle.run("ip", "link", "set", "dev", "mb", "down")
    status, reported = _refusal_of(build_command(wires, "packet", {}))
    assert (status, "'mb' is down" in reported) == (3, True)
    status, reported = _refusal_of(build_command(wires, "packet", {"namespace-a": "/proc/self/status"}))
    assert (status, "'/proc/self/status'" in reported) == (3, True)


@pytest.mark.parametrize(("kind", "right"), [("packet", "net_raw"), ("tun", "net_admin")])
def test_missing_permission_is_named(wires: Wires, kind: str, right: str) -> None:
    plug_cables(wires)
    options = {"namespace-a": "", "namespace-b": "", "interface-a": "ma", "interface-b": "mb"}
    if kind == "tun":
        require(os.access("/dev/net/tun", os.R_OK | os.W_OK), "access to /dev/net/tun")
        options["interface-a"] = "new0"
    command = build_command(wires, kind, options)
    engine_at = command.index(require_engine())
    unprivileged = ["setpriv", "--bounding-set", f"-{right}", "--inh-caps", f"-{right}"]
    status, reported = _refusal_of([*command[:engine_at], *unprivileged, *command[engine_at:]])
    assert status == 3
    assert f"CAP_{right.upper()}" in reported
