"""The engine with failing system calls: ``native/tests/faults/faults.c``."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.native.engine import MS, TOKEN, Ending, Engine, Flag, start
from tests.require import require_faulty_engine

STATUSES = (2, 3, 4, 5, 6)
ENDS = ("receive", "send")


@contextlib.contextmanager
def start_faulty(subcommand: str, faults: str, applied: Path, **flags: Flag) -> Iterator[Engine]:
    environment = {"PATHLAB_FAULTS": faults, "PATHLAB_FAULTS_APPLIED": str(applied)}
    with contextlib.ExitStack() as stack:
        with mock.patch.dict(os.environ, environment):
            engine = stack.enter_context(start(subcommand, require_faulty_engine(), **flags))
        yield engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How both ends of a trial ended (``sent`` is None when none listened), and which faults applied."""

    received: Ending
    sent: Ending | None
    applied: tuple[str, ...]


def _take_until(engine: Engine, kind: str) -> bool:
    """Whether a record of this kind came before the end."""
    while (record := engine.take()) is not None:
        if record["type"] == kind:
            return True
    return False


def carry_faulty(
    end: str, faults: str, folder: Path, accepting: Mapping[str, Flag], connecting: Mapping[str, Flag]
) -> Trial:
    """One trial with ``faults`` at one end. Every wait in it is bounded by the flags."""
    applied = folder / "applied"
    applied.unlink(missing_ok=True)
    of = {each: faults if each == end else "" for each in ENDS}
    common: dict[str, Flag] = {"token": TOKEN, "interval_ns": 20 * MS, "control": "stdin"}
    sent = None
    with start_faulty("receive", of["receive"], applied, **{**common, **accepting}) as receiver:
        if _take_until(receiver, "listening"):
            to = {**common, "port": receiver.latest["port"] or 1, **connecting}
            with start_faulty("send", of["send"], applied, **to) as sender:
                if _take_until(sender, "ready"):
                    with contextlib.suppress(BrokenPipeError):  # it may have failed since
                        sender.send_line("go")
                sent = sender.finish()
            if not sent.of("start"):
                receiver.close_stdin()  # there will be no trial; otherwise it has to end by itself
        received = receiver.finish()
    lines = applied.read_text().splitlines() if applied.exists() else []
    return Trial(received=received, sent=sent, applied=tuple(lines))


def assert_orderly(ending: Ending, fault: str) -> None:
    """Success and silence, or one line that names the fault; never a sanitizer's report."""
    if ending.status == 0:
        assert ending.stderr == ""
        assert ending.last["complete"] is True
        return
    assert ending.status in STATUSES, f"{fault}: {ending.stderr}"
    assert ending.stderr.startswith("pathlab-engine"), ending.stderr
    assert ending.stderr.count("\n") == 1, ending.stderr
    assert ending.stderr.endswith("\n")
    assert "runtime error" not in ending.stderr
