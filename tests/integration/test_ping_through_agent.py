"""A true agent with the real engine: probes between two of its engines."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.errors import HostError
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.patience import PATIENCE_S
from tests.require import require_engine

pytestmark = pytest.mark.engine

INTERVAL_NS = 2_000_000
TIMEOUT_NS = 30_000_000_000  # of a probe; the echo may be held up
LIFETIME_S = 120


@pytest.fixture
def real_session() -> Iterator[Session]:
    with Session(LocalTransport(engine=Path(require_engine())), host="local") as opened:
        yield opened


def test_every_probe_and_the_echos_count_come_through(real_session: Session) -> None:
    token = secrets.token_hex(16)
    echo = real_session.start_engine(
        "echo", {"bind": "127.0.0.1", "port": 0}, seconds=LIFETIME_S, token=token
    )
    port = echo.wait_for("listening", PATIENCE_S)["port"]
    heard: list[dict[str, Any]] = []
    options: dict[str, str | int] = {
        "address": "127.0.0.1",
        "method": "udp",
        "port": port,
        "count": 20,
        "interval-ns": INTERVAL_NS,
        "timeout-ns": TIMEOUT_NS,
    }
    ping = real_session.start_engine("ping", options, seconds=LIFETIME_S, token=token, on_record=heard.append)
    end = ping.wait(PATIENCE_S)
    assert (end.status, end.signal, end.stderr, end.fault) == (0, None, "", None)
    assert heard == list(end.records)
    probes = [record for record in end.records if record["type"] == "probe"]
    assert sorted(probe["sequence"] for probe in probes) == list(range(20))
    assert all(probe["rtt_ns"] > 0 for probe in probes)
    assert end.records[-1]["type"] == "result"
    assert (end.records[-1]["sent"], end.records[-1]["received"]) == (20, 20)

    endless = real_session.start_engine("ping", {**options, "count": 0}, seconds=LIFETIME_S, token=token)
    endless.wait_for("probe", PATIENCE_S)
    endless.command("stop")
    stopped = endless.wait(PATIENCE_S)
    assert (stopped.status, stopped.records[-1]["complete"]) == (0, True)
    assert stopped.records[-1]["received"] == stopped.records[-1]["sent"] > 0

    echo.command("stop")
    answered = echo.wait(PATIENCE_S).records[-1]
    assert answered["complete"] is True
    assert (answered["echoed"], answered["refused"]) == (20 + stopped.records[-1]["sent"], 0)


def test_a_probe_that_cannot_be_sent_is_a_network_error(real_session: Session) -> None:
    # An address of the documentation block is nobody's own, so none can be sent from it.
    options: dict[str, str | int] = {"address": "127.0.0.1", "method": "udp", "port": 9}
    job = real_session.start_engine("ping", {**options, "bind": "192.0.2.77"}, seconds=LIFETIME_S)
    with pytest.raises(HostError, match="ping: cannot probe from --bind ") as caught:
        job.wait_for("start", PATIENCE_S)
    assert caught.value.stage == "network"
    assert job.wait(PATIENCE_S).status == 3
