"""Every campaign that ships can be used, and its description is current."""

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest

from pathlab.campaign.budget import estimate_campaign
from pathlab.campaign.campaign_text import list_shipped
from pathlab.campaign.factor_types import Transport
from pathlab.campaign.load import load_campaign
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import plan_rows
from pathlab.campaign.schema import JSON_NAME, MARKDOWN_NAME, build_json_schema, describe_campaign_file
from pathlab.campaign.technologies import list_technologies
from pathlab.errors import CampaignError

FOLDER = resources.files("pathlab.campaigns")
RELAY_RATES = (1000, 5000, 20_000, 50_000, 100_000)
#: Of one machine alone, whose cores an emulated link would take; they grow with the technologies.
BY_TECHNOLOGY = {"round-trip"}


@cache
def load(name: str, profile: str | None = None) -> Campaign:
    """A shipped campaign; nothing changes it."""
    return load_campaign(name, profile=profile)


@pytest.mark.parametrize("name", list_shipped())
def test_a_shipped_campaign_has_a_quick_profile_of_the_same_structure(name: str) -> None:
    whole, quick = load(name), load(name, "quick")
    assert quick.profile == "quick"
    assert (whole.name, bool(whole.description.strip())) == (name, True)
    for campaign in (whole, quick):
        assert len(plan_rows(campaign)) >= 2
        # Samples of the cores are as long as an interval, and begin with the trial's preparation.
        assert campaign.trial.duration_ns >= 2 * campaign.trial.interval_ns
    assert quick.lab == whole.lab
    assert (whole.lab is None) == (name in BY_TECHNOLOGY)
    assert quick.factors.given == whole.factors.given
    assert (quick.design, quick.order, quick.paths) == (whole.design, whole.order, whole.paths)
    estimate = estimate_campaign(quick)
    assert estimate.time_ns < (300e9 if name in BY_TECHNOLOGY else 90e9)
    assert estimate.trials >= 6
    if name not in BY_TECHNOLOGY and any(
        isinstance(level, int) for level in whole.factors.levels("message_bytes")
    ):
        hours = 8 if name == "round-trip-loaded" else 2  # all technologies under all loads: a night
        assert estimate_campaign(whole).time_ns < hours * 3600e9


@pytest.mark.parametrize("name", list_shipped())
def test_a_shipped_campaign_runs_between_other_hosts(name: str) -> None:
    # Another pair of hosts for its network load, or no such load.
    levels = ['factors.background=["none", "cpu", "disk"]'] if name == "round-trip-loaded" else []
    profile = "hosts" if name == "multipath" else None  # hosts outside a lab keep their bonds
    campaign = load_campaign(name, levels, profile=profile, paths=["local:local"])
    assert campaign.lab is None
    assert (estimate_campaign(campaign).bytes_max is None) == (campaign.search is None)  # which offers rates


def list_levels(name: str, *factors: str, profile: str | None = None) -> set[tuple[object, ...]]:
    """The combinations of these factors, by attribute, that a campaign measures."""
    rows = plan_rows(load(name, profile))
    return {tuple(getattr(row.cell, factor) for factor in factors) for row in rows}


def test_message_sizes_are_the_sources() -> None:
    """IBM, InfoSphere Streams 2.0 and 3.0 Performance Reports, 2011 and 2013."""
    assert list_levels("message-size", "message_bytes") == {(2**power,) for power in range(2, 15)}
    places = list_levels("message-size", "placement", "transport", "batch_bytes")
    assert {transport for placement, transport, _ in places if placement == "process"} == {
        "tcp", "unix", "pipe", "shared-memory"
    }  # fmt: skip
    assert {transport for placement, transport, _ in places if placement != "process"} == {"tcp"}
    assert {batch for placement, _, batch in places if placement == "fused"} == {None}
    assert {batch for placement, _, batch in places if placement != "fused"} == {None, 64 * 1024}
    assert list_levels("fan-out", "streams") == {(sinks,) for sinks in range(1, 7)}
    assert list_levels("fan-out", "message_bytes") == {(22,), (108,), (1004,)}
    relay = list_levels("relay-latency", "message_rate_per_s", "batch_min_delay_ns", "batch_max_delay_ns")
    assert relay == {
        *((rate, None, None) for rate in (None, *RELAY_RATES)),
        *((rate, 400_000, 800_000) for rate in RELAY_RATES),
    }
    assert list_levels("relay-latency", "transport", "no_delay") == {
        ("tcp", True), ("udp", False), ("unix", False), ("pipe", False), ("shared-memory", False)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "factor", "levels"),
    [
        ("releases", "build", {"this", "again", "against"}),
        ("observer-cost", "recording", {"off", "default", "full"}),
    ],
)
def test_what_is_compared_is_measured_in_every_cycle(name: str, factor: str, levels: set[str]) -> None:
    for profile, least in ((None, 20), ("quick", 6)):
        campaign = load(name, profile)
        assert campaign.cycles >= least
        found: dict[object, set[object]] = {}
        for row in plan_rows(campaign):
            others = tuple(level for key, level in row.cell.levels.items() if key != factor)
            found.setdefault((row.cycle, others), set()).add(row.cell.levels[factor])
        assert all(one == levels for one in found.values())


