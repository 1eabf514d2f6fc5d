"""Figures and tables of builds and of recording."""

from pathlab.report.plots.model import Plot, Points, Rule
from tests.builders.levels import measure_levels
from tests.builders.sections import find_layers, find_section, find_table, list_blocks, make_inputs

CELLS = ({"streams": 1, "message_bytes": 64}, {"streams": 1, "message_bytes": 1024})
BUILDS: dict[str, dict[str, float]] = {"this": {}, "again": {}, "against": {"messages_per_s": 0.9}}


def test_builds_are_compared_in_a_figure_and_tables() -> None:
    section = find_section(make_inputs(measure_levels("build", BUILDS, cells=CELLS)), "releases")
    assert section.question is None
    (plot,) = (block for block in section.blocks if isinstance(block, Plot))
    assert [panel.title for panel in plot.panels] == [
        "Message rate",
        "99th percentile of messages' round trips",
        "CPU of both ends per message",
    ]
    rules = find_layers(plot.panels[0], Rule)
    assert set(rules) == {"noise floor", "no change"}
    assert -1 < (rules["noise floor"].low or 0) < 0 < (rules["noise floor"].high or 0) < 1
    (worse,) = find_layers(plot.panels[0], Points).values()
    assert (worse.name, worse.x.size) == ("worse", 2)
    table = find_table(list_blocks([section]), "releases-against-messages")
    assert [one.heading for one in table.columns] == [
        *("Combination", "this (M/s)", "against (M/s)", "Change", "95 % CI"),
        *("Noise (again)", "p (Holm)", "Verdict"),
    ]
    assert {row[-1] for row in table.rows} == {"worse"}
