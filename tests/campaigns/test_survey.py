"""A campaign that surveys its paths: what it finds is the link that the lab has."""

from dataclasses import replace
from pathlib import Path

import pytest

import pathlab
from pathlab.discover.capacity import CapacityOptions
from pathlab.runner.hosts import path_surveys
from tests.integration.conducting import AB, LAB, Watch, campaign_of, run
from tests.require import require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]


def test_surveys_before_and_after_find_the_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_namespaces()
    short = replace(path_surveys.OPTIONS, capacity=CapacityOptions(budget_s=2.0, target_ratio=0.1))
    monkeypatch.setattr(path_surveys, "OPTIONS", short)
    watch = Watch()
    run(campaign_of(lab=LAB, paths=AB, survey="before and after"), tmp_path / "out", watch)
    with pathlab.open(tmp_path / "out") as results:
        surveys = [entry for entry in results.journal() if entry.kind == "path"]
        changes = [entry for entry in results.journal() if entry.kind == "path-changed"]
    assert [entry.facts["when"] for entry in surveys] == ["before", "before", "after", "after"]
    assert changes == []
    for entry, way in zip(surveys, ("a to b", "b to a", "a to b", "b to a"), strict=True):
        assert entry.text.startswith(f"{way}, {entry.facts['when']}: 1 hop; MTU 1500 bytes; capacity ")
        (hop,) = entry.facts["report"]["capacity"]["hops"]
        assert hop["estimate"]["capacity_bits_per_s"] > 0
        assert entry.text in watch.notices()
