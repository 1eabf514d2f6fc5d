"""Every campaign that ships can be used, and its description is current."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from pathlab.campaign.budget import estimate_campaign
from pathlab.campaign.campaign_text import list_shipped
from pathlab.campaign.load import load_campaign
from pathlab.campaign.order import plan_rows
from pathlab.campaign.schema import JSON_NAME, MARKDOWN_NAME, build_json_schema, describe_campaign_file

FOLDER = resources.files("pathlab.campaigns")


def test_the_quickstart_ships() -> None:
    assert "quickstart" in list_shipped()


@pytest.mark.parametrize("name", list_shipped())
def test_a_shipped_campaign_loads_under_its_own_name(name: str) -> None:
    campaign = load_campaign(name)
    assert campaign.name == name
    assert campaign.description.strip()
    assert len(plan_rows(campaign)) >= 2


@pytest.mark.parametrize("name", list_shipped())
def test_a_shipped_campaign_has_a_quick_profile_of_the_same_structure(name: str) -> None:
    whole, quick = load_campaign(name), load_campaign(name, profile="quick")
    assert quick.profile == "quick"
    assert quick.lab == whole.lab is not None
    assert quick.factors.given == whole.factors.given
    assert (quick.design, quick.order, quick.paths) == (whole.design, whole.order, whole.paths)
    assert estimate_campaign(quick).time_ns < 90e9
    assert len(plan_rows(quick)) >= 6


@pytest.mark.parametrize("name", list_shipped())
def test_a_shipped_campaign_runs_between_other_hosts(name: str) -> None:
    campaign = load_campaign(name, paths=["local:local"])
    assert campaign.lab is None
    assert estimate_campaign(campaign).bytes_max is None


def test_all_experiments_of_the_method_ship() -> None:
    assert set(list_shipped()) == {
        "windows-vs-streams", "streams-sweep", "throughput-effect", "duration", "cpu-cost", "fixed-product",
        "iso-product", "quickstart", "lan", "wan",
    }  # fmt: skip


def test_windows_against_streams_has_the_sources_settings() -> None:
    """Cottrell et al., Windows vs. streams, SLAC, 2001."""
    campaign = load_campaign("windows-vs-streams")
    cycle = [(row.cell.streams, row.cell.window_bytes) for row in plan_rows(campaign) if row.cycle == 0]
    assert cycle == [(2, 256 * 1024), (8, 64 * 1024)]
    assert campaign.cycles == 200
    assert (campaign.trial.warmup_ns, campaign.trial.duration_ns) == (0, 40 * 10**9)
    probes = campaign.probes
    assert (probes.interval_ns, probes.payload_bytes, probes.timeout_ns) == (10**9, 56, 20 * 10**9)
    assert probes.unloaded == campaign.trial.duration_ns // probes.interval_ns == 40


def test_the_sweep_has_the_sources_settings() -> None:
    """Cottrell et al., Bulk thruput measurements, SLAC, 2000 and 2001."""
    campaign = load_campaign("streams-sweep")
    assert campaign.factors.levels("streams") == (1, 20, 5, 12, 8, 10, 4, 11, 3, 7, 15, 9, 2, 6)
    assert campaign.factors.levels("window_bytes") == tuple(1000 * kb for kb in (8, 16, 32, 55, 64, 128, 256))
    assert campaign.order == "random"
    assert campaign.trial.duration_ns == 20 * 10**9
    probes = campaign.probes
    assert (probes.unloaded, probes.payload_bytes, probes.interval_ns) == (20, 100, 10**9)
    given = [row.cell.streams for row in plan_rows(load_campaign("streams-sweep", ["order=given"]))]
    assert given[:98:7] == list(campaign.factors.levels("streams"))


def test_durations_cpu_cost_and_products_have_the_sources_settings() -> None:
    durations = [row.cell.duration_ns // 10**9 for row in plan_rows(load_campaign("duration"))]
    assert durations[:6] == [10, 320, 40, 80, 160, 20]
    assert load_campaign("cpu-cost").factors.levels("duration_ns") == (10 * 10**9, 60 * 10**9)
    fixed = {(row.cell.streams, row.cell.window_bytes) for row in plan_rows(load_campaign("fixed-product"))}
    assert fixed == {(2**n, 2 * 1024**2 // 2**n) for n in range(7)}
    products: dict[int, set[int]] = {}
    for row in plan_rows(load_campaign("iso-product")):
        products.setdefault(row.cell.streams * (row.cell.window_bytes or 0), set()).add(row.cell.streams)
    assert {product // 1024: len(splits) for product, splits in products.items()} == {
        64: 3, 256: 5, 1024: 7, 4096: 7
    }  # fmt: skip


def test_the_quickstart_is_what_the_readme_promises() -> None:
    campaign = load_campaign("quickstart")
    assert campaign.factors.levels("streams") == (1, 4, 8)
    assert campaign.factors.levels("window_bytes") == (32_768, 65_536)
    assert campaign.cycles == 6  # the fewest with confidence intervals
    assert campaign.lab is not None
    link = campaign.lab.links[0]
    assert (link.rate_bits_per_s, link.delay_ns, link.queue_bytes) == (40_000_000, 20_000_000, 400_000)
    assert campaign.lab.fallback == "loopback"
    assert estimate_campaign(campaign).time_ns < 70e9


def test_the_schema_page_is_current() -> None:
    """Make it again with: python -m pathlab.campaign.schema campaigns."""
    assert (FOLDER / MARKDOWN_NAME).read_text(encoding="utf-8") == describe_campaign_file()


def test_the_json_schema_is_current() -> None:
    """Make it again with: python -m pathlab.campaign.schema campaigns."""
    assert json.loads((FOLDER / JSON_NAME).read_text(encoding="utf-8")) == build_json_schema()


def test_the_json_schema_speaks_the_files_language() -> None:
    schema = build_json_schema()
    trial = schema["$defs"]["TrialSettings"]
    assert list(trial["properties"]) == ["warmup", "duration", "interval", "drain"]
    assert trial["properties"]["interval"]["default"] == "100ms"
    assert trial["additionalProperties"] is False
    assert "null" not in json.dumps(schema)
    assert set(schema["required"]) == {"format", "name", "title", "seed", "paths", "factors"}
