"""The line of each key of a TOML file, and mistakes that name it."""

import pytest

from pathlab.campaign.campaign_text import CampaignText
from pathlab.campaign.load import load_campaign
from pathlab.errors import CampaignError

TEXT = '''\
# a comment with a = 1
name = "x"  # another [one]
text = """
[not.a.table]
"""
[trial]
duration = "2s"
times.a = 1

[[paths]]
source = "a"
[[paths]]
source = "b"
[paths.addresses]
list = [
  { one = 1 },
  { two = 2 },
]
["a b"."c.d"]
x = 1
'''


CAMPAIGN = """\
format = 1
name = "f"
title = "F"
seed = 1
duration = "1s"
[[paths]]
source = "local"
destination = "local"
[factors]
streams = [1, 0]
[trial]
duration = "1"
"""


def mistakes_of(text: str, *overrides: str) -> CampaignError:
    with pytest.raises(CampaignError) as caught:
        load_campaign(CampaignText(label="f.toml", text=text), overrides)
    return caught.value


@pytest.mark.parametrize(
    "value", ["[" * 20_000, "[" * 5000 + "]" * 5000, "9" * 5000, "0 # \n" + "a" + ".a" * 200 + " = 1"]
)
def test_what_is_too_deep_or_too_long_is_named(value: str) -> None:
    """TOML itself has no limit; tomllib ends with an error of Python, or with tables that nobody can walk."""
    error = mistakes_of(f"x = {value}\n")
    assert error.mistakes[0].startswith(
        "f.toml: tables and lists are nested too deeply; expected at most 100"
    )
    if "\n" not in value:
        assert "nested too deeply" in mistakes_of(CAMPAIGN, f"trial.duration={value}").mistakes[0]
