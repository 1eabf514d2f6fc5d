"""Mistakes in campaign files, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign import technologies
from pathlab.campaign.host_file import read_host_file
from pathlab.campaign.load import build_campaign, load_campaign, load_lab
from pathlab.campaign.technologies import list_adapter_faults, list_shipped_technologies, list_technologies
from pathlab.errors import CampaignError
from pathlab.runner.hosts.lab_topology import build_topology
from tests.builders.campaigns import list_mistakes, make_sample
from tests.builders.campaigns import make_tables as make_tables_of_campaign
from tests.golden.conftest import Say
from tests.unit.campaign.test_background import make_tables
from tests.unit.campaign.test_host_file import write
from tests.unit.campaign.test_profiles import TEXT, mistakes_of
from tests.unit.campaign.test_search import list_search_mistakes

AB = [{"source": "a", "destination": "b"}]


@pytest.mark.parametrize(
    "tables",
    [
        make_tables("network"),
        make_tables(["none", "combined"], network_path="c:e"),
        make_tables("network", network_path="b:a"),
        make_tables("network", network_path="c:local"),
        make_tables("network", network_path="a:d"),
        {**make_tables("network", network_path="c:d"), "budget": {"bytes_per_campaign": "1GB"}},
        {**make_tables("cpu"), "concurrency": 2},
        make_tables("disk", disk_folder="tmp"),
        make_tables("disk", disk_write="5000B"),
    ],
)
def test_what_contradicts_is_named(say: Say, tables: dict[str, Any]) -> None:
    say([found.strip() for found in list_mistakes(**tables)])


def test_a_compared_factor_has_other_levels(say: Say) -> None:
    (mistake,) = list_mistakes(compare="no_delay")
    say(mistake)
    (mistake,) = list_mistakes(compare="no_delay", factors={"streams": 1, "no_delay": True})
    say(mistake)
    factors = {"streams": 1, "no_delay": [False, True]}
    assert make_sample(compare="no_delay", factors=factors).compare == "no_delay"
    assert make_sample().compare is None
    (mistake,) = list_mistakes(compare="speed")
    say(mistake)


@pytest.mark.parametrize("key", ["streams", "window"])
def test_streams_and_windows_have_analyses_of_their_own(say: Say, key: str) -> None:
    (mistake,) = list_mistakes(compare=key, factors={"streams": [1, 4], "window": ["64KiB", "1MiB"]})
    say(mistake)


def test_safety_limits_need_the_probes_that_recording_off_leaves_out(say: Say) -> None:
    limits = {"loss": "10%"}
    (mistake,) = list_mistakes(factors={"streams": 1, "recording": ["off", "full"]}, safety_limits=limits)
    say(mistake)
    make_sample(factors={"streams": 1, "recording": ["default", "full"]}, safety_limits=limits)


def test_only_the_native_engine_has_builds_and_levels_of_recording(say: Say) -> None:
    for key, level, default in (("build", "again", "this"), ("recording", "off", "default")):
        factors = {"streams": 1, "engine": "iperf3", key: [default, level]}
        say(list_mistakes(factors=factors))


PATH = {"source": "local", "destination": "local", "rtt": "40ms", "capacity": "80Mbit/s"}


@pytest.mark.parametrize(
    "changes",
    [
        {"until": "5% of the mean", "cycles_max": 9},
        {"until": "0% of the median", "cycles_max": 9},
        {"until": "5% of the median"},
        {"until": "5% of the median", "cycles_max": 9, "cycles_min": 10},
        {"cycles_max": 9},
        {"every_jitter": "1min"},
        {"every": "1h", "every_jitter": "60min"},
        {"every": "1min", "trial": {"duration": "2min"}},
        {"budget": {"hours": "25:00-26:00"}},
        {"budget": {"hours": ["22:00-06:00", "noon"]}},
        {"budget": {"hours": "12:00-12:10"}, "trial": {"duration": "20min"}},
        {"budget": {"rate": "5Mbit/s"}, "factors": {"streams": 1, "pacing": ["1Mbit/s", "6Mbit/s"]}},
        {
            "budget": {"bytes_per_campaign": "72MB"},
            "paths": [PATH],
            "factors": {"streams": 1, "window": "64KiB"},
            "cycles": 4,
        },
        {"budget": {"bytes_per_day": "18MB"}, "paths": [PATH], "factors": {"streams": 1, "window": "64KiB"}},
        {"budget": {"bytes_per_day": "1GB"}, "factors": {"streams": 1, "engine": ["native", "iperf3"]}},
    ],
)
def test_what_cannot_be_met_is_named(say: Say, changes: dict[str, Any]) -> None:
    say(list_mistakes(**changes))


def test_a_cycle_whose_trials_run_at_once_fits_a_shorter_period(say: Say) -> None:
    hosts = {name: {"transport": "local"} for name in ("c", "d")}
    two = [PATH, {**PATH, "source": "c", "destination": "d"}]
    requested = {"every": "3min", "trial": {"duration": "2min"}, "paths": two, "hosts": hosts}
    say(list_mistakes(**requested)[0])
    make_sample(**requested, concurrency=2)


def test_constraints_that_nothing_meets_are_a_mistake(say: Say) -> None:
    mistakes = list_mistakes(factors={"streams": [1, 2]}, where=["streams > 1", "streams < 2"])
    say(mistakes)


def test_every_wrong_constraint_is_named(say: Say) -> None:
    mistakes = list_mistakes(where=["streams >", "stream > 1", "transport == 'tcp'", "streams > 0"])
    assert [mistake.split(": ")[0] for mistake in mistakes] == ["where.0", "where.1", "where.2"]
    say(mistakes[2])


FLOW: dict[str, Any] = {"transport": "udp"}


@pytest.mark.parametrize(
    "factors",
    [
        {**FLOW, "datagram": 31},
        {**FLOW, "datagram": 65508},
        {**FLOW, "pacing": "1Mbit/s", "pacing_by": "fq"},
        {**FLOW, "ecn": 4},
    ],
)
def test_levels_out_of_range_are_refused_with_the_range(say: Say, factors: dict[str, Any]) -> None:
    (mistake,) = list_mistakes(factors={"streams": 1, **factors})
    say(mistake)


HOSTS: dict[str, Any] = {"far": {"transport": "local"}}
THERE = {"source": "local", "destination": "far"}
BACK = {"source": "far", "destination": "local", "connect_from": "receiver"}


@pytest.mark.parametrize(
    "level",
    [
        {"streams": 129},
        {"direction": "both"},
        {"transport": "mptcp"},
        {"window": "513MiB"},
        {"write": "2MiB"},
        {"mss": "9217B"},
        {"duration": "24h"},
        {"workers": 2},
        {"cpus": "0"},
        {"cpus_receiver": "0"},
    ],
)
def test_what_iperf3_does_not_support_is_refused_with_the_way_out(say: Say, level: dict[str, Any]) -> None:
    factors = {"streams": 1, "engine": ["native", "iperf3"], **level}
    say(list_mistakes(factors=factors))
    cells = make_sample(factors={**factors, "engine": "native"})
    assert cells.factors.levels("engine") == ("native",)  # which does all of it


def test_iperf3_cannot_connect_from_the_receiver(say: Say) -> None:
    factors = {"streams": [1, 2], "engine": ["native", "iperf3"]}
    say(list_mistakes(factors=factors, hosts=HOSTS, paths=[THERE, BACK]))
    assert make_sample(factors={"streams": 1}, hosts=HOSTS, paths=[THERE, BACK])


def test_control_and_explicit_rows_are_checked_as_well(say: Say) -> None:
    control = {"every": 2, "engine": "iperf3", "workers": 2}
    factors = {"streams": [1, 2], "engine": ["native"], "workers": ["auto"]}
    (mistake,) = list_mistakes(factors=factors, control=control)
    say(mistake)
    rows = [{"streams": 1, "engine": "native"}, {"streams": 200, "engine": "iperf3"}]
    (mistake,) = list_mistakes(factors={}, design="explicit", rows=rows)
    say(mistake)


def test_a_host_that_nobody_knows_is_refused_by_name(say: Say, tmp_path: Path) -> None:
    path = write(tmp_path, hosts='[hosts.alpha]\naddress = "192.0.2.1"\n')
    with pytest.raises(CampaignError) as caught:
        load_campaign(path)
    say(caught.value)


def test_mistakes_are_in_the_keys_and_words_of_a_file(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text('host = 1\n[hosts.alpha]\nadress = "a"\nport = 0\n')
    with pytest.raises(CampaignError) as caught:
        read_host_file(path)
    *others, unknown, host = caught.value.mistakes
    say(others)
    say(unknown)
    say(host)


def test_what_is_not_toml_is_named_by_line(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text("[hosts.alpha]\naddress = \n")
    with pytest.raises(CampaignError) as caught:
        read_host_file(path)
    say(caught.value.mistakes)


def test_an_unknown_profile_names_those_there_are(say: Say) -> None:
    say(mistakes_of(TEXT, profile="quik"))
    (none,) = mistakes_of(TEXT[: TEXT.index("[profiles.quick]")], profile="quick")
    say(none)


def test_mistakes_of_a_profile_name_the_profile_whether_it_is_used_or_not(say: Say) -> None:
    wrong = TEXT.replace('duration = "1s"', 'duration = "1"').replace("cycles = 90", "cycels = 90")
    mistakes = mistakes_of(wrong)
    say(mistakes[0])
    say(mistakes[1])
    assert len(mistakes) == 2
    assert mistakes_of(wrong, profile="quick")[:2] == mistakes


@pytest.mark.parametrize("path", ["a", "a:", ":b", "a:b:c", "a:b,", ""])
def test_what_is_no_path_is_refused(say: Say, path: str) -> None:
    (mistake,) = mistakes_of(TEXT, paths=[path])
    say(mistake)


def test_an_unknown_host_in_other_paths_is_named(say: Say) -> None:
    (mistake,) = mistakes_of(TEXT, paths=["local:nowhere"])
    say(mistake)


@pytest.mark.parametrize("override", ["profile=quick", "profiles.quick.cycles=3"])
def test_a_profile_is_not_a_key_to_set(say: Say, override: str) -> None:
    say(mistakes_of(TEXT, override))


def test_a_profile_is_named_before_an_override_of_the_same_key(say: Say) -> None:
    say(mistakes_of(TEXT, "trial.duration=x", profile="quick")[0])


def test_a_host_that_no_link_leads_to_is_named(say: Say) -> None:
    lab = {"hosts": ["a", "b", "c"], "routers": ["r"], "links": [{"between": ["a", "b"]}]}
    with pytest.raises(CampaignError) as caught:
        make_sample(paths=AB, lab=lab)
    say(caught.value.mistakes)


def test_ipv6_in_a_lab_is_requested_once_and_fits_its_links(say: Say) -> None:
    data = make_tables_of_campaign(
        paths=AB, lab={"topology": "wan-40ms"}, factors={"streams": 1, "family": "ipv6"}
    )
    with pytest.raises(CampaignError) as caught:
        build_campaign(data, label="x")
    say(caught.value)
    lab = build_campaign({**data, "lab": {"topology": "wan-40ms", "ipv6": True}}, label="x").lab
    assert lab is not None
    assert build_topology(lab).ipv6
    narrow = {"between": ["a", "b"], "mtu": 1200}
    with pytest.raises(CampaignError) as caught:
        build_campaign({**data, "lab": {"hosts": ["a", "b"], "links": [narrow], "ipv6": True}}, label="x")
    say(caught.value)


def test_a_file_without_a_lab_is_refused(say: Say, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("labs") / "none.toml"
    path.write_text("format = 1\n")
    with pytest.raises(CampaignError) as caught:
        load_lab(str(path))
    say(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"search": {"highest": "50Mbit/s"}},
        {"search": {"loss": 0}},
        {"search": {"resolution": "0.01%"}},
        {"search": {"trials_max": 2}},
        {"search": {"lost": 1}},
        {"factors": {"pacing": "10Mbit/s"}},
        {"factors": {"transport": "tcp"}},
        {"factors": {"message": "64B"}},
        {"factors": {"direction": ["forward", "both"]}},
        {"factors": {"transfer": "1MiB"}},
        {"until": "5% of the median", "cycles_max": 10},
        {"control": {"every": 2}},
        {"budget": {"rate": "100Mbit/s"}},
    ],
)
def test_contradictions(say: Say, changes: dict[str, Any]) -> None:
    say(list_search_mistakes(**changes))


def test_too_few_packets_at_the_lowest_rate(say: Say) -> None:
    """One line, whose every remedy is enough."""
    few: dict[str, Any] = {"search": {"lowest": "1Mbit/s"}, "trial": {"duration": "2s"}}
    (mistake,) = list_search_mistakes(**few)
    say(mistake)
    for remedy in ({"search": {"lowest": "61900kbit/s"}}, {"search": {"lowest": "1Mbit/s", "loss": "6.4%"}}):
        assert not list_search_mistakes(**{**few, **remedy})
    assert not list_search_mistakes(**{**few, "trial": {"duration": "125s"}})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user's own; what it holds is read once."""
    monkeypatch.setenv("PATHLAB_ADAPTERS", str(tmp_path))
    cached = (list_technologies, list_shipped_technologies, technologies._read_all)
    for function in cached:
        function.cache_clear()
    yield tmp_path
    for function in cached:
        function.cache_clear()


def test_a_folder_that_is_named_and_does_not_exist_is_a_fault(
    say: Say, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATHLAB_ADAPTERS", f"{folder}:{folder}/absent")
    say(list_adapter_faults())
