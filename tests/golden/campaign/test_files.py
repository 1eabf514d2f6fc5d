"""Files of campaigns, hosts and labs: every mistake at once, each with file, line and key."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign import technologies
from pathlab.campaign.campaign_text import CampaignText
from pathlab.campaign.host_file import read_host_file
from pathlab.campaign.load import build_campaign, load_campaign, load_lab
from pathlab.campaign.technologies import list_adapter_faults, list_shipped_technologies, list_technologies
from pathlab.errors import CampaignError
from pathlab.runner.hosts.lab_topology import build_topology
from tests.builders.campaigns import make_tables
from tests.golden.conftest import Say, catch
from tests.unit.campaign.test_host_file import write
from tests.unit.campaign.test_load import make_data, mistakes_of
from tests.unit.campaign.test_profiles import TEXT
from tests.unit.campaign.test_profiles import mistakes_of as mistakes_of_text
from tests.unit.campaign.test_toml_text import CAMPAIGN

Change = Callable[[dict[str, Any]], object]


def change_link(**keys: Any) -> Change:
    return lambda d: d["lab"]["links"][0].update(keys)


def change_lab(**keys: Any) -> Change:
    return lambda d: d["lab"].update(keys)


ENDS = ["west", "east"]


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
        change_link(between=["east", "wst"]),
        change_lab(topology="lann"),
        change_lab(routers=["east"]),
        change_link(queue_time="10ms"),
        change_link(reorder="1%"),
        change_lab(links=[{"between": ENDS, "reverse": {"queue_time": "10ms"}, "delay": "5ms"}]),
        change_lab(links=[{"between": ENDS, "cross": "1Mbit/s"}]),
        lambda d: (change_lab(backend="netem")(d), change_link(aqm="codel", rate="1Mbit/s")(d)),
        change_link(queue="1kB"),
        lambda d: (
            d["lab"]["hosts"].append("north"),
            d["paths"].append({"source": "east", "destination": "north"}),
        ),
        lambda d: d["paths"].append({"source": "east", "destination": "local"}),
        lambda d: d["paths"].append(dict(d["paths"][0])),
        lambda d: d["paths"][0].update(source_address="10.0.0.1"),
        lambda d: d.update(hosts={"far off": {"transport": "local"}}),
        lambda d: d.update(hosts={"local": {"transport": "local"}}),
        change_lab(hosts=["east", "west", "east"]),
        lambda d: d.update(cycles=100000, factors={"streams": list(range(1, 13))}),
        lambda d: d.update(probes=[]),
        lambda d: d["trial"].update(warmup=1),
        lambda d: d["trial"].update(duration="25h"),
        lambda d: d["trial"].update(interval="0.1"),
        lambda d: d.update(probes={"payload": "56KB"}),
        lambda d: d.update(probes={"unloaded": -1}),
        lambda d: d["factors"].update(window="12"),
        lambda d: d["factors"].update(congestion="A b"),
    ],
)
def test_one_mistake_is_one_line(say: Say, change: Change) -> None:
    data = make_data()
    change(data)
    say(mistakes_of(data))


def load_text(text: str, *overrides: str, **choices: Any) -> CampaignError:
    """The error of a campaign of this text."""
    given = CampaignText(label="f.toml", text=text)
    return catch(CampaignError, load_campaign, given, overrides, **choices)


@pytest.mark.parametrize("text", ["a = 1\nb = \n", "a = 1\na = 2\n", "a = [\n"])
def test_a_syntax_error_names_its_line(say: Say, text: str) -> None:
    found = load_text(text)
    say(found.mistakes)
    say(str(found))


def test_a_mistake_of_a_campaign_names_its_line_and_the_table_that_was_meant(say: Say) -> None:
    say(load_text(CAMPAIGN).mistakes)


@pytest.mark.parametrize(
    ("overrides", "choices"),
    [
        ((), {"profile": "quik"}),
        *(((), {"paths": [path]}) for path in ("a", "a:", ":b", "a:b:c", "a:b,", "", "local:nowhere")),
        (("profile=quick",), {}),
        (("profiles.quick.cycles=3",), {}),
        (("trial.duration=x",), {"profile": "quick"}),
    ],
)
def test_options_that_cannot_be(say: Say, overrides: tuple[str, ...], choices: dict[str, Any]) -> None:
    say(load_text(TEXT, *overrides, **choices).mistakes)


def test_a_campaign_without_a_profile(say: Say) -> None:
    say(load_text(TEXT[: TEXT.index("[profiles.quick]")], profile="quick").mistakes)


def test_mistakes_of_a_profile_name_the_profile_whether_it_is_used_or_not(say: Say) -> None:
    wrong = TEXT.replace('duration = "1s"', 'duration = "1"').replace("cycles = 90", "cycels = 90")
    mistakes = mistakes_of_text(wrong)
    say(mistakes)
    assert len(mistakes) == 2
    assert mistakes_of_text(wrong, profile="quick")[:2] == mistakes
    say(mistakes_of_text(TEXT.replace("cycles = 90", "cycles = 100000\nfactors.streams = '1..20'")))


def test_a_missing_campaign_names_what_ships(say: Say) -> None:
    say(catch(CampaignError, load_campaign, "quikstart"))


def test_unreadable_files_are_named(say: Say, tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"format = 1\ntitle = '\xe4'\n")
    for path in (tmp_path / "gone.toml", tmp_path, latin):
        say(catch(CampaignError, load_campaign, path))


def test_a_host_that_nobody_knows_is_refused_by_name(say: Say, tmp_path: Path) -> None:
    path = write(tmp_path, hosts='[hosts.alpha]\naddress = "192.0.2.1"\n')
    say(catch(CampaignError, load_campaign, path))


@pytest.mark.parametrize(
    "text",
    [
        'host = 1\n[hosts.alpha]\nadress = "a"\nport = 0\n',
        "[hosts.alpha]\naddress = \n",
        '[hosts.a]\naddress = "a..b"\n',
    ],
)
def test_mistakes_of_hosts_name_their_lines(say: Say, tmp_path: Path, text: str) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(text, encoding="utf-8")
    found = catch(CampaignError, read_host_file, path)
    say(found)
    say(found.mistakes)


@pytest.mark.parametrize(
    "text", ["format = 1\n", '[lab]\nhosts = ["a", "b"]\n[[lab.links]]\nbetween = ["a", "b"]\nrate = 3\n']
)
def test_mistakes_of_labs_name_their_lines(say: Say, tmp_path: Path, text: str) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(text)
    say(catch(CampaignError, load_lab, str(path)))


AB = {"paths": [{"source": "a", "destination": "b"}]}


@pytest.mark.parametrize(
    "tables",
    [
        {"lab": {"hosts": ["a", "b", "c"], "routers": ["r"], "links": [{"between": ["a", "b"]}]}},
        {"lab": {"topology": "wan-40ms"}, "factors": {"streams": 1, "family": "ipv6"}},
        {"lab": {"hosts": ["a", "b"], "links": [{"between": ["a", "b"], "mtu": 1200}], "ipv6": True}},
    ],
)
def test_labs_that_do_not_fit(say: Say, tables: dict[str, Any]) -> None:
    say(catch(CampaignError, build_campaign, make_tables(**AB, **tables), label="x").mistakes)


def test_ipv6_in_a_lab_is_requested() -> None:
    factors = {"streams": 1, "family": "ipv6"}
    tables = make_tables(**AB, lab={"topology": "wan-40ms", "ipv6": True}, factors=factors)
    lab = build_campaign(tables, label="x").lab
    assert lab is not None
    assert build_topology(lab).ipv6


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user's own technologies that does not exist; what it holds is read once."""
    monkeypatch.setenv("PATHLAB_ADAPTERS", f"{tmp_path}:{tmp_path}/absent")
    cached = (list_technologies, list_shipped_technologies, technologies._read_all)
    for function in cached:
        function.cache_clear()
    yield tmp_path
    for function in cached:
        function.cache_clear()


@pytest.mark.usefixtures("folder")
def test_a_folder_that_is_named_and_does_not_exist_is_a_fault(say: Say) -> None:
    say(list_adapter_faults())
