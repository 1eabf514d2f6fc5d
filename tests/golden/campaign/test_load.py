"""Campaign files: every mistake at once, each with file, key and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.campaign_text import CampaignText
from pathlab.campaign.load import load_campaign
from pathlab.errors import CampaignError
from tests.golden.conftest import Say
from tests.unit.campaign.test_load import make_data, mistakes_of

Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(format=2),
        lambda d: d.pop("seed"),
        lambda d: d.update(cycles="2"),
        lambda d: d.update(order="rand"),
        lambda d: d["trial"].update(durations="3s"),
        lambda d: d["paths"][0].update(destination="vest"),
        lambda d: d["factors"].update(streams=[1, 4097]),
        lambda d: d["factors"].update(streams=0),
        lambda d: d["factors"].update(streams=[]),
        lambda d: d["factors"].update(window=["64KiB", 65536]),
        lambda d: d["trial"].update(interval="3s"),
        lambda d: d["lab"]["links"][0].update(between=["east", "wst"]),
        lambda d: d["lab"].update(topology="lann"),
        lambda d: d["lab"].update(routers=["east"]),
        lambda d: d["lab"]["links"][0].update(queue_time="10ms"),
        lambda d: d["lab"]["links"][0].update(reorder="1%"),
        lambda d: d["lab"].update(
            links=[{"between": ["west", "east"], "reverse": {"queue_time": "10ms"}, "delay": "5ms"}]
        ),
        lambda d: d["lab"].update(links=[{"between": ["west", "east"], "cross": "1Mbit/s"}]),
        lambda d: (
            d["lab"].update(backend="netem") or d["lab"]["links"][0].update(aqm="codel", rate="1Mbit/s")
        ),
        lambda d: d["lab"]["links"][0].update(queue="1kB"),
        lambda d: (
            d["lab"]["hosts"].append("north") or d["paths"].append({"source": "east", "destination": "north"})
        ),
        lambda d: d["paths"].append({"source": "east", "destination": "local"}),
        lambda d: d["paths"].append(dict(d["paths"][0])),
        lambda d: d["paths"][0].update(source_address="10.0.0.1"),
        lambda d: d.update(hosts={"far off": {"transport": "local"}}),
        lambda d: d.update(hosts={"local": {"transport": "local"}}),
        lambda d: d["lab"].update(hosts=["east", "west", "east"]),
        lambda d: d.update(cycles=100000, factors={"streams": list(range(1, 13))}),
        lambda d: d.update(probes=[]),
    ],
)
def test_one_mistake_is_one_line(say: Say, change: Change) -> None:
    data = make_data()
    change(data)
    say(mistakes_of(data))


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("trial", "warmup", 1),
        ("trial", "duration", "25h"),
        ("trial", "interval", "0.1"),
        ("probes", "payload", "56KB"),
        ("probes", "unloaded", -1),
        ("factors", "window", "12"),
        ("factors", "congestion", "A b"),
    ],
)
def test_a_wrong_value_says_what_was_expected(say: Say, table: str, key: str, value: object) -> None:
    data = make_data()
    data.setdefault(table, {})[key] = value
    (mistake,) = mistakes_of(data)
    say(mistake)


@pytest.mark.parametrize("text", ["a = 1\nb = \n", "a = 1\na = 2\n", "a = [\n"])
def test_a_syntax_error_names_its_line(say: Say, text: str) -> None:
    with pytest.raises(CampaignError) as caught:
        load_campaign(CampaignText(label="f.toml", text=text))
    say(caught.value.mistakes)
    say(str(caught.value))


def test_a_missing_campaign_names_what_ships(say: Say) -> None:
    with pytest.raises(CampaignError) as caught:
        load_campaign("quikstart")
    say(caught.value)
    assert "'quickstart'" in str(caught.value.hint)


def test_unreadable_files_are_named(say: Say, tmp_path: Path) -> None:
    with pytest.raises(CampaignError) as caught:
        load_campaign(tmp_path / "gone.toml")
    say(caught.value)
    with pytest.raises(CampaignError) as caught:
        load_campaign(tmp_path)
    say(caught.value)
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"format = 1\ntitle = '\xe4'\n")
    with pytest.raises(CampaignError) as caught:
        load_campaign(latin)
    say(caught.value.mistakes)
