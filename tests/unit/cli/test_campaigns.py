"""``pathlab plan`` and ``pathlab campaigns``: what they print, and the file that the interview writes."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pathlab.campaign.campaign_text import list_shipped, read_campaign
from pathlab.campaign.load import load_campaign
from pathlab.campaign.order import plan_rows
from pathlab.cli.commands.campaigns import command as campaigns
from pathlab.cli.commands.plan import command as plan
from pathlab.errors import CampaignError, UsageError


def ask(*words: str, given: str = "") -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(campaigns, words, input=given)


def show_plan(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(plan, words)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_the_plan_shows_the_factors_that_there_are() -> None:
    text = show_plan("duration", "--profile", "quick", "--set", "factors.pacing=['10Mbit/s','none']")
    assert "profile 'quick'" in text
    for word in ("duration", "pacing", "10 Mbit/s", "none", "4 s"):
        assert word in text
    apart = show_plan("lan", "--set", "factors={streams=1,window_sender='64KiB',no_delay=true}")
    assert "window_sender" in apart
    assert " window " not in apart


def test_each_link_of_a_lab_has_its_share(tmp_path: Path) -> None:
    links = [("a", "r", 40), ("c", "r", 80), ("r", "b", 80)]
    lab = "".join(f'[[lab.links]]\nbetween = ["{x}", "{y}"]\nrate = "{r}Mbit/s"\n' for x, y, r in links)
    paths = "".join(f'[[paths]]\nsource = "{end}"\ndestination = "b"\n' for end in ("a", "c"))
    head = 'format = 1\nname = "x"\ntitle = "X"\nseed = 1\n'
    rest = '[factors]\nstreams = 1\npacing = "8Mbit/s"\n[lab]\nhosts = ["a", "b", "c"]\nrouters = ["r"]\n'
    (tmp_path / "x.toml").write_text(head + paths + rest + lab)
    text = show_plan(str(tmp_path / "x.toml"), "--rows=0")
    # 8 Mbit/s for 11 s and 10 s of draining, once for each path, in the time of both
    shares = [float(share) for share in re.findall(r"link \d, \w to \w: on average at most ([\d.]+) %", text)]
    first, second, both = shares
    assert first == pytest.approx(2 * second, rel=0.01)
    assert both == pytest.approx(2 * second, rel=0.01)
    assert "link 3, r to b" in text
    assert "link" not in show_plan("quickstart")


def test_json_rows_are_the_plan() -> None:
    result = CliRunner().invoke(plan, ["duration", "--json"])
    lines = [json.loads(line) for line in result.output.splitlines()]
    rows = plan_rows(load_campaign("duration"))
    assert len(lines) == len(rows) == 36
    assert [line["duration_ns"] for line in lines[:6]] == [s * 10**9 for s in (10, 320, 40, 80, 160, 20)]
    assert all(line["estimate_ns"] > line["duration_ns"] and line["bytes_max"] > 0 for line in lines)


def test_the_list_has_every_campaign_that_ships() -> None:
    result = ask("list")
    assert result.exit_code == 0
    for name in list_shipped():
        assert f"\n{name} " in f"\n{result.output}"


def test_a_campaign_is_shown_as_it_is() -> None:
    assert ask("show", "wan").output == read_campaign("wan").text
    assert isinstance(ask("show", "wann").exception, CampaignError)


def test_the_schema_is_printed() -> None:
    assert ask("schema").output.startswith("# Campaign files")
    assert json.loads(ask("schema", "--json").output)["$schema"].startswith("https://json-schema.org/")


IN_LAB = ["mine-2", 'A "title"', "lab", "lan", "yes", "1..8 step x2"]
IN_LAB += ["64KiB, auto", "reno", "", "5s", "3", "17"]
BETWEEN = ["far-away", "", "hosts", "local", "far.example", "192.0.2.7", "no", "4", "", "", "", "", "", ""]


def test_the_interview_writes_a_campaign(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    result = ask("new", str(file), given="\n".join(IN_LAB) + "\n")
    assert result.exit_code == 0, result.output
    campaign = load_campaign(file)
    assert (campaign.name, campaign.title, campaign.seed, campaign.cycles) == ("mine-2", 'A "title"', 17, 3)
    assert campaign.factors.levels("streams") == (1, 2, 4, 8)
    assert campaign.factors.levels("window_bytes") == (65_536, None)
    assert campaign.factors.levels("congestion") == ("reno",)
    assert (campaign.trial.warmup_ns, campaign.trial.duration_ns) == (10**9, 5 * 10**9)
    assert [(path.source, path.destination) for path in campaign.paths] == [("a", "b"), ("b", "a")]
    assert campaign.lab is not None
    assert load_campaign(file, profile="quick").cycles == 1
    assert f"pathlab plan {file}" in result.output


def test_the_interview_takes_hosts(tmp_path: Path) -> None:
    file = tmp_path / "far.toml"
    assert ask("new", str(file), given="\n".join(BETWEEN) + "\n").exit_code == 0
    campaign = load_campaign(file)
    assert [(path.source, path.destination) for path in campaign.paths] == [("local", "far.example")]
    assert campaign.hosts["far.example"].address == "192.0.2.7"
    assert (campaign.factors.levels("streams"), campaign.cycles) == ((4,), 6)


def test_an_existing_file_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("precious")
    result = ask("new", str(file), given="\n".join(IN_LAB))
    assert isinstance(result.exception, UsageError)
    assert "already exists" in result.exception.message
    assert file.read_text() == "precious"
