"""Captures of a true agent: their files have no name, come over in pieces, and die with the session."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.agents import limits
from pathlab.errors import HostError
from pathlab.remote.captures import RemoteCapture
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.integration.processes import assert_all_end, parent_of, watching
from tests.patience import PATIENCE_S
from tests.require import require, require_engine

pytestmark = pytest.mark.engine

SECTION = b"\x0a\x0d\x0d\x0a"
PORT = 47
OPTIONS: dict[str, str | int] = {"address": "127.0.0.1", "port": str(PORT), "limit-bytes": 8 << 20}


@pytest.fixture
def real(agent_zip: Path) -> Iterator[Session]:
    """A session with this machine's own engine, which may record packets."""
    with Session(LocalTransport(engine=Path(require_engine()), agent=agent_zip), host="local") as session:
        try:
            RemoteCapture(session, OPTIONS, seconds=10.0).close()
        except HostError as error:
            require(False, f"the privilege to record packets: {error.reason}")
        yield session


def send_datagrams(count: int) -> None:
    """UDP to nobody's port over the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(count):
            sender.sendto(bytes(100), ("127.0.0.1", PORT))


def test_a_capture_comes_over_in_pieces(real: Session) -> None:
    capture = RemoteCapture(real, {**OPTIONS, "protocol": "udp", "snap-bytes": 256}, seconds=30.0)
    send_datagrams(12_000)
    capture.stop()
    result = capture.wait_for_result()
    pieces = list(capture.read())
    assert result["captured_packets"] + result["dropped_packets"] >= 12_000
    assert len(pieces) > 1
    assert max(map(len, pieces)) == limits.CAPTURE_PIECE_BYTES
    assert sum(map(len, pieces)) == result["file_bytes"]
    assert pieces[0].startswith(SECTION)
    assert next(iter(capture.read())) == pieces[0]  # it is kept until it is closed
    capture.close()
    with pytest.raises(HostError, match="has no capture here"):
        list(capture.read())
    capture.close()


def test_the_file_has_no_name_and_is_freed(real: Session) -> None:
    capture = RemoteCapture(real, OPTIONS, seconds=30.0)
    agent = parent_of(capture.job.pid)
    names = [str(link.readlink()) for link in Path(f"/proc/{capture.job.pid}/fd").iterdir()]
    files = [name for name in names if name.endswith(" (deleted)")]
    assert files
    assert not any(Path(name.removesuffix(" (deleted)")).exists() for name in files)
    held = len(list(Path(f"/proc/{agent}/fd").iterdir()))
    capture.close()
    capture.job.wait(PATIENCE_S)
    assert len(list(Path(f"/proc/{agent}/fd").iterdir())) < held


def test_more_captures_than_are_allowed_are_refused(real: Session) -> None:
    captures = [RemoteCapture(real, OPTIONS, seconds=30.0) for _ in range(limits.MAX_CAPTURES)]
    with pytest.raises(HostError, match="the most at a time"):
        RemoteCapture(real, OPTIONS, seconds=30.0)
    for capture in captures:
        capture.close()
    RemoteCapture(real, OPTIONS, seconds=30.0).close()


def test_options_that_are_not_the_controllers_are_refused(agent_zip: Path) -> None:
    with Session(LocalTransport(engine=Path(require_engine()), agent=agent_zip), host="local") as session:
        for changed, message in (
            ({"file": "/tmp/x"}, "the agent's own"),
            ({"descriptor": 0}, "the agent's own"),
            ({"limit-bytes": 1 << 50}, "limit-bytes"),
            ({"limit-bytes": "5"}, "limit-bytes"),
            ({"address": "--file"}, "no program can be given"),
            ({"port": "99999"}, "--port"),  # in the engine's own words
        ):
            with pytest.raises(HostError, match=message):
                RemoteCapture(session, {**OPTIONS, **changed}, seconds=5.0)


def test_a_killed_agent_takes_its_capture_along(agent_zip: Path, real: Session) -> None:
    session = Session(LocalTransport(engine=Path(require_engine()), agent=agent_zip), host="local")
    agent = session.open()["pid"]
    capture = RemoteCapture(session, OPTIONS, seconds=60.0)
    with watching(agent, capture.job.pid) as descriptors:
        os.kill(agent, signal.SIGKILL)
        assert_all_end(descriptors)
    capture.stop()
    with pytest.raises(HostError) as caught:
        capture.wait_for_result()
    assert caught.value.stage == "agent"
    capture.close()
    session.close()
