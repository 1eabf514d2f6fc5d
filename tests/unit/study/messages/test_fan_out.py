"""Fan-out: each sink, all sinks, and how evenly, by number of streams."""

import pytest

from tests.builders.messages import carry, make_message_trials
from tests.builders.results import Settings, study


def share(settings: Settings) -> dict[str, object]:
    """All sinks together get 1.5 times what one gets; Jain's index falls with their number."""
    found = carry(settings)
    sinks = settings["streams"]
    found["messages_per_s"] *= 1.5 if sinks > 1 else 1.0
    return found | {"fairness_jain": 1.0 - 0.01 * (sinks - 1)}


def test_each_and_all_sinks_beside_the_fewest() -> None:
    curves = [{"streams": sinks} for sinks in (1, 2, 4)]
    answers = study(make_message_trials(curves, share, sizes=(22, 1004))).fan_out()
    assert [(one.result.message_bytes, one.result.sinks) for one in answers] == [
        (size, sinks) for size in (22, 1004) for sinks in (1, 2, 4)
    ]
    alone, _, most = (one.result for one in answers[:3])
    rate = 1e9 / 2022
    assert alone.total_messages_per_s.median == pytest.approx(rate, rel=0.02)
    assert most.total_messages_per_s.median == pytest.approx(1.5 * rate, rel=0.02)
    assert most.sink_messages_per_s.median == pytest.approx(1.5 * rate / 4, rel=0.02)
    assert most.throughput_bits_per_s.median == pytest.approx(1.5 * rate * 176, rel=0.02)
    assert most.total_ratio == pytest.approx(1.5, rel=0.02)
    assert most.total_ratio_interval.contains(1.5)
    assert (alone.total_ratio, alone.total_ratio_interval) == (None, None)
    assert alone.jain_ratio.n == 0
    assert most.jain_ratio.median == pytest.approx(0.97)
