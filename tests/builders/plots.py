"""Plots of every kind of layer, and of what breaks careless renderers."""

import numpy as np

from pathlab.report.plots.model import (
    Area,
    Axis,
    Bars,
    Curve,
    Grid,
    Layer,
    Panel,
    Plot,
    Points,
    Rule,
    Scale,
    Span,
)
from pathlab.report.plots.style import INK_SLOT

CONDITION = "west → east · lab, emu-packet · 2026-01-02"
HOSTILE = "a & b <i>\"c\"</i> 'd' $x$ %{y} </script><!-- — 東京"
STREAMS = (1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 10.0, 11.0, 12.0, 15.0, 20.0)


def make_plot(*panels: Panel, name: str = "sample", title: str = "A sample", shared_x: bool = False) -> Plot:
    return Plot(
        name=name,
        title=title,
        condition=CONDITION,
        sentence="It shows what it shows.",
        panels=panels,
        shared_x=shared_x,
    )


def make_panel(*layers: Layer, x: Scale = Scale.LINEAR, y: Scale = Scale.LINEAR) -> Panel:
    return Panel(
        x=Axis(label="Time", unit="s", scale=x), y=Axis(label="Rate", unit="Mbit/s", scale=y), layers=layers
    )


def make_sweep(windows: int = 7) -> Plot:
    """Throughput against streams with trials, medians, intervals, an outlier and a known capacity."""
    rng = np.random.default_rng(5)
    streams, layers = np.array(STREAMS), list[Layer]()
    for slot in range(windows):
        middle = np.minimum(streams * 1.5 * (slot + 1), 38.6)
        trials = np.repeat(streams, 6) + 0.02 * slot
        values = np.repeat(middle, 6) * rng.normal(1, 0.02, trials.size)
        apart = np.zeros(trials.size, dtype=bool)
        apart[3] = True
        values[3] *= 1.4
        name = f"window {8 * 2**slot} KiB"
        layers.append(Points(name=name, x=trials, y=values, slot=slot, outlier=apart, legend=False))
        spread = middle * 0.03
        layers.append(
            Curve(name=name, x=streams, y=middle, low=middle - spread, high=middle + spread, slot=slot)
        )
    layers.append(Rule(name="link rate minus headers", value=38.6, low=38.2, high=39.0))
    x = Axis(label="Streams", ticks=STREAMS, tick_labels=tuple(f"{tick:g}" for tick in STREAMS))
    y = Axis(label="Throughput", unit="Mbit/s", from_zero=True)
    panel = Panel(x=x, y=y, layers=tuple(layers))
    return make_plot(panel, name="throughput-streams-1", title="Aggregate throughput against streams")


def make_timeline() -> Plot:
    """Stacked areas, probes, lost ones, and a marked window over one time axis."""
    time = np.arange(0, 4, 0.1)
    rates = [np.full(time.size, 8.0 + number) for number in range(4)]
    edges = np.cumsum([np.zeros(time.size), *rates], axis=0)
    stack = tuple(
        Area(
            name=f"stream {number}",
            x=time,
            low=edges[number],
            high=edges[number + 1],
            slot=number,
            solid=True,
        )
        for number in range(4)
    )
    window = Span(name="steady window", start=0.5, end=3.5)
    rtt = 40 + 5 * np.sin(time)
    probes = (
        window,
        Points(name="loaded probes", x=time, y=rtt, slot=1),
        Points(name="lost", x=np.array([1.0, 2.5]), y=np.full(2, np.nan), slot=1, at_axis=True),
        Curve(name="TCP's own", x=time, y=rtt + 1, slot=2, markers=False, step=True),
    )
    across = Axis(label="Time since the sender's go", unit="s")
    return make_plot(
        Panel(
            x=across,
            y=Axis(label="Rate", unit="Mbit/s", from_zero=True),
            layers=(window, *stack),
            title="Rates",
        ),
        Panel(x=across, y=Axis(label="RTT", unit="ms", from_zero=True), layers=probes, title="Round trips"),
        name="trial-1",
        title="Trial 1: 4 × 64 KiB",
        shared_x=True,
    )


