"""What a host grants: its agent's caps on every request, and tokens that nobody can read there."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.host_model import Host
from pathlab.errors import HostError
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.integration.processes import assert_all_end, parent_of, watching
from tests.patience import PATIENCE_S
from tests.require import require_engine

TOKEN = "00112233445566778899aabbccddeeff"
Options = dict[str, str | int]


Opened = Callable[..., Session]


@pytest.fixture
def capped(agent_zip: Path) -> Iterator[Opened]:
    sessions: list[Session] = []

    def open_session(engine: Path, *caps: str) -> Session:
        session = Session(LocalTransport(engine=engine, agent=agent_zip, arguments=caps), host="local")
        sessions.append(session)
        session.open()
        return session

    yield open_session
    for session in sessions:
        session.close()


def start(session: Session, subcommand: str, limits: dict[str, Any], **options: str | int) -> dict[str, Any]:
    """The agent's answer to a start with these limits."""
    return session.request("engine.start", subcommand=subcommand, options=options, limits=limits)


def test_requested_and_granted_are_both_echoed(capped: Opened, fake_engine: Path) -> None:
    session = capped(fake_engine, "--max-bytes", "1000", "--max-seconds", "30", "--max-rate", "64000")
    none = {"seconds": None, "bytes": None, "rate_bits_per_s": None}
    most = {"seconds": 30.0, "bytes": 1000, "rate_bits_per_s": 64_000}
    much = {"seconds": 31, "bytes": 10**9, "rate_bits_per_s": 10**9}
    little = {"seconds": 20.0, "bytes": 10, "rate_bits_per_s": 8000}
    for wanted, granted in ((none, most), (much, most), (little, little)):
        answer = start(session, "wait", wanted)
        assert (answer["requested"], answer["limits"]) == (wanted, granted)
    assert start(session, "wait", {})["requested"] == none


@pytest.mark.parametrize(
    ("table", "caps"),
    [
        ({}, {"seconds": 604800.0, "bytes": None, "rate_bits_per_s": None}),
        (
            {"max_rate": "40Mbit/s", "max_bytes": "1GiB", "max_time": "90s"},
            {"seconds": 90.0, "bytes": 2**30, "rate_bits_per_s": 40_000_000},
        ),
    ],
)
def test_the_caps_of_a_hosts_table_are_those_that_its_agent_states(
    capped: Opened, fake_engine: Path, table: dict[str, str], caps: dict[str, Any]
) -> None:
    arguments = Host.model_validate({"transport": "local", **table}).agent_arguments
    assert capped(fake_engine, *arguments).hello["caps"] == caps


@pytest.mark.parametrize("cap", ["--max-bytes", "--max-rate"])
def test_no_program_runs_that_would_not_keep_a_cap(capped: Opened, fake_engine: Path, cap: str) -> None:
    options = {"program": "iperf3", "arguments": ["-s"]}
    with pytest.raises(HostError, match=r"caps bytes or rate.*use the native engine"):
        capped(fake_engine, cap, "1000000").request("peer.start", options=options, limits={})


@pytest.mark.parametrize("caps", [("--max-bytes", "0"), ("--max-rate", "1e9"), ("--max-seconds", "nan")])
def test_caps_that_are_none_are_named(capped: Opened, fake_engine: Path, caps: tuple[str, str]) -> None:
    with pytest.raises(HostError, match=f"argument {caps[0]}: '{caps[1]}'"):
        capped(fake_engine, *caps)


