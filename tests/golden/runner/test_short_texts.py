"""Short texts of a run: notices and reasons."""

import dataclasses
import datetime
from pathlib import Path

import pytest

from pathlab.campaign.conduct_model import Budget
from pathlab.campaign.load import load_campaign
from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError, Stage, UsageError
from pathlab.runner.campaign.budget_accounting import BudgetAccount
from pathlab.runner.campaign.folders import choose_folder
from pathlab.runner.campaign.resumption import check_same_plan
from pathlab.runner.campaign.run import plan_records
from pathlab.runner.hosts.facts_check import check_facts
from pathlab.runner.hosts.lab_changes import change_settings
from pathlab.runner.hosts.route_watch import FRESH_S
from pathlab.runner.trial.background import BackgroundLoad
from pathlab.runner.trial.bond_record import choose_bond, describe_bond
from pathlab.runner.trial.failover import measure_failover
from tests.builders.campaigns import make_sample
from tests.builders.stored import create_results
from tests.golden.conftest import Say, catch
from tests.unit.runner.campaign.test_resumption import DATA, store
from tests.unit.runner.hosts.test_facts_check import facts, find
from tests.unit.runner.hosts.test_lab_changes import LINK
from tests.unit.runner.hosts.test_route_watch import Readings, read, route_over
from tests.unit.runner.trial.test_background import FakeJob, FakeSession, load_records, make_plan, run
from tests.unit.runner.trial.test_bond_record import BOND
from tests.unit.runner.trial.test_failover import make_failure, make_receiver


def test_a_load_that_says_nothing_of_the_window_fails_the_trial(say: Say) -> None:
    job = FakeJob("load", load_records(100, [1, 1]))
    host = FakeSession("b", [100, 110], {"load": job})
    say(catch(HostError, run, make_plan("cpu", host), 0, 10))


def test_a_load_that_is_gone_fails_the_trial(say: Say) -> None:
    job = FakeJob("load", load_records(100, [1, 1]))
    load = BackgroundLoad(
        make_plan("cpu", FakeSession("b", [100, 102], {"load": job})), 60.0, lambda _job: None
    )
    load.start()
    load.begin()
    job.ended = True
    say(catch(HostError, load.end))


def test_the_bond_of_an_address_or_the_only_one_is_meant(say: Say) -> None:
    other = {**BOND, "address": None}
    assert choose_bond({"bond0": other, "bond1": BOND}, "192.0.2.1") == "bond1"
    assert choose_bond({"bond0": other}, "198.51.100.1") == "bond0"
    assert choose_bond({"bond0": other, "bond1": BOND}, "198.51.100.1") is None
    assert choose_bond({}, "192.0.2.1") is choose_bond(None, "192.0.2.1") is None
    say(describe_bond("bond0", BOND))
    say(describe_bond("b", {"mode": "balance-rr", "members": {}}))


HERE = datetime.timezone(datetime.timedelta(hours=2))
SECOND_NS = 10**9


def test_a_trial_longer_than_the_hours_can_never_run(say: Say) -> None:
    account = BudgetAccount(Budget.model_validate({"hours": ["22:00-22:10"]}))
    now = datetime.datetime(2026, 1, 5, 22, 0, tzinfo=HERE)
    say(str(account.check(now, 700 * SECOND_NS, None).spent))


NOON = datetime.datetime(2026, 1, 5, 12, 0, tzinfo=HERE)


def test_what_is_left_limits_the_next_trial_and_a_spent_budget_ends_the_run(say: Say) -> None:
    account = BudgetAccount(Budget.model_validate({"bytes_per_campaign": "1000B"}))
    account.count("2026-01-05T09:00:00+00:00", 400)
    assert account.check(NOON, SECOND_NS, None).volume_limit_bytes == 600
    assert account.check(NOON, SECOND_NS, 600).volume_limit_bytes == 600
    refused = account.check(NOON, SECOND_NS, 601).spent
    say(refused)
    account.count("2026-01-05T09:00:00+00:00", 600)
    assert account.check(NOON, SECOND_NS, None).spent == "budget.bytes_per_campaign is used up"


