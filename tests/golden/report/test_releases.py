"""Chapters of builds and of recording: the answer first, the noise beside it."""

from __future__ import annotations

from pathlab.report.blocks import Paragraph
from pathlab.report.plots.model import Plot, Points
from pathlab.report.sections.opening import build_opening
from tests.builders.levels import measure_levels
from tests.builders.results import SyntheticResults
from tests.builders.sections import find_table, list_blocks, make_inputs
from tests.golden.conftest import Say
from tests.unit.report.sections.test_releases import find_section

CELLS = ({"streams": 1, "message_bytes": 64}, {"streams": 1, "message_bytes": 1024})
BUILDS: dict[str, dict[str, float]] = {"this": {}, "again": {}, "against": {"messages_per_s": 0.9}}
LEVELS: dict[str, dict[str, float]] = {"off": {}, "default": {}, "full": {"messages_per_s": 0.95}}


def list_leads(results: SyntheticResults) -> list[str]:
    return [one.text for one in build_opening(make_inputs(results)).blocks if isinstance(one, Paragraph)]


def test_a_factor_without_a_noise_floor_says_how_to_get_one(say: Say) -> None:
    model = {"compare": "no_delay", "factors": {"no_delay": [False, True]}}
    results = measure_levels("no_delay", {False: {}, True: {"throughput_bits_per_s": 0.9}}, model=model)
    section = find_section(results, "releases")
    texts = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    say(texts[0])
    say(texts)


def test_the_cost_of_recording_has_a_sentence_for_each_level(say: Say) -> None:
    section = find_section(measure_levels("recording", LEVELS, cells=CELLS), "observer-cost")
    texts = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    say(texts[0])
    say(texts[1])
    (plot,) = (block for block in section.blocks if isinstance(block, Plot))
    names = [layer.name for layer in plot.panels[0].layers if isinstance(layer, Points)]
    assert names == ["default", "full"]
    table = find_table(list_blocks([section]), "observer-cost")
    assert len(table.rows) == 4
    say({row[0] for row in table.rows})


def test_the_answer_of_builds_and_of_recording_is_their_comparison(say: Say) -> None:
    first, *_, carried = list_leads(measure_levels("build", BUILDS, cells=CELLS))
    say(first)
    say(carried)
    default, full, carried = list_leads(measure_levels("recording", LEVELS, cells=CELLS))
    say(default)
    assert full.startswith("Recording 'full' costs ")
    say(carried)


def test_few_cycles_are_said_once(say: Say) -> None:
    section = find_section(measure_levels("build", BUILDS, cycles=1), "releases")
    lead = section.blocks[0]
    assert isinstance(lead, Paragraph)
    say(lead.text)
    assert not [block for block in section.blocks if isinstance(block, Plot)]
