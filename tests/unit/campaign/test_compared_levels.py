"""Keys of campaigns that compare levels of one factor: builds, recording, any other."""

from __future__ import annotations

import pytest

from tests.builders.campaigns import list_mistakes, make_sample


def test_a_compared_factor_has_other_levels() -> None:
    (mistake,) = list_mistakes(compare="no_delay")
    assert "'no_delay' has no other level to compare; expected two or more in [factors]" in mistake
    (mistake,) = list_mistakes(compare="no_delay", factors={"streams": 1, "no_delay": True})
    assert "no other level" in mistake
    factors = {"streams": 1, "no_delay": [False, True]}
    assert make_sample(compare="no_delay", factors=factors).compare == "no_delay"
    assert make_sample().compare is None
    (mistake,) = list_mistakes(compare="speed")
    assert mistake.startswith('compare: "speed" does not fit; expected "streams"')


@pytest.mark.parametrize("key", ["streams", "window"])
def test_streams_and_windows_have_analyses_of_their_own(key: str) -> None:
    (mistake,) = list_mistakes(compare=key, factors={"streams": [1, 4], "window": ["64KiB", "1MiB"]})
    assert f"compare: '{key}' is compared by the analyses of streams and windows; expected another" in mistake


def test_safety_limits_need_the_probes_that_recording_off_leaves_out() -> None:
    limits = {"loss": "10%"}
    (mistake,) = list_mistakes(factors={"streams": 1, "recording": ["off", "full"]}, safety_limits=limits)
    assert "they need the loaded probes that recording 'off' leaves out" in mistake
    make_sample(factors={"streams": 1, "recording": ["default", "full"]}, safety_limits=limits)


def test_only_the_native_engine_has_builds_and_levels_of_recording() -> None:
    for key, level, default in (("build", "again", "this"), ("recording", "off", "default")):
        factors = {"streams": 1, "engine": "iperf3", key: [default, level]}
        assert any(f"iperf3 does not support {key}" in mistake for mistake in list_mistakes(factors=factors))
