"""A true agent with the real engine, over loopback."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

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


@pytest.mark.engine
def test_held_records_come_in_order_when_they_are_released(real_session: Session) -> None:
    """Its probes wait at the host; its result, which a trial waits for, does not; its end comes last."""
    with echo_of(real_session) as port:
        flags: dict[str, str | int] = {"method": "udp", "address": "127.0.0.1", "port": port, "count": 20}
        real_session.hold_records(["probe", "counters"])
        watch = real_session.start_counters(10_000_000)
        _, before = real_session.count_bytes()
        job = real_session.start_engine("ping", {**flags, "interval-ns": 1_000_000}, seconds=60)
        assert job.wait_for("result", PATIENCE_S)["sent"] == 20
        assert not [record for record in job.records if record["type"] == "probe"]
        assert not job.ended
        real_session.release_records(PATIENCE_S)
        assert sorted(one["sequence"] for one in job.records if one["type"] == "probe") == [*range(20)]
        assert job.wait(PATIENCE_S).status == 0
        assert watch.stop()
        _, after = real_session.count_bytes()
        assert after > before


@contextmanager
def echo_of(session: Session) -> Iterator[int]:
    """The port of an echo without a token."""
    echo = session.start_engine("echo", {"bind": "127.0.0.1", "port": 0}, seconds=60)
    yield echo.wait_for("listening", PATIENCE_S)["port"]
    echo.command("stop")
    assert echo.wait(PATIENCE_S).status == 0
