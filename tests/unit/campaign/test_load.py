"""Campaign files: every mistake at once, each with file, key and what was expected."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.campaign_text import CampaignText, read_campaign
from pathlab.campaign.load import build_campaign, load_campaign
from pathlab.errors import CampaignError
from tests.builders.campaigns import make_tables


def make_data() -> dict[str, Any]:
    """A valid campaign as a TOML reader gives it."""
    return make_tables(
        paths=[{"source": "east", "destination": "west"}],
        factors={"streams": [1, 2], "window": ["64KiB", "auto"]},
        trial={"duration": "2s"},
        lab={
            "hosts": ["east", "west"],
            "links": [{"between": ["east", "west"], "rate": "40Mbit/s", "delay": "20ms", "queue": "250kB"}],
        },
    )


def mistakes_of(data: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(CampaignError) as caught:
        build_campaign(data, label="f.toml")
    return caught.value.mistakes


def test_a_single_level_needs_no_brackets() -> None:
    data = make_data()
    data["factors"] = {"streams": 8, "window": "64k", "congestion": "bbr"}
    factors = build_campaign(data, label="f.toml").factors
    levels = [factors.levels(name) for name in ("streams", "window_bytes", "congestion")]
    assert levels == [(8,), (65_536,), ("bbr",)]


def test_every_mistake_is_reported_at_once() -> None:
    data = make_data()
    data["trial"]["warmup"] = "soon"
    data["trial"]["interval"] = "5s"
    data["paths"][0]["source"] = "nowhere"
    data["factors"]["streams"] = [0]
    data["colour"] = "red"
    keys = [mistake.split(": ")[0].removeprefix("f.toml:") for mistake in mistakes_of(data)]
    assert sorted(keys) == ["colour", "factors.streams.0", "paths.0.source", "trial.interval", "trial.warmup"]


def test_overrides_take_effect_and_are_named_when_wrong() -> None:
    campaign = load_campaign(
        "quickstart", ["factors.streams=[3]", "trial.duration=5s", "lab.links.0.rate=10M"]
    )
    assert campaign.factors.levels("streams") == (3,)
    assert campaign.trial.duration_ns == 5_000_000_000
    assert campaign.lab.links[0].rate_bits_per_s == 10_000_000
    with pytest.raises(CampaignError) as caught:
        load_campaign("quickstart", ["cycles=0", "cycles", "paths.3.source=a", "name.x=1"])
    assert [mistake.split(": ")[0] for mistake in caught.value.mistakes] == [
        "--set 'cycles'",
        "--set 'paths.3.source=a'",
        "--set 'name.x=1'",
        "--set 'cycles=0'",
    ]


def test_the_text_is_kept_as_given(tmp_path: Path) -> None:
    text = "# a comment\r\nformat = 1\r\n"
    file = tmp_path / "x.toml"
    file.write_bytes(text.encode())
    assert read_campaign(file) == CampaignText(label=str(file), text=text)


def test_the_digest_follows_meaning_and_not_spelling() -> None:
    plain = build_campaign(make_data(), label="f.toml")
    respelled = make_data()
    respelled["trial"] = {"duration": "2000ms", "warmup": "1s"}
    respelled["factors"]["window"] = [65536, "auto"]
    assert build_campaign(respelled, label="g.toml").digest == plain.digest
    changed = make_data()
    changed["seed"] = 2
    assert build_campaign(changed, label="f.toml").digest != plain.digest


def test_the_digest_is_of_the_stored_form_with_every_key() -> None:
    campaign = load_campaign("quickstart")
    stored = campaign.to_stored()
    assert stored["trial"]["duration_ns"] == 1_000_000_000
    assert stored["budget"]["rate_bits_per_s"] is None
    canonical = json.dumps(stored, sort_keys=True, separators=(",", ":"))
    assert campaign.digest == hashlib.sha256(canonical.encode()).hexdigest()


def test_whatever_is_changed_changes_the_digest() -> None:
    changes = (
        ["factors.streams=[1]"],
        ["where=streams <= 4"],
        ["design=fraction", "fraction=50%"],
        ["block=cycle+hour"],
        ["paths.0.rtt=40ms"],
    )
    digests = {load_campaign("quickstart", change).digest for change in changes}
    assert len(digests | {load_campaign("quickstart").digest}) == 6
    assert load_campaign("quickstart", profile="quick").digest not in digests
