"""Analyses with too few trials or levels: not drawn, named once, with a command that decides them."""

import re
import shlex

import pytest

from pathlab.report import chapters
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.shortfalls import NEEDS, Per, find_shortfall
from pathlab.report.flows import cpu
from pathlab.study.base.registry import ANALYSES
from tests.builders.results import make_quickstart
from tests.builders.sections import find_section, find_table, list_blocks, make_inputs
from tests.builders.shipped import SHIPPED, describe_campaign

KIB = 1024
LEVELS = [(streams, size * KIB) for streams in (1, 2, 4) for size in (64, 256)]


def make_report_inputs(cycles: int) -> ReportInputs:
    return make_inputs(make_quickstart(cycles=cycles, levels=LEVELS, **describe_campaign(SHIPPED)))


@pytest.fixture(scope="module")
def two_cycles() -> ReportInputs:
    return make_report_inputs(2)


def test_what_is_not_drawn_is_named_once_and_can_be_had_by_name(two_cycles: ReportInputs) -> None:
    sections = chapters.build_sections(two_cycles)
    drawn = {getattr(block, "name", "") for block in list_blocks(sections)}
    missing = {"streams-windows-1", "optimum-1", "delay-throughput-1", "frequency-throughput-1"}
    assert not missing & drawn
    assert missing <= {lazy.name for lazy in chapters.list_lazy_plots(two_cycles)}
    for name in missing:
        assert chapters.find_plot(two_cycles, name) is not None
    table = find_table(list_blocks([find_section(two_cycles, "not-decided")]), "undecided")
    listed = {title: (needs, command) for title, needs, command in table.rows}
    for name in ("streams_vs_windows", "optimum", "breakpoint", "distributions", "precision", "drift"):
        assert ANALYSES[name].title in listed
    assert listed["Knee of the delay curve"][0] == "50 usable trials"
    assert listed["Precision"][1] == "pathlab run quickstart --set cycles=6"
    duration = shlex.split(listed["Trial duration"][1])
    assert duration[-1] == 'factors.duration=["2s","4s","8s"]'


def test_the_number_of_cycles_that_is_named_decides(two_cycles: ReportInputs) -> None:
    needed: dict[int, list[str]] = {}
    for name in NEEDS:
        found = find_shortfall(two_cycles, name)
        if found is not None and NEEDS[name].per is not Per.TRIAL:
            setting = found.setting or ""
            assert setting.startswith("cycles="), found
            needed.setdefault(int(setting.removeprefix("cycles=")), []).append(name)
    assert len(needed) > 3
    for cycles, names in needed.items():
        inputs = make_report_inputs(cycles)
        assert [name for name in names if find_shortfall(inputs, name) is not None] == []


@pytest.mark.parametrize(("streams", "windows"), [((1, 4, 8), (32, 64)), ((1, 2, 4, 8), (64, 256))])
def test_the_windows_that_are_named_give_equal_total_windows(
    streams: tuple[int, ...], windows: tuple[int, ...]
) -> None:
    def measure(sizes: list[int]) -> ReportInputs:
        return make_inputs(make_quickstart(cycles=1, levels=[(n, w) for n in streams for w in sizes]))

    before = measure([size * KIB for size in windows])
    assert cpu.PRODUCTS.find_gap(before) is not None
    setting = cpu.PRODUCTS.choose_setting(before) or ""
    sizes = [int(size) * KIB for size in re.findall(r'"(\d+)KiB"', setting)]
    assert cpu.PRODUCTS.find_gap(measure(sizes)) is None
