"""Campaign files: every mistake at once, each with file, key and what was expected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.campaign_text import CampaignText, read_campaign
from pathlab.campaign.load import build_campaign, load_campaign
from pathlab.errors import CampaignError
from tests.builders.campaigns import make_tables

STREAMS_EXPECTED = "expected a whole number from 1 to 4096; one or a list of them"
Change = Callable[[dict[str, Any]], object]


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


def test_units_become_numbers_in_the_names_unit() -> None:
    campaign = build_campaign(make_data(), label="f.toml")
    assert campaign.trial.duration_ns == 2_000_000_000
    assert campaign.factors.levels("window_bytes") == (65_536, None)
    assert campaign.factors.levels("congestion") == (None,)
    assert campaign.lab is not None
    link = campaign.lab.links[0]
    assert (link.rate_bits_per_s, link.delay_ns, link.queue_bytes) == (40_000_000, 20_000_000, 250_000)
    assert (link.loss_ratio, link.mtu_bytes) == (0.0, 1500)
    assert campaign.host_names == ("local", "east", "west")


def test_a_single_level_needs_no_brackets() -> None:
    data = make_data()
    data["factors"] = {"streams": 8, "window": "64k", "congestion": "bbr"}
    factors = build_campaign(data, label="f.toml").factors
    assert (factors.levels("streams"), factors.levels("window_bytes"), factors.levels("congestion")) == (
        (8,),
        (65_536,),
        ("bbr",),
    )


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (lambda d: d.update(format=2), "format: 2 does not fit; expected 1"),
        (
            lambda d: d.pop("seed"),
            "seed: is missing; expected a whole number from 0 to 9007199254740991",
        ),
        (
            lambda d: d.update(cycles="2"),
            'cycles: "2" does not fit; expected a whole number from 1 to 100000',
        ),
        (lambda d: d.update(order="rand"), 'order: "rand" does not fit; expected "random" or "given"'),
        (
            lambda d: d["trial"].update(durations="3s"),
            "trial.durations: is not a known key; did you mean 'duration'?; "
            "expected one of 'warmup', 'duration', 'interval', 'drain', 'capture', 'capture_bytes'",
        ),
        (
            lambda d: d["paths"][0].update(destination="vest"),
            "paths.0.destination: host 'vest' is not known; did you mean 'west'?; "
            "expected one of 'local', 'east', 'west'",
        ),
        (
            lambda d: d["factors"].update(streams=[1, 4097]),
            "factors.streams.1: 4097 does not fit; expected a whole number from 1 to 4096",
        ),
        (
            lambda d: d["factors"].update(streams=0),
            "factors.streams: 0 does not fit; " + STREAMS_EXPECTED,
        ),
        (
            lambda d: d["factors"].update(streams=[]),
            "factors.streams: has 0 entries; " + STREAMS_EXPECTED,
        ),
        (
            lambda d: d["factors"].update(window=["64KiB", 65536]),
            "factors.window.1: level '65536' is listed twice ('64KiB' is the same); expected each level once",
        ),
        (
            lambda d: d["trial"].update(interval="3s"),
            "trial.interval: '3s' is longer than the duration '2s'; expected an interval that fits into it",
        ),
        (
            lambda d: d["lab"]["links"][0].update(between=["east", "wst"]),
            "lab.links.0.between: 'wst' is not a host of the lab; did you mean 'west'?; "
            "expected two of 'east', 'west'",
        ),
        (
            lambda d: d["lab"].update(topology="lann"),
            "lab.topology: there is no ready-made lab 'lann'; did you mean 'lan'?; expected one of "
            "'bufferbloat', 'lan', 'lossy', 'slac-cern', 'three-hops', 'transatlantic-10g', 'two-links', "
            "'two-pairs', 'two-unequal-links', 'wan-40ms'",
        ),
        (
            lambda d: d["lab"].update(routers=["east"]),
            "lab.routers.0: 'east' is listed twice; expected each name once",
        ),
        (
            lambda d: d["lab"]["links"][0].update(queue_time="10ms"),
            "lab.links.0.queue_time: the queue is given twice; expected queue or queue_time",
        ),
        (
            lambda d: d["lab"]["links"][0].update(reorder="1%"),
            "lab.links.0.reorder: no packet is reordered without a delay; expected reorder_delay as well",
        ),
        (
            lambda d: d["lab"].update(
                links=[{"between": ["west", "east"], "reverse": {"queue_time": "10ms"}, "delay": "5ms"}]
            ),
            "lab.links.0.reverse.queue_time: a time has no effect without a rate; "
            "expected a rate, or queue in bytes",
        ),
        (
            lambda d: d["lab"].update(links=[{"between": ["west", "east"], "cross": "1Mbit/s"}]),
            "lab.links.0.cross: there is no queue without a rate; expected a rate as well",
        ),
        (
            lambda d: (
                d["lab"].update(backend="netem") or d["lab"]["links"][0].update(aqm="codel", rate="1Mbit/s")
            ),
            "lab.links.0.aqm: netem cannot do this; expected another backend, or no such key",
        ),
        (
            lambda d: d["lab"]["links"][0].update(queue="1kB"),
            "lab.links.0.queue: '1kB' is less than one packet of 1500 bytes; "
            "expected a queue of at least one packet (mtu)",
        ),
        (
            lambda d: (
                d["lab"]["hosts"].append("north")
                or d["paths"].append({"source": "east", "destination": "north"})
            ),
            "paths.1: no link leads from 'east' to 'north'; "
            "expected a link, or a chain of links, in lab.links",
        ),
        (
            lambda d: d["paths"].append({"source": "east", "destination": "local"}),
            "paths.1: only one of 'east' and 'local' is in the lab; "
            "expected both ends in the lab, or neither",
        ),
        (
            lambda d: d["paths"].append(dict(d["paths"][0])),
            "paths.1: the path from 'east' to 'west' is listed twice; expected each once",
        ),
        (
            lambda d: d["paths"][0].update(source_address="10.0.0.1"),
            "paths.0.source_address: the lab gives its hosts their addresses; expected no address here",
        ),
        (
            lambda d: d.update(hosts={"far off": {"transport": "local"}}),
            "hosts.far off: is not a host name; expected a name of letters, digits, '.', '_' and '-'",
        ),
        (
            lambda d: d.update(hosts={"local": {"transport": "local"}}),
            "hosts.local: 'local' is this machine and always known; expected another name, or no table",
        ),
        (
            lambda d: d["lab"].update(hosts=["east", "west", "east"]),
            "lab.hosts.2: 'east' is listed twice; expected each name once",
        ),
        (
            lambda d: d.update(cycles=100_000, factors={"streams": list(range(1, 13))}),
            "cycles: the plan would have 1200000 trials; expected at most 1000000",
        ),
        (lambda d: d.update(probes=[]), "probes: a list does not fit; expected a table"),
    ],
)
def test_one_mistake_is_one_line(change: Change, mistake: str) -> None:
    data = make_data()
    change(data)
    assert mistakes_of(data) == (f"f.toml:{mistake}",)


@pytest.mark.parametrize(
    ("table", "key", "value", "named"),
    [
        ("trial", "warmup", 1, "1 has no unit; expected a time"),
        ("trial", "duration", "25h", "'25h' is out of range; expected a value from 10ms to 24h"),
        ("trial", "interval", "0.1", "its unit is missing; expected a time"),
        ("probes", "payload", "56KB", "'KB' is 1000 bytes to some"),
        ("probes", "unloaded", -1, "-1 does not fit; expected a whole number from 0 to 1000000"),
        ("factors", "window", "12", "'12' is out of range; expected a value from 1KiB to 1GiB"),
        ("factors", "congestion", "A b", 'expected a name such as "cubic"'),
    ],
)
def test_a_wrong_value_says_what_was_expected(table: str, key: str, value: object, named: str) -> None:
    data = make_data()
    data.setdefault(table, {})[key] = value
    (mistake,) = mistakes_of(data)
    assert mistake.startswith(f"f.toml:{table}.{key}: ")
    assert named in mistake


def test_every_mistake_is_reported_at_once() -> None:
    data = make_data()
    data["trial"]["warmup"] = "soon"
    data["trial"]["interval"] = "5s"
    data["paths"][0]["source"] = "nowhere"
    data["factors"]["streams"] = [0]
    data["colour"] = "red"
    keys = [mistake.split(": ")[0].removeprefix("f.toml:") for mistake in mistakes_of(data)]
    assert sorted(keys) == ["colour", "factors.streams.0", "paths.0.source", "trial.interval", "trial.warmup"]


@pytest.mark.parametrize("junk", ["x", [], [1], {"a": 1}, True, 1.5])
@pytest.mark.parametrize("key", ["paths", "hosts", "factors", "trial", "probes", "lab", "cycles"])
def test_any_junk_in_a_table_is_a_mistake_and_never_a_crash(key: str, junk: object) -> None:
    data = make_data()
    data[key] = junk
    assert any(mistake.startswith(f"f.toml:{key}") for mistake in mistakes_of(data))


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a = 1\nb = \n", "f.toml:2:5: invalid value; expected TOML"),
        ("a = 1\na = 2\n", "f.toml:2:6: cannot overwrite a value; expected TOML"),
        ("a = [\n", "f.toml:2: invalid value; expected TOML"),
    ],
)
def test_a_syntax_error_names_its_line(text: str, mistake: str) -> None:
    with pytest.raises(CampaignError) as caught:
        load_campaign(CampaignText(label="f.toml", text=text))
    assert caught.value.mistakes == (mistake,)
    assert mistake in str(caught.value)


def test_overrides_take_effect_and_are_named_when_wrong() -> None:
    campaign = load_campaign(
        "quickstart", ["factors.streams=[3]", "trial.duration=5s", "lab.links.0.rate=10M"]
    )
    assert campaign.factors.levels("streams") == (3,)
    assert campaign.trial.duration_ns == 5_000_000_000
    assert campaign.lab is not None
    assert campaign.lab.links[0].rate_bits_per_s == 10_000_000
    with pytest.raises(CampaignError) as caught:
        load_campaign("quickstart", ["cycles=0", "cycles", "paths.3.source=a", "name.x=1"])
    assert [mistake.split(": ")[0] for mistake in caught.value.mistakes] == [
        "--set 'cycles'",
        "--set 'paths.3.source=a'",
        "--set 'name.x=1'",
        "--set 'cycles=0'",
    ]


def test_a_missing_campaign_names_what_ships() -> None:
    with pytest.raises(CampaignError, match=r"no campaign 'quikstart'.*did you mean 'quickstart'") as caught:
        load_campaign("quikstart")
    assert "'quickstart'" in str(caught.value.hint)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=r"gone\.toml' cannot be read: no such file"):
        load_campaign(tmp_path / "gone.toml")
    with pytest.raises(CampaignError, match="cannot be read: is a directory"):
        load_campaign(tmp_path)
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"format = 1\ntitle = '\xe4'\n")
    with pytest.raises(CampaignError) as caught:
        load_campaign(latin)
    assert caught.value.mistakes == (f"{latin}:2: is not UTF-8; expected a TOML file in UTF-8",)


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