def make_grid() -> Plot:
    """A surface with one field that was not measured."""
    values = np.outer(np.arange(1.0, 6.0), np.arange(1.0, 8.0)) * 3.3
    values[1, 2] = np.nan
    windows, streams = tuple(f"{2**n} KiB" for n in range(3, 8)), tuple(str(n) for n in range(1, 8))
    grid = Grid(name="median throughput", x=streams, y=windows, values=values, unit="Mbit/s")
    places = (tuple(float(n) for n in range(7)), tuple(float(n) for n in range(5)))
    x = Axis(label="Streams", ticks=places[0], tick_labels=streams)
    y = Axis(label="Window", ticks=places[1], tick_labels=windows)
    return make_plot(Panel(x=x, y=y, layers=(grid,)), name="surface-1", title="Throughput over both")


def make_bars() -> Plot:
    """Stacked bars, and a second panel of a histogram with a fit."""
    cycles = np.arange(1.0, 13.0)
    layers: list[Layer] = []
    bottom = np.zeros(12)
    for stream in range(8):
        height = 4 + np.cos(cycles + stream)
        layers.append(Bars(name=f"stream {stream}", x=cycles, height=height, bottom=bottom, slot=stream))
        bottom = bottom + height
    x, y = Axis(label="Cycle"), Axis(label="Throughput", unit="Mbit/s", from_zero=True)
    return make_plot(Panel(x=x, y=y, layers=tuple(layers)), name="contributions-1", title="What each carried")


def make_logarithmic() -> Plot:
    """Messages per second over sizes of four decades, with a band and a value of 0."""
    size = np.exp2(np.arange(2.0, 15.0))
    rate = 1e9 / (500 + size / 2)
    rate[3] = 0
    layers = (
        Area(name="95 % prediction", x=size, low=rate * 0.8, high=rate * 1.2),
        Curve(name="tcp", x=size, y=rate, low=rate * 0 - 5, high=rate * 1.1),
        Rule(name="half-performance size", value=1000.0, vertical=True, low=-10.0, high=1500.0),
    )
    panel = Panel(
        x=Axis(label="Message", unit="bytes", scale=Scale.LOG2),
        y=Axis(label="Messages", unit="1/s", scale=Scale.LOG10),
        layers=layers,
    )
    return make_plot(panel, name="message-rate-1", title="Messages per second against their size")


def make_hostile() -> Plot:
    """Names that are markup, templates or mathematics elsewhere."""
    curve = Curve(name=HOSTILE, x=np.arange(3.0), y=np.arange(3.0))
    cloud = Points(name="cloud", x=np.arange(3.0), y=np.arange(3.0) + 1, hover=(HOSTILE,) * 3)
    panel = Panel(
        x=Axis(label=HOSTILE), y=Axis(label="v", unit=HOSTILE), layers=(curve, cloud), title=HOSTILE
    )
    return Plot(
        name="hostile",
        title=f"{HOSTILE} {'long' * 60}",
        condition=f"{'host-' * 40} → {HOSTILE} · {'x' * 200}",
        sentence=HOSTILE,
        panels=(panel, panel),
    )


def make_answer() -> Plot:
    """Two panels over streams with a ringed point, named lines and open markers."""
    streams = np.array([1.0, 2.0, 4.0, 8.0])
    x = Axis(label="Streams", scale=Scale.LOG2, ticks=(1.0, 2.0, 4.0, 8.0), tick_labels=("1", "2", "4", "8"))
    heights = (
        ("Mbit/s", np.array([12.0, 24.0, 38.0, 38.5]), 38.6),
        ("ms", np.array([0.1, 1.0, 13.0, 45.0]), 50.0),
    )
    panels = []
    for unit, y, limit in heights:
        ring = Points(
            name="recommended", x=streams[2:3], y=y[2:3], slot=INK_SLOT, legend=False, callout="recommended"
        )
        layers = (
            Curve(name="window 64 KiB", x=streams, y=y, low=0.9 * y, high=1.1 * y, filled=True),
            Points(name="window 256 KiB", x=streams, y=y * 0.8, slot=1, hollow=True),
            Rule(name=f"limit: {limit:g} {unit}", value=limit, labelled=True),
            ring,
        )
        axis = Axis(label="Value", unit=unit, from_zero=True)
        panels.append(Panel(x=x, y=axis, layers=layers, title=f"In {unit}"))
    return make_plot(*panels, name="answer-1", title="Throughput and RTT increase", shared_x=True)


def make_empty() -> Plot:
    return Plot(name="empty", title="Duration", condition=CONDITION, sentence="", empty="one duration only")


def list_samples() -> list[Plot]:
    """One plot of each kind."""
    return [
        make_sweep(),
        make_timeline(),
        make_grid(),
        make_bars(),
        make_logarithmic(),
        make_answer(),
        make_hostile(),
        make_empty(),
    ]
