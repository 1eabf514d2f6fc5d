"""Explorations as the study gives them: axes, curves, points and dots with known places."""

from pathlab.study.exploration.exploration import (
    Dot,
    Exploration,
    ExploredAxis,
    ExploredCurve,
    ExploredPoint,
    Facet,
    PointState,
)

STREAMS = ExploredAxis(
    column="streams",
    label="Streams",
    unit=None,
    scale="log2",
    kind="number",
    ticks=(1.0, 2.0, 4.0),
    tick_labels=("1", "2", "4"),
)
PATH = ExploredAxis(
    column="path", label="Path", unit=None, scale="linear", kind="category", levels=("east", "north", "south")
)
RATE = ExploredAxis(column="rate", label="Throughput", unit="Mbit/s", scale="linear", kind="number")
DELAY = ExploredAxis(column="delay", label="RTT", unit="ms", scale="linear", kind="number")


def point(x: float, y: float, *, decided: bool = True) -> ExploredPoint:
    ends = (y - 1, y + 1) if decided else (None, None)
    state = PointState.ESTIMATED if decided else PointState.UNDECIDED
    return ExploredPoint(x=x, y=y, low=ends[0], high=ends[1], state=state, trials=8 if decided else 2)


def dot(x: float, y: float, *, counted: bool = True, flagged: bool = False) -> Dot:
    return Dot(x=x, y=y, row=0, counted=counted, reason=None if counted else "failed", flagged=flagged)


def curve(
    name: str, level: int | None, points: list[ExploredPoint], *dots: Dot, y: str = "rate"
) -> ExploredCurve:
    return ExploredCurve(name=name, colour_level=level, y_column=y, points=tuple(points), dots=dots)


def explore(*facets: Facet, x: ExploredAxis = STREAMS, ys: tuple[ExploredAxis, ...] = (RATE,)) -> Exploration:
    """Medians with 95 % confidence intervals; three trials failed."""
    points = [one for facet in facets for part in facet.curves for one in part.points]
    return Exploration(
        title="window 64 KiB",
        notes=("A note.",),
        statistic="median",
        range="95 % confidence interval",
        x=x,
        ys=ys,
        facets=facets,
        excluded=(("failed", 3),),
        against=None,
        undecided=sum(one.state is PointState.UNDECIDED for one in points),
    )
