"""Records wait on hosts whose path may be too slow for them, and what is said meanwhile is counted."""

from typing import Any, cast

import pytest

from pathlab.campaign.conduct_model import SafetyLimits
from pathlab.engines.spec import TrialSpec
from pathlab.remote.session import Session
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.control_traffic import ControlTraffic, estimate_record_rate
from pathlab.store.flags import Flag
from tests.builders import campaigns
from tests.builders.trials import record_trial

S = 1_000_000_000


class Conversation:
    """What a trial asks of a session; ``readings`` are its times and bytes."""

    def __init__(self, *readings: tuple[int, int], over_network: bool = True) -> None:
        self.over_network = over_network
        self.asked: list[tuple[str, ...]] = []
        self._readings = list(readings)

    def hold_records(self, kinds: tuple[str, ...]) -> None:
        self.asked.append(tuple(kinds))

    def release_records(self, _timeout_s: float) -> None:
        self.asked.append(())

    def count_bytes(self) -> tuple[int, int]:
        return self._readings.pop(0)


def make_spec(limits: dict[str, Any] | None = None) -> TrialSpec:
    spec = campaigns.make_spec({})
    safety = SafetyLimits.model_validate(limits or {})
    return TrialSpec(
        row=0,
        cycle=0,
        path=spec.path,
        cell=spec.cell,
        trial=spec.trial,
        probes=spec.probes,
        safety_limits=safety,
    )


def control(spec: TrialSpec, rate: float | None, *sessions: Conversation) -> ControlTraffic:
    return ControlTraffic(spec, cast("list[Session]", list(sessions)), rate)


ALL = ("interval", "counters", "probe", "round_trips")


@pytest.mark.parametrize(
    ("share", "limits", "kinds"),
    [
        (None, {}, ALL),
        (0.011, {}, ALL),
        (0.009, {}, None),
        (0.011, {"loss": 0.1}, ("interval", "counters")),  # its probes end a trial while they come
        (0.011, {"loaded_rtt": "100ms"}, ("interval", "counters")),
    ],
)
def test_records_wait_unless_a_path_is_fast_enough_for_them(
    share: float | None, limits: dict[str, Any], kinds: tuple[str, ...] | None
) -> None:
    spec, far, near = make_spec(limits), Conversation(), Conversation(over_network=False)
    rate = None if share is None else estimate_record_rate(spec) / share
    found = control(spec, rate, far, near, far)
    found.hold()
    with found.let_probes_through():
        pass
    found.release()
    between = [kinds, ("interval", "counters"), kinds, ()]
    assert (far.asked, near.asked) == ([] if kinds is None else between, [])


def test_the_busiest_window_of_any_conversation_counts() -> None:
    first = Conversation((0, 0), (2 * S, 1_000), (3 * S, 1_500), (4 * S, 4_500))
    second = Conversation((5 * S, 100), (6 * S, 1_100), (6 * S, 1_100), (8 * S, 1_100))
    found = control(make_spec(), 1e12, first, second)
    shares = [found.share_bits_per_s]
    for _ in range(2):
        with found.counted():
            pass
        shares.append(found.share_bits_per_s)
    assert shares == [None, 8_000, 24_000]


@pytest.mark.parametrize(
    ("control_bits_per_s", "interval", "flags"),
    [
        (2_560.0, "300ms", set()),
        (2_561.0, "300ms", {Flag.CONTROL_TRAFFIC}),
        (None, "20ms", {Flag.PROBE_SHARE}),  # 84 bytes 50 times a second are 13 %
    ],
)
def test_more_than_a_hundredth_of_the_rate_beside_the_traffic_is_flagged(
    control_bits_per_s: float | None, interval: str, flags: set[Flag]
) -> None:
    spec = campaigns.make_spec({})
    probes = type(spec.probes).model_validate({"interval": interval})
    spec = TrialSpec(row=0, cycle=0, path=spec.path, cell=spec.cell, trial=spec.trial, probes=probes)
    start = {
        "type": "start",
        "method": "icmp-raw",
        "stamps": "kernel",
        "payload_bytes": 56,
        "monotonic_ns": 0,
    }
    data = TrialData(loaded=[start], control_bits_per_s=control_bits_per_s)
    record = record_trial(spec, data, {}, lab_rate_bits_per_s=256_000, lab_mtu_bytes=1500)
    assert flags == {Flag.CONTROL_TRAFFIC, Flag.PROBE_SHARE} & set(record.flags)
    expected = 84 * 8 * 1e9 / probes.interval_ns / 256_000
    assert record.probe_share_ratio == pytest.approx(expected)
