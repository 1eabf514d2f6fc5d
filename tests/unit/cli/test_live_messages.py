"""The live view of trials of messages."""

from dataclasses import replace

import pytest

from pathlab.runner.events import RateNow, TrialEnded
from tests.builders.trials import make_record
from tests.unit.cli.test_live import START, STARTED, draw, make_view

MESSAGE_LEVELS = {
    "streams": 1,
    "window_bytes": None,
    "congestion": None,
    "transport": "tcp",
    "encoding": "fixed",
    "no_delay": False,
    "batch_bytes": 65536,
    "message_bytes": 64,
    "placement": "process",
}
VARIED = ("transport", "batch_bytes", "message_bytes", "placement")
ANSWERED = make_record(
    throughput_bits_per_s=1_980.0 * 64 * 8,
    messages_per_s=1_980.0,
    offered_messages_per_s=2_000,
    round_trip_median_ns=14_300.0,
    round_trip_p99_ns=1.58e6,
    loaded_rtt_mean_ns=5e7,
    unloaded_rtt_mean_ns=4e7,
    flags=("lab", "rate-missed"),
)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_live_view_counts_messages(width: int) -> None:
    view = make_view([replace(STARTED, varied=VARIED), replace(START, settings=MESSAGE_LEVELS)])
    view(RateNow(row=0, bits_per_s=64 * 8 * 1.5e6, elapsed_ns=10**8))
    lines = draw(view, width)
    assert "1.5 M/s" in "".join(lines)
    assert "1/2  message=64 B transport=tcp batch=64 KiB" in " ".join(lines)
    kept = replace(ANSWERED, round_trip_median_ns=1e4, flags=("host-limited",))
    for record in (ANSWERED, kept):
        view(TrialEnded(record=record, settings=MESSAGE_LEVELS))
    lines = draw(view, width)
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    assert " 2 1.98 k/s 10 µs 1.58 ms " in shown  # the delays are those of the trial that kept its rate
    assert "placement=process" in shown
    assert "dRTT" not in shown
    view(replace(START, settings={**MESSAGE_LEVELS, "encoding": "protobuf"}))
    view(RateNow(row=0, bits_per_s=1.5e6, elapsed_ns=10**8))
    assert "1.5 Mbit/s" in "".join(draw(view, 80))
