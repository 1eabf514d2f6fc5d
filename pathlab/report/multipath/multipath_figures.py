"""Figures of several links: gains over the best link, shares of members, chances of a hash, recoveries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pathlab.analysis.estimators.interval import CONFIDENCE_RATIO
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.verdicts.bond_gain import BondVerdict
from pathlab.report.base.lazy import Drawing
from pathlab.report.base.phrases import format_count, format_factor, format_interval
from pathlab.report.multipath.multipath_remarks import format_hash_test, format_share
from pathlab.report.multipath.multipath_text import MARGIN, BondView
from pathlab.report.plots.model import (
    ROW_SHARE,
    Axis,
    Curve,
    Layer,
    Panel,
    Points,
    Rule,
    Scale,
    build_row_axis,
)
from pathlab.study.base.answer import Answer
from pathlab.study.multipath.member_shares import (
    MemberShares,
    StreamsNeeded,
    compute_chance_curves,
    count_most_trials,
)
from pathlab.study.multipath.multipath import MeasuredBond, find_sum_factor
from pathlab.units import format_rate, format_ratio

PERCENT = 100.0


def draw_gains(view: BondView) -> Drawing:
    """The factor of each bond over the best link alone, with its interval, for each combination."""
    known = [
        answer
        for answer in view.answers
        if answer.result.gain is not None and answer.result.gain.gain is not None
    ]
    if not known:
        return Drawing(empty="no bond has every link alone alongside it")
    names = list(dict.fromkeys(item.result.name for item in known))
    axis = build_row_axis("Bond", names)
    heights = dict(zip(names, axis.ticks or (), strict=True))
    combinations = [
        text for text in view.combinations if any(view.name_combination(item) == text for item in known)
    ]
    layers: list[Layer] = [
        Rule(
            name=f"the best link alone, {MARGIN}",
            value=1.0,
            vertical=True,
            low=1 / (1 + MARGIN_RATIO),
            high=1 + MARGIN_RATIO,
        )
    ]
    if (whole := find_sum_factor([item.result for item in known])) is not None:
        layers.append(Rule(name="the sum of all links alone", value=whole, vertical=True))
    for slot, text in enumerate(combinations):
        shift = ROW_SHARE * (0.5 - (slot + 0.5) / len(combinations))
        rows = [item for item in known if view.name_combination(item) == text]
        layers += _draw_combination(slot, text, rows, [heights[row.result.name] + shift for row in rows])
    return Drawing(
        sentences=(
            "Throughput of the bond over that of the best link alone, in pairs of a cycle; lines: 95 % CI, "
            "corrected for all rows (Holm).",
            "Open markers: undecided."
            if any(item.result.verdict is BondVerdict.UNDECIDED for item in known)
            else "",
        ),
        panels=(
            Panel(x=Axis(label="Factor over the best link", scale=Scale.LOG10), y=axis, layers=tuple(layers)),
        ),
    )


def _draw_combination(
    slot: int, text: str, rows: Sequence[Answer[MeasuredBond]], heights: Sequence[float]
) -> Iterator[Layer]:
    gains = [row.result.gain for row in rows]
    ends = [
        [gain.gain_interval.low, gain.gain_interval.high, None] if gain is not None else [None] * 3
        for gain in gains
    ]
    yield Curve(
        name=f"{text}, 95 % CI",
        x=np.array(ends, dtype=np.float64).ravel(),
        y=np.repeat(np.array(heights), 3),
        slot=slot,
        markers=False,
        solid=True,
        legend=False,
    )
    undecided = [row.result.verdict is BondVerdict.UNDECIDED for row in rows]
    for hollow in (False, True):
        chosen = [index for index, mark in enumerate(undecided) if mark is hollow]
        if chosen:
            yield Points(
                name=f"{text}, undecided" if hollow else text,
                x=np.array([_read_gain(rows[index]) for index in chosen]),
                y=np.array([heights[index] for index in chosen]),
                slot=slot,
                hollow=hollow,
                legend=not hollow or all(undecided),
                hover=tuple(_describe_gain(rows[index].result) for index in chosen),
            )


def _read_gain(answer: Answer[MeasuredBond]) -> float:
    gain = answer.result.gain
    return math.nan if gain is None or gain.gain is None else gain.gain


def _describe_gain(bond: MeasuredBond) -> str:
    gain = bond.gain
    if gain is None:
        return bond.name
    ends = (
        f" (95 % CI {format_interval(gain.gain_interval, format_factor)})"
        if gain.gain_interval.decided
        else ""
    )
    rate = format_rate(bond.throughput_bits_per_s.median)
    return f"{bond.name}: {format_factor(gain.gain)} ×{ends}, {rate}, {bond.verdict}"


def draw_shares(rows: Sequence[tuple[str, MemberShares]]) -> Drawing:
    """Each member's share of the bytes sent, medians with quartiles; rows are combinations by name."""
    axis = build_row_axis("Bond", [name for name, _ in rows])
    heights = np.array(axis.ticks)
    members = list(dict.fromkeys(member.name for _, item in rows for member in item.members))
    count = max(len(item.members) for _, item in rows)
    layers: list[Layer] = [Rule(name="equal shares", value=PERCENT / count, vertical=True)]
    for slot, name in enumerate(members):
        result = [
            (height, text, item, member)
            for height, (text, item) in zip(heights, rows, strict=True)
            for member in item.members
            if member.name == name and member.sent.median is not None
        ]
        y = np.array([height for height, *_ in result])
        ends = [[member.sent.least, member.sent.most, None] for *_, member in result]
        layers += [
            Curve(
                name=f"{name}, least to most",
                x=np.array(ends, dtype=np.float64).ravel() * PERCENT,
                y=np.repeat(y, 3),
                slot=slot,
                markers=False,
                solid=True,
                legend=False,
            ),
            Points(
                name=name,
                x=np.array([member.sent.median for *_, member in result], dtype=np.float64) * PERCENT,
                y=y,
                slot=slot,
                hover=tuple(
                    f"{text}: {name} {format_share(member.sent.median)} {format_hash_test(item)}".rstrip()
                    for _, text, item, member in result
                ),
            ),
        ]
    return Drawing(
        sentences=(
            f"Of the bytes that the sender sent, headers included; median of up to "
            f"{format_count(count_most_trials([item for _, item in rows]), 'trial')}, lines: least to most.",
        ),
        panels=(
            Panel(x=Axis(label="Share of a link", unit="%", from_zero=True), y=axis, layers=tuple(layers)),
        ),
    )


