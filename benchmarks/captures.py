"""Time and memory of ``pathlab inspect`` for a gigabyte of captured headers.

``python benchmarks/captures.py [--bytes N] [--loss R] [--keep FILE]`` writes a pcapng file of one connection
with losses, runs ``pathlab inspect FILE`` in a process of its own, and prints one JSON line: packets,
seconds, CPU seconds, and the most memory that the process held.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TARGET_S, TARGET_BYTES = 60.0, 1_000_000_000
HEADER_BYTES = 1_000_000_000
MSS, RTT_NS, GAP_NS = 1448, 20_000_000, 12_000
FRAME_BYTES = 66  # Ethernet, IPv4, TCP with timestamps
SACK_FRAME_BYTES = FRAME_BYTES + 12
PIECE = 500_000


def write_capture(path: Path, size_bytes: int, loss_ratio: float, seed: int = 1) -> int:
    """Write about ``size_bytes`` of one connection: data, an ACK for every two segments; the packets."""
    random = np.random.default_rng(seed)
    written = packets = 0
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    interface = struct.pack("<IIHHI", 1, 20 + len(resolution), 1, 0, 96) + resolution
    interface += struct.pack("<I", 20 + len(resolution))
    first = 0
    with path.open("wb") as file:
        file.write(section + interface)
        while written < size_bytes:
            times, kinds, sequences, marks = _plan_piece(random, first, loss_ratio)
            block = _build_blocks(times, kinds, sequences, marks)
            file.write(block)
            written += len(block)
            packets += len(times)
            first += PIECE
    return packets


def _plan_piece(
    random: np.random.Generator, first: int, loss_ratio: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Packets by time: kind 0 data, 1 ACK, 2 ACK with a SACK block, whose right edge is in ``marks``."""
    segments = np.arange(first, first + PIECE)
    sent_ns = segments * GAP_NS + first // PIECE * 4 * RTT_NS  # a pause, in which all is acknowledged
    lost = random.random(PIECE) < loss_ratio
    again_ns = sent_ns[lost] + RTT_NS + 3 * GAP_NS
    answered = segments[1::2]
    ack_ns = sent_ns[1::2] + RTT_NS
    # The lowest segment that is missing when each ACK is sent holds it back.
    missing = segments[lost]
    arrival = again_ns + RTT_NS
    index = np.searchsorted(arrival, ack_ns, side="right")
    held = index < len(missing)
    lowest = (
        np.where(held, missing[np.minimum(index, len(missing) - 1)], answered + 1)
        if len(missing)
        else answered + 1
    )
    held &= lowest <= answered
    acks = np.where(held, lowest, answered + 1)
    times = np.concatenate((sent_ns, again_ns, ack_ns))
    kinds = np.concatenate((np.zeros(PIECE), np.zeros(len(missing)), np.where(held, 2, 1))).astype(np.int64)
    sequences = np.concatenate((segments, missing, acks)) * MSS
    marks = np.concatenate((segments, missing, answered + 1)) * MSS
    order = np.argsort(times, kind="stable")
    return times[order], kinds[order], sequences[order], marks[order]


def _build_blocks(
    times: NDArray[np.int64], kinds: NDArray[np.int64], sequences: NDArray[np.int64], marks: NDArray[np.int64]
) -> bytes:
    """Enhanced packet blocks; those with SACK are longer, so all are made long and most are cut."""
    count = len(times)
    padded = SACK_FRAME_BYTES + (-SACK_FRAME_BYTES & 3)
    rows = np.zeros((count, 32 + padded), dtype=np.uint8)
    selective = kinds == 2
    size = np.where(selective, SACK_FRAME_BYTES, FRAME_BYTES)
    length = 32 + size + (-size & 3)
    is_data = kinds == 0

    def put(at: int, values: object, form: str) -> None:
        column = np.broadcast_to(np.asarray(values), (count,)).astype(form)
        rows[:, at : at + column.itemsize] = column.view(np.uint8).reshape(count, -1)

    put(0, 6, "<u4")
    put(4, length, "<u4")
    put(12, times >> 32, "<u4")
    put(16, times & 0xFFFFFFFF, "<u4")
    put(20, size, "<u4")
    put(24, np.where(is_data, FRAME_BYTES + MSS, size), "<u4")
    put(28 + 12, 0x0800, ">u2")
    put(42, 0x45, "u1")
    put(44, size - 14 + np.where(is_data, MSS, 0), ">u2")
    put(46, np.arange(count), ">u2")
    put(51, 6, "u1")
    put(54, np.where(is_data, 0x0A000001, 0x0A000002), ">u4")
    put(58, np.where(is_data, 0x0A000002, 0x0A000001), ">u4")
    put(62, np.where(is_data, 1000, 2000), ">u2")
    put(64, np.where(is_data, 2000, 1000), ">u2")
    put(66, np.where(is_data, sequences, 1) & 0xFFFFFFFF, ">u4")
    put(70, np.where(is_data, 1, sequences) & 0xFFFFFFFF, ">u4")
    put(74, np.where(selective, 0xB0, 0x80), "u1")
    put(75, 0x10, "u1")
    put(76, 4000, ">u2")
    put(82, 0x0101080A, ">u4")
    stamps = times // 1_000_000
    put(86, stamps, ">u4")
    put(90, np.maximum(stamps - RTT_NS // 1_000_000, 0), ">u4")
    put(94, np.where(selective, 0x0101050A, 0), ">u4")
    put(98, np.where(selective, sequences + MSS, 0) & 0xFFFFFFFF, ">u4")
    put(102, np.where(selective, marks, 0) & 0xFFFFFFFF, ">u4")
    ends = length.astype("<u4").view(np.uint8).reshape(count, 4)
    rows[np.arange(count)[:, None], (length - 4)[:, None] + np.arange(4)] = ends
    keep = np.arange(rows.shape[1])[None, :] < length[:, None]
    return bytes(rows[keep].tobytes())


def measure(path: Path) -> dict[str, float | int]:
    """Run the command on a capture; seconds, CPU seconds and peak memory of its process.

    The caller is to be small: Linux counts its memory as that of a child until the child's program begins.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "page.html")
        started = time.monotonic()
        command = [sys.executable, "-m", "pathlab", "inspect", str(path), "--out", out]
        process = subprocess.Popen(command, stdout=sys.stderr)
        _, status, used = os.wait4(process.pid, 0)
        elapsed_s = time.monotonic() - started
    if status:
        raise SystemExit(f"pathlab inspect ended with status {os.waitstatus_to_exitcode(status)}")
    return {
        "elapsed_s": round(elapsed_s, 2),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_memory_bytes": used.ru_maxrss * 1024,
    }


def _write_apart(path: Path, size_bytes: int, loss_ratio: float) -> int:
    """Write the capture in a process that is measured by nobody."""
    place = f"pathlib.Path({str(path)!r})"
    call = f"import captures, pathlib; print(captures.write_capture({place}, {size_bytes}, {loss_ratio}))"
    folder = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", call], cwd=folder, check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def main() -> int:
    """Write the capture, inspect it, print the result; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=HEADER_BYTES)
    parser.add_argument("--loss", type=float, default=0.001)
    parser.add_argument("--keep", type=Path, help="where the capture stays; else it is deleted")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or Path(folder) / "headers.pcapng"
        packets = _write_apart(path, given.bytes, given.loss)
        result = {"file_bytes": path.stat().st_size, "packets": packets, **measure(path)}
    met = result["elapsed_s"] <= TARGET_S and result["peak_memory_bytes"] <= TARGET_BYTES
    sys.stdout.write(json.dumps({**result, "targets_met": met}) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
