"""Material for chapters, from trials in memory whose figures are known."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pathlab.analysis.fits.curve_fit import FitOptions
from pathlab.report.base.blocks import Block, Fold, Section, TableBlock
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.chapters import build_sections, find_plot
from pathlab.report.plots.model import Curve, Layer, Panel, Plot, Rule
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.report_builder import gather_inputs
from pathlab.report.trials.trials import plot_trial
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.base.answer import StudyOptions
from tests.builders.results import SyntheticResults, make_campaign

#: Few resamples: the width of intervals is not what is tested here.
QUICK = StudyOptions(fit=FitOptions(resamples=100))


def make_inputs(results: SyntheticResults) -> ReportInputs:
    """The material of results in memory, windows in ascending order."""
    return ReportInputs(Study(results, QUICK))


def make_trial_inputs(record: TrialRecord, series: dict[str, pd.DataFrame]) -> ReportInputs:
    """The material of a single trial with these series."""
    return gather_inputs(SyntheticResults(make_campaign(), (), [record], {1: series}))


def draw_trial(record: TrialRecord, series: dict[str, pd.DataFrame]) -> Plot:
    """The figure of a single trial as it is drawn."""
    return prepare_plot(plot_trial(make_trial_inputs(record, series), 1))


def take_trials(
    inputs: ReportInputs, choose: Callable[[TrialRecord], bool], figure: Callable[[TrialRecord], float | None]
) -> np.ndarray:
    """A figure of every trial that is chosen, read from the records themselves."""
    assert isinstance(inputs.source, SyntheticResults)
    found = [figure(record) for record in inputs.source.records if choose(record)]
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


def draw(inputs: ReportInputs, name: str) -> Plot:
    """The figure of that name, which there must be."""
    return find_plot(inputs, name)


def find_section(inputs: ReportInputs, key: str) -> Section:
    """The chapter of that key, which there must be."""
    return next(one for one in build_sections(inputs) if one.key == key)


Kind = TypeVar("Kind", bound=Layer)


def find_layer(plot: Plot, name: str, panel: int = 0, *, kind: type[Kind]) -> Kind:
    """The first layer of that name and kind in a panel."""
    return next(one for one in plot.panels[panel].layers if one.name == name and isinstance(one, kind))


def find_curve(plot: Plot, name: str, panel: int = 0) -> Curve:
    """The curve of that name in a panel."""
    return find_layer(plot, name, panel, kind=Curve)


def take_interval(layer: Curve | Rule) -> tuple[Any, Any]:
    """The lower and the upper ends of the intervals of a layer, which must have some."""
    assert layer.low is not None
    assert layer.high is not None
    return layer.low, layer.high


def find_layers(panel: Panel, kind: type) -> dict[str, Any]:
    """The layers of that kind in a panel by name."""
    return {layer.name: layer for layer in panel.layers if isinstance(layer, kind)}


def list_blocks(sections: Sequence[Section]) -> Iterator[Block]:
    """Every block, those in folds included."""

    def walk(blocks: Sequence[Block]) -> Iterator[Block]:
        for block in blocks:
            yield block
            if isinstance(block, Fold):
                yield from walk(block.blocks)

    for section in sections:
        yield from walk(section.blocks)


def find_table(blocks: Iterator[Block], name: str) -> TableBlock:
    """The table of that name, as pages show it."""
    return next(one for one in blocks if isinstance(one, TableBlock) and one.name == name).narrow()
