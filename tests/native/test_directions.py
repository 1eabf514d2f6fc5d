"""Directions: learnt from the sender, or refused. What is counted: test_counters_property.py."""

from __future__ import annotations

import pytest

from tests.native.engine import (
    MS,
    Flag,
    assert_complete,
    assert_refused,
    both_ready,
    go,
    receiving,
    sending,
)

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_a_receiver_without_flags_takes_all_settings_from_the_hello(direction: str) -> None:
    settings: dict[str, Flag] = {"streams": 5, "warmup_ns": 20 * MS, "duration_ns": 40 * MS}
    open_to_all: dict[str, Flag] = {"streams": 0, "direction": "any", "warmup_ns": -1, "duration_ns": -1}
    with both_ready(open_to_all, direction=direction, **settings) as (receiver, sender):
        stated = {"direction": direction, "bytes": None, **settings}
        assert stated.items() <= receiver.latest.items()
        assert_complete(*go(receiver, sender))


@pytest.mark.parametrize(
    ("allowed", "requested"), [("forward", "reverse"), ("reverse", "both"), ("both", "forward")]
)
def test_another_direction_is_rejected(allowed: str, requested: str) -> None:
    with receiving(streams=1, direction=allowed) as (receiver, port):
        with sending(port, streams=1, direction=requested) as sender:
            refused = sender.finish()
        receiver.send_line("stop")
        assert receiver.finish().status == 5
    assert_refused(refused, 4, "handshake")
    assert "direction" in refused.last["text"]


def test_a_peer_that_ends_before_its_start_is_no_trial() -> None:
    """With both directions the accepting side waits for the first byte; an end of file arrives instead."""
    with both_ready(streams=1, direction="both") as (receiver, sender):
        sender.send_line("stop")
        assert sender.finish().status == 5
        received = receiver.finish()
    assert (received.status, received.last["complete"]) == (5, False)
    assert received.last["total_bytes"] == [0]
