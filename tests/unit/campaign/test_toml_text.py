"""The line of each key of a TOML file, and mistakes that name it."""

import tomllib
from typing import Any

import pytest

from pathlab.campaign.campaign_text import CampaignText
from pathlab.campaign.load import load_campaign
from pathlab.campaign.toml_text import list_key_lines, locate_key
from pathlab.errors import CampaignError

LOADS = tomllib.loads
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


def test_every_key_has_the_line_of_its_statement() -> None:
    lines = list_key_lines(TEXT)
    expected = {
        ("name",): 2,
        ("text",): 3,
        ("trial",): 6,
        ("trial", "duration"): 7,
        ("trial", "times", "a"): 8,
        ("paths", 0): 10,
        ("paths", 0, "source"): 11,
        ("paths", 1): 12,
        ("paths", 1, "source"): 13,
        ("paths", 1, "addresses"): 14,
        ("paths", 1, "addresses", "list", 1, "two"): 15,
        ("a b", "c.d", "x"): 20,
    }
    assert {key: lines.get(key) for key in expected} == expected
    assert ("not",) not in lines
    assert ("a",) not in lines


ROWS = 300
LONG = "\n".join(["[factors]", "rows = [", *["  [1],"] * ROWS, "]", "streams = 1"])


def test_a_long_value_is_read_once_and_its_keys_have_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def loads(text: str) -> dict[str, Any]:
        parsed.append(text)
        return LOADS(text)

    monkeypatch.setattr(tomllib, "loads", loads)
    lines = list_key_lines(LONG)
    assert "".join(parsed).strip() == LONG.strip()
    assert lines["factors", "rows", ROWS - 1] == 2
    assert lines["factors", "streams"] == ROWS + 4


@pytest.mark.parametrize(
    "value",
    [
        *('"\\"["', "'\\'", '"#"', "'\"'", '""', "''", '""""""', "''''''", "[] # ]", "[\n[], # [\n]"),
        *('"""\n["""', '"""\\\n  ["""', '""""a""""', '"""a\\""""', '"""\n\\"""["""', "'''\n\\'''"),
        *('"""\r\n[\r\n"""', "[\r\n1,\r\n]", "'''''a\n['''''", '{ "[" = "]", \'"\' = [\n1\n] }'),
    ],
)
def test_a_statement_ends_where_toml_ends_it(value: str) -> None:
    text = f"a = {value}\nb = 1\n[c]\n"
    assert set(LOADS(text)) == {"a", "b", "c"}
    lines = list_key_lines(text)
    after = value.count("\n") + 2
    assert (lines["a",], lines["b",], lines["c",]) == (1, after, after + 1)


def test_a_key_that_is_not_there_has_the_line_of_its_table() -> None:
    lines = list_key_lines(TEXT)
    assert locate_key("f", ("trial", "warmup"), lines) == "f:6: trial.warmup"
    assert locate_key("f", ("cycles",), lines) == "f:cycles"


def test_a_text_without_keys_has_no_lines() -> None:
    assert list_key_lines("") == list_key_lines("# only this\n\n") == {}


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
