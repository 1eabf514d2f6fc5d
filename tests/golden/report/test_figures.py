"""Sentences of figures and chapters of paths and of single trials, each in a situation of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pathlab.report.base.answer_tables import list_caveats
from pathlab.report.base.blocks import Paragraph
from pathlab.report.base.lazy import build_blocks
from pathlab.report.flows import certainty, cpu, duration, effect
from pathlab.report.plots.model import Curve, Rule, Scale
from pathlab.report.plots.preparation import prepare_plot
from pathlab.store.records import TrialRecord
from tests.builders.plots import make_panel, make_plot
from tests.builders.results import LAB, SyntheticResults, join_results
from tests.builders.sections import draw, draw_trial, find_section, find_table, list_blocks, make_inputs
from tests.builders.series import make_histogram_row, make_stream_intervals
from tests.builders.sweeps import RTT_NS, make_sweep
from tests.builders.trials import make_failed, make_trial
from tests.golden.conftest import Say

KIB = 1024
Levels = Sequence[tuple[int, int | None]]
ONE: Levels = [(8, 65536)]
PAIR: Levels = [(1, 65536), (2, 65536)]
SIX: Levels = [(streams, size * KIB) for size in (32, 64) for streams in (1, 4, 8)]
NO_CPU: dict[str, Any] = {
    f"{end}_cpu_{part}_s": None for end in ("sender", "receiver") for part in ("user", "system")
}
TRIAL = make_trial(1, 65536)
Choose = Callable[[TrialRecord], str]


def sweep(
    cycles: int, levels: Levels | None = None, flag: Choose = lambda _: "lab", **columns: Any
) -> SyntheticResults:
    """A sweep in the lab, every trial with a flag and with these columns."""
    results = make_sweep(cycles, levels=levels, environment={"lab": LAB})
    results.change_trials(lambda one: replace(one, flags=tuple(dict.fromkeys(("lab", flag(one))))), **columns)
    return results


def make_outlier() -> SyntheticResults:
    def change(record: TrialRecord) -> TrialRecord:
        far = 3.0 if record.cycle == 5 and record.streams == 1 else 1.0
        return replace(record, throughput_bits_per_s=far * (record.throughput_bits_per_s or 0.0))

    return make_sweep(12, levels=PAIR, change=change)


def make_durations() -> SyntheticResults:
    flags = ("lab-limited", "busy-core", "lab")
    return join_results([sweep(3, ONE, lambda one: flags[one.cycle], duration_ns=n * 10**9) for n in (1, 2)])


def shift(record: TrialRecord) -> TrialRecord:
    """One rise in four is below 0, which no bin holds."""
    rise = -1e6 if record.streams == 1 else 1e6 * record.streams
    return replace(record, loaded_rtt_mean_ns=RTT_NS + rise, unloaded_rtt_mean_ns=RTT_NS)


def say_caveats(results: SyntheticResults) -> str:
    (found,) = list_caveats(make_inputs(results).conditions)
    assert isinstance(found, Paragraph)
    return found.text


def say_certainty(results: SyntheticResults) -> str:
    blocks = build_blocks(certainty.SECTION.blocks(make_inputs(results)))
    return next(one.text for one in blocks if isinstance(one, Paragraph))


def say_figure(results: SyntheticResults, name: str = "answer-1") -> str:
    plot = draw(make_inputs(results), name)
    return plot.empty or plot.sentence


def say_trial(record: TrialRecord, **series: pd.DataFrame) -> list[str]:
    plot = draw_trial(record, series)
    return [plot.condition, *(panel.title or "" for panel in plot.panels), plot.sentence]


def say_plot(*layers: Curve | Rule) -> str:
    return prepare_plot(make_plot(make_panel(*layers, y=Scale.LOG2))).sentence


SITUATIONS: Mapping[str, Callable[[], object]] = {
    "trials that do not count": lambda: say_caveats(
        sweep(8, ONE, lambda one: ("host-limited", "window-short", "lab")[min(one.cycle, 2)])
    ),
    "few trials": lambda: say_caveats(make_sweep(3)),
    "the same caveats of several durations": lambda: say_caveats(make_durations()),
    "a change over few durations": lambda: say_figure(make_durations(), "duration-1"),
    "the table of few durations": lambda: (
        find_table(build_blocks(duration.SECTION.blocks(make_inputs(make_durations()))), "durations-1").note
    ),
    "a surface of single trials": lambda: say_figure(make_sweep(1), "surface-1"),
    "an outlier": lambda: say_certainty(make_outlier()),
    "one combination": lambda: say_certainty(make_sweep(3, levels=ONE)),
    "no spread of the RTT": lambda: say_figure(
        sweep(1, loaded_rtt_iqr_ns=None, unloaded_rtt_iqr_ns=None), "iqr-streams-1"
    ),
    "a knee of few trials": lambda: say_figure(make_sweep(1), "delay-throughput-1"),
    "frequencies of few trials": lambda: say_figure(
        make_sweep(2, levels=[(streams, 65536) for streams in (1, 2, 4, 8)], change=shift), "frequency-drtt-1"
    ),
    "no idle RTT": lambda: effect.SECTION.find_gap(make_inputs(sweep(1, unloaded_rtt_mean_ns=None))),
    "no CPU time": lambda: cpu.COSTS.find_gap(make_inputs(sweep(1, **NO_CPU))),
    "one duration": lambda: duration.SECTION.find_gap(make_inputs(make_sweep(1))),
    "limits far above the measurements": lambda: say_figure(sweep(6, [(1, 8192), (2, 8192)])),
    "host-limited combinations": lambda: say_figure(
        sweep(6, SIX, lambda one: "host-limited" if one.streams == 8 else "lab")
    ),
    "lab-limited combinations": lambda: say_figure(
        sweep(6, SIX, lambda one: "lab-limited" if one.streams == 4 else "lab")
    ),
    "an imported trial": lambda: say_trial(
        replace(make_trial(2), flags=("imported",), engine_version="iperf3 3.12"),
        sender_intervals=make_stream_intervals(20, 2, bytes=125_000, snd_cwnd_bytes=50_000),
    ),
    "probes kept as histograms": lambda: say_trial(
        TRIAL,
        receiver_intervals=make_stream_intervals(2, 1, bytes=1000),
        loaded_probe_histograms=pd.DataFrame([make_histogram_row(0, [5], sent=1, lost=0, reordered=0)]),
    ),
    "many probes": lambda: say_trial(
        TRIAL, loaded_probes=pd.DataFrame({"sent_ns": np.arange(100_000) * 10**5, "rtt_ns": 4e7})
    ),
    "a failed trial": lambda: say_trial(make_failed(TRIAL, reason="connection refused")),
    "a line without a place": lambda: say_plot(
        Curve(name="line", x=np.array([1.0]), y=np.array([2.0])), Rule(name="capacity", value=float("nan"))
    ),
    "values without a place": lambda: say_plot(
        Curve(name="line", x=np.arange(1.0, 5.0), y=np.array([0.0, -3.0, np.inf, 10.0]))
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_situation_is_stated(say: Say, situation: str) -> None:
    say(SITUATIONS[situation]())


def test_lab_limited_trials_are_drawn_and_marked_but_counted_nowhere(say: Say) -> None:
    inputs = make_inputs(sweep(2, flag=lambda _: "lab-limited"))
    plot = draw(inputs, "throughput-streams-1")
    say(plot.panels[0].layers[2].name)
    say(plot.sentence)
    missing = find_section(inputs, "not-decided")
    say({needs for _, needs, _ in find_table(iter(missing.blocks), "undecided").rows})
    table = find_table(list_blocks([find_section(inputs, "combinations")]), "windows-streams-1")
    assert "95 % CI" not in [heading.heading for heading in table.columns]
    say(table.note)
