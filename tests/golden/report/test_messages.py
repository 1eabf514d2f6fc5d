"""Messages and writes: sentences on rates by size, on batching, and on the latency of their round trips."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pathlab.report.base.blocks import Block, Bullets, Paragraph, list_blocks
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.messages import messages
from pathlab.report.messages.size_text import describe_messages
from pathlab.report.opening import build_opening
from pathlab.report.plots.model import Curve
from pathlab.study.analyses import Study
from tests.builders.messages import (
    BATCH,
    RATES,
    TCP,
    Model,
    Setup,
    carry,
    make_message_results,
    make_message_trials,
    make_writes,
)
from tests.builders.results import Settings, SyntheticResults
from tests.builders.sections import draw, find_section, make_inputs
from tests.golden.conftest import Say

PLAIN: Settings = {"batch_bytes": None, "batch_max_delay_ns": None, "placement": "process"}
BATCHED: Settings = {**PLAIN, **BATCH}
BOTH = (PLAIN, BATCHED)
TWO_HOSTS: Settings = {**PLAIN, "placement": "host"}


def carry_equal(settings: Settings) -> dict[str, Any]:
    """Batching gains nothing."""
    return carry({**settings, "batch_bytes": None})


def carry_equal_above_256(settings: Settings) -> dict[str, Any]:
    return carry_equal(settings) if settings["message_bytes"] >= 256 else carry(settings)


def reply(settings: Settings) -> dict[str, Any]:
    """A batch makes the median 390 µs longer."""
    wait_ns = 390_000.0 if settings["batch_bytes"] else 0.0
    return carry(settings) | ({"round_trip_median_ns": 50_000 + wait_ns} if settings["reply"] else {})


def say_rates(*curves: Settings, model: Model = carry, **options: Any) -> Sequence[str]:
    return describe_messages(make_inputs(make_message_trials(curves, model, **options)).study)


def make_lab_limited() -> SyntheticResults:
    """Those over two hosts do not count."""
    results = make_message_trials([PLAIN, TWO_HOSTS], carry, cycles=2)
    hosts = {row.row for row in results.plan() if row.settings["placement"] == "host"}
    results.change_trials(
        lambda one: replace(one, flags=("lab", "lab-limited")) if one.plan_row in hosts else one
    )
    return results


def say_lab_limited() -> list[str]:
    inputs = make_inputs(make_lab_limited())
    return [*describe_messages(inputs.study), *list_texts(find_section(inputs, "message-size").blocks)]


def list_texts(blocks: Sequence[Block]) -> list[str]:
    """Sentences and bullets."""
    found = list_blocks(blocks)
    return [
        text
        for one in found
        for text in (
            [one.text] if isinstance(one, Paragraph) else one.items if isinstance(one, Bullets) else ()
        )
    ]


def say_chapter(*curves: Settings, model: Model = carry, cycles: int = 8) -> list[str]:
    inputs = make_inputs(make_message_trials(curves, model, cycles=cycles))
    return list_texts(find_section(inputs, "message-size").blocks)


def say_opening(*setups: Setup, **options: Any) -> list[str]:
    inputs = ReportInputs(Study(make_message_results(setups, **options)))
    return list_texts(build_opening(inputs).blocks)


def name_curves(figure: str, *curves: Settings) -> list[str]:
    layers = draw(make_inputs(make_message_trials(curves, carry, cycles=6)), figure).panels[0].layers
    return [layer.name for layer in layers if isinstance(layer, Curve) and not layer.faint]


def say_points(name: str) -> str:
    few = ReportInputs(Study(make_message_results([TCP], rates=RATES[:2], cycles=2)))
    return draw(few, name).sentence


DELAYS = [{**one, "no_delay": delay} for one in BOTH for delay in (False, True)]
PLACES = [
    {"placement": "process", "transport": "tcp", "no_delay": True},
    {"placement": "process", "transport": "tcp", "no_delay": False},
    {"placement": "process", "transport": "pipe", "no_delay": False},
    {"placement": "fused", "transport": "tcp", "no_delay": False},
]
PACED = [
    {**one, **pace}
    for one in BOTH
    for pace in ({"reply": False, "message_rate_per_s": None}, {"reply": True, "message_rate_per_s": 1000})
]
UNIX, SLOW = (Setup({"transport": "unix"}, base_ns=base_ns) for base_ns in (5_000.0, 50_000.0))
SHARED = Setup({"transport": "shared-memory"}, base_ns=2_000.0, capacity_per_s=600_000.0, cpu_ns=1_500.0)
ALONE: dict[str, Any] = {"rates": (None,), "sizes": (64,)}
OFFERED: dict[str, Any] = {"rates": (1000, 5000), "sizes": (64,)}
SITUATIONS: Mapping[str, Callable[[], object]] = {
    "curves of placements and transports": lambda: name_curves("messages-1", *PLACES),
    "gains beside two baselines": lambda: name_curves("batching-1", *DELAYS[:3]),
    "one carries most": lambda: say_rates(*BOTH),
    "intervals overlap": lambda: say_rates(*BOTH, model=carry_equal),
    "small sizes differ": lambda: say_rates(*BOTH, model=carry_equal_above_256, noise=0.001),
    "a curve without a usable trial": say_lab_limited,
    "pipes, of which nothing was published": lambda: say_chapter({"transport": "pipe"}, cycles=2),
    "batching pays up to a size": lambda: say_chapter(*BOTH),
    "a measured delay replaces the setting's bound": lambda: say_chapter(*PACED, model=reply),
    "few cycles of batching": lambda: say_chapter(*DELAYS, cycles=2),
    "writes carried nothing": lambda: messages.SECTION.find_gap(make_inputs(make_writes(0.0, [(1, 65536)]))),
    "tails without histograms": lambda: (
        draw(ReportInputs(Study(make_message_results((TCP,), cycles=1))), "latency-tail-1-64B-1k-s").empty
    ),
    "the front of each size": lambda: say_opening(TCP, SHARED),
    "one message at a time": lambda: say_opening(TCP, SHARED, **ALONE),
    "one message at a time, few cycles": lambda: say_opening(TCP, SHARED, **ALONE, cycles=2),
    "a front of few trials": lambda: say_opening(TCP, UNIX, **OFFERED, cycles=2),
    "one setup": lambda: say_opening(TCP, **OFFERED),
    "all carry the highest rate": lambda: say_opening(TCP, SLOW, rates=(5000,), sizes=(64,)),
    "few trials by rate": lambda: say_points("latency-by-rate-1-64B"),
    "few trials by size": lambda: say_points("latency-by-size-1-1k-s"),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_situation_is_stated(say: Say, situation: str) -> None:
    say(SITUATIONS[situation]())
