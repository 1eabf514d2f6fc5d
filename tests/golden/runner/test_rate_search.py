"""Searches at work: rows planned as they go, continued from what is stored, left alone where trials fail."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.order import PlanRow
from pathlab.errors import StoreError, UsageError
from pathlab.runner.campaign.cycle import RunParts
from pathlab.runner.campaign.resumption import check_same_plan
from pathlab.runner.campaign.run import plan_records
from pathlab.store.records import PlanRecord
from pathlab.study.lossless.rate_searches import describe_ending, list_searches
from tests.builders.searches import Truth, count_link, make_search_campaign, run_searches
from tests.builders.stored import create_results
from tests.golden.conftest import Say, catch


def search(folder: Path, truth: Truth) -> str:
    """How the only search of a campaign ends."""
    campaign = make_search_campaign(cycles=1, factors={"streams": 1, "transport": "udp", "datagram": 1000})
    with create_results(folder, campaign) as results:
        run_searches(results, campaign, truth)
        (found,) = list_searches(results.plan(), results.records(), campaign.search.rule)
    return describe_ending(found.state, campaign.search.rule)


@pytest.mark.parametrize("loss_ratio", [0.0, 0.5, 1.0, 0.01])
def test_each_ending_has_one_text(say: Say, tmp_path: Path, loss_ratio: float) -> None:
    say(search(tmp_path, count_link(1e9, loss_ratio)))


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_limit_of_a_host_is_no_rate_of_the_path(say: Say, tmp_path: Path, end: str) -> None:
    clean, link = count_link(1e9), count_link(48e6)

    def limit(row: PlanRow) -> Mapping[str, Any]:
        if end == "receiver":
            counts = link(row)
            return {**counts, "udp_lost_host_packets": counts["udp_lost_packets"], "udp_lost_path_packets": 0}
        sent = min(48e6, row.cell.pacing_bits_per_s or 0) / 8000
        return {**clean(row), "udp_sent_packets_per_s": sent}

    say(search(tmp_path, limit))


@pytest.mark.parametrize("lossy", [1e9, 70e6])
def test_what_is_undecided_above_a_confirmed_rate_is_at_least_that(
    say: Say, tmp_path: Path, lossy: float
) -> None:
    clean, doubtful, bad = (count_link(1e9, loss) for loss in (0.0, 0.01, 0.5))

    def lose(row: PlanRow) -> Mapping[str, Any]:
        rate = row.cell.pacing_bits_per_s or 0
        return (clean if rate < 40e6 else doubtful if rate < lossy else bad)(row)

    say(search(tmp_path, lose))


@pytest.mark.parametrize("host", [None, 0])
@pytest.mark.parametrize("link", [count_link(48000000.0), count_link(1000000000.0, 0.5)])
def test_a_loss_that_may_be_the_hosts_is_not_said_to_be_the_paths(
    say: Say, tmp_path: Path, link: Truth, host: int | None
) -> None:
    """With GRO the drops of a socket are not known: what other counters explain is no more than a part."""

    def hide(row: PlanRow) -> Mapping[str, Any]:
        counts = link(row)
        unknown = {"udp_lost_host_packets": host, "udp_lost_path_packets": None}
        return {**counts, **unknown} if counts["udp_lost_packets"] else counts

    say(search(tmp_path, hide))


def test_a_stored_row_of_no_search_is_refused(say: Say, tmp_path: Path) -> None:
    campaign = make_search_campaign(cycles=1)
    with create_results(tmp_path, campaign) as results:
        settings = {**results.plan()[0].settings, "streams": 9}
        results.add_plan_row(
            PlanRecord(row=2, cycle=0, path_source="local", path_destination="local", settings=settings)
        )
        say(catch(UsageError, RunParts, campaign, results, lambda _: None))
        say(catch(StoreError, results.add_plan_row, results.plan()[0]))


def test_another_rule_is_another_campaign(say: Say, tmp_path: Path) -> None:
    campaign = make_search_campaign()
    other = make_search_campaign(
        search={"loss": "2%", "lowest": "10Mbit/s", "highest": "100Mbit/s", "resolution": "5%"}
    )
    with create_results(tmp_path, campaign) as results:
        say(catch(UsageError, check_same_plan, results, other, plan_records(other)))
