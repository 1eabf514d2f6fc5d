"""Messages by size: their rates, their cost, which trials are taken, and published figures beside them."""

import math
from typing import Any

import pytest

from pathlab.study.base.trials import Condition
from pathlab.study.comparison.references import find_published, find_published_fan_out
from pathlab.study.messages.message_rates import read_level
from tests.builders.messages import BATCH, WRITE_SIZES, carry, make_message_trials
from tests.builders.results import Settings, study


def test_every_size_of_a_curve_has_its_rate_cost_and_losses() -> None:
    answers = study(make_message_trials([{}], carry)).message_rates()
    assert [one.result.size_bytes for one in answers] == list(WRITE_SIZES)
    first = answers[0].result
    assert first.messages_per_s.median == pytest.approx(1e9 / 2064, rel=0.02)
    assert first.messages_per_s.interval.decided
    assert first.throughput_bits_per_s.median == pytest.approx(512e9 / 2064, rel=0.02)
    assert first.sender_cpu_ns_per_message.median == 2000
    assert first.receiver_cpu_ns_per_message.median == 500
    assert (first.messages_per_call.median, first.missing, first.out_of_order) == (1, 0, 0)
    assert answers[0].condition.get("message_bytes") is None
    assert answers[0].selection.used == 8


def test_offered_rates_and_round_trips_do_not_show_what_can_be_carried() -> None:
    curves: list[Settings] = [{}, {"reply": True}, {"message_rate_per_s": 1000}]
    given = [{"reply": False, "message_rate_per_s": None, **one} for one in curves]
    found = study(make_message_trials(given, carry, cycles=2))
    assert len(found.message_rates()) == len(WRITE_SIZES)
    assert len(found.message_cost()) == 1


def test_without_a_message_in_the_steady_window_a_trial_is_excluded() -> None:
    def stall(settings: Settings) -> dict[str, Any]:
        return carry(settings) | ({"messages_per_s": 0.0} if settings["message_bytes"] == 64 else {})

    answers = study(make_message_trials([{}], stall, cycles=3)).message_rates()
    assert [one.result.size_bytes for one in answers] == list(WRITE_SIZES[1:])
    (excluded,) = answers[0].selection.excluded
    assert (excluded.reason, excluded.trials) == ("messages_per_s: not-positive", 3)


@pytest.mark.parametrize(
    ("settings", "table", "column"),
    [
        ({}, "3.0-internode", "tcp_gbps"),
        (BATCH, "3.0-internode", "tcp_batched_gbps"),
        ({"placement": "process", "cork": True}, "3.0-intranode", "tcp_batched_gbps"),
        ({"placement": "process", "encoding": "protobuf"}, "2.0-facade-intranode", "tcp_normal_gbps"),
        ({"placement": "threaded", "transport": "udp"}, "2.0-fused-threaded", "threaded_port_gbps"),
        ({"placement": "fused"} | BATCH, "2.0-fused-threaded", "fused_gbps"),
        ({"placement": "process", "transport": "pipe"}, None, None),
        ({"encoding": "protobuf"}, None, None),
        ({"build": "again"}, None, None),
        ({"recording": "off"}, None, None),
        ({"build": "this", "recording": "default"}, "3.0-internode", "tcp_gbps"),
    ],
)
def test_the_published_column_is_the_one_measured_most_alike(
    settings: dict[str, object], table: str | None, column: str | None
) -> None:
    condition = Condition(
        path_source="a", path_destination="b", medium="hosts", settings=tuple(sorted(settings.items()))
    )
    assert read_level(condition, "transport") == settings.get("transport", "tcp")
    found = find_published(condition, 1)
    assert find_published(condition, 4) is None
    assert (None if found is None else (found[0].name, found[1])) == (
        table and (f"ibm-streams-{table}", column)
    )


def test_published_fan_out_goes_by_size_and_batching_on_one_host() -> None:
    def find(placement: str = "process", **settings: object) -> str | None:
        levels = {"placement": placement, **settings}
        condition = Condition(
            path_source="a", path_destination="b", medium="hosts", settings=tuple(sorted(levels.items()))
        )
        found = find_published_fan_out(condition)
        return None if found is None else found[1]

    assert find(message_bytes=22) == "tcp_22B_gbps"
    assert find(message_bytes=1004, batch_bytes=65536) == "tcp_batched_1004B_gbps"
    assert find(message_bytes=64) is None
    assert find("host", message_bytes=22) is None
    assert find(message_bytes=22, transport="udp") is None


def test_own_messages_beside_a_published_table() -> None:
    found = study(make_message_trials([{}], carry)).against_reference("ibm-streams-3.0-internode", "tcp_gbps")
    (row,) = [one for one in found[0].result.rows if one.level == 64]
    assert row.ratio == pytest.approx(512 / 2064 / 0.81, rel=0.02)
    assert math.isclose(row.reference_bits_per_s or 0, 0.81e9)
