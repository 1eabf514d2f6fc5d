"""Analyses with too few trials or levels: not drawn, named once, with a command that decides them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.campaign.campaign_text import read_campaign
from pathlab.report.sections import chapters
from tests.builders.results import make_quickstart
from tests.builders.sections import find_table, list_blocks, make_inputs
from tests.golden.conftest import Say
from tests.unit.report.sections.test_shortfalls import describe_campaign, make_report_inputs, read_list

KIB = 1024
LEVELS = [(streams, size * KIB) for streams in (1, 2, 4) for size in (64, 256)]
SHIPPED = read_campaign("quickstart").text


def test_enough_trials_list_only_what_was_not_varied(say: Say) -> None:
    listed = read_list(chapters.build_sections(make_report_inputs(12)))
    say(set(listed))


def test_a_campaign_that_does_not_ship_is_not_named(say: Say) -> None:
    results = make_quickstart(cycles=1, levels=LEVELS[:2])
    results.campaign = replace(results.campaign, name="own")
    listed = read_list(chapters.build_sections(make_inputs(results)))
    commands = {command for _, command in listed.values()} - {"–"}
    say(commands)


@pytest.mark.parametrize(
    ("text", "overrides", "profile"),
    [
        (SHIPPED, (), None),
        (SHIPPED, (), "quick"),
        (SHIPPED, ("trial.duration=5s",), None),
        (f"{SHIPPED}# changed\n", (), None),
        (f"{SHIPPED}# changed\n", (), "quick"),
    ],
)
def test_the_commands_measure_the_same_campaign(
    say: Say, text: str, overrides: tuple[str, ...], profile: str | None
) -> None:
    record = describe_campaign(text, *overrides, profile=profile)
    sections = chapters.build_sections(make_inputs(make_quickstart(cycles=1, levels=LEVELS[:2], **record)))
    table = find_table(list_blocks([one for one in sections if one.key == "not-decided"]), "undecided")
    commands = {row[2] for row in table.rows} - {"–"}
    say(commands)
    assert ("--hosts" in (table.note or "")) == bool(overrides)
