"""Records that wait at the host keep their order, and nothing else waits with them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pathlab.agents import limits
from pathlab.agents.outbox import END, Outbox

JOB, OTHER = ("job", 1), ("job", 2)


@contextmanager
def opened() -> Iterator[tuple[Outbox, int]]:
    """An outbox and the end that reads what it wrote."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    try:
        yield Outbox(writing), reading
    finally:
        os.close(reading)
        os.close(writing)


def read(outbox: Outbox, reading: int) -> bytes:
    """All that goes out, however often it has to be flushed."""
    found = bytearray()
    while True:
        outbox.flush()
        try:
            found += os.read(reading, 1 << 16)
        except BlockingIOError:
            return bytes(found)


def test_held_records_wait_in_order_and_a_job_does_not_end_before_them() -> None:
    with opened() as (outbox, reading):
        outbox.append_record(b"0", "interval", JOB)
        outbox.hold(["interval"])
        outbox.append_record(b"1", "interval", JOB)
        outbox.append_record(b"r", "result", JOB)  # what a trial waits for
        outbox.append_record(b"2", "interval", JOB)
        outbox.append_record(b"E", END, JOB)
        outbox.append_record(b"e", END, OTHER)  # nothing of it waits
        outbox.append(b"a")
        assert (read(outbox, reading), outbox.held) == (b"0rea", 3)
        outbox.hold(["probe"])
        outbox.append_record(b"i", "interval", OTHER)
        outbox.append_record(b"p", "probe", OTHER)
        assert (read(outbox, reading), outbox.held) == (b"i", 4)
        outbox.hold([])
        outbox.append_record(b"3", "interval", JOB)
        assert (read(outbox, reading), outbox.held) == (b"12Ep3", 0)
        outbox.append_record(b"4", "interval", JOB)
        assert read(outbox, reading) == b"4"
        assert (outbox.size_bytes, outbox.written_bytes) == (0, 11)


def test_released_records_do_not_stop_requests_and_engines() -> None:
    piece = bytes(64 * 1024)
    with opened() as (outbox, reading):
        outbox.hold(["probe"])
        pieces = 4 * limits.OUTBOX_HARD_BYTES // len(piece)
        for _ in range(pieces):
            outbox.append_record(piece, "probe", JOB)
        sizes = [outbox.size_bytes]
        outbox.hold([])
        written = 0
        while outbox.size_bytes:
            sizes.append(outbox.size_bytes)
            outbox.flush()
            written += len(os.read(reading, 1 << 20))
        assert sizes[0] == 0
        assert max(sizes) < limits.OUTBOX_HIGH_BYTES
        assert written + len(read(outbox, reading)) == pieces * len(piece) == outbox.written_bytes


def test_more_than_a_host_may_keep_goes_out_at_once() -> None:
    piece = bytes(1024 * 1024)
    with opened() as (outbox, reading):
        outbox.hold(["probe"])
        most = limits.MAX_HELD_BYTES // len(piece)
        for _ in range(most):
            outbox.append_record(piece, "probe", JOB)
        assert (outbox.held, read(outbox, reading)) == (most, b"")
        outbox.append_record(b"x", "probe", JOB)
        assert len(read(outbox, reading)) == most * len(piece) + 1
        assert outbox.held == 0
