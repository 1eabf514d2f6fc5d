"""A campaign that surveys its paths: what it finds is the link that the lab has."""

from __future__ import annotations

from pathlib import Path

import pytest

import pathlab
from tests.integration.running import running, write_campaign
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]


def test_surveys_before_and_after_find_the_link(tmp_path: Path) -> None:
    require_namespaces()
    require_engine()
    campaign = write_campaign(tmp_path, cycles=1, duration="300ms")
    text = campaign.read_text(encoding="utf-8")
    campaign.write_text(text.replace("seed = 7", 'seed = 7\nsurvey = "before and after"'), encoding="utf-8")
    with running(["run", str(campaign), "--out", str(tmp_path / "out")], tmp_path) as run:
        status, screen = run.read_to_end()
    assert status == 0, screen
    with pathlab.open(tmp_path / "out") as results:
        surveys = [entry for entry in results.journal() if entry.kind == "path"]
        changes = [entry for entry in results.journal() if entry.kind == "path-changed"]
    assert [entry.facts["when"] for entry in surveys] == ["before", "before", "after", "after"], screen
    assert changes == []
    for entry, way in zip(surveys, ("a to b", "b to a", "a to b", "b to a"), strict=True):
        assert entry.text.startswith(f"{way}, {entry.facts['when']}: 1 hop; MTU 1500 bytes; capacity ")
        (hop,) = entry.facts["report"]["capacity"]["hops"]
        assert hop["estimate"]["capacity_bits_per_s"] > 0
    assert "a to b, before: 1 hop" in screen
    assert "a to b, before: 1 hop" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
