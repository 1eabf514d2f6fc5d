"""What an agent takes and refuses, frame by frame; and how little it holds when nobody reads."""

import os
import select
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents import limits
from pathlab.agents.agent import Agent
from pathlab.agents.protocol import FrameDecoder, encode_frame
from pathlab.remote.local import agent_command, start_process
from pathlab.remote.process import ProcessChannel

HELLO = {"op": "hello", "protocol": 2, "program": "0.1.0", "require": []}


def talk(channel: ProcessChannel, *requests: dict[str, Any]) -> None:
    for request in requests:
        channel.write(encode_frame(request))


def hear(channel: ProcessChannel, decoder: FrameDecoder) -> dict[str, Any] | None:
    """The next message, None at the end of the stream."""
    while (message := decoder.read()) is None:
        data = channel.read(65536)
        if not data:
            return None
        decoder.feed(data)
    return message


def test_other_programs_and_other_versions_are_refused_by_name(fake_engine: Path, agent_zip: Path) -> None:
    cases: list[tuple[bytes, str]] = [
        (
            encode_frame({"op": "hello", "protocol": 1, "program": "9.9.9"}),
            "PathLab 9.9.9) speaks agent protocol 1, this agent",
        ),
        (encode_frame({"op": "ping", "id": 1}), "first message must be hello"),
        (encode_frame({**HELLO, "require": ["time-travel"]}), "no feature 'time-travel'"),
        (encode_frame({**HELLO, "colour": "red"}), "unknown required field 'colour'"),
        (b"GET / HTTP/1.1\r\n\r\n", "broken conversation: expected a frame"),
        (b"PLF1\x7f\xff\xff\xff", "broken conversation: a frame of 2147483647 bytes"),
    ]
    for data, words in cases:
        channel = start_process(agent_command(agent_zip, fake_engine), host="local")
        try:
            channel.write(data)
            decoder = FrameDecoder()
            message = hear(channel, decoder)
            assert message["type"] == "refusal"
            assert words in message["text"]
            assert hear(channel, decoder) is None  # and it ends
        finally:
            channel.close()


def test_refused_requests_leave_the_agent_in_service(fake_engine: Path, agent_zip: Path) -> None:
    channel = start_process(agent_command(agent_zip, fake_engine), host="local")
    decoder = FrameDecoder()
    try:
        start = {"op": "engine.start", "subcommand": "wait", "options": {}, "limits": {}}
        talk(
            channel,
            HELLO,
            {"op": "dance", "id": 1},
            {"op": "ping", "id": 2, "loud": True},
            {"op": "ping", "id": 3, "loud": True, "optional": ["loud"]},
            {"op": "engine.kill", "id": 4, "job": 12},
            {"op": "counters.stop", "id": 5, "watch": 12},
            {**start, "id": 6, "subcommand": "--help"},
            {**start, "id": 7, "limits": {"hours": 1}},
            {**start, "id": 8, "options": {"a b": "c"}},
            {**HELLO, "id": 9, "optional": ["id"]},
        )
        assert (hear(channel, decoder) or {})["type"] == "hello"
        texts: dict[int, str | None] = {}
        for _ in range(9):
            message = hear(channel, decoder)
            texts[message["id"]] = None if message["ok"] else message["error"]["text"]
    finally:
        channel.close()
    assert texts == {
        1: "unknown operation 'dance'",
        2: "operation 'ping': unknown required field 'loud'",
        3: None,
        4: "there is no job 12",
        5: "there is no counter series 12",
        6: "'--help' is not the name of a subcommand",
        7: "unknown limit 'hours'",
        8: "'a b' is not the name of an option",
        9: "hello came already",
    }


def other_interpreters() -> list[str]:
    """Every other Python of this machine that an agent may meet, the system's and pyenv's own included."""
    versions = [f"python3.{minor}" for minor in range(8, 16)]
    paths = [path for path in map(shutil.which, ["/usr/bin/python3", *versions]) if path is not None]
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    paths += [str(path) for path in installed.glob("*/bin/python3.*") if path.name in versions]
    # pyenv's shims are scripts, and those of versions that are not in use fail.
    return sorted({path for path in paths if not is_script(Path(path))})


def is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


