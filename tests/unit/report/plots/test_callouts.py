"""Texts inside a panel: beside a ringed point, above a line."""

from pathlab.report.plots.live import describe_plot
from pathlab.report.plots.printed import render_svg
from tests.builders.plots import make_answer


def test_print_and_page_show_the_same_texts() -> None:
    plot = make_answer()
    text = render_svg(plot, "a")
    described = describe_plot(plot)
    assert text.count(">recommended<") == 2
    for panel, limit in zip(described["panels"], ("limit: 38.6 Mbit/s", "limit: 50 ms"), strict=True):
        assert f">{limit}<" in text
        layers = {layer["kind"]: layer for layer in panel["layers"]}
        assert layers["points"]["callout"] == "recommended"
        assert layers["rule"]["labelled"]
        assert "legend" not in layers["rule"]  # a text in the panel is not repeated below it
