"""Further receivers of a path, and trials on one host: hosts, shares of links, limits."""

from dataclasses import replace
from typing import Any

import pytest

from pathlab.campaign.budget import Estimator
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import plan_rows
from pathlab.campaign.schedule import Schedule
from pathlab.engines.spec import TrialPath, TrialSink
from pathlab.errors import HostError
from pathlab.runner.campaign.link_shares import share_links
from pathlab.runner.campaign.row import choose_family
from pathlab.runner.hosts.environment import list_hosts
from pathlab.runner.hosts.window_limits import find_short_windows
from pathlab.store.records import HostRecord
from tests.builders.campaigns import make_sample

STAR = {"source": "a", "destination": "b", "sinks": ["c", "d"]}
S = 10**9


def make_star(*paths: dict[str, Any], **factors: Any) -> Campaign:
    """Four hosts around a router, each with a link of 8 Mbit/s."""
    links = [{"between": [host, "r"], "rate": "8Mbit/s"} for host in "abcd"]
    data: dict[str, Any] = {
        "order": "given",
        "paths": list(paths) or [STAR],
        "trial": {"warmup": "0s", "duration": "1s", "drain": "1s"},
        "factors": {"streams": 3, "message": 1000, "message_rate": 100, **factors},
        "lab": {"hosts": ["a", "b", "c", "d"], "routers": ["r"], "links": links},
    }
    return make_sample(**data)


def test_every_receiver_is_a_host_of_the_campaign_and_busy_with_its_trials() -> None:
    campaign = make_star(STAR, {"source": "d", "destination": "b"})
    assert list_hosts(campaign) == ["a", "b", "c", "d"]
    campaign = make_star({**STAR, "sinks": ["c"]}, {"source": "c", "destination": "d"}, streams=2)
    schedule = Schedule(plan_rows(campaign), lanes=4)
    first = schedule.take()
    assert first.path.sinks == ("c",)
    assert schedule.take() is None  # c receives
    schedule.finish(first)
    second = schedule.take()
    assert second.path.source == "c"


def test_each_receivers_link_carries_its_share() -> None:
    campaign = make_star()
    (row,) = plan_rows(campaign)
    sent = Estimator(campaign).trial(row).bytes_max
    assert sent == 200_000  # 100 kB/s for a second, and another one to drain
    shares = {share.destination: share.share_ratio for share in share_links(campaign, [row], S)}
    whole = sent * 8 / 8e6
    assert shares == {
        "r": pytest.approx(whole, rel=1e-4),
        **{host: pytest.approx(whole / 3, rel=1e-4) for host in "bcd"},
    }


def test_a_trial_on_one_host_takes_no_link() -> None:
    campaign = make_star({"source": "a", "destination": "b"}, placement=["host", "process", "fused"], **RAW)
    rows = plan_rows(campaign)
    bounds = [Estimator(campaign).trial(row).bytes_max for row in rows]
    assert bounds == [2_000_000, None, None]  # the link's rate bounds the first one
    assert share_links(campaign, rows[1:], S) == ()


RAW = {"message_rate": "max", "streams": 1}


def test_the_windows_of_every_receiver_are_compared_with_its_limits() -> None:
    buffers = {"wmem_max_bytes": 2**19, "rmem_max_bytes": 2**19}
    hosts = [HostRecord(name=name, recorded_utc="x", facts={"buffers": buffers}) for name in "abcd"]
    reported = find_short_windows(plan_rows(make_star(window="1MiB")), hosts)
    assert [line.split(" grant")[0] for line in reported] == ["a", "b, c, d"]
    near = make_star({"source": "a", "destination": "b"}, window="1MiB", placement="process")
    reported = find_short_windows(plan_rows(near), hosts)
    assert [line.split(" grants")[0] for line in reported] == ["a", "a"]  # it sends and receives


def test_the_family_holds_for_every_receiver() -> None:
    loopback = TrialPath(
        source="a",
        destination="b",
        source_address="127.0.0.1",
        destination_address="127.0.0.1",
        sinks=(TrialSink(host="c", address="127.0.0.1", ports="5201"),),
    )
    chosen = choose_family(loopback, "ipv6")
    assert (chosen.source_address, chosen.destination_address) == ("::1", "::1")
    assert chosen.sinks == (TrialSink(host="c", address="::1", ports="5201"),)
    assert chosen.hosts == ("a", "b", "c")
    mixed = replace(loopback, sinks=(TrialSink(host="c", address="192.0.2.1"),))
    with pytest.raises(HostError, match="no IPv6 address is known"):
        choose_family(mixed, "ipv6")
