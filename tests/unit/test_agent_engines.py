"""The agent's bookkeeping around engines: arguments, limits, output buffer; no process is started."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.agents import limits
from pathlab.agents.engines import build_command
from pathlab.agents.limits import clamp_counter_interval_ns, clamp_limits
from pathlab.agents.outbox import Outbox

NO_LIMIT = {"seconds": 1.0, "bytes": None}


def test_options_become_flags_in_their_order() -> None:
    command = build_command("/e", "send", {"address": "10.0.0.2", "port": 40123}, NO_LIMIT)
    assert command == ["/e", "send", "--address", "10.0.0.2", "--port", "40123"]


@pytest.mark.parametrize("name", ["", "-x", "Port", "a b", "a=b", "port\n", "../x"])
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="option's name"):
        build_command("/e", "send", {name: 1}, NO_LIMIT)
    with pytest.raises(ValueError, match="subcommand's name"):
        build_command("/e", name, {}, NO_LIMIT)


@pytest.mark.parametrize("value", [True, None, 1.5, [], {}])
def test_values_of_another_kind_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="option 'port' must be"):
        build_command("/e", "send", {"port": value}, NO_LIMIT)


@pytest.mark.parametrize("value", ["a\0b", "x" * 5000])
def test_values_that_exec_cannot_pass_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="option 'token'"):
        build_command("/e", "send", {"token": value}, NO_LIMIT)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "5000"),
        ({"volume-limit-bytes": 0}, "5000"),
        ({"volume-limit-bytes": 70}, "70"),
        ({"volume-limit-bytes": "9000"}, "5000"),
    ],
)
def test_a_byte_limit_lowers_the_volume_limit(options: dict[str, Any], expected: str) -> None:
    command = build_command("/e", "receive", options, {"seconds": 1.0, "bytes": 5000})
    assert command == ["/e", "receive", "--volume-limit-bytes", expected]


def test_a_byte_limit_is_not_put_on_subcommands_without_one() -> None:
    assert build_command("/e", "ping", {}, {"seconds": 1.0, "bytes": 5000}) == ["/e", "ping"]


def test_limits_are_clamped_on_both_sides() -> None:
    assert clamp_limits({}) == {"seconds": limits.MAX_SECONDS, "bytes": None}
    assert clamp_limits({"seconds": None, "bytes": None}) == {"seconds": limits.MAX_SECONDS, "bytes": None}
    assert clamp_limits({"seconds": -5, "bytes": -5}) == {"seconds": limits.MIN_SECONDS, "bytes": 1}
    assert clamp_limits({"seconds": 1e300, "bytes": 10**30}) == {
        "seconds": limits.MAX_SECONDS,
        "bytes": limits.MAX_ENGINE_BYTES,
    }
    assert clamp_limits({"seconds": 12, "bytes": 99}) == {"seconds": 12.0, "bytes": 99}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"hours": 1}, "unknown limit 'hours'"),
        ({"seconds": "9"}, "'seconds' must be a number"),
        ({"seconds": True}, "'seconds' must be a number"),
        ({"bytes": 1.5}, "'bytes' must be an integer"),
    ],
)
def test_limits_of_another_kind_are_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        clamp_limits(asked)


@given(st.integers())
def test_a_counter_interval_is_within_the_promised_range(asked: int) -> None:
    granted = clamp_counter_interval_ns(asked)
    assert 10_000_000 <= granted <= 10_000_000_000
    assert granted == asked or not 10_000_000 <= asked <= 10_000_000_000


def test_the_outbox_throttles_between_its_marks_and_keeps_every_byte() -> None:
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        os.set_blocking(reading, False)
        outbox = Outbox(writing)
        frames = [bytes([number]) * 50_000 for number in range(30)]
        for frame in frames:
            outbox.append(frame)
        assert outbox.size_bytes == 1_500_000
        assert outbox.throttled
        assert not outbox.blocked
        received = bytearray()
        seen: list[bool] = []
        for _ in range(10_000):
            if not outbox.size_bytes:
                break
            outbox.flush()
            seen.append(outbox.throttled)
            received += os.read(reading, 1 << 20)
        assert bytes(received) == b"".join(frames)
        assert seen == sorted(seen, reverse=True)  # throttled at first, and never again on the way down
        assert seen[0]
        assert not seen[-1]
    finally:
        os.close(reading)
        os.close(writing)


def test_the_outbox_stays_throttled_down_to_the_low_mark() -> None:
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        outbox = Outbox(writing)
        outbox.append(b"x" * (limits.OUTBOX_HIGH_BYTES + 1))
        assert outbox.throttled
        outbox.flush()  # what a pipe takes leaves it between the marks
        assert limits.OUTBOX_LOW_BYTES < outbox.size_bytes < limits.OUTBOX_HIGH_BYTES
        assert outbox.throttled
    finally:
        os.close(reading)
        os.close(writing)
