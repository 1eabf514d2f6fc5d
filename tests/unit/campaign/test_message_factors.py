"""What messages exclude is refused with the plan, by file and key, as the engine would refuse it later."""

from tests.builders.campaigns import list_mistakes, make_sample

THERE = {"source": "local", "destination": "far"}
#: A combination of which each part is allowed.
RATED = {"message": 64, "message_rate": 1000, "batch": "8KiB"}


def test_caps_on_rates_are_refused_with_messages() -> None:
    hosts = {"far": {"transport": "local", "max_rate": "40Mbit/s"}}
    what = "messages are not paced; expected a message_rate instead, or no message"
    factors = {"streams": 1, "message": ["none", 64]}
    assert list_mistakes(factors=factors, hosts=hosts, paths=[THERE]) == (f"hosts.far.max_rate: {what}",)
    assert list_mistakes(factors=factors, budget={"rate": "1Mbit/s"}) == (f"budget.rate: {what}",)
    assert make_sample(factors={"streams": 1, "message": "none"}, hosts=hosts, paths=[THERE])
