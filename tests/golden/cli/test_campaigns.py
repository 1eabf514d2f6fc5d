"""``pathlab plan`` and ``pathlab campaigns``: what they print, and the file that the interview writes."""

from __future__ import annotations

from pathlib import Path

from pathlab.campaign.load import load_campaign
from pathlab.errors import UsageError
from tests.golden.conftest import Say
from tests.unit.cli.test_campaigns import IN_LAB, ask, show_plan


def test_the_plan_says_rows_time_bytes_and_share(say: Say) -> None:
    text = show_plan("quickstart", "--set=title=One [red]title")
    say(text)


def test_a_long_plan_is_cut_and_can_be_had_whole(say: Say) -> None:
    text = show_plan("streams-sweep")
    say(text)
    assert "--all shows" not in show_plan("streams-sweep", "--all")
    say(show_plan("streams-sweep", "--rows", "2"))
    assert show_plan("streams-sweep", "--rows", "0").startswith("588 rows (--all")


def test_a_path_of_which_nothing_is_known_has_no_bound(say: Say) -> None:
    text = show_plan("lan", "--paths", "local:local")
    say(text)
    known = show_plan("lan", "--paths", "local:local", "--set", "paths.0.capacity=1Gbit/s")
    assert "of 1 Gbit/s" in known


def test_a_stop_rule_a_period_and_hours_are_told(say: Say) -> None:
    choices = ["until='5% of the median'", "cycles_max=30", "every='12h'", "budget.hours='22:00-06:00'"]
    text = show_plan("lan", "--paths=local:local", *(f"--set={choice}" for choice in choices if choice))
    say(text)


def test_points_drawn_twice_are_told(say: Say) -> None:
    text = show_plan("quickstart", "--set=design=lhs", "--set=points=20")
    say(text)


def test_a_folder_that_is_not_there_is_named(say: Say, tmp_path: Path) -> None:
    file = tmp_path / "none" / "mine.toml"
    result = ask("new", str(file), given="\n".join(IN_LAB) + "\n")
    assert isinstance(result.exception, UsageError)
    say(result.exception.message)


def test_a_wrong_answer_is_asked_for_again(say: Say, tmp_path: Path) -> None:
    answers = ["My X", *IN_LAB[:3], "wlan", *IN_LAB[3:5], "0", *IN_LAB[5:]]
    file = tmp_path / "mine.toml"
    result = ask("new", str(file), given="\n".join(answers) + "\n")
    assert result.exit_code == 0
    say(result.output)
    assert load_campaign(file).factors.levels("streams") == (1, 2, 4, 8)


def test_an_input_that_ends_names_the_question_and_writes_nothing(say: Say, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    result = ask("new", str(file), given="\n".join(IN_LAB[:4]))
    assert isinstance(result.exception, UsageError)
    say(result.exception.message)
    assert not file.exists()
