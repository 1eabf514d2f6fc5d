"""One transfer of one tool on one testbed: its rate as the receiver says, its cost as the kernel says."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from machine import (
    CoreTime,
    counts_softirq_apart,
    find_ksoftirqd,
    read_core_time,
    traffic_cpu_s,
    unexplained_s,
)
from testbeds import Program, Testbed, wait_until

from tools import PORT, Candidate, Load, Tool, TransferError

ATTEMPTS = 4  # of one run, until none but ours has used the cores
_METER = Path(__file__).with_name("meter.py")
_START_TIMEOUT_S = 10.0
_END_TIMEOUT_S = 30.0
_IDLE_RATIO = 0.15
_IDLE_SAMPLE_S = 0.2
_IDLE_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A finished transfer. ``interface_bytes`` is what the receiver's interface counted, headers included."""

    rate_bits_per_s: float
    received_bytes: int
    interface_bytes: int
    cpu_s: float  # both ends, with the kernel's interrupt work for them
    peak_rss_bytes: int  # of the larger end
    peak_rss_is_bound: bool  # neither end was larger than the process that measures it
    unexplained_s: float
    stolen_s: float
    quiet_s: float  # what both of these may be together
    message_bytes: int
    p50_ns: float | None  # of round trips
    p99_ns: float | None
    note: str

    @property
    def cpu_s_per_gb(self) -> float:
        """CPU seconds of both ends per 10^9 bytes of application data."""
        return self.cpu_s / (self.received_bytes / 1e9)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody else used the cores much."""
        return self.unexplained_s + self.stolen_s <= self.quiet_s

    @property
    def cpu_ns_per_message(self) -> float:
        """CPU time of both ends per message, or datagram, that came."""
        return self.cpu_s * 1e9 / (self.received_bytes / self.message_bytes)

    @property
    def messages_per_s(self) -> float:
        """Messages of one size."""
        return self.rate_bits_per_s / 8 / self.message_bytes


class Bench:
    """Runs transfers and keeps their files in a folder of its own."""

    def __init__(self, load: Load, folder: Path) -> None:
        self._load, self._folder = load, folder
        self._ksoftirqd = find_ksoftirqd()
        self._softirq_apart = counts_softirq_apart()

    def carry(self, testbed: Testbed, tool: Tool, candidate: Candidate) -> Transfer:
        """One transfer. Raises TransferError with the tool's own words when it refuses or fails."""
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            address = str(folder / "socket") if candidate.is_local else testbed.address
            sides = (tool.sender,) if tool.is_pair else (tool.sender, tool.receiver)
            costs = [folder / f"{number}.json" for number in range(len(sides))]
            commands = [
                [*self._start(cost, core), tool.path, *side(address, candidate, self._load)]
                for cost, core, side in zip(costs, self._find_cores(tool), sides, strict=False)
            ]
            self._await_idle_cores()
            taken_before = testbed.received_bytes()
            with contextlib.ExitStack() as stack:
                receiver = None
                if not tool.is_pair:
                    receiver = stack.enter_context(Program(testbed, testbed.receiver, commands[1], folder))
                    self._await_listening(tool, testbed, receiver, address)
                before = self._read()
                sender = stack.enter_context(Program(testbed, testbed.sender, commands[0], folder))
                self._await_both(tool, sender, receiver)
                spent = self._read().since(before)
                carried = tool.parse(receiver.output() if receiver else "", sender.output(), candidate)
            paid = [json.loads(cost.read_text(encoding="ascii")) for cost in costs]
            processes_s = sum(cost["cpu_s"] for cost in paid)
            return Transfer(
                rate_bits_per_s=carried.rate_bits_per_s,
                received_bytes=carried.received_bytes,
                interface_bytes=testbed.received_bytes() - taken_before,
                cpu_s=traffic_cpu_s(spent, processes_s, softirq_apart=self._softirq_apart),
                peak_rss_bytes=max(cost["peak_rss_bytes"] for cost in paid),
                peak_rss_is_bound=all(cost["peak_rss_is_bound"] for cost in paid),
                unexplained_s=unexplained_s(spent, processes_s, softirq_apart=self._softirq_apart),
                stolen_s=spent.stolen_s,
                quiet_s=self._load.quiet_s,
                message_bytes=candidate.message_bytes,
                p50_ns=carried.p50_ns,
                p99_ns=carried.p99_ns,
                note=carried.note,
            )

    def _start(self, cost: Path, core: int | None) -> list[str]:
        pin = [] if core is None else ["taskset", "--cpu-list", str(core)]
        return [*pin, sys.executable, "-I", "-S", str(_METER), str(cost)]

    def _find_cores(self, tool: Tool) -> tuple[int | None, int | None]:
        """The cores of the sender and of the receiver; a pair pins its ends itself."""
        return (None, None) if tool.is_pair or self._load.cores is None else self._load.cores

    def _await_listening(self, tool: Tool, testbed: Testbed, receiver: Program, address: str) -> None:
        """Wait until a receiver can be connected to. Raises TransferError when it has ended."""

        def is_ready() -> bool:
            listens = Path(address).exists() if address.startswith("/") else testbed.listens(PORT)
            return receiver.status() is not None or listens

        wait_until(is_ready, _START_TIMEOUT_S)
        if receiver.status() is not None:
            raise TransferError(f"{tool.name}: {receiver.describe_end()}")

    def _await_both(self, tool: Tool, sender: Program, receiver: Program | None) -> None:
        """Wait for the ends of a transfer. Raises TransferError when one does not end well."""
        if sender.wait(self._load.seconds + _END_TIMEOUT_S) != 0:
            raise TransferError(f"{tool.name}: {sender.describe_end()}")
        if receiver is not None and tool.stays:
            receiver.end(tool.end_signal)
        elif receiver is not None and receiver.wait(_END_TIMEOUT_S) != 0:
            raise TransferError(f"{tool.name}: {receiver.describe_end()}")

    def _await_idle_cores(self) -> None:
        """Give others a little time to end; a run that they disturb would be thrown away anyway."""
        deadline = time.monotonic() + _IDLE_TIMEOUT_S
        while time.monotonic() < deadline:
            before = self._read()
            time.sleep(_IDLE_SAMPLE_S)
            if self._read().since(before).busy_ratio < _IDLE_RATIO:
                return

    def _read(self) -> CoreTime:
        return read_core_time(self._ksoftirqd)
