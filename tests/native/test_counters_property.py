"""For all settings the counters are exact: both ends and the kernel agree to the byte."""

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.length import choose_runs
from tests.native.engine import MS, Ending, assert_complete, assert_counters_agree, carry
from tests.native.peers import ANSWER, CONFIRMATION, HELLO

pytestmark = [pytest.mark.engine]

TRANSFERS = st.sampled_from(["copy", "zero-copy"])
TRIALS = st.fixed_dictionaries(
    {
        "streams": st.integers(1, 24),
        "direction": st.sampled_from(["forward", "reverse", "both"]),
        "transfers": st.tuples(TRANSFERS, TRANSFERS),  # of the accepting and of the connecting end
        "window_bytes": st.sampled_from([0, 8192, 65536, 1_000_003]),
        "write_bytes": st.sampled_from([0, 777, 65536]),
        "read_bytes": st.sampled_from([0, 777, 65536]),
        "workers": st.integers(1, 3),
        "interval_ns": st.sampled_from([10 * MS, 23 * MS, 1000 * MS]),
        "warmup_ns": st.sampled_from([0, 30 * MS]),
        "bytes": st.sampled_from([0, 0, 1_000_003]),
        "no_delay": st.sampled_from(["yes", "no"]),
    }
)
COPIES, SPLICES = ("copy", "copy"), ("zero-copy", "zero-copy")
PLAIN = {"streams": 1, "direction": "forward", "transfers": COPIES, "interval_ns": 20 * MS, "warmup_ns": 0}
SMALLEST_CALLS = {"write_bytes": 1, "read_bytes": 1, "bytes": 10_001}
LARGEST_CALLS = {"write_bytes": 3_000_001, "read_bytes": 2_000_003, "bytes": 10_000_001}


def _list_sent(end: Ending, *, receives: bool) -> list[int]:
    """What an end counted as sent, which has a name of its own where it receives as well."""
    sent: list[int] = end.last["total_sent_bytes" if receives else "total_bytes"]
    if receives:
        phases = [phase["sent_bytes"] for phase in end.last["phases"].values()]
        assert [sum(column) for column in zip(*phases, strict=True)] == sent
        for name, phase in end.last["phases"].items():
            steps = [record["sent_bytes"] for record in end.of("interval") if record["phase"] == name]
            assert not steps or phase["sent_bytes"] == [sum(column) for column in zip(*steps, strict=True)]
    return sent


def _check_bytes(received: list[int], total: int) -> None:
    """Each stream carries its share to the byte."""
    streams = len(received)
    assert received == [total // streams + (stream < total % streams) for stream in range(streams)]


@settings(max_examples=choose_runs(30, short=8), suppress_health_check=list(HealthCheck))
@given(TRIALS)
@example({**PLAIN, "bytes": 1})
@example({**PLAIN, "streams": 3, "bytes": 3, "direction": "both"})
@example({**PLAIN, "streams": 64, "direction": "both"})
@example({**PLAIN, "streams": 64, "direction": "reverse", "bytes": 1_000_000})
@example({**PLAIN, "streams": 2, "transfers": SPLICES, **SMALLEST_CALLS})
@example({**PLAIN, "streams": 3, "transfers": SPLICES, **LARGEST_CALLS, "direction": "both"})
@example({**PLAIN, "streams": 5, "transfers": ("copy", "zero-copy"), "warmup_ns": 30 * MS})
@example({**PLAIN, "streams": 5, "transfers": ("zero-copy", "copy"), "direction": "reverse"})
def test_every_sum_is_exact(trial: dict[str, Any]) -> None:
    common = {name: value for name, value in trial.items() if name not in ("direction", "transfers")}
    direction, streams, total = trial["direction"], trial["streams"], trial.get("bytes", 0)
    accepted, connected = carry(
        **common,
        receiver_flags={"transfer": trial["transfers"][0], "duration_ns": 100 * MS},
        sender_flags={"transfer": trial["transfers"][1], "direction": direction, "duration_ns": 100 * MS},
    )
    forward, reverse = direction != "reverse", direction != "forward"
    ends = ((accepted, reverse, forward), (connected, forward, reverse))
    for (end, sends, receives), transfer in zip(ends, trial["transfers"], strict=True):
        assert end.of("result"), end.stderr
        assert_counters_agree(end, streams)
        assert end.of("ready")[0]["direction"] == direction
        assert end.last["transfer"]["requested"] == transfer
        assert ("confirmed_bytes" in end.last) == (sends and not receives)
        if not trial["warmup_ns"]:
            warmup = end.last["phases"]["warmup"]
            assert (warmup["start_ns"], warmup["end_ns"], warmup["bytes"]) == (0, 0, [0] * streams)
            assert end.of("interval")[0]["phase"] != "warmup"
    for (sender, sends, receives), (receiver, _, _) in (ends, ends[::-1]):
        sent = _list_sent(sender, receives=receives) if sends else [0] * streams
        if sends:
            assert sent == receiver.last["total_bytes"]
            assert sum(sent) > 0
        if sends and total:
            _check_bytes(sent, total)
            assert receiver.last["phases"]["drain"]["bytes"] == [0] * streams
        if sends and not receives and total:
            assert sender.last["confirmed_bytes"] == sent
        # The kernel counts the data, the handshake, and the start byte or confirmation of a one-way stream.
        extra = ANSWER.size + (0 if sends else CONFIRMATION.size)
        if receiver is accepted:
            extra = HELLO.size + (0 if sends else 1 + CONFIRMATION.size)
        kernel = receiver.last["tcp_info"]["bytes_received"]
        info = sender.last["tcp_info"]
        for seen, data, out, again in zip(
            kernel, sent, info["bytes_sent"], info["bytes_retrans"], strict=True
        ):
            # The FIN takes a sequence number. The peer's kernel sent as many bytes, repeated ones excluded.
            assert seen - data - extra in (0, 1)
            assert seen - (out - again) in (0, 1)
    if total:
        assert_complete(accepted, connected)
