"""A true agent as a child process, with an engine that misbehaves on request."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents import limits
from pathlab.errors import HostError
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.patience import PATIENCE_S


def test_facts_and_clock_are_this_machines(session: Session) -> None:
    facts = session.facts()
    assert facts["kernel"]["release"] == os.uname().release
    first, second = session.clock(), session.clock()
    assert first[0] < second[0]


def test_options_commands_and_records_pass_unchanged(session: Session) -> None:
    heard: list[dict[str, Any]] = []
    options: dict[str, str | int] = {"name": "a b; $(touch x) 'é'", "port": 70}
    job = session.start_engine("obey", options, seconds=30, on_record=heard.append)
    arguments = job.wait_for("arguments", PATIENCE_S)["options"]
    assert arguments == {"name": "a b; $(touch x) 'é'", "port": "70", "control": "stdin"}
    assert job.limits == {"seconds": 30.0, "bytes": None, "rate_bits_per_s": None}
    job.command("go now")
    assert job.wait_for("heard", PATIENCE_S)["line"] == "go now"
    job.command("stop")
    end = job.wait(PATIENCE_S)
    assert (end.status, end.signal, end.stderr, end.fault) == (0, None, "", None)
    assert [record["type"] for record in end.records] == ["arguments", "heard", "heard", "result"]
    assert heard == list(end.records)
    with pytest.raises(HostError, match="ended with status 0"):
        job.command("go")
    job.kill()


@pytest.mark.parametrize("line", ["", "a\nb", "a\r", "x" * 5000])
def test_a_command_must_be_one_short_line(session: Session, line: str) -> None:
    job = session.start_engine("obey", {}, seconds=30)
    with pytest.raises(HostError, match="one line"):
        job.command(line)


def test_an_engine_without_control_gets_no_command(session: Session) -> None:
    job = session.start_engine("wait", {}, seconds=30, control=False)
    job.wait_for("start", PATIENCE_S)
    with pytest.raises(HostError, match="does not listen for commands"):
        job.command("go")


@pytest.mark.parametrize(
    "text", ["this is no JSON", "[1]", '{"no":"type"}', '{"type":"a","n":NaN}', "[" * 100_000]
)
def test_garbage_ends_the_engine_and_is_quoted(session: Session, text: str) -> None:
    job = session.start_engine("garbage", {"text": text[:4000]}, seconds=30)
    with pytest.raises(HostError, match="printed a line that is not a record") as caught:
        job.wait_for("result", PATIENCE_S)
    assert text[:20] in str(caught.value)
    end = job.wait(PATIENCE_S)
    assert end.signal == "SIGKILL"
    assert [record["type"] for record in end.records] == ["start"]
    assert session.clock()  # the agent is none the worse


def test_an_endless_line_ends_the_engine(session: Session) -> None:
    job = session.start_engine("endless", {}, seconds=60)
    end = job.wait(PATIENCE_S)
    assert end.signal == "SIGKILL"
    assert f"more than {limits.MAX_LINE_BYTES} bytes" in end.fault


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_an_engine_that_dies_is_reported_with_its_signal_and_words(session: Session, name: str) -> None:
    job = session.start_engine("die", {"signal": int(signal.Signals[name])}, seconds=30)
    with pytest.raises(HostError, match=f"was killed by {name}: about to die") as caught:
        job.wait_for("result", PATIENCE_S)
    assert caught.value.stage == "engine"


def test_an_engine_killed_from_outside_is_reported(session: Session) -> None:
    job = session.start_engine("ignore", {}, seconds=30)
    job.wait_for("start", PATIENCE_S)
    os.kill(job.pid, signal.SIGKILL)
    assert job.wait(PATIENCE_S).signal == "SIGKILL"
    assert session.clock()


def test_an_engine_that_ignores_kill_requests_is_killed_all_the_same(session: Session) -> None:
    job = session.start_engine("ignore", {}, seconds=30)
    job.wait_for("start", PATIENCE_S)
    job.kill()
    assert job.wait(PATIENCE_S).signal == "SIGKILL"


def test_an_engine_past_its_time_is_ended(session: Session) -> None:
    job = session.start_engine("wait", {}, seconds=0.0)
    assert job.limits["seconds"] == limits.MIN_SECONDS
    end = job.wait(PATIENCE_S)
    assert (end.signal, end.fault) == ("SIGTERM", "ran past its limit of 0.1 s and was ended")


@pytest.mark.parametrize(("stage", "expected"), [("bind", "network"), ("option", "engine")])
def test_an_engines_own_error_reaches_the_caller(session: Session, stage: str, expected: str) -> None:
    job = session.start_engine("fail", {"stage": stage}, seconds=30)
    with pytest.raises(HostError, match="fail: port 5001 is taken") as caught:
        job.wait_for("ready", PATIENCE_S)
    assert caught.value.stage == expected
    assert job.wait(PATIENCE_S).status == 3


def test_stderr_is_kept_to_its_end(session: Session) -> None:
    end = session.start_engine("shout", {}, seconds=30).wait(PATIENCE_S)
    assert end.status == 3
    assert end.stderr.endswith("complaint 19999\n")
    assert len(end.stderr) <= limits.MAX_STDERR_BYTES


def test_a_missing_engine_is_named(agent_zip: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with Session(LocalTransport(engine=gone, agent=agent_zip), host="local") as session:
        with pytest.raises(HostError, match=f"cannot start {gone}: No such file") as caught:
            session.start_engine("send", {}, seconds=1)
        assert caught.value.stage == "engine"


def test_a_flood_loses_nothing_and_does_not_hold_up_requests(session: Session) -> None:
    count = 20_000
    job = session.start_engine("flood", {"count": count}, seconds=120)
    clocks = [session.clock()[0] for _ in range(50)]
    assert clocks == sorted(clocks)
    end = job.wait(PATIENCE_S)
    assert end.fault is None
    assert [record["index"] for record in end.records[:-1]] == list(range(count))
    assert end.records[-1] == {"type": "result", "complete": True}


def test_counters_run_at_absolute_deadlines_and_account_for_all_time(session: Session) -> None:
    watch = session.start_counters(20_000_000)
    job = session.start_engine("flood", {"count": 3000}, seconds=60)
    job.wait(PATIENCE_S)
    session.facts()
    samples = watch.stop()
    assert watch.interval_ns == 20_000_000
    spans = sum(sample["span_ns"] for sample in samples)
    assert spans == samples[-1]["time_ns"] - watch.start_ns  # no gap and no overlap
    for sample in samples[:-1]:  # none before the deadline that it belongs to
        assert (sample["time_ns"] - watch.start_ns) // 20_000_000 >= 1
    assert (
        len({(sample["time_ns"] - watch.start_ns) // 20_000_000 for sample in samples[:-1]})
        == len(samples) - 1
    )
    cores = {core["core"] for sample in samples for core in sample["cores"]}
    assert len(cores) == os.cpu_count()
