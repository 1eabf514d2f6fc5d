"""The engines that ship, under QEMU's user mode for other machines, against the checkout's engine."""

import subprocess

import pytest

from pathlab.remote.machines import find_own_machine, read_machine
from tests.machines.engines import MACHINES, NATIVE, build_engine, build_units, find_emulator, make_shipped
from tests.native.engine import (
    MS,
    TOKEN,
    Flag,
    assert_complete,
    assert_counters_agree,
    build_command,
    start_command,
)

pytestmark = pytest.mark.engine

EACH = pytest.mark.parametrize("machine", MACHINES)
#: Those with a word order, a word size and an alignment of their own; their units run each time. make units.
ALWAYS = ("x86_64", "aarch64", "armv7l", "s390x")
MAX_ENGINE_BYTES = 600_000  # that of ppc64le has 564 kB


def run_of(machine: str | None, subcommand: str, **flags: Flag) -> list[str]:
    """The command line of an engine: the checkout's own, or the one that ships for a machine."""
    if machine is None:
        return build_command(subcommand, **flags)
    return [*find_emulator(machine), *build_command(subcommand, str(build_engine(machine)), **flags)]


def test_every_machine_of_the_wheel_is_tested() -> None:
    assert make_shipped("machines").split() == list(MACHINES)
    assert make_shipped("unit-machines").split() == list(ALWAYS)


@EACH
def test_the_file_is_of_that_machine_and_needs_nothing_else(machine: str) -> None:
    engine = build_engine(machine)
    assert read_machine(engine) == machine
    content = engine.read_bytes()
    assert b"/ld-" not in content, "static: no loader is named"
    assert b".debug_info" not in content
    assert len(content) < MAX_ENGINE_BYTES


@pytest.mark.parametrize(
    "machine", [pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.long) for name in MACHINES]
)
def test_units_there(machine: str) -> None:
    # QEMU's user mode returns a TCP_INFO of four bytes, so its fields cannot be tested there.
    skipped = [] if machine == find_own_machine() else ["test_tcp_info"]
    done = subprocess.run(
        [*find_emulator(machine), str(build_units(machine)), *skipped],
        cwd=NATIVE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tests = {path.stem for path in NATIVE.glob("tests/*/test_*.c")} - set(skipped)
    assert len(done.stdout.splitlines()) == len(tests), "every test ran"


@EACH
@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_trial_with_it_at_either_end(machine: str, end: str) -> None:
    """The other end is the checkout's own engine, of the same version."""
    kinds = {name: machine if name == end else None for name in ("sender", "receiver")}
    times: dict[str, Flag] = {"warmup_ns": 60 * MS, "interval_ns": 50 * MS, "control": "stdin"}
    flags: dict[str, Flag] = {"token": "stdin", "streams": 3, "window_bytes": 65536, **times}
    listen = run_of(kinds["receiver"], "receive", bind="127.0.0.1", port=0, duration_ns=150 * MS, **flags)
    with start_command(listen) as receiver:
        receiver.send_line(TOKEN)
        version = receiver.expect("hello")["version"]
        port = receiver.expect("listening")["port"]
        to: dict[str, Flag] = {"address": "127.0.0.1", "port": port, "duration_ns": 300 * MS}
        with start_command(run_of(kinds["sender"], "send", **to, **flags)) as sender:
            sender.send_line(TOKEN)
            assert sender.expect("hello")["version"] == version
            sender.expect("ready")
            receiver.expect("ready")
            sender.send_line("go")
            sent, received = sender.finish(), receiver.finish()
    assert_complete(sent, received)
    for ending in (sent, received):
        assert_counters_agree(ending, 3)
    assert sent.last["confirmed_bytes"] == received.last["total_bytes"] == sent.last["total_bytes"]
    assert sum(sent.last["total_bytes"]) > 0


@EACH
def test_probes_from_there_and_back(machine: str) -> None:
    for here, there in ((None, machine), (machine, None)):
        listen = run_of(there, "echo", bind="127.0.0.1", port=0, token=TOKEN, control="stdin")
        with start_command(listen) as echo:
            port = echo.wait_for("listening")["port"]
            flags: dict[str, Flag] = {"address": "127.0.0.1", "port": port, "token": TOKEN, "count": 3}
            flags["timeout_ns"] = 60_000 * MS
            with start_command(run_of(here, "ping", method="udp", interval_ns=5 * MS, **flags)) as ping:
                probes = ping.finish()
            assert (probes.status, probes.last["received"]) == (0, 3)
            assert all(probe["rtt_ns"] > 0 for probe in probes.of("probe"))