def test_offloads_that_are_off_come_with_the_line_that_turns_them_on(say: Say) -> None:
    nics = {
        "eth0": facts()["nics"]["eth0"] | {"offloads": {"tso": False, "gro": False, "rx_checksum": False}}
    }
    check = find(check_facts(facts(nics=nics), nic=None), "NIC eth0")
    say(check.fix)


def test_what_did_not_recover_is_censored_with_the_time_that_was_watched(say: Say) -> None:
    found = measure_failover(make_failure(450), [], make_receiver([100.0] * 5 + [0.0] * 5))
    assert "failover_recovery_ns" not in found
    say(found["failover_censored"])
    assert found["failover_retransmitted_bytes"] is None


def test_a_named_folder_is_continued_only_by_its_own_campaign(say: Say, tmp_path: Path) -> None:
    campaign, other = load_campaign("quickstart"), load_campaign("quickstart", ["seed=5"])
    folder = tmp_path / "mine"
    assert choose_folder(campaign, out=folder, new=False) == folder
    create_results(folder, campaign).close()
    assert choose_folder(campaign, out=folder, new=False) == folder
    say(catch(UsageError, choose_folder, other, out=folder, new=False))
    say(catch(UsageError, choose_folder, campaign, out=folder, new=True))
    (tmp_path / "file").touch()
    say(catch(UsageError, choose_folder, campaign, out=tmp_path / "file", new=False))


@pytest.mark.parametrize(
    "written", ["rate", "rate=fast", "delay=2min", "speed=1", "mtu=1400", "queue=800B", "rate=none"]
)
def test_a_change_that_cannot_be_is_named(say: Say, written: str) -> None:
    say(catch(UsageError, change_settings, LINK, 0, [written]))


def test_another_campaign_is_named(say: Say, tmp_path: Path) -> None:
    campaign, other = (make_sample(**DATA | {"cycles": cycles}) for cycles in (2, 3))
    with store(tmp_path, campaign, plan_records(campaign)) as results:
        say(catch(UsageError, check_same_plan, results, other, plan_records(other)))


@pytest.mark.parametrize("change", ["seed", "swapped", "level", "cycle", "shorter", "longer"])
def test_the_first_difference_of_the_plan_is_named(say: Say, tmp_path: Path, change: str) -> None:
    """As a file would be whose plan another version made, or that somebody has changed."""
    campaign = make_sample(**DATA)
    plan = plan_records(campaign)
    first, second = plan[:2]
    other = dataclasses.replace(first, settings=first.settings | {"streams": 99})
    swapped = [dataclasses.replace(second, row=0), dataclasses.replace(first, row=1)]
    beyond = dataclasses.replace(first, row=len(plan))
    stored = {
        "seed": plan,
        "swapped": [*swapped, *plan[2:]],
        "level": [other, *plan[1:]],
        "cycle": [dataclasses.replace(first, cycle=7), *plan[1:]],
        "shorter": plan[:-1],
        "longer": [*plan, beyond],
    }[change]
    changes = {"seed": 4} if change == "seed" else {}
    with store(tmp_path, campaign, stored, **changes) as results:
        say(catch(UsageError, check_same_plan, results, campaign, plan))


def test_another_way_is_a_change_once(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings(monkeypatch, route_over("r1"), route_over("r2"), route_over("r2"))
    seen = []
    for _ in range(3):
        seen.append(read(readings.watch.read))
        readings.now_s += FRESH_S
    assert seen == [("r1", False), ("r2", True), ("r2", False)]
    say(readings.notices)


def test_the_end_of_a_run_reads_once_more(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings(monkeypatch, route_over("r1"), route_over("r2"))
    read(readings.watch.read)
    readings.watch.close()
    assert readings.given == []
    say(readings.notices)


PATH = TrialPath(source="a", destination="b", source_address="192.0.2.1", destination_address="192.0.2.9")


def test_what_cannot_be_read_is_reported_once_and_harms_nothing(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = HostError("probes are not permitted", host="a", stage=Stage.NETWORK)
    readings = Readings(monkeypatch, refusal)
    assert readings.watch.read(PATH) is None
    assert readings.watch.read(PATH) is None
    say(readings.notices)
