"""Curves over the size of messages: which of them share a figure, and what sets them apart there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

from pathlab.campaign.factors import FACTORS, Level, find_default, format_level, name_levels
from pathlab.study.analyses import Analyses
from pathlab.study.cells import MeasuredCondition
from pathlab.study.message_rates import read_level, strip_settings
from pathlab.study.trials import Condition
from pathlab.units import format_window

Found = TypeVar("Found")
#: Curves of a figure that are still told apart on a phone.
CURVES_MAX = 10
#: Of more curves, those of other levels of these factors have a figure of their own first.
SPLIT_FIRST = ("placement", "encoding")
_TCP_ALONE = ("no_delay", "cork")
#: The name of a curve that nothing sets apart.
LONE = "median"
#: Factors that name a curve first; a later one whose levels go with those before it is not named
NAMED_FIRST = ("transport", "placement", "encoding", "batch_bytes", "no_delay", "cork")
#: How a level is named beside others; "" for one that needs no name beside the other level.
WORDS: Mapping[str, Callable[[Level], str]] = {
    "transport": str,
    "placement": lambda level: {
        "host": "two hosts",
        "process": "one host",
        "threaded": "two threads",
        "fused": "fused",
    }.get(str(level), str(level)),
    "encoding": lambda level: {"fixed": "fixed layout"}.get(str(level), str(level)),
    "batch_bytes": lambda level: f"batch {format_level('batch_bytes', level)}" if level else "unbatched",
    "no_delay": lambda level: "no delay" if level else "Nagle",
    "cork": lambda level: "cork" if level else "",
    "wait": lambda level: {"block": "blocking", "poll": "polling"}.get(str(level), str(level)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCurve(Generic[Found]):
    """A condition and cell, whatever the size of messages; ``found``: what is shown of it."""

    condition: Condition
    streams: int
    window_bytes: int | None
    found: Found

    def read(self, name: str) -> Any:
        """The level of a factor, streams and window among them."""
        own = {"streams": self.streams, "window_bytes": self.window_bytes}
        return own[name] if name in own else read_level(self.condition, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveGroup(Generic[Found]):
    """Curves of one figure: ``names`` say what sets each apart, ``name`` what they have in common.

    ``title``: that with medium and date. ``number``: from 1, in the order of measurement. ``conditions``:
    those with the sizes of its curves.
    """

    number: int
    name: str
    title: str
    curves: tuple[MessageCurve[Found], ...]
    names: tuple[str, ...]
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
        one = curve.condition
        paths.setdefault((one.path_source, one.path_destination, one.medium), []).append(curve)
    groups: list[CurveGroup[Found]] = []
    for members in paths.values():
        for part, fixed in _split(_sort_curves(members), ()):
            groups.append(_build_group(study, len(groups) + 1, part, fixed, sizes))
    return tuple(groups)


def name_curve(curve: MessageCurve[Any], names: Sequence[str]) -> str:
    """The levels of these factors: ``tcp, batch 64 KiB``; empty where none needs a name."""
    texts = (_format_level(name, curve.read(name)) for name in names if _applies(curve, name))
    return ", ".join(filter(None, texts))


def list_varying(curves: Sequence[MessageCurve[Any]]) -> list[str]:
    """The factors whose level is not the same in all of them, those first that name a curve first."""
    names = {name for curve in curves for name, _ in curve.condition.settings} | {"streams", "window_bytes"}
    ordered = sorted(names - FACTORS.keys() - {*NAMED_FIRST})
    ordered = [*NAMED_FIRST, *(name for name in FACTORS if name not in NAMED_FIRST), *ordered]
    return [name for name in ordered if len({curve.read(name) for curve in curves}) > 1]


def name_curves(curves: Sequence[MessageCurve[Any]]) -> tuple[str, ...]:
    """What sets each curve apart from the others."""
    chosen: list[str] = []
    for name in list_varying(curves):
        known = {tuple(curve.read(one) for one in chosen) for curve in curves}
        finer = {tuple(curve.read(one) for one in (*chosen, name)) for curve in curves}
        if name in NAMED_FIRST or len(finer) > len(known):
            chosen.append(name)
    return tuple(name_curve(one, chosen) or LONE for one in curves)


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
    _, _, place = min((late[place], len(levels[name]), place) for place, name in enumerate(varying))
    name = varying[place]
    for level in levels[name]:
        yield from _split([curve for curve in curves if curve.read(name) == level], (*fixed, name))


def _build_group(
    study: Analyses,
    number: int,
    curves: Sequence[MessageCurve[Found]],
    fixed: Sequence[str],
    sizes: Sequence[str],
) -> CurveGroup[Found]:
    wanted = {one.condition for one in curves}
    conditions = [
        one for one in study.conditions() if one.number and strip_settings(one.key, *sizes) in wanted
    ]
    name = ", ".join(filter(None, (conditions[0].path, name_curve(curves[0], fixed) if fixed else "")))
    return CurveGroup(
        number=number,
        name=name,
        title=conditions[0].title_of(name),
        curves=tuple(curves),
        names=name_curves(curves),
        conditions=tuple(conditions),
    )


def _sort_curves(curves: Sequence[MessageCurve[Found]]) -> list[MessageCurve[Found]]:
    """The curves by the levels of their factors, in the order in which these name a curve."""
    names = list_varying(curves)
    return sorted(curves, key=lambda curve: [_rank_level(name, curve.read(name)) for name in names])


def _rank_level(name: str, level: Any) -> tuple[bool, float, str]:
    """The place of a level among those of a factor: unset, then as it lists them or by size."""
    words = get_args(FACTORS[name].level) if name in FACTORS else ()
    place = words.index(level) if level in words else level if isinstance(level, (int, float)) else 0
    return level is not None, place, str(level)


def _applies(curve: MessageCurve[Any], name: str) -> bool:
    """Whether a factor means something there: threads of one program have no transport between them."""
    if name == "transport" or name in _TCP_ALONE:
        apart = curve.read("placement") not in ("threaded", "fused")
        return apart and (name == "transport" or curve.read("transport") in ("tcp", "mptcp"))
    return True


def _format_level(name: str, level: Any) -> str:
    if name == "window_bytes":
        return f"window {format_window(level)}"
    if name == "streams":
        return f"{level} stream{'' if level == 1 else 's'}"
    if name in WORDS:
        return WORDS[name](level)
    if level is None and find_default(name) is None:
        return ""
    (key,) = name_levels({name: level})
    return f"{key.replace('_', ' ')} {format_level(name, level)}"
