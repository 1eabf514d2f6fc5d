"""When a busy host is blamed for a rate."""

import pytest

from pathlab.analysis.verdicts.host_limits import (
    BUSY_CORE_RATIO,
    CEILING_RATIO,
    EXPLAINED_RATIO,
    OWN_WORK_RATIO,
    WAITING_RATIO,
    HostLoad,
    is_core_busy,
    is_host_limited,
    is_traffic_cpu_bound,
)


@pytest.mark.parametrize(
    ("ratios", "busy"),
    [
        ((None, None), False),
        ((0.5, None), False),
        ((None, BUSY_CORE_RATIO), True),
        ((1.0, 0.1), True),
        ((), False),
    ],
)
def test_a_core_is_busy(ratios: tuple[float | None, ...], busy: bool) -> None:
    assert is_core_busy(ratios) is busy


@pytest.mark.parametrize(
    ("rate", "bounds", "limited"),
    [
        (10e9, (None, None), True),  # nothing known explains it
        (38.6e6, (38.6e6, None), False),  # the line does
        (13e6, (38.6e6, 13.1e6), False),  # the windows do
        (5e6, (38.6e6, 13.1e6), True),
        (EXPLAINED_RATIO * 100, (100,), False),  # the threshold itself explains
        (None, (), False),  # an unmeasured rate is nobody's
    ],
)
def test_a_busy_host_is_blamed_only_for_what_nothing_else_explains(
    rate: float | None, bounds: tuple[float | None, ...], limited: bool
) -> None:
    assert is_host_limited(rate, (HostLoad(busiest_core_ratio=1.0), HostLoad()), bounds) is limited
    assert is_host_limited(rate, (HostLoad(busiest_core_ratio=0.5), HostLoad()), bounds) is False


@pytest.mark.parametrize(
    ("rate", "bounds", "ceiling", "limited"),
    [
        (CEILING_RATIO * 20e9, (None,), 20e9, True),  # the threshold itself is near
        (15.9e9, (None,), 20e9, False),
        (18e9, (19e9,), 20e9, False),  # a line explains it
        (18e9, (None,), None, False),  # not calibrated
        (None, (None,), 20e9, False),
    ],
)
def test_a_rate_near_the_hosts_own_ceiling_is_the_hosts(
    rate: float | None, bounds: tuple[float | None, ...], ceiling: float | None, limited: bool
) -> None:
    assert is_host_limited(rate, (HostLoad(busiest_core_ratio=0.5),) * 2, bounds, ceiling) is limited


@pytest.mark.parametrize(
    ("loads", "bound"),
    [
        # others keep the sender's core busy; the receiver has time left
        (((1.0, 0.05, None), (0.2, 0.9, None)), False),
        (((1.0, OWN_WORK_RATIO, None), (0.2, 0.1, None)), True),
        (((1.0, None, None), (0.2, 0.1, None)), True),  # who was busy is not known
        (((1.0, None, None),), True),
        (((0.5, 0.2, None), (0.5, BUSY_CORE_RATIO, None)), True),  # a thread that moves between cores
        (((1.0, 0.1, WAITING_RATIO), (0.2, 0.1, 0.0)), True),  # it shares the core, and wants more of it
        (((1.0, 0.1, 0.12), (0.2, 0.1, 0.0)), False),  # it shares the core, and has enough of it
        (((None, None, None), (None, None, None)), False),
        ((), False),
    ],
)
def test_the_traffic_is_told_from_what_else_runs(
    loads: tuple[tuple[float | None, float | None, float | None], ...], bound: bool
) -> None:
    hosts = [
        HostLoad(busiest_core_ratio=core, engine_core_ratio=own, waiting_ratio=waiting)
        for core, own, waiting in loads
    ]
    assert is_traffic_cpu_bound(hosts) is bound
    assert is_host_limited(1e9, hosts, (None,), None) is bound
    assert is_host_limited(1e9, hosts, (1e9,), None) is False
