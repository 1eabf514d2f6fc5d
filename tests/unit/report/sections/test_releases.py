"""Chapters of builds and of recording: the answer first, the noise beside it."""

from __future__ import annotations

from pathlab.report.blocks import Paragraph, Section
from pathlab.report.plots.model import Plot, Points, Rule
from pathlab.report.sections.chapters import build_sections
from pathlab.report.sections.opening import build_opening
from tests.builders.levels import measure_levels
from tests.builders.results import SyntheticResults
from tests.builders.sections import find_table, list_blocks, make_inputs

CELLS = ({"streams": 1, "message_bytes": 64}, {"streams": 1, "message_bytes": 1024})
BUILDS: dict[str, dict[str, float]] = {"this": {}, "again": {}, "against": {"messages_per_s": 0.9}}
LEVELS: dict[str, dict[str, float]] = {"off": {}, "default": {}, "full": {"messages_per_s": 0.95}}


def find_section(results: SyntheticResults, key: str) -> Section:
    return next(one for one in build_sections(make_inputs(results)) if one.key == key)


def test_builds_are_compared_in_a_sentence_a_figure_and_tables() -> None:
    section = find_section(measure_levels("build", BUILDS, cells=CELLS), "releases")
    assert section.question is None
    lead, *others = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert lead.startswith("The other build against this one: Message rate fell by ")
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
    assert [row[0] for row in table.rows] == ["1 × auto message=64 B", "1 × auto message=1 KiB"]
    assert {row[-1] for row in table.rows} == {"worse"}


def test_few_cycles_are_said_once() -> None:
    section = find_section(measure_levels("build", BUILDS, cycles=1), "releases")
    lead = section.blocks[0]
    assert isinstance(lead, Paragraph)
    assert lead.text == (
        "The other build against this one: No verdict: 1 trial per side is too few (6 needed)."
    )
    assert not [block for block in section.blocks if isinstance(block, Plot)]


def test_one_build_measured_twice_is_the_noise_floor() -> None:
    section = find_section(measure_levels("build", {"this": {}, "again": {}}), "releases")
    lead, noise = (block for block in section.blocks if isinstance(block, Paragraph))
    assert "nothing is compared" in lead.text
    assert "throughput ±" in noise.text


def test_a_factor_without_a_noise_floor_says_how_to_get_one() -> None:
    model = {"compare": "no_delay", "factors": {"no_delay": [False, True]}}
    results = measure_levels("no_delay", {False: {}, True: {"throughput_bits_per_s": 0.9}}, model=model)
    section = find_section(results, "releases")
    texts = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert texts[0].startswith("no_delay yes against no_delay no: Throughput fell by ")
    assert any(text.startswith("Noise floor: not measured") for text in texts)


def test_the_cost_of_recording_has_a_sentence_for_each_level() -> None:
    section = find_section(measure_levels("recording", LEVELS, cells=CELLS), "observer-cost")
    texts = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert texts[0].startswith("Recording 'default': no cost is shown in 2 of 2 combinations")
    assert texts[1].startswith("Recording 'full' costs ")
    assert "of the rate in 2 of 2 combinations" in texts[1]
    (plot,) = (block for block in section.blocks if isinstance(block, Plot))
    names = [layer.name for layer in plot.panels[0].layers if isinstance(layer, Points)]
    assert names == ["default", "full"]
    table = find_table(list_blocks([section]), "observer-cost")
    assert len(table.rows) == 4
    assert {row[0] for row in table.rows} == {"1 × auto message=64 B", "1 × auto message=1 KiB"}


def list_leads(results: SyntheticResults) -> list[str]:
    return [one.text for one in build_opening(make_inputs(results)).blocks if isinstance(one, Paragraph)]


def test_the_answer_of_builds_and_of_recording_is_their_comparison() -> None:
    first, *_, carried = list_leads(measure_levels("build", BUILDS, cells=CELLS))
    assert first.startswith("The other build against this one: Message rate fell by ")
    assert carried.startswith("tcp, carried per second: ")
    default, full, carried = list_leads(measure_levels("recording", LEVELS, cells=CELLS))
    assert default.startswith("Recording 'default': no cost is shown in 2 of 2 combinations")
    assert full.startswith("Recording 'full' costs ")
    assert carried.startswith("tcp, carried per second: ")