def draw_chances(rows: Sequence[StreamsNeeded]) -> Drawing:
    """The chance that a good hash uses 90 % of all links, by streams between one pair of hosts."""
    layers: list[Layer] = [
        Rule(name=format_ratio(CONFIDENCE_RATIO), value=PERCENT * CONFIDENCE_RATIO, labelled=True)
    ]
    for slot, curve in enumerate(compute_chance_curves(rows)):
        layers.append(
            Curve(
                name=" + ".join(map(format_rate, curve.capacities_bits_per_s)),
                x=curve.streams,
                y=PERCENT * curve.chance_ratios,
                slot=slot,
                markers=False,
                solid=True,
            )
        )
        layers.append(
            Points(
                name="streams of this campaign",
                x=np.array(curve.used, dtype=np.float64),
                y=PERCENT * curve.used_chance_ratios,
                slot=slot,
                legend=slot == 0,
                hover=tuple(f"{format_count(count, 'stream')}" for count in curve.used),
            )
        )
    return Drawing(
        sentences=(
            "Computed exactly for a hash of ports that spreads streams evenly, where one stream can fill a "
            "link; of the links as each was measured alone, or was set where not every one was.",
        ),
        panels=(
            Panel(
                x=Axis(label="Streams", scale=Scale.LOG2),
                y=Axis(label="Chance to use 90 % of all links", unit="%", from_zero=True),
                layers=tuple(layers),
            ),
        ),
    )
