"""Chapters of builds and of recording: the answer first, the noise beside it."""

from __future__ import annotations

from pathlab.report.blocks import Paragraph, Section
from pathlab.report.plots.model import Plot, Points, Rule
from pathlab.report.sections.chapters import build_sections
from tests.builders.levels import measure_levels
from tests.builders.results import SyntheticResults
from tests.builders.sections import find_table, list_blocks, make_inputs

CELLS = ({"streams": 1, "message_bytes": 64}, {"streams": 1, "message_bytes": 1024})
BUILDS: dict[str, dict[str, float]] = {"this": {}, "again": {}, "against": {"messages_per_s": 0.9}}


def find_section(results: SyntheticResults, key: str) -> Section:
    return next(one for one in build_sections(make_inputs(results)) if one.key == key)


def test_builds_are_compared_in_a_sentence_a_figure_and_tables() -> None:
    section = find_section(measure_levels("build", BUILDS, cells=CELLS), "releases")
    assert section.question is None
    lead, *others = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert lead.endswith("in both combinations.")
    assert "10" in lead
    assert any("Noise floor, the largest difference" in text and "message rate ±" in text for text in others)
    (plot,) = (block for block in section.blocks if isinstance(block, Plot))
    assert [panel.title for panel in plot.panels] == [
        "Message rate",
        "99th percentile of messages' round trips",
        "CPU of both ends per message",
    ]
    rules = {layer.name: layer for layer in plot.panels[0].layers if isinstance(layer, Rule)}
    assert set(rules) == {"noise floor", "no change"}
    assert -1 < (rules["noise floor"].low or 0) < 0 < (rules["noise floor"].high or 0) < 1
    (worse,) = (layer for layer in plot.panels[0].layers if isinstance(layer, Points))
    assert (worse.name, worse.x.size) == ("worse", 2)
    table = find_table(list_blocks([section]), "releases-against-messages")
    assert [one.label for one in table.headings] == [
        *("Combination", "this (M/s)", "against (M/s)", "Change", "95 % CI"),
        *("Noise (again)", "p (Holm)", "Verdict"),
    ]
    assert {row[-1] for row in table.rows} == {"worse"}


def test_one_build_measured_twice_is_the_noise_floor() -> None:
    section = find_section(measure_levels("build", {"this": {}, "again": {}}), "releases")
    lead, noise = (block for block in section.blocks if isinstance(block, Paragraph))
    assert "nothing is compared" in lead.text
    assert "throughput ±" in noise.text
