"""The engine as a child process: flags in, records out, and every wait is bounded."""

import contextlib
import json
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from tests.patience import PATIENCE_S
from tests.require import require_engine

MS = 1_000_000  # in nanoseconds
#: Steady windows of a receiver and of its sender.
SHORTER_NS, LONGER_NS = 60 * MS, 260 * MS
LONG_NS = 60_000 * MS  # of a trial that does not end by itself
TOKEN = "00112233445566778899aabbccddeeff"

Record = dict[str, Any]
Flag = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended: its exit status, every record of the run, and its stderr."""

    status: int
    records: tuple[Record, ...]
    stderr: str

    @property
    def last(self) -> Record:
        return self.records[-1]

    def of(self, kind: str) -> list[Record]:
        return [record for record in self.records if record["type"] == kind]


class Engine:
    """One running engine. Its output is read at once, so that it never blocks."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._seen: list[Record] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_records, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_records(self) -> None:
        for line in self._stream(self.process.stdout):
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        self._errors.extend(self._stream(self.process.stderr))

    @staticmethod
    def _stream(stream: IO[str] | None) -> IO[str]:
        assert stream is not None
        return stream

    def take(self, *, timeout_s: float = PATIENCE_S) -> Record | None:
        """The next record; None when there are no more."""
        try:
            line = self._lines.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            raise AssertionError(f"no record within {timeout_s:.1f} s after {self._seen[-1:]}") from None
        if line is None:
            self._lines.put(None)  # further calls return None as well
            return None
        assert line.endswith("\n"), f"half a line: {line!r}"
        record: Record = json.loads(line)
        self._seen.append(record)
        return record

    @property
    def latest(self) -> Record:
        """The record that was taken last."""
        return self._seen[-1]

    def expect(self, kind: str) -> Record:
        """The next record, which must be of this type."""
        record = self.take()
        assert record is not None, f"ended before '{kind}': {self.finish()}"
        assert record["type"] == kind, record
        return record

    def wait_for(self, kind: str, **values: object) -> Record:
        """The next record of this type with these values, skipping others."""
        end_s = time.monotonic() + PATIENCE_S
        while (record := self.take(timeout_s=end_s - time.monotonic())) is not None:
            if record["type"] == kind and values.items() <= record.items():
                return record
        raise AssertionError(f"ended before '{kind}' {values}: {self.finish()}")

    def send_line(self, line: str) -> None:
        stdin = self._stream(self.process.stdin)
        stdin.write(line + "\n")
        stdin.flush()

    def close_stdin(self) -> None:
        self._stream(self.process.stdin).close()

    def finish(self) -> Ending:
        """Waits until it ends by itself, reading all its output."""
        end_s = time.monotonic() + PATIENCE_S
        while self.take(timeout_s=end_s - time.monotonic()) is not None:
            pass
        status = self.process.wait(timeout=PATIENCE_S)
        for reader in self._readers:
            reader.join(timeout=PATIENCE_S)
            assert not reader.is_alive()
        return Ending(status=status, records=tuple(self._seen), stderr="".join(self._errors))

    def close(self) -> None:
        self.process.kill()
        self.process.wait(timeout=PATIENCE_S)
        for reader in self._readers:
            reader.join(timeout=PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                self._stream(stream).close()


def build_command(subcommand: str, binary: str | None = None, /, **flags: Flag) -> list[str]:
    """The command line; ``window_bytes=1`` is ``--window-bytes 1``."""
    command = [binary or require_engine(), subcommand]
    for name, value in flags.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    return command


def start(
    subcommand: str, binary: str | None = None, /, **flags: Flag
) -> contextlib.AbstractContextManager[Engine]:
    """A running engine, killed at the end in any case."""
    return start_command(build_command(subcommand, binary, **flags))


@contextlib.contextmanager
def start_command(command: list[str]) -> Iterator[Engine]:
    """The engine of this command line, or of one that becomes it."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    engine = Engine(process)
    try:
        yield engine
    finally:
        engine.close()


def run(subcommand: str, /, **flags: Flag) -> Ending:
    """A run that ends by itself, without commands."""
    with start(subcommand, **flags) as engine:
        return engine.finish()


@contextlib.contextmanager
def receiving(binary: str | None = None, /, **flags: Flag) -> Iterator[tuple[Engine, int]]:
    """A listening receiver and its port. Its steady window is shorter than the sender's, so that it is
    over when the streams end, also on a busy machine, and some bytes belong to the drain."""
    settings: dict[str, Flag] = {
        "bind": "127.0.0.1",
        "port": 0,
        "token": TOKEN,
        "warmup_ns": 60 * MS,
        "duration_ns": SHORTER_NS,
        "interval_ns": 20 * MS,
        "control": "stdin",
    }
    with start("receive", binary, **{**settings, **flags}) as receiver:
        receiver.expect("hello")
        yield receiver, receiver.expect("listening")["port"]


@contextlib.contextmanager
def sending(port: int, binary: str | None = None, /, **flags: Flag) -> Iterator[Engine]:
    """A sender that has written its hello record; it connects, and then waits for "go"."""
    settings: dict[str, Flag] = {
        "address": "127.0.0.1",
        "port": port,
        "token": TOKEN,
        "warmup_ns": 60 * MS,
        "duration_ns": LONGER_NS,
        "interval_ns": 20 * MS,
        "control": "stdin",
    }
    with start("send", binary, **{**settings, **flags}) as sender:
        sender.expect("hello")
        yield sender


@contextlib.contextmanager
def both_ready(
    receiver_flags: Mapping[str, Flag] | None = None,
    sender_flags: Mapping[str, Flag] | None = None,
    binary: str | None = None,
    /,
    **flags: Flag,
) -> Iterator[tuple[Engine, Engine]]:
    """A receiver and a sender before "go"; ``flags`` go to both. Their ``ready`` records are the latest."""
    with receiving(binary, **{**flags, **(receiver_flags or {})}) as (receiver, port):
        to_sender = {name: value for name, value in flags.items() if name != "bind"}
        with sending(port or 1, binary, **{**to_sender, **(sender_flags or {})}) as sender:
            sender.expect("ready")
            receiver.expect("ready")
            yield receiver, sender


def go(receiver: Engine, sender: Engine) -> tuple[Ending, Ending]:
    """Start what is ready; how both ended by themselves."""
    sender.send_line("go")
    sent = sender.finish()
    return receiver.finish(), sent


def carry(
    *,
    receiver_flags: Mapping[str, Flag] | None = None,
    sender_flags: Mapping[str, Flag] | None = None,
    **flags: Flag,
) -> tuple[Ending, Ending]:
    """One complete trial over loopback; ``flags`` go to both. How the receiver and the sender ended."""
    with both_ready(receiver_flags, sender_flags, **flags) as ends:
        return go(*ends)


def assert_complete(*ends: Ending) -> None:
    for end in ends:
        assert (end.status, end.stderr) == (0, "")
        assert (end.last["complete"], end.last["reason"]) == (True, None)


def assert_cut(ending: Ending, culprit: str) -> None:
    """An incomplete result whose reason names the culprit, and one line on stderr with that reason."""
    assert (ending.status, ending.last["complete"]) == (5, False)
    assert culprit in ending.last["reason"]
    assert ending.stderr == f"pathlab-engine: ended early: {ending.last['reason']}\n"


def assert_counters_agree(end: Ending, streams: int) -> None:
    """Intervals follow each other without a gap, and add up to the phases, and these to the total."""
    result = end.last
    assert result["type"] == "result"
    intervals = end.of("interval")
    sums = {name: [0] * streams for name in ("warmup", "steady", "drain")}
    at_ns = 0
    for index, interval in enumerate(intervals):
        assert (interval["index"], interval["start_ns"]) == (index, at_ns)
        at_ns = interval["end_ns"]
        assert len(interval["bytes"]) == streams
        sums[interval["phase"]] = [
            a + b for a, b in zip(sums[interval["phase"]], interval["bytes"], strict=True)
        ]
    at_ns = 0
    for name, phase in result["phases"].items():
        assert phase["bytes"] == sums[name], name
        assert phase["start_ns"] == at_ns
        at_ns = phase["end_ns"]
        of_phase = [interval for interval in intervals if interval["phase"] == name]
        if of_phase:
            assert (phase["start_ns"], phase["end_ns"]) == (of_phase[0]["start_ns"], of_phase[-1]["end_ns"])
        else:
            assert phase["start_ns"] == phase["end_ns"]
    assert list(result["phases"]) == ["warmup", "steady", "drain"]
    assert result["total_bytes"] == [sum(parts) for parts in zip(*sums.values(), strict=True)]


def assert_refused(ending: Ending, status: int, stage: str, *, errno_name: str | None = None) -> None:
    """One error record, and one line on stderr with its text."""
    assert ending.status == status
    error = ending.last
    assert (error["type"], error["stage"], error["errno_name"]) == ("error", stage, errno_name)
    assert (error["errno"] is None) == (errno_name is None)
    assert ending.stderr.count("\n") == 1
    assert ending.stderr.endswith(f": {error['text']}\n")
