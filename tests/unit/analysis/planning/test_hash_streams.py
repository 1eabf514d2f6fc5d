"""Streams that a hash needs to use the links of a bond."""

import pytest

from pathlab.analysis.planning.hash_streams import HashFields, NoStreams, plan_hash_streams, use_chance


@pytest.mark.parametrize(
    ("capacities", "streams"),
    [
        ([1.0], 1),
        ([50.0, 50.0], 6),  # 1 - 2 / 2^6 = 0.969
        ([50.0, 20.0], 6),  # 50 of 70 is too little
        ([100.0, 5.0], 5),  # 100 of 105 is enough: 1 - 1 / 2^5 = 0.969
        ([1.0] * 8, 38),  # 7 of 8 is too little
        ([1.0] * 10, 31),  # 9 of 10 is enough
    ],
)
def test_the_least_number_of_streams(capacities: list[float], streams: int) -> None:
    found = plan_hash_streams(capacities)
    assert found.streams == streams
    assert found.reason is None
    assert found.chance_ratio == use_chance(capacities, streams)
    assert found.chance_ratio >= 0.95
    if streams > 1:
        assert use_chance(capacities, streams - 1) < 0.95


def test_a_hash_of_addresses_needs_more_hosts_not_more_streams() -> None:
    found = plan_hash_streams([50.0, 50.0], HashFields.ADDRESSES)
    assert found.streams is None
    assert found.chance_ratio is None
    assert found.reason is NoStreams.ONE_ADDRESS_PAIR
    assert plan_hash_streams([50.0], HashFields.ADDRESSES).streams == 1


def test_weights_and_shares_count() -> None:
    """A hash of weights 9 and 1 seldom uses the second link: 1 - 0.9^29 = 0.953."""
    assert plan_hash_streams([1.0, 1.0], weights=[9.0, 1.0]).streams == 29
    assert plan_hash_streams([1.0, 1.0], share_ratio=0.5).streams == 1
    assert use_chance([1.0, 1.0], 2) == pytest.approx(0.5)


def test_a_link_that_is_almost_never_chosen_cannot_be_planned_for() -> None:
    found = plan_hash_streams([1.0, 1.0], weights=[1.0, 1e-9])
    assert found.streams is None
    assert found.reason is NoStreams.TOO_MANY
