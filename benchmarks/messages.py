"""Messages: batches, peers' rates and round trips, bare loops in C, and what recording costs, as ratios.

``python benchmarks/messages.py --help`` says how; README.md alongside it says what the columns mean.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from comparisons import Group, Measure, Row
from outcome import translate_faults
from rounds import Comparison, run_comparison

from tools import Candidate, build_bare, find_tools

BATCH_BYTES = 65_536
BATCH_TARGETS = {4: 60.0, 16: 60.0, 64: 60.0, 256: 25.0, 1024: 8.0}
NEPER_SIZES = (64, 256, 1024, 4096)
PING_BYTES = 64
_READ_BYTES = "262144"  # of one read of the engine's receiver
_MILLION = 1e6


def measure_rate(at_least: float | None = None) -> Measure:
    """Messages per second."""
    return Measure(title="M/s", quantity="messages_per_s", unit=_MILLION, at_least=at_least)


def measure_round_trips(at_most: float | None = None) -> tuple[Measure, ...]:
    """Median and 99th percentile."""
    return tuple(
        Measure(title=f"{name} us", quantity=f"{name}_ns", unit=1e3, at_most=at_most)
        for name in ("p50", "p99")
    )


def _engine(label: str, size: int, *flags: str, receiver: tuple[str, ...] = ()) -> Candidate:
    return Candidate(label=label, tool="engine", message_bytes=size, flags=flags, receiver_flags=receiver)


def _plan_batches() -> list[Group]:
    return [
        Group(
            name=f"batch/{size}",
            rows=(
                Row(
                    ours=_engine("batches of 64 KiB", size, "--batch-bytes", str(BATCH_BYTES)),
                    against=_engine("one no-delay write each", size, "--no-delay"),
                    measures=(measure_rate(target),),
                ),
            ),
        )
        for size, target in BATCH_TARGETS.items()
    ]


def _plan_neper() -> list[Group]:
    """One write per message: at once, held back by Nagle's algorithm, and held back by the sender."""
    kinds = {
        "no-delay": (("--no-delay",), ("--no-delay", "--no-cork")),
        "nagle": ((), ("--no-cork",)),
        "cork": (("--cork",), ()),
    }
    groups = []
    for kind, (ours, theirs) in kinds.items():
        for size in NEPER_SIZES:
            neper = Candidate(
                label="neper",
                tool="neper",
                message_bytes=size,
                flags=(*theirs, "-B", str(size)),
                # It would read as little at a time as it writes.
                receiver_flags=(*theirs, "-B", _READ_BYTES),
            )
            row = Row(ours=_engine("engine", size, *ours), against=neper, measures=(measure_rate(1.0),))
            groups.append(Group(name=f"{kind}/{size}", rows=(row,)))
    return groups


def _ping(transport: str, wait: str) -> Candidate:
    is_local = transport not in ("tcp", "udp")
    ends = ("--wait", wait, *(() if is_local else ("--no-delay",)))
    return Candidate(
        label="engine",
        tool="engine",
        message_bytes=PING_BYTES,
        flags=("--reply", "--transport", transport, *ends),
        receiver_flags=("--transport", "unix" if is_local else "tcp", *ends),
        is_local=is_local,
    )


def plan_ping(transport: str, wait: str) -> tuple[Candidate, Candidate]:
    """The engine and sockperf, with a request and its reply at a time."""
    flags = (() if transport == "udp" else ("--tcp",)) + (("--nonblocked",) if wait == "poll" else ())
    sockperf = Candidate(
        label="sockperf",
        tool="sockperf",
        message_bytes=PING_BYTES,
        flags=flags,
        is_local=transport == "unix",
    )
    return _ping(transport, wait), sockperf


def _plan_sockperf() -> list[Group]:
    groups = []
    for transport in ("tcp", "udp", "unix"):
        for wait in ("block", "poll"):
            ours, sockperf = plan_ping(transport, wait)
            row = Row(ours=ours, against=sockperf, measures=measure_round_trips(1.02))
            groups.append(Group(name=f"ping/{transport}/{wait}", rows=(row,)))
    return groups


def _bare(transport: str, mode: str, wait: str) -> Candidate:
    return Candidate(
        label="bare C loop",
        tool="bare",
        message_bytes=PING_BYTES,
        flags=(transport, mode, wait),
        is_local=True,
    )


def _plan_bare() -> list[Group]:
    groups = []
    for transport in ("unix", "pipe", "shared-memory"):
        for wait in ("block", "poll"):
            rate = Candidate(
                label="engine",
                tool="engine",
                message_bytes=PING_BYTES,
                flags=("--transport", transport, "--wait", wait),
                receiver_flags=("--transport", "unix", "--wait", wait),
                is_local=True,
            )
            name = f"{transport}/{wait}"
            trips = Row(
                ours=_ping(transport, wait),
                against=_bare(transport, "ping", wait),
                measures=measure_round_trips(1.05),
            )
            rates = Row(ours=rate, against=_bare(transport, "rate", wait), measures=(measure_rate(0.95),))
            groups += [
                Group(name=f"bare-ping/{name}", rows=(trips,)),
                Group(name=f"bare-rate/{name}", rows=(rates,)),
            ]
    return groups


def _plan_recording() -> list[Group]:
    """The levels of the factor `recording`, as the native engine gets them."""
    batches = ("--batch-bytes", str(BATCH_BYTES))
    levels = {
        level: ("--interval-ns", interval_ns, "--tcp-info", fields)
        for level, interval_ns, fields in (
            ("off", "10000000000", "none"),
            ("default", "100000000", "raw"),
            ("full", "10000000", "raw"),
        )
    }
    off, usual, full = (
        _engine(f"recording {level}", PING_BYTES, *batches, *flags, receiver=flags)
        for level, flags in levels.items()
    )
    again = _engine("recording off again", PING_BYTES, *batches, *levels["off"], receiver=levels["off"])
    rows = (
        Row(ours=usual, against=off, measures=(measure_rate(0.98),)),
        Row(ours=full, against=off, measures=(measure_rate(0.98),)),
        Row(ours=again, against=off, measures=(measure_rate(),)),
    )
    return [Group(name="recording/64", rows=rows)]


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 also where a target is missed, 2 for a wrong option, 3 where it cannot run."""
    cores = sorted(os.sched_getaffinity(0))
    comparison = Comparison(
        program="benchmarks/messages.py",
        about=__doc__,
        groups={
            "loopback": (
                *_plan_batches(),
                *_plan_neper(),
                *_plan_sockperf(),
                *_plan_bare(),
                *_plan_recording(),
            )
        },
        seconds=1,
        quiet_s=0.1,
        cores=(cores[0], cores[-1]),
    )
    tools, missing = find_tools("neper", "sockperf")
    with tempfile.TemporaryDirectory(prefix="pathlab-bare-") as folder:
        bare = build_bare(Path(folder))
        if bare is None:
            missing.append("bare is missing (no C compiler: cc, or $CC)")
        else:
            tools["bare"] = bare
        return run_comparison(comparison, arguments, tools, missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
