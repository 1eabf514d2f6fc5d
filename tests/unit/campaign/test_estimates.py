"""What a plan will take, beyond the quickstart: pacing, caps, directions, rest; and a very long plan."""

from pathlab.campaign.budget import Estimator, estimate_campaign, find_path_facts
from pathlab.campaign.order import plan_rows
from tests.builders.campaigns import make_sample

PATH = {"source": "local", "destination": "local", "rtt": "40ms", "capacity": "80Mbit/s"}
SHORT = {"warmup": "1s", "duration": "3s", "drain": "1s"}


def bounds_of(**changes: object) -> list[int | None]:
    campaign = make_sample(**{"paths": [PATH], "trial": SHORT, "order": "given", **changes})
    estimator = Estimator(campaign)
    return [estimator.trial(row).bytes_max for row in plan_rows(campaign)]


def test_what_the_file_says_of_a_path_counts() -> None:
    campaign = make_sample(paths=[PATH])
    facts = find_path_facts(campaign, campaign.paths[0])
    assert (facts.rtt_ns, facts.rate_bits_per_s, facts.queue_bytes) == (40_000_000, 80_000_000, None)
    # 10 MB/s for 4 s, and what drains in another second
    assert bounds_of() == [50_000_000]


def test_pacing_and_the_budgets_rate_bound_the_bytes() -> None:
    factors = {"streams": 1, "pacing": ["8Mbit/s", "16Mbit/s", "none"]}
    assert bounds_of(factors=factors) == [5_000_000, 10_000_000, 50_000_000]
    assert bounds_of(factors={"streams": 1}, budget={"rate": "24Mbit/s"}) == [15_000_000]


def test_mptcp_may_use_all_links_together() -> None:
    paths = [{"source": "a", "destination": "b"}]
    factors = {"streams": 1, "transport": ["tcp", "mptcp"]}
    tcp, mptcp = bounds_of(paths=paths, factors=factors, lab={"topology": "two-links"})
    assert mptcp == 2 * tcp
    unlimited = [{"between": ["a", "b"], "rate": "1Mbit/s"}, {"between": ["a", "b"]}]
    lab = {"hosts": ["a", "b"], "links": unlimited}
    assert bounds_of(paths=paths, factors=factors, lab=lab)[1] is None


def test_durations_of_the_factors_count() -> None:
    campaign = make_sample(factors={"streams": 1, "duration": ["1s", "100s"]}, order="given", paths=[PATH])
    estimator = Estimator(campaign)
    short, long = (estimator.trial(row) for row in plan_rows(campaign))
    assert long.time_ns - short.time_ns == 99 * 10**9
    assert (long.bytes_max or 0) - (short.bytes_max or 0) == 99 * 10**7


def test_a_plan_without_rows_takes_no_share() -> None:
    estimate = estimate_campaign(make_sample(paths=[PATH], survey="none"), [])
    assert (estimate.trials, estimate.time_ns, estimate.paths[0].share_ratio) == (0, 0, None)


def test_a_long_plan_is_whole_and_shares_its_cells() -> None:
    """How long the longest one takes is printed by benchmarks/plans.py."""
    factors = {"streams": "1..1000", "congestion": ["reno", "cubic"]}
    campaign = make_sample(factors=factors, cycles=5, paths=[PATH])
    rows = plan_rows(campaign)
    assert len({(row.cycle, row.cell.streams, row.cell.congestion) for row in rows}) == len(rows) == 10_000
    assert len({id(row.cell) for row in rows}) == 2000
    assert estimate_campaign(campaign, rows).trials == 10_000
