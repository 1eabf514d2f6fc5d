"""Engines for other machines under QEMU's user mode, with this machine's engine as their peer."""

from __future__ import annotations

import subprocess

import pytest

from tests.machines import NATIVE, build_cross, build_engine, find_emulator
from tests.native.engine import (
    MS,
    TOKEN,
    Flag,
    assert_counters_agree,
    build_command,
    start_command,
)
from tests.native.test_directions import assert_complete
from tests.require import require_engine

pytestmark = pytest.mark.engine

# ELF's e_machine, in the file's own byte order, which is little-endian for both.
ELF_MACHINES = {"aarch64": 183, "riscv64": 243}
# QEMU's user mode returns a TCP_INFO of four bytes, so its fields cannot be tested there.
UNITS = sorted(
    str(path.relative_to(NATIVE / "tests").with_suffix(""))
    for path in NATIVE.glob("tests/*/test_*.c")
    if path.stem != "test_tcp_info"
)
MACHINES = pytest.mark.parametrize("machine", ["aarch64", pytest.param("riscv64", marks=pytest.mark.long)])


def run_of(machine: str | None, subcommand: str, **flags: Flag) -> list[str]:
    """The command line of an engine: this machine's own, or another's under QEMU."""
    if machine is None:
        return build_command(subcommand, **flags)
    engine = build_engine(machine)
    return [find_emulator(machine), *build_command(subcommand, str(engine), **flags)]


@MACHINES
def test_the_file_is_of_that_machine_and_needs_nothing_else(machine: str) -> None:
    engine = build_engine(machine)
    head = engine.read_bytes()[:64]
    assert head[:6] == b"\x7fELF\x02\x01"  # 64 bits, little-endian
    assert int.from_bytes(head[18:20], "little") == ELF_MACHINES[machine]
    assert b"/ld-musl" not in engine.read_bytes(), "static: no loader is asked for"


@MACHINES
def test_it_is_the_same_version(machine: str) -> None:
    engine = build_engine(machine)
    output = [
        subprocess.run([*words, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
        for words in ([find_emulator(machine), str(engine)], [require_engine()])
    ]
    assert output[0] == output[1]


@MACHINES
@pytest.mark.parametrize("ends", ["both", "sender", "receiver"])
def test_a_trial_with_it_at_either_end(machine: str, ends: str) -> None:
    kinds = {name: machine if ends in ("both", name) else None for name in ("sender", "receiver")}
    times: dict[str, Flag] = {"warmup_ns": 60 * MS, "interval_ns": 50 * MS, "control": "stdin"}
    flags: dict[str, Flag] = {"token": "stdin", "streams": 3, "window_bytes": 65536, **times}
    listen = run_of(kinds["receiver"], "receive", bind="127.0.0.1", port=0, duration_ns=150 * MS, **flags)
    with start_command(listen) as receiver:
        receiver.send_line(TOKEN)
        receiver.expect("hello")
        port = receiver.expect("listening")["port"]
        to: dict[str, Flag] = {"address": "127.0.0.1", "port": port, "duration_ns": 300 * MS}
        with start_command(run_of(kinds["sender"], "send", **to, **flags)) as sender:
            sender.send_line(TOKEN)
            sender.wait_for("ready")
            receiver.expect("ready")
            sender.send_line("go")
            sent, received = sender.finish(), receiver.finish()
    assert_complete(sent, received)
    for end in (sent, received):
        assert_counters_agree(end, 3)
    assert sent.last["confirmed_bytes"] == received.last["total_bytes"] == sent.last["total_bytes"]
    assert all(size > 0 for size in sent.last["total_bytes"])


@MACHINES
def test_probes_from_there_and_back(machine: str) -> None:
    for here, there in ((None, machine), (machine, None)):
        listen = run_of(there, "echo", bind="127.0.0.1", port=0, token=TOKEN, control="stdin")
        with start_command(listen) as echo:
            port = echo.wait_for("listening")["port"]
            flags: dict[str, Flag] = {"address": "127.0.0.1", "port": port, "token": TOKEN, "count": 3}
            with start_command(run_of(here, "ping", method="udp", interval_ns=5 * MS, **flags)) as ping:
                probes = ping.finish()
            assert (probes.status, probes.last["received"]) == (0, 3)
            assert all(probe["rtt_ns"] > 0 for probe in probes.of("probe"))


@MACHINES
@pytest.mark.parametrize("test", UNITS)
@pytest.mark.long
def test_units_there(machine: str, test: str) -> None:
    program = build_cross(f"build/cross/{machine}/{test}")
    done = subprocess.run(
        [find_emulator(machine), str(program)],
        cwd=NATIVE,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
