"""Chapters of builds and of recording: the answer first, the noise beside it."""

from collections.abc import Callable, Mapping

import pytest

from pathlab.report.base.blocks import Paragraph
from pathlab.report.opening import build_opening
from tests.builders.levels import measure_levels
from tests.builders.results import SyntheticResults
from tests.builders.sections import find_section, make_inputs
from tests.golden.conftest import Say

CELLS = ({"streams": 1, "message_bytes": 64}, {"streams": 1, "message_bytes": 1024})
BUILDS: dict[str, dict[str, float]] = {"this": {}, "again": {}, "against": {"messages_per_s": 0.9}}
LEVELS: dict[str, dict[str, float]] = {"off": {}, "default": {}, "full": {"messages_per_s": 0.95}}
MODEL = {"compare": "no_delay", "factors": {"no_delay": [False, True]}}
#: The key of the chapter, and what was measured.
MEASURED: Mapping[str, tuple[str, Callable[[], SyntheticResults]]] = {
    "builds": ("releases", lambda: measure_levels("build", BUILDS, cells=CELLS)),
    "one build": ("releases", lambda: measure_levels("build", {"this": {}, "again": {}})),
    "one cycle": ("releases", lambda: measure_levels("build", BUILDS, cycles=1)),
    "a factor without a noise floor": (
        "releases",
        lambda: measure_levels("no_delay", {False: {}, True: {"throughput_bits_per_s": 0.9}}, model=MODEL),
    ),
    "recording": ("observer-cost", lambda: measure_levels("recording", LEVELS, cells=CELLS)),
}


@pytest.mark.parametrize("name", MEASURED)
def test_the_answer_comes_first(say: Say, name: str) -> None:
    key, measure = MEASURED[name]
    inputs = make_inputs(measure())
    for section in (build_opening(inputs), find_section(inputs, key)):
        say(one.text for one in section.blocks if isinstance(one, Paragraph))