def test_round_trips_are_those_of_the_method(tmp_path: Path) -> None:
    """Every transport of the engine and every technology, 4 B to 64 KiB, on one core and on two."""
    rows = [row.cell for row in plan_rows(load("round-trip")) if row.cycle == 0]
    own = {(cell.transport, cell.wait) for cell in rows if cell.engine == "native"}
    assert own == {
        *((transport, "block") for transport in get_args(Transport)), ("shared-memory", "poll")
    }  # fmt: skip
    assert {cell.engine for cell in rows} == {"native", *list_technologies()}
    assert {cell.message_bytes for cell in rows} == {4, 64, 1024, 4096, 16 * 1024, 64 * 1024}
    assert {(cell.cpus_sender, cell.cpus_receiver) for cell in rows} == {("0", "0"), ("0", "1")}
    assert all(cell.reply and cell.message_rate_per_s is None for cell in rows)
    assert {cell.transport for cell in rows if cell.no_delay} == {"tcp", "mptcp"}
    with pytest.raises(CampaignError) as refused:
        load_campaign("round-trip", profile="hosts")
    (mistake,) = refused.value.mistakes
    assert "both ends are on 'local'" in mistake
    hosts = tmp_path / "hosts.toml"
    hosts.write_text('[hosts.b]\naddress = "192.0.2.1"\n', encoding="utf-8")
    other = load_campaign("round-trip", profile="hosts", hosts=hosts, paths=["local:b"])
    apart = [row.cell for row in plan_rows(other)]
    assert {cell.placement for cell in apart} == {"host"}
    assert {cell.engine for cell in apart} == {"native", *list_technologies()}


def test_the_load_has_a_core_where_there_are_two() -> None:
    for profile, other in ((None, "0"), ("quick", "0"), ("apart", "1")):
        cores = list_levels("round-trip-loaded", "cpus_sender", "cpus_receiver", profile=profile)
        assert cores == {("0", other)}


def test_the_schema_page_is_current() -> None:
    """Make it again with: python -m pathlab.campaign.schema campaigns."""
    assert (FOLDER / MARKDOWN_NAME).read_text(encoding="utf-8") == describe_campaign_file()


def test_the_json_schema_is_current() -> None:
    """Make it again with: python -m pathlab.campaign.schema campaigns."""
    assert json.loads((FOLDER / JSON_NAME).read_text(encoding="utf-8")) == build_json_schema(shipped=True)


def test_the_json_schema_speaks_the_files_language() -> None:
    schema = build_json_schema()
    trial = schema["$defs"]["TrialSettings"]
    names = ["warmup", "duration", "interval", "drain", "capture", "capture_bytes"]
    assert list(trial["properties"]) == names
    assert trial["properties"]["interval"]["default"] == "100ms"
    assert trial["additionalProperties"] is False
    assert "null" not in json.dumps(schema)
    assert set(schema["required"]) == {"format", "name", "title", "seed", "paths", "factors"}


def test_multipath_has_every_way_at_every_setting_of_a_cycle() -> None:
    """So that what links carry together is divided by what they carried alone in the same cycle."""
    for profile in (None, "quick"):
        rows = [row for row in plan_rows(load("multipath", profile)) if row.cycle == 0]
        settings: dict[tuple[object, ...], set[str]] = {}
        for row in rows:
            cell = row.cell
            assert (cell.bond == "mptcp") == (cell.transport == "mptcp")
            if cell.failover == "none":
                key = (cell.streams, cell.window_bytes, cell.tcp_reordering, cell.message_bytes)
                settings.setdefault(key, set()).add(cell.bond)
        levels = set(load("multipath").factors.levels("bond"))
        assert all(found == levels for found in settings.values())
        assert {row.cell.message_rate_per_s for row in rows if row.cell.message_bytes} == {5000}
        assert {row.cell.failover for row in rows} >= {"none", "down"}
