"""Analyses with too few trials or levels: named once, with a command that decides them."""

from dataclasses import replace

import pytest

from pathlab.report.base.inputs import ReportInputs
from tests.builders.results import make_quickstart
from tests.builders.sections import find_section, find_table, make_inputs
from tests.builders.shipped import SHIPPED, describe_campaign
from tests.golden.conftest import Say

KIB = 1024
LEVELS = [(streams, size * KIB) for streams in (1, 2, 4) for size in (64, 256)]


def list_missing(inputs: ReportInputs) -> tuple[set[str], set[str], bool]:
    """The analyses that are not shown, their commands, and whether the hosts have to be named."""
    table = find_table(iter(find_section(inputs, "not-decided").blocks), "undecided")
    titles, commands = ({row[place] for row in table.rows} for place in (0, 2))
    return titles, commands - {"–"}, "--hosts" in (table.note or "")


def test_enough_trials_list_only_what_was_not_varied(say: Say) -> None:
    results = make_quickstart(cycles=12, levels=LEVELS, **describe_campaign(SHIPPED))
    say(list_missing(make_inputs(results))[0])


def test_a_campaign_that_does_not_ship_is_not_named(say: Say) -> None:
    results = make_quickstart(cycles=1, levels=LEVELS[:2])
    results.campaign = replace(results.campaign, name="own")
    say(list_missing(make_inputs(results))[1])


@pytest.mark.parametrize(
    ("text", "overrides", "profile"),
    [
        (SHIPPED, (), None),
        (SHIPPED, (), "quick"),
        (SHIPPED, ("trial.duration=5s",), None),
        (f"{SHIPPED}# changed\n", (), None),
        (f"{SHIPPED}# changed\n", (), "quick"),
    ],
    ids=["shipped", "profile", "override", "changed", "profile of a changed one"],
)
def test_the_commands_measure_the_same_campaign(
    say: Say, text: str, overrides: tuple[str, ...], profile: str | None
) -> None:
    record = describe_campaign(text, *overrides, profile=profile)
    _, commands, hosts = list_missing(make_inputs(make_quickstart(cycles=1, levels=LEVELS[:2], **record)))
    say(commands)
    assert hosts == bool(overrides)
