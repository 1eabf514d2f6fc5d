"""Curves over the size of messages: which of them share a figure, and what sets them apart there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

from pathlab.campaign.factors import FACTORS
from pathlab.study.analyses import Analyses
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.messages.combination_names import (
    LONE,
    UNNAMED,
    MessageCombination,
    choose_usual,
    find_naming,
    list_varying,
    name_message_combination,
)
from pathlab.study.messages.message_rates import MESSAGE_SIZE, WRITE_SIZE

Found = TypeVar("Found")
#: Curves of a figure that a phone still shows apart.
CURVES_MAX = 10
#: Of more curves, those of other levels of these factors have a figure of their own first.
SPLIT_FIRST = ("placement", "encoding")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCurve(MessageCombination, Generic[Found]):
    """A combination whatever the size of messages; ``found``: what is shown of it."""

    found: Found


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveGroup(Generic[Found]):
    """Curves of one figure: ``names`` say what sets each apart, ``name`` what they have in common.

    ``factors`` are those that the names are made of: they set a curve apart from all that the path was
    measured with, whether it is shown or not.
    ``usual``: the curves that are alternatives: not of another build or recording next to the usual one, nor
    of another number of sinks. ``title``: that with medium and date. ``number``: from 1, in the order of
    measurement. ``conditions``: those with the sizes of its curves.
    """

    number: int
    name: str
    title: str
    curves: tuple[MessageCurve[Found], ...]
    factors: tuple[str, ...]
    names: tuple[str, ...]
    usual: tuple[MessageCurve[Found], ...]
    conditions: tuple[MeasuredCondition, ...]

    def __iter__(self) -> Iterator[tuple[int, str, MessageCurve[Found]]]:
        """Slot, name and curve of each."""
        return iter(zip(range(len(self.curves)), self.names, self.curves, strict=True))


def group_curves(
    study: Analyses, curves: Sequence[MessageCurve[Found]], *sizes: str
) -> tuple[CurveGroup[Found], ...]:
    """The curves of each path, at most ``CURVES_MAX`` to a group; ``sizes``: settings along the curves."""
    paths: dict[tuple[str, str, str], list[MessageCurve[Found]]] = {}
    for curve in curves:
        paths.setdefault(curve.path, []).append(curve)
    groups: list[CurveGroup[Found]] = []
    setting = WRITE_SIZE if WRITE_SIZE in sizes else MESSAGE_SIZE
    for path, members in paths.items():
        naming = find_naming(study.study_table(), path, setting)
        naming += [name for name in list_varying(members) if name in UNNAMED]
        if not members[0].streams:  # they run along the curves
            naming = [name for name in naming if name != "streams"]
        usual = _choose_alternatives(members, setting)
        for part, fixed in _split(_sort_curves(members), ()):
            groups.append(_build_group(study, len(groups) + 1, part, fixed, naming, usual, sizes))
    return tuple(groups)


def _split(
    curves: Sequence[MessageCurve[Found]], fixed: tuple[str, ...]
) -> Iterator[tuple[Sequence[MessageCurve[Found]], tuple[str, ...]]]:
    """Parts that fit a figure, with the factors that they were split by; the rest by the fewest levels."""
    varying = list_varying(curves)
    if len(curves) <= CURVES_MAX or not varying:
        yield curves, fixed
        return
    levels = {name: dict.fromkeys(curve.read(name) for curve in curves) for name in varying}
    late = [name not in SPLIT_FIRST for name in varying]
    _, _, index = min((late[index], len(levels[name]), index) for index, name in enumerate(varying))
    name = varying[index]
    for level in levels[name]:
        yield from _split([curve for curve in curves if curve.read(name) == level], (*fixed, name))


def _build_group(
    study: Analyses,
    number: int,
    curves: Sequence[MessageCurve[Found]],
    fixed: Sequence[str],
    naming: Sequence[str],
    usual: Sequence[MessageCurve[Found]],
    sizes: Sequence[str],
) -> CurveGroup[Found]:
    wanted = {curve.condition for curve in curves}
    conditions = [
        condition
        for condition in study.conditions()
        if condition.number and condition.key.without(*sizes) in wanted
    ]
    factors = tuple(item for item in naming if item not in fixed)
    name = ", ".join(
        filter(None, (conditions[0].path, name_message_combination(curves[0], fixed) if fixed else ""))
    )
    return CurveGroup(
        number=number,
        name=name,
        title=conditions[0].title_of(name),
        curves=tuple(curves),
        factors=factors,
        names=tuple(name_message_combination(curve, factors) or LONE for curve in curves),
        usual=tuple(curve for curve in curves if any(curve is other for other in usual)),
        conditions=tuple(conditions),
    )


def _choose_alternatives(
    curves: Sequence[MessageCurve[Found]], setting: str
) -> Sequence[MessageCurve[Found]]:
    """Those that one chooses from: what else is varied is compared elsewhere."""
    usual = choose_usual(curves)
    if setting != MESSAGE_SIZE:
        return usual
    cells = Counter((item.condition, item.window_bytes) for item in usual)
    return [item for item in usual if cells[item.condition, item.window_bytes] == 1]


def _sort_curves(curves: Sequence[MessageCurve[Found]]) -> list[MessageCurve[Found]]:
    """The curves by the levels of their factors, in the order in which these name a curve."""
    names = list_varying(curves)
    return sorted(curves, key=lambda curve: [_rank_level(name, curve.read(name)) for name in names])


def _rank_level(name: str, level: Any) -> tuple[bool, float, str]:
    """The place of a level among those of a factor: unset, then as it lists them or by size."""
    words = get_args(FACTORS[name].level) if name in FACTORS else ()
    place = words.index(level) if level in words else level if isinstance(level, (int, float)) else 0
    return level is not None, place, str(level)