def carry(
    sending: Session, receiving: Session, **options: str | int
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A trial over loopback, of so many bytes: the sender's ready, both results (sender's first)."""
    common: Options = {"warmup-ns": 0, "interval-ns": 50_000_000, **options}
    receiver = receiving.start_engine("receive", {"bind": "127.0.0.1", "port": 0}, seconds=60, token=TOKEN)
    port = receiver.wait_for("listening", PATIENCE_S)["port"]
    to: Options = {"address": "127.0.0.1", "port": port, **common}
    sender = sending.start_engine("send", to, seconds=60, token=TOKEN)
    ready = sender.wait_for("ready", PATIENCE_S)
    sender.command("go")
    return ready, sender.wait_for("result", PATIENCE_S), receiver.wait_for("result", PATIENCE_S)


@pytest.mark.engine
def test_a_cap_on_bytes_ends_a_trial_that_asks_for_more(capped: Opened) -> None:
    engine = Path(require_engine())
    sending = capped(engine, "--max-bytes", "3000000")
    ready, sent, _ = carry(
        sending, capped(engine), **{"bytes": 10**9, "volume-limit-bytes": 10**12, "streams": 2}
    )
    assert sent["complete"] is False
    assert "--volume-limit-bytes" in sent["reason"]
    # Exceeded by at most one write of each worker (native/PROTOCOL.md).
    assert sum(sent["total_bytes"]) <= 3_000_000 + ready["workers"] * ready["write_bytes"]


@pytest.mark.engine
def test_a_cap_on_the_rate_paces_a_sender_that_asks_for_more(capped: Opened) -> None:
    session = capped(Path(require_engine()), "--max-rate", "16000000")
    wanted: Options = {"bytes": 1_000_000, "rate-bits-per-s": 10**11, "streams": 2, "pacing": "user"}
    ready, sent, received = carry(session, session, **wanted)
    assert ready["pacing"] == {
        "requested_bits_per_s": 16_000_000,
        "stream_bits_per_s": 8_000_000,
        "by": "user",
    }
    assert sent["complete"] is received["complete"] is True
    assert sum(received["total_bytes"]) == 1_000_000
    # Half a second at 2 MB/s, less what pacing lets go at once in the beginning; uncapped it takes none.
    steady = sent["phases"]["steady"]
    assert steady["end_ns"] - steady["start_ns"] >= 350_000_000


@pytest.mark.engine
def test_no_command_line_of_a_trial_holds_its_token(capped: Opened) -> None:
    session = capped(Path(require_engine()))
    receiver = session.start_engine("receive", {"bind": "127.0.0.1", "port": 0}, seconds=60, token=TOKEN)
    port = receiver.wait_for("listening", PATIENCE_S)["port"]
    options: Options = {"address": "127.0.0.1", "port": port, "duration-ns": 50_000_000}
    sender = session.start_engine("send", options, seconds=60, token=TOKEN)
    sender.wait_for("ready", PATIENCE_S)
    for pid in (receiver.pid, sender.pid, parent_of(sender.pid)):
        words = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        assert TOKEN.encode() not in words
    sender.command("go")
    assert receiver.wait_for("result", PATIENCE_S)["rejected"] == 0
    for job in (receiver, sender):
        end = job.wait(PATIENCE_S)
        assert (end.status, end.stderr) == (0, "")
        assert TOKEN not in repr(end.records)


def test_the_token_is_the_first_line_and_needs_no_control(session: Session) -> None:
    job = session.start_engine("obey", {}, seconds=60, token=TOKEN)
    assert job.wait_for("arguments", PATIENCE_S)["options"] == {"control": "stdin", "token": "stdin"}
    job.command("stop")
    assert [record["line"] for record in job.wait(PATIENCE_S).records if record["type"] == "heard"] == [
        TOKEN,
        "stop",
    ]
    alone = session.start_engine("obey", {}, control=False, seconds=60, token=TOKEN).wait(PATIENCE_S)
    assert [record.get("line") for record in alone.records] == [None, TOKEN]  # and then the end of file
    assert alone.status == 5


@pytest.mark.parametrize(("speaks", "named"), [({}, "version 1"), ({"speaks": 3}, "version 3")])
def test_an_engine_of_another_time_is_named(session: Session, speaks: Options, named: str) -> None:
    job = session.start_engine("greet", speaks, seconds=60, token=TOKEN)
    with pytest.raises(HostError, match=rf"pathlab-engine 0\.0\.9 .*{named}"):
        job.wait_for("start", PATIENCE_S)
    assert job.wait(PATIENCE_S).signal == "SIGKILL"


@pytest.mark.engine
def test_an_engine_ends_in_its_time_though_its_agent_stands_still(capped: Opened) -> None:
    session = capped(Path(require_engine()), "--max-seconds", "0.1")
    agent = int(session.hello["pid"])
    job = session.start_engine("receive", {"bind": "127.0.0.1", "port": 0}, seconds=600, token=TOKEN)
    os.kill(agent, signal.SIGSTOP)
    try:
        # On a busy machine it may have ended, and been collected, before its agent stood still.
        with contextlib.suppress(ProcessLookupError), watching(job.pid) as descriptors:
            assert_all_end(descriptors)
    finally:
        os.kill(agent, signal.SIGCONT)
    end = job.wait(PATIENCE_S)
    assert (end.status, end.signal, end.fault) == (5, None, None)
    assert "--time-limit-ns" in end.stderr
