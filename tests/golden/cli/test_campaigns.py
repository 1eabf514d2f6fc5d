"""``pathlab campaigns new``: what the interview asks, and answers that it cannot use."""

import re
from pathlib import Path

from pathlab.campaign.load import load_campaign
from pathlab.errors import UsageError
from tests.golden.conftest import Say
from tests.unit.cli.test_campaigns import IN_LAB, ask, show_plan


def test_a_plan_can_be_had_whole() -> None:
    assert "--all shows" not in show_plan("streams-sweep", "--all")


def test_a_plan_says_what_probes_take_of_a_slow_path(say: Say, tmp_path: Path) -> None:
    """50 probes a second of 84 bytes are 13 % of 256 kbit/s; the interval that is named takes 1 %."""
    file = tmp_path / "slow.toml"
    link = 'rate = "1Mbit/s", reverse = { rate = "256kbit/s" }'
    file.write_text(
        'format = 1\nname = "slow"\ntitle = "Slow"\nseed = 1\n'
        '[[paths]]\nsource = "a"\ndestination = "b"\n[factors]\nstreams = 1\n'
        f'[lab]\nhosts = ["a", "b"]\nlinks = [{{ between = ["a", "b"], {link} }}]\n'
    )
    (said,) = re.findall(r"Probes take .*?ms\.", show_plan(str(file)))
    say(said)
    (milliseconds,) = re.findall(r"interval=(\d+)ms", said)
    assert "Probes take" not in show_plan(str(file), "--set", f"probes.interval={milliseconds}ms")


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
    say(re.sub(r"\[20\d{6}\]", "[DATE OF TODAY]", result.output))
    assert load_campaign(file).factors.levels("streams") == (1, 2, 4, 8)


def test_an_input_that_ends_names_the_question_and_writes_nothing(say: Say, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    result = ask("new", str(file), given="\n".join(IN_LAB[:4]))
    assert isinstance(result.exception, UsageError)
    say(result.exception.message)
    assert not file.exists()
