"""Streams that a hash needs to use the links of a bond."""

from pathlab.analysis.planning.hash_streams import HashFields, NoStreams, plan_hash_streams


def test_a_hash_of_addresses_needs_more_hosts_not_more_streams() -> None:
    found = plan_hash_streams([50.0, 50.0], HashFields.ADDRESSES)
    assert found.streams is None
    assert found.chance_ratio is None
    assert found.reason is NoStreams.ONE_ADDRESS_PAIR
    assert plan_hash_streams([50.0], HashFields.ADDRESSES).streams == 1


def test_a_link_that_is_almost_never_chosen_cannot_be_planned_for() -> None:
    found = plan_hash_streams([1.0, 1.0], weights=[1.0, 1e-9])
    assert found.streams is None
    assert found.reason is NoStreams.TOO_MANY