@pytest.mark.parametrize("found", other_interpreters())
def test_other_interpreters_run_the_agent(fake_engine: Path, agent_zip: Path, found: str) -> None:
    # Where there are none but ours, the contract test still reads every source as 3.8.
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    channel = start_process(agent_command(agent_zip, fake_engine, python=found), host="local")
    decoder = FrameDecoder()
    start = {"op": "engine.start", "subcommand": "obey", "options": {"control": "stdin"}, "limits": {}}
    try:
        talk(
            channel,
            HELLO,
            {"op": "facts", "id": 1},
            {**start, "id": 2, "token": "00112233445566778899aabbccddeeff"},
            {**start, "id": 3, "limits": {"seconds": 10**400}, "options": {"bind": "\ud800"}},
            {"op": "counters.start", "id": 4, "interval_ns": 10_000_000},
            {"op": "counters.stop", "id": 5, "watch": 1},
            {"op": "engine.command", "id": 6, "job": 1, "line": "stop"},
        )
        messages: list[dict[str, Any]] = []
        while not messages or messages[-1]["type"] != "engine-exit":
            message = hear(channel, decoder)
            assert message is not None, channel.stderr_tail()
            messages.append(message)
        talk(channel, {"op": "bye", "id": 9})
        assert (hear(channel, decoder) or {})["id"] == 9
        assert hear(channel, decoder) is None
    finally:
        channel.close()
    assert said.strip() == f"Python {messages[0]['python']}"
    answers = {message["id"]: message for message in messages if message["type"] == "answer"}
    assert [number for number, answer in answers.items() if not answer["ok"]] == [3]
    assert answers[1]["result"]["kernel"]["release"] == os.uname().release
    lines = [m["record"].get("line") for m in messages if m["type"] == "engine"]
    assert lines == [None, "00112233445566778899aabbccddeeff", "stop", None]
    assert messages[-1]["status"] == 0
    assert any(message["type"] == "counters" for message in messages)


def test_an_agent_that_nobody_reads_holds_little_and_loses_nothing(fake_engine: Path) -> None:
    """The loop is driven by hand, so that "nobody reads" is a state and not a race."""
    ours_in, to_agent = os.pipe()
    from_agent, ours_out = os.pipe()
    agent = Agent(ours_in, ours_out, engine=str(fake_engine), program="0.1.0")
    for descriptor in (ours_in, ours_out):
        os.set_blocking(descriptor, False)
    try:
        count = 15_000
        options = {"count": str(count), "filler": "1000"}  # 15 MB, many times what may be held
        start = {"op": "engine.start", "id": 1, "subcommand": "flood", "options": options}
        for request in (
            HELLO,
            {"op": "counters.start", "id": 9, "interval_ns": 10_000_000},  # keeps the loop turning
            {**start, "limits": {"seconds": 120, "bytes": None}},
        ):
            os.write(to_agent, encode_frame(request))
        held: list[int] = []
        for _ in range(5000):
            agent.turn()
            held.append(agent._outbox.size_bytes)
            if len(held) > 50 and min(held[-50:]) >= limits.OUTBOX_HIGH_BYTES:
                break
        assert min(held[-50:]) >= limits.OUTBOX_HIGH_BYTES
        assert len(set(held[-50:])) == 1  # not a byte more, however long nobody reads
        assert held[-1] < limits.OUTBOX_HIGH_BYTES + 4 * limits.READ_BYTES
        os.write(to_agent, encode_frame({"op": "ping", "id": 2}))
        indices, answered = drain(agent, from_agent, count)
        assert indices == list(range(count))
        assert answered == {9, 1, 2}
        os.close(to_agent)
        to_agent = -1
        assert agent.run() == 0
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for descriptor in (ours_in, to_agent, from_agent, ours_out):
            if descriptor >= 0:
                os.close(descriptor)


def drain(agent: Agent, from_agent: int, count: int) -> tuple[list[int], set[int]]:
    """Read while the loop turns, until ``count`` intervals have come."""
    decoder = FrameDecoder()
    indices: list[int] = []
    answered: set[int] = set()
    for _ in range(200_000):
        if len(indices) == count:
            break
        if select.select([from_agent], [], [], 0)[0]:
            decoder.feed(os.read(from_agent, 1 << 20))
        while (message := decoder.read()) is not None:
            if message["type"] == "engine" and message["record"]["type"] == "interval":
                indices.append(message["record"]["index"])
            elif message["type"] == "answer":
                answered.add(message["id"])
        agent.turn()
    return indices, answered
