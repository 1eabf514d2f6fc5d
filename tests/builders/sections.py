"""Material for chapters, from trials in memory whose figures are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pathlab.analysis.fits.curve_fit import FitOptions
from pathlab.report.blocks import Block, Fold, Section, TableBlock
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Curve, Layer, Plot
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.answer import StudyOptions
from tests.builders.results import SyntheticResults

#: Few resamples: the width of intervals is not what is tested here.
QUICK = StudyOptions(fit=FitOptions(resamples=100))


def make_inputs(results: SyntheticResults) -> ReportInputs:
    """The material of results in memory, windows in ascending order."""
    return ReportInputs(Study(results, QUICK))


def take_trials(
    inputs: ReportInputs, choose: Callable[[TrialRecord], bool], figure: Callable[[TrialRecord], float | None]
) -> np.ndarray:
    """A figure of every trial that is chosen, read from the records themselves."""
    assert isinstance(inputs.source, SyntheticResults)
    found = [figure(record) for record in inputs.source.records if choose(record)]
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


def find_curve(plot: Plot, name: str, panel: int = 0) -> Curve:
    """The curve of that name in a panel."""
    layer = find_layer(plot, name, panel)
    assert isinstance(layer, Curve)
    return layer


def find_layer(plot: Plot, name: str, panel: int = 0, kind: type = Curve) -> Layer:
    """The first layer of that name and kind in a panel."""
    return next(one for one in plot.panels[panel].layers if one.name == name and isinstance(one, kind))


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
