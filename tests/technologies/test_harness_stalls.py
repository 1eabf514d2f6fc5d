"""Streams without replies end the program in bounded time, in all harnesses and behind a pipe."""

import contextlib
import itertools
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.technologies.programs import (
    ENDED,
    LANGUAGES,
    MS,
    PEER,
    STALL_NS,
    await_end,
    read_until,
    run_program,
    running,
    tell,
)

pytestmark = pytest.mark.engine

#: The variant that hangs within the second stream alone is not told to a program behind a pipe.
MUTE = [(language, "mute") for language in LANGUAGES]
MUTE += [("pipe", "null-mute"), ("java", "warm-mute")]
AWAITED = {"null-mute": "no replies to null requests", "warm-mute": "no reply to an untimed request"}
MUTE += [(language, "second") for language in LANGUAGES if language != "pipe"]
STALLED = r"no reply for \d+\.\d"


def await_hanging(process: subprocess.Popen[str], streams: int) -> None:
    """Until so many streams of the stub await a reply that does not come."""
    while streams > 0:
        line = process.stderr.readline()
        assert line, "it ended before it hung"
        streams -= line == "hangs\n"


def read_cpu_s(pid: int) -> float:
    """CPU time of a process, also of one that has ended and is not waited for (proc(5), values 14 and 15)."""
    values = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def test_a_stall_of_all_streams_is_found() -> None:
    """In all languages at once, since each waits for the time of a stall."""
    hanging = {"variant": "hang", "requests": 10**9, "stall_ns": STALL_NS}
    cases = list(itertools.product(LANGUAGES, (2, 3)))
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(running(language, "ask", streams=streams, **hanging))
            for language, streams in cases
        ]
        for process in processes:
            tell(process, "go")
        ends = [await_end(process) for process in processes]
    for (language, streams), end in zip(cases, ends, strict=True):
        where = f"{language}, {streams} streams: {end.stderr}"
        error, result = end.find("error"), end.find("result")
        assert (end.status, error["stage"]) == (PEER, "stall"), where
        assert re.match(STALLED, error["text"]), where
        assert (result["complete"], result["reason"]) == (False, error["text"]), where
        assert result["messages"]["missing"] == [1] * streams, where


def test_streams_without_a_first_reply_end_the_program() -> None:
    """All at once, since each takes the ten seconds that a first reply may take."""
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(running(language, "ask", variant=variant, streams=3, stall_ns=60_000 * MS))
            for language, variant in MUTE
        ]
        for (language, variant), process in zip(MUTE, processes, strict=True):
            end = await_end(process)
            where = f"{language}, {variant}: {end.stderr}"
            assert (end.status, end.kinds) == (PEER, ["hello", "error"]), where
            error = end.find("error")
            assert error["stage"] == "stall", where
            awaited = AWAITED.get(variant, "no reply to the first request")
            assert error["text"].startswith(f"{awaited} within 10 s (stream "), where


def end_by(how: str, process: subprocess.Popen[str]) -> None:
    if how == "signal":
        os.kill(process.pid, signal.SIGTERM)  # send_signal() would wait for one that has ended already
    else:
        process.stdin.close()


@pytest.mark.parametrize(
    ("language", "variant"), [*((language, "mute") for language in LANGUAGES), ("java", "warm-mute")]
)
@pytest.mark.parametrize(
    ("how", "reason"), [("signal", "ended by a signal"), ("end of stdin", "the controller is gone")]
)
def test_a_program_that_awaits_first_replies_can_be_ended(
    language: str, variant: str, how: str, reason: str
) -> None:
    with running(language, "ask", variant=variant, streams=2, stall_ns=60_000 * MS) as process:
        await_hanging(process, 2)
        end_by(how, process)
        result = read_until(process, "result")
        assert process.wait(PATIENCE_S) == ENDED
    assert (result["complete"], result["reason"]) == (False, reason)


@pytest.mark.parametrize("how", ["signal", "end of stdin"])
def test_a_trial_whose_streams_hang_can_be_ended_and_waits_without_cpu(how: str) -> None:
    hanging = {"variant": "hang", "streams": 2, "requests": 10**9, "stall_ns": STALL_NS}
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(running(language, "ask", **hanging)) for language in LANGUAGES]
        before_s = []
        for process in processes:
            tell(process, "go")
        for process in processes:
            await_hanging(process, 2)
            before_s.append(read_cpu_s(process.pid))
            end_by(how, process)
        for language, process, before in zip(LANGUAGES, processes, before_s, strict=True):
            result = read_until(process, "result")
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            spent_s = read_cpu_s(process.pid) - before
            assert process.wait(PATIENCE_S) == PEER, language
            assert result["complete"] is False, language
            assert re.match(STALLED, result["reason"]), language
            assert result["messages"]["missing"] == [1, 1], language
            assert spent_s < 0.5, f"{language} spins while it waits"


def test_a_stall_is_stated_alike_in_any_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE")
    end = run_program("java", "ask", "go", variant="hang", requests=10**9, stall_ns=STALL_NS)
    assert re.match(STALLED, end.find("error")["text"])


def test_the_hop_is_measured_when_all_streams_have_their_first_reply() -> None:
    end = run_program("pipe", "ask", "go", variant="order", streams=12, requests=12)
    order = [line for line in end.stderr.splitlines() if line.endswith(" request")]
    assert order == ["first request"] * 12 + ["null request"]
