"""The emulator as a child process, and traffic through it."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.lab.wires import ADDRESS_B, Namespace, Wires, address_tunnels, plug_cables
from tests.native.engine import Engine, Record
from tests.patience import PATIENCE_S
from tests.require import require_engine


class Emulator(Engine):
    """One running ``pathlab-engine emulate``: commands go in, records come out. Waits are bounded."""

    def say(self, line: str) -> None:
        self.send_line(line)

    def hang_up(self) -> None:
        self.close_stdin()

    def ask_counters(self) -> Record:
        self.say("stats")
        return self.expect("counters")

    def wait_until_empty(self) -> None:
        """Wait until nothing is under way."""
        deadline = time.monotonic() + PATIENCE_S
        while any(self.ask_counters()[way]["waiting_packets"] for way in ("forward", "reverse")):
            assert time.monotonic() < deadline, "the link does not become empty"

    def wait_until_delivered(self, packets: int, *ways: str) -> None:
        """Wait until each way has delivered this number; ping does not wait long for its last answer."""
        ways = ways or ("forward", "reverse")
        deadline = time.monotonic() + PATIENCE_S
        while min(self.ask_counters()[way]["delivered_packets"] for way in ways) < packets:
            assert time.monotonic() < deadline, "packets are missing"

    def stop(self) -> Record:
        """End it as a controller does; its result."""
        self.say("stop")
        result = self.expect("result")
        assert result["complete"] is True
        assert self.wait() == 0
        return result

    def wait(self) -> int:
        return self.process.wait(timeout=PATIENCE_S)

    def read_errors(self) -> str:
        return self.finish().stderr


@contextlib.contextmanager
def launch(runner: list[str]) -> Iterator[Emulator]:
    """Start the emulator with this command line; killed at the end whatever happens."""
    process = subprocess.Popen(
        runner, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    emulator = Emulator(process)
    try:
        yield emulator
    finally:
        emulator.close()


def build_command(wires: Wires, backend: str, options: Mapping[str, str]) -> list[str]:
    """The emulator between the hosts, entering each namespace by its path."""
    ends = (wires.a, wires.b) if backend == "tun" else (wires.middle, wires.middle)
    names = ("wan0", "wan0") if backend == "tun" else ("ma", "mb")
    flags = {
        "backend": backend,
        "namespace-a": ends[0].path,
        "namespace-b": ends[1].path,
        "interface-a": names[0],
        "interface-b": names[1],
        "control": "stdin",
        **options,
    }
    command = [require_engine(), "emulate"]
    for name, value in flags.items():
        command += [f"--{name}", value]
    # Entering the middle first gives an ordinary user the rights over the others.
    return wires.middle.command(*command)


@contextlib.contextmanager
def emulate(wires: Wires, backend: str, **options: str) -> Iterator[Emulator]:
    """A link between the hosts, carrying packets; ``mtu_bytes`` stands for ``--mtu-bytes`` and so on."""
    if backend == "packet" and "ma" not in wires.middle.run("ip", "-o", "link"):
        plug_cables(wires)
    flags = {name.replace("_", "-"): value for name, value in options.items()}
    with launch(build_command(wires, backend, flags)) as emulator:
        hello = emulator.expect("hello")
        assert hello["subcommand"] == "emulate"
        assert emulator.expect("listening")["backend"] == backend
        if backend == "tun":
            address_tunnels(wires)
        yield emulator


def measure_rtt_ms(host: Namespace, *, count: int = 25) -> float:
    """Lower quartile of RTTs to b by the system's ping, in ms: a machine that stalls hastens no packet."""
    text = host.run("ping", "-n", "-c", str(count), "-i", "0.02", "-W", "2", ADDRESS_B)
    times = [float(line.split("time=")[1].split()[0]) for line in text.splitlines() if "time=" in line]
    assert len(times) >= count - 2  # ping waits for its last answers for two round trips: a stall is longer
    return sorted(times)[len(times) // 4]


def carry_traffic(
    wires: Wires, emulator: Emulator, kind: str, sender: Mapping[str, object], *, address: str = ADDRESS_B
) -> tuple[Record, Record]:
    """Send ``kind`` (tcp, udp, segmented-udp) from a to b; what the sender and the receiver say.

    The receiver ends when the sender has ended and nothing is under way in the emulator.
    """
    program = [sys.executable, "-I", str(Path(__file__).with_name("traffic.py"))]
    role = f"receive-{kind.removeprefix('segmented-')}"
    with subprocess.Popen(
        wires.b.command(*program, role, f"address={address}"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as listener:
        try:
            word, port = listener.stdout.readline().split()
            assert word == "ready"
            values = {"address": address, "port": port, **sender}
            done = subprocess.run(
                wires.a.command(
                    *program, f"send-{kind}", *(f"{key}={value}" for key, value in values.items())
                ),
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                timeout=2 * PATIENCE_S,
            )
            emulator.wait_until_empty()
            heard, _ = listener.communicate(timeout=2 * PATIENCE_S)
        finally:
            listener.kill()
    return json.loads(done.stdout), json.loads(heard)


def check_balance(counters: Record) -> None:
    """Every packet that came in is accounted for, and the model alone decided about it."""
    for direction in (counters["forward"], counters["reverse"]):
        came = direction["arrived_packets"] + direction["duplicated_packets"]
        went = sum(
            direction[name]
            for name in (
                "queue_dropped_packets",
                "aqm_dropped_packets",
                "lost_packets",
                "overflow_dropped_packets",
                "delivered_packets",
                "write_errors",
                "waiting_packets",
            )
        )
        assert came == went, direction
        assert direction["unsplit_packets"] == direction["unreadable_packets"] == 0, direction
        assert direction["write_errors"] == direction["socket_dropped"] == 0, direction
