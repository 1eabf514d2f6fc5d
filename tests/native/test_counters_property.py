"""For all settings the counters are exact: both ends and the kernel agree to the byte."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.length import choose_runs
from tests.native.engine import MS, Ending, Flag, assert_counters_agree, carry
from tests.native.peers import ANSWER, CONFIRMATION, HELLO

pytestmark = [pytest.mark.engine]

TRIALS = st.fixed_dictionaries(
    {
        "streams": st.integers(1, 24),
        "direction": st.sampled_from(["forward", "reverse", "both"]),
        "transfer": st.sampled_from(["copy", "zero-copy"]),
        "window_bytes": st.sampled_from([0, 8192, 65536, 1_000_003]),
        "write_bytes": st.sampled_from([0, 1000, 65536]),
        "read_bytes": st.sampled_from([0, 777, 65536]),
        "workers": st.integers(1, 3),
        "interval_ns": st.sampled_from([10 * MS, 23 * MS, 1000 * MS]),
        "warmup_ns": st.sampled_from([0, 30 * MS]),
        "bytes": st.sampled_from([0, 0, 1_000_003]),
        "no_delay": st.sampled_from(["yes", "no"]),
    }
)


def _received_by_kernel(end: Ending) -> list[int]:
    values: list[int] = end.last["tcp_info"]["bytes_received"]
    return values


@settings(max_examples=choose_runs(30, short=15), suppress_health_check=list(HealthCheck))
@given(TRIALS)
def test_every_sum_is_exact(trial: dict[str, Flag]) -> None:
    common = {name: value for name, value in trial.items() if name != "direction"}
    accepted, connected = carry(
        **common,
        receiver_flags={"duration_ns": 150 * MS},
        sender_flags={"direction": trial["direction"], "duration_ns": 150 * MS},
    )
    streams = int(trial["streams"])
    for end in (accepted, connected):
        assert end.of("result"), end.stderr
        assert_counters_agree(end, streams)
    forward = trial["direction"] != "reverse"
    reverse = trial["direction"] != "forward"
    sent = {
        "connected": connected.last["total_sent_bytes" if reverse else "total_bytes"] if forward else None,
        "accepted": accepted.last["total_sent_bytes" if forward else "total_bytes"] if reverse else None,
    }
    if forward:
        assert sent["connected"] == accepted.last["total_bytes"]
    if reverse:
        assert sent["accepted"] == connected.last["total_bytes"]
    if trial["bytes"]:
        assert sum(accepted.last["total_bytes"]) == trial["bytes"]
    # The kernel counts the data, the handshake, and the start byte or confirmation of a one-way stream.
    hello = HELLO.size + (0 if forward else 1 + CONFIRMATION.size)
    answer = ANSWER.size + (0 if reverse else CONFIRMATION.size)
    for end, peers, extra in (
        (accepted, sent["connected"] or [0] * streams, hello),
        (connected, sent["accepted"] or [0] * streams, answer),
    ):
        for seen, data in zip(_received_by_kernel(end), peers, strict=True):
            # The FIN takes a sequence number.
            assert seen - data - extra in (0, 1)
    # The peer's kernel sent as many bytes, retransmissions excluded.
    for sender, receiver in ((connected, accepted), (accepted, connected)):
        info = sender.last["tcp_info"]
        for total, again, came in zip(
            info["bytes_sent"], info["bytes_retrans"], _received_by_kernel(receiver), strict=True
        ):
            assert came - (total - again) in (0, 1)
