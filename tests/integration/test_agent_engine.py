"""A true agent with the real engine, over loopback."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from pathlab.errors import HostError
from pathlab.remote.engine import find_engine
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.patience import PATIENCE_S
from tests.require import require


@pytest.fixture
def real_session() -> Iterator[Session]:
    try:
        path = find_engine()
    except HostError as error:
        require(False, str(error))
        raise
    with Session(LocalTransport(engine=path), host="local") as opened:
        yield opened


@pytest.mark.engine
def test_the_real_engine_carries_exact_bytes_over_loopback(real_session: Session) -> None:
    carry_exactly(real_session)


def carry_exactly(real_session: Session) -> None:
    """A short trial whose two ends belong to one agent: both must state the same bytes."""
    token = secrets.token_hex(16)
    flow: dict[str, str | int] = {"streams": 2, "bytes": 8_000_000, "interval-ns": 50_000_000}
    receiver = real_session.start_engine("receive", {"bind": "127.0.0.1", **flow}, seconds=60, token=token)
    port = receiver.wait_for("listening", PATIENCE_S)["port"]
    address: dict[str, str | int] = {"address": "127.0.0.1", "port": port}
    sender = real_session.start_engine("send", {**address, **flow}, seconds=60, token=token)
    assert sender.wait_for("ready", PATIENCE_S)["streams"] == 2
    assert receiver.wait_for("ready", PATIENCE_S)["streams"] == 2
    sender.command("go")
    received = receiver.wait_for("result", PATIENCE_S)
    sent = sender.wait_for("result", PATIENCE_S)
    assert received["complete"] is True
    assert received["total_bytes"] == sent["total_bytes"]
    assert sum(received["total_bytes"]) == 8_000_000
    assert sender.wait(PATIENCE_S).status == 0
    assert receiver.wait(PATIENCE_S).status == 0


@pytest.mark.engine
def test_the_real_engine_says_when_a_port_is_closed(real_session: Session) -> None:
    options: dict[str, str | int] = {"address": "127.0.0.1", "port": 1, "streams": 1}
    job = real_session.start_engine("send", {**options, "duration-ns": 100_000_000}, seconds=20)
    with pytest.raises(HostError, match=r"send:.*127\.0\.0\.1") as caught:
        job.wait_for("ready", PATIENCE_S)
    assert caught.value.stage == "network"
