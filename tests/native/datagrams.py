"""Flows of datagrams over loopback, and what their records must say in any case."""

from typing import Any

from tests.native.engine import Ending, Flag, Record, carry

HEADER_BYTES = 21


def carry_datagrams(
    *,
    receiver_flags: dict[str, Flag] | None = None,
    sender_flags: dict[str, Flag] | None = None,
    **flags: Flag,
) -> tuple[Ending, Ending]:
    """One complete flow: the accepting end and the connecting end."""
    return carry(
        receiver_flags={"transport": "udp", **(receiver_flags or {})},
        sender_flags={"transport": "udp", **flags, **(sender_flags or {})},
        **{name: flags[name] for name in ("warmup_ns", "duration_ns") if name in flags},
    )


def datagrams_of(end: Ending, phase: str | None = None) -> dict[str, Any]:
    """The "datagrams" object of a phase of the result, or of the result itself."""
    part: Record = end.last if phase is None else end.last["phases"][phase]
    found: dict[str, Any] = part["datagrams"]
    return found


def total(end: Ending, name: str, phase: str = "steady") -> int:
    """A number of a phase over all streams."""
    return sum(datagrams_of(end, phase)[name])


def assert_sent_agrees(sender: Ending, receiver: Ending) -> None:
    """What both ends say of one direction: exact, stream by stream."""
    for phase in ("warmup", "steady"):
        sent, received = datagrams_of(sender, phase), datagrams_of(receiver, phase)
        assert received["peer_sent"] == sent["sent"]
        pairs = zip(received["received"], received["lost"], strict=True)
        assert [came + lost for came, lost in pairs] == sent["sent"]
    confirmed = datagrams_of(sender)["confirmed"]
    for name in ("received", "lost", "duplicate", "reordered"):
        assert confirmed[name] == datagrams_of(receiver, "steady")[name], name
    sums = zip(datagrams_of(sender, "warmup")["sent"], datagrams_of(sender, "steady")["sent"], strict=True)
    assert datagrams_of(sender)["sent"] == [sum(parts) for parts in sums]
    assert set(datagrams_of(sender, "drain")["sent"]) == {0}


def assert_intervals_agree(end: Ending, names: tuple[str, ...]) -> None:
    """Over the whole trial the intervals add up to the phases."""
    for name in names:
        intervals = [interval["datagrams"][name] for interval in end.of("interval")]
        phases = [datagrams_of(end, phase)[name] for phase in ("warmup", "steady", "drain")]
        assert [sum(stream) for stream in zip(*intervals, strict=True)] == [
            sum(stream) for stream in zip(*phases, strict=True)
        ], name
