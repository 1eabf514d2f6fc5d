"""The agent's bookkeeping around engines: arguments, limits, output buffer; no process is started.

What is refused: tests/golden/agents/test_refusals.py.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.agents import limits
from pathlab.agents.engines import build_command
from pathlab.agents.limits import Caps, clamp_counter_interval_ns, clamp_limits
from pathlab.agents.outbox import Outbox

NO_LIMIT = {"seconds": 1.0, "bytes": None, "rate_bits_per_s": None}
TOKEN = "00112233445566778899aabbccddeeff"
TIME = ["--time-limit-ns", "4000000000"]  # of one second, and three more


def test_options_become_flags_in_their_order() -> None:
    command = build_command("/e", "send", {"address": "10.0.0.2", "port": 40123}, NO_LIMIT)
    assert command == ["/e", "send", "--address", "10.0.0.2", "--port", "40123", *TIME]


def limited(**limits_given: Any) -> dict[str, Any]:
    return {**NO_LIMIT, **limits_given}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "5000"),
        *(({"volume-limit-bytes": own}, one) for own, one in ((0, "5000"), (70, "70"), ("9000", "5000"))),
    ],
)
def test_a_byte_limit_lowers_the_volume_limit(options: dict[str, Any], expected: str) -> None:
    command = build_command("/e", "receive", options, limited(bytes=5000))
    assert command == ["/e", "receive", *TIME, "--volume-limit-bytes", expected]


def test_a_byte_limit_is_not_put_on_subcommands_without_one() -> None:
    assert build_command("/e", "ping", {}, limited(bytes=5000, rate_bits_per_s=9)) == ["/e", "ping"]


@pytest.mark.parametrize(
    ("subcommand", "options", "expected"),
    [
        ("send", {}, "7000"),
        ("send", {"direction": "both", "rate-bits-per-s": "0"}, "7000"),
        ("receive", {}, "7000"),  # the sender may turn the direction round
        ("receive", {"direction": "reverse", "rate-bits-per-s": 6000}, "6000"),
        ("send", {"rate-bits-per-s": "9" * 4000}, "7000"),
        ("send", {"direction": "reverse"}, None),
        ("receive", {"direction": "forward"}, None),
    ],
)
def test_a_rate_limit_lowers_the_rate_of_an_end_that_may_send(
    subcommand: str, options: dict[str, Any], expected: str | None
) -> None:
    command = build_command("/e", subcommand, options, limited(rate_bits_per_s=7000))
    assert command[-2:] == ["--rate-bits-per-s", expected] if expected else "--rate-bits-per-s" not in command
    assert command.count("--rate-bits-per-s") == (1 if expected else 0)


def test_a_cap_on_the_rate_is_no_matter_of_bytes_or_of_no_messages() -> None:
    command = build_command("/e", "send", {"message-bytes": 64}, limited(bytes=5000))
    assert command[2:4] == ["--message-bytes", "64"]
    command = build_command("/e", "send", {"message-bytes": 0}, limited(rate_bits_per_s=7000))
    assert command[-2:] == ["--rate-bits-per-s", "7000"]


def test_nothing_can_stand_behind_the_limits() -> None:
    options = {"volume-limit-bytes": 10**12, "rate-bits-per-s": 10**12, "streams": 4, "no-delay": "yes"}
    command = build_command("/e", "send", options, limited(bytes=5000, rate_bits_per_s=7000))
    assert command[-4:] == ["--volume-limit-bytes", "5000", "--rate-bits-per-s", "7000"]


@pytest.mark.parametrize(
    ("options", "seconds", "expected"),
    [
        ({}, 60.0, 63 * 10**9),
        ({"time-limit-ns": 5}, 60.0, 5),
        ({"time-limit-ns": 0}, 60.0, 63 * 10**9),
        ({"time-limit-ns": 10**18}, limits.MAX_SECONDS, 604_800 * 10**9),
    ],
)
def test_an_engine_knows_when_to_end_by_itself(
    options: dict[str, Any], seconds: float, expected: int
) -> None:
    command = build_command("/e", "send", options, limited(seconds=seconds))
    assert command == ["/e", "send", "--time-limit-ns", str(expected)]


def test_limits_are_clamped_on_both_sides() -> None:
    none = {"seconds": limits.MAX_SECONDS, "bytes": None, "rate_bits_per_s": None}
    assert clamp_limits({}) == clamp_limits(dict.fromkeys(none)) == none
    assert clamp_limits({"seconds": -5, "bytes": -5, "rate_bits_per_s": 0}) == {
        "seconds": limits.MIN_SECONDS,
        "bytes": 1,
        "rate_bits_per_s": 1,
    }
    for huge in (1e300, 10**400, float("inf")):
        assert clamp_limits({"seconds": huge})["seconds"] == limits.MAX_SECONDS
    assert clamp_limits({"bytes": 10**30, "rate_bits_per_s": 10**30}) == {
        **none,
        "bytes": limits.MAX_ENGINE_BYTES,
        "rate_bits_per_s": limits.MAX_RATE_BITS_PER_S,
    }
    requested = {"seconds": 12, "bytes": 99, "rate_bits_per_s": 1000}
    assert clamp_limits(requested) == requested


def test_caps_of_the_host_bound_what_is_requested_and_what_is_not() -> None:
    caps = Caps(seconds=5.0, bytes=1000, rate_bits_per_s=64_000)
    capped = {"seconds": 5.0, "bytes": 1000, "rate_bits_per_s": 64_000}
    assert clamp_limits({}, caps) == capped
    assert clamp_limits({"seconds": 6, "bytes": 1001, "rate_bits_per_s": 64_001}, caps) == capped
    less = {"seconds": 4.0, "bytes": 999, "rate_bits_per_s": 63_999}
    assert clamp_limits(less, caps) == less
    assert clamp_limits({"seconds": 1}, Caps(seconds=0.01))["seconds"] == 0.01


@given(st.integers())
def test_a_counter_interval_is_within_the_promised_range(requested: int) -> None:
    granted = clamp_counter_interval_ns(requested)
    assert 10_000_000 <= granted <= 10_000_000_000
    assert granted == requested or not 10_000_000 <= requested <= 10_000_000_000


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The reading and the writing end of a pipe, neither of which waits."""
    reading, writing = os.pipe2(os.O_NONBLOCK)
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_the_outbox_throttles_between_its_marks_and_keeps_every_byte(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    outbox = Outbox(writing)
    frames = [bytes([number]) * 50_000 for number in range(30)]
    for frame in frames:
        outbox.append(frame)
    assert (outbox.size_bytes, outbox.throttled, outbox.blocked) == (1_500_000, True, False)
    received = bytearray()
    seen: list[bool] = []
    for _ in range(10_000):
        if not outbox.size_bytes:
            break
        outbox.flush()
        seen.append(outbox.throttled)
        received += os.read(reading, 1 << 20)
    assert bytes(received) == b"".join(frames)
    # Throttled at first, and never again on the way down.
    assert (seen[0], seen[-1]) == (True, False)
    assert seen == sorted(seen, reverse=True)


def test_the_outbox_stays_throttled_down_to_the_low_mark(pipe: tuple[int, int]) -> None:
    outbox = Outbox(pipe[1])
    outbox.append(b"x" * (limits.OUTBOX_HIGH_BYTES + 1))
    assert outbox.throttled
    outbox.flush()  # what a pipe takes leaves it between the marks
    assert limits.OUTBOX_LOW_BYTES < outbox.size_bytes < limits.OUTBOX_HIGH_BYTES
    assert outbox.throttled
