"""Messages and writes by size, batching and fan-out: figures and sentences hold the trials' own figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pathlab.report.blocks import Bullets, Paragraph
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Curve, Rule
from pathlab.report.sections import chapters, messages
from pathlab.report.size_text import describe_messages
from tests.builders.messages import BATCH, carry, make_message_trials
from tests.builders.results import Settings
from tests.builders.sections import (
    find_curve,
    find_layer,
    list_blocks,
    make_inputs,
)
from tests.golden.conftest import Say
from tests.unit.report.sections.test_messages import draw, make_message_inputs, make_writes

PLAIN: Settings = {"batch_bytes": None, "batch_max_delay_ns": None, "placement": "process"}
BATCHED: Settings = {**PLAIN, **BATCH}


@pytest.fixture(scope="module")
def both() -> ReportInputs:
    return make_message_inputs(PLAIN, BATCHED)


def test_a_name_has_what_means_something_there(say: Say) -> None:
    curves = [
        {"placement": "process", "transport": "tcp", "no_delay": True},
        {"placement": "process", "transport": "tcp", "no_delay": False},
        {"placement": "process", "transport": "pipe", "no_delay": False},
        {"placement": "fused", "transport": "tcp", "no_delay": False},
    ]
    plot = draw(make_inputs(make_message_trials(curves, carry, cycles=1)), "messages-1")
    names = [layer.name for layer in plot.panels[0].layers if isinstance(layer, Curve) and not layer.faint]
    say(names)


def test_gains_beside_two_baselines_say_which(say: Say) -> None:
    curves: list[Settings] = [
        {**PLAIN, "no_delay": False},
        {**PLAIN, "no_delay": True},
        {**BATCHED, "no_delay": False},
    ]
    plot = draw(make_message_inputs(*curves), "batching-1")
    names = [layer.name for layer in plot.panels[0].layers if isinstance(layer, Curve)]
    say(names)


def test_a_winner_is_not_claimed_where_intervals_overlap(say: Say) -> None:
    def equal(settings: Settings) -> dict[str, Any]:
        return carry({**settings, "batch_bytes": None})

    (text, *_) = describe_messages(make_message_inputs(PLAIN, BATCHED, model=equal).study)
    say(text)


def test_sizes_that_differ_and_sizes_that_do_not_have_a_sentence_each(say: Say) -> None:
    def equal_above_256(settings: Settings) -> dict[str, Any]:
        large = settings["message_bytes"] >= 256
        return carry({**settings, "batch_bytes": None} if large else settings)

    results = make_message_trials([PLAIN, BATCHED], equal_above_256, noise=0.001)
    (text,) = describe_messages(make_inputs(results).study)
    first, *rest = text.split(". ")
    say(first)
    assert rest
    say(rest)


def test_combinations_without_a_usable_trial_keep_the_names_of_the_others_and_are_said(say: Say) -> None:
    curves: list[Settings] = [PLAIN, {**PLAIN, "placement": "host"}]
    results = make_message_trials(curves, carry, cycles=2)
    hosts = {row.row for row in results.plan() if row.settings["placement"] == "host"}
    results.records = [
        replace(one, flags=("lab", "lab-limited")) if one.plan_row in hosts else one
        for one in results.records
    ]
    inputs = make_inputs(results)
    lead, limited = describe_messages(inputs.study)
    say(lead)
    say(limited)
    texts = [one.text for one in list_blocks(chapters.build_sections(inputs)) if isinstance(one, Paragraph)]
    assert limited in texts


def test_gains_are_drawn_with_the_margin_and_said(say: Say, both: ReportInputs) -> None:
    plot = draw(both, "batching-1")
    gains = find_curve(plot, "tcp, batch 64 KiB")
    assert gains.y[0] == pytest.approx(2064 / 589, rel=0.02)
    rule = find_layer(plot, "5 % more", kind=Rule)
    assert isinstance(rule, Rule)
    assert rule.value == 1.05
    bullets = [block for block in list_blocks(chapters.build_sections(both)) if isinstance(block, Bullets)]
    (text,) = next(block.items for block in bullets if "×" in block.items[0])
    say(text)
    gaps = [
        block.text for block in list_blocks(chapters.build_sections(both)) if isinstance(block, Paragraph)
    ]
    say(gaps)


def test_a_measured_delay_replaces_the_bound_of_the_setting(say: Say) -> None:
    def reply(settings: Settings) -> dict[str, Any]:
        wait_ns = 390_000.0 if settings["batch_bytes"] else 0.0
        found = carry(settings)
        return found | {"round_trip_median_ns": 50_000 + wait_ns} if settings["reply"] else found

    asked: Settings = {"reply": True, "message_rate_per_s": 1000}
    still: Settings = {"reply": False, "message_rate_per_s": None}
    inputs = make_message_inputs(
        *({**how, **rate} for how in (PLAIN, BATCHED) for rate in (still, asked)), model=reply
    )
    bullets = [block for block in list_blocks(chapters.build_sections(inputs)) if isinstance(block, Bullets)]
    text = next(item for block in bullets for item in block.items if "×" in item)
    say(text)


def test_writes_of_several_cells_are_curves_and_those_that_carried_nothing_are_a_gap(say: Say) -> None:
    plot = draw(make_writes(1.0, [(1, 65536), (4, 65536)]), "writes-1")
    few, many = find_curve(plot, "1 stream"), find_curve(plot, "4 streams")
    assert many.y == pytest.approx(4 * few.y, rel=1e-6)
    gap = messages.SECTION.find_gap(make_writes(0.0, [(1, 65536)]))
    say(gap)


def test_what_few_cycles_leave_open_about_batching_is_said_once(say: Say) -> None:
    curves = [{**one, "no_delay": delay} for one in (PLAIN, BATCHED) for delay in (False, True)]
    inputs = make_inputs(make_message_trials(curves, carry, cycles=2))
    blocks = list(list_blocks(chapters.build_sections(inputs)))
    (text,) = (one.text for one in blocks if isinstance(one, Paragraph) and "pays no more" in one.text)
    say(text)
    (items,) = (
        one.items for one in blocks if isinstance(one, Bullets) and "as many messages" in one.items[0]
    )
    assert len(items) == 4
    assert not any("undecided" in one or "not measured" in one for one in items)
