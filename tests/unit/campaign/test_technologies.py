"""The user's own technologies beside those that ship, and the word for all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.campaign import levels, technologies
from pathlab.campaign.levels import list_levels
from pathlab.campaign.load import load_campaign
from pathlab.campaign.schema import build_json_schema
from pathlab.campaign.technologies import list_adapter_faults, list_shipped_technologies, list_technologies
from pathlab.errors import CampaignError

SOURCE = """# pathlab-adapter
# {{"contract": 1, "name": "{name}", "title": "A parrot", "language": "python", "beneath": "tcp"}}
# end
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user's own; what it holds is read once."""
    monkeypatch.setenv("PATHLAB_ADAPTERS", str(tmp_path))
    cached = (list_technologies, list_shipped_technologies, technologies._read_all)
    for function in cached:
        function.cache_clear()
    yield tmp_path
    for function in cached:
        function.cache_clear()


def test_own_files_are_technologies_and_broken_ones_cost_no_other(folder: Path) -> None:
    (folder / "parrot.py").write_text(SOURCE.format(name="parrot"), encoding="utf-8")
    (folder / "odd.py").write_text(SOURCE.format(name="odd").replace("title", "titel"), encoding="utf-8")
    (folder / "all.py").write_text(SOURCE.format(name="technologies"), encoding="utf-8")
    assert "parrot" in list_technologies()
    assert "parrot" not in list_shipped_technologies()
    assert not {"odd", "technologies"} & set(list_technologies())
    assert set(list_shipped_technologies()) == set(list_technologies()) - {"parrot"}
    taken, unknown = sorted(list_adapter_faults())
    assert unknown.startswith(f"{folder}/odd.py: ")
    assert "titel" in unknown
    assert taken.startswith(f"{folder}/all.py: key 'name' must be")
    assert "technologies" in taken


def test_the_word_stands_for_all_that_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "list_technologies", lambda: {"crow": None, "parrot": None})
    assert list_levels("engine", ["native", "technologies"]) == ["native", "crow", "parrot"]
    assert list_levels("engine", ["parrot", "technologies"]) == ["parrot", "crow"]
    assert list_levels("engine", "technologies") == ["crow", "parrot"]
    assert list_levels("engine", "native") == ["native"]
    assert list_levels("message", ["technologies"]) == ["technologies"]


def test_the_schema_knows_the_word_for_lists_alone() -> None:
    tables = build_json_schema()["$defs"]
    single, several = tables["Factors"]["properties"]["engine"]["anyOf"]
    assert "technologies" in single["enum"]
    assert "technologies" in several["items"]["enum"]
    assert "technologies" not in tables["Combination"]["properties"]["engine"]["enum"]


def test_broken_files_are_mistakes_of_campaigns_that_ask_for_them_alone(folder: Path) -> None:
    (folder / "odd.py").write_text(SOURCE.format(name="odd").replace("title", "titel"), encoding="utf-8")
    for name, told in (("rediss", False), ("odd", True)):
        with pytest.raises(CampaignError) as refused:
            load_campaign("round-trip", [f'factors.engine=["native", "{name}"]'])
        found = " ".join(refused.value.mistakes)
        assert f'"{name}"' in found
        assert ("titel" in found) is told
