"""The panels of one trial's figure, each from one kind of its series, all over the same time."""

from __future__ import annotations

import numpy as np

from pathlab.report.base.quantities import choose_unit
from pathlab.report.plots.model import Area, Axis, Curve, Layer, Numbers, Panel, Points, Span
from pathlab.study.base.trial_series import (
    CoreLoads,
    ProbeTrace,
    StreamTable,
    count_retransmits,
    join_intervals,
    percentile_over_streams,
)

STACKED_STREAMS_MAX = 16  # more: their total, and how they spread
LINES_MAX = 8  # streams or cores with a line each
STEPS_MAX = 160  # of a rate
SINGLE_SLOT = 0  # of a line that is alone in its panel
TIME = Axis(label="Time since start; receiver: since its first byte", unit="s")


def build_rates(table: StreamTable, verb: str, marks: tuple[Span, ...]) -> tuple[list[Panel], int]:
    """Rates of one end: stacked by stream, or the total and the spread; and the intervals of a value.

    ``verb``: "Received" or "Sent".
    """
    joined, every = join_intervals(table, STEPS_MAX)
    rates, middle = joined.rates_bits_per_s, (joined.start_s + joined.end_s) / 2
    count = len(table.streams)
    unit = choose_unit("bit/s", np.nansum(rates, axis=1))
    rates, y = rates / unit.size, Axis(label="Rate", unit=unit.unit, from_zero=True)
    if count == 1:
        lines: list[Layer] = [_step("stream 0", joined, rates[:, 0], SINGLE_SLOT)]
        return [Panel(x=TIME, y=y, layers=(*marks, *lines), title=verb)], every
    if count <= STACKED_STREAMS_MAX:
        edges = np.concatenate((np.zeros((len(middle), 1)), np.cumsum(rates, axis=1)), axis=1)
        # level over each interval: slopes between them would show rates that nobody counted
        along, edges = np.column_stack((joined.start_s, joined.end_s)).ravel(), np.repeat(edges, 2, axis=0)
        stack = tuple(
            Area(
                name=f"stream {stream}",
                x=along,
                low=edges[:, index],
                high=edges[:, index + 1],
                slot=index,
                solid=True,
            )
            for index, stream in enumerate(table.streams)
        )
        title = f"{verb}, streams stacked"
        return [Panel(x=TIME, y=y, layers=(*marks, *stack), title=title)], every
    total = _step(f"all {count:,} streams", joined, rates.sum(axis=1), SINGLE_SLOT)
    spread = _spread(rates, middle, "streams")
    return [
        Panel(x=TIME, y=y, layers=(*marks, total), title=f"{verb}, all {count:,} streams"),
        Panel(x=TIME, y=y, layers=(*marks, *spread), title=f"{verb}, spread of the {count:,} streams"),
    ], every


def build_windows(table: StreamTable, marks: tuple[Span, ...]) -> Panel | None:
    """Congestion windows (kB); None where the sender did not read them."""
    windows = table.get("snd_cwnd_bytes") / 1e3
    if not np.isfinite(windows).any():
        windows = table.get("snd_cwnd_segments") * table.get("snd_mss_bytes") / 1e3
    if not np.isfinite(windows).any():
        return None
    y = Axis(label="Congestion window", unit="kB", from_zero=True)
    layers = _lines_or_spread(
        windows, table.end_s, [f"stream {stream}" for stream in table.streams], "streams"
    )
    return Panel(x=TIME, y=y, layers=(*marks, *layers), title="Congestion window of each stream")


def build_round_trips(
    loaded: ProbeTrace | None, unloaded: ProbeTrace | None, table: StreamTable | None, marks: tuple[Span, ...]
) -> Panel | None:
    """Round trips (ms) of probes, lost ones marked on the axis, and of TCP itself; None without any."""
    layers: list[Layer] = list(marks)
    for probes, name, slot in ((loaded, "probes under load", 1), (unloaded, "probes without load", 0)):
        if probes is not None:
            layers += _draw_probes(probes, name, slot)
    smoothed = None if table is None else table.get("rtt_us") / 1e3
    if table is not None and smoothed is not None and np.isfinite(smoothed).any():
        middle = percentile_over_streams(smoothed, 50)
        if len(table.streams) > 1:
            least, most = percentile_over_streams(smoothed, 0), percentile_over_streams(smoothed, 100)
            layers.append(Area(name="TCP's RTT, all streams", x=table.end_s, low=least, high=most, slot=2))
        name = "TCP's RTT, smoothed" if len(table.streams) == 1 else "TCP's RTT, median stream"
        layers.append(Curve(name=name, x=table.end_s, y=middle, slot=2, markers=False))
    if len(layers) == len(marks):
        return None
    y = Axis(label="RTT", unit="ms", from_zero=True)
    return Panel(x=TIME, y=y, layers=tuple(layers), title="RTT")


def build_retransmits(table: StreamTable, marks: tuple[Span, ...]) -> Panel | None:
    """Retransmissions of all streams in each interval; None where there was none or none is known."""
    retransmits = count_retransmits(table)
    if retransmits is None or not np.nansum(retransmits):
        return None
    curve = Curve(
        name="retransmissions",
        x=np.append(table.start_s, table.end_s[-1:]),
        y=np.append(retransmits, retransmits[-1:]),
        slot=SINGLE_SLOT,
        markers=False,
        step=True,
    )
    y = Axis(label="Retransmissions", unit="segments", from_zero=True)
    return Panel(x=TIME, y=y, layers=(*marks, curve), title="Retransmissions per interval")


def build_loads(loads: CoreLoads, end: str, marks: tuple[Span, ...]) -> Panel:
    """How busy each core of the sending or receiving host was (%)."""
    y = Axis(label="Core busy", unit="%", from_zero=True)
    names = [f"core {core}" for core in loads.cores]
    layers = _lines_or_spread(loads.busy_percent, loads.time_s, names, "cores")
    return Panel(x=TIME, y=y, layers=(*marks, *layers), title=f"Cores of the {end}'s host")


def _step(name: str, table: StreamTable, values: Numbers, slot: int) -> Curve:
    """A line of steps, the last of which is as long as its interval."""
    return Curve(
        name=name,
        x=np.append(table.start_s, table.end_s[-1:]),
        y=np.append(values, values[-1:]),
        slot=slot,
        markers=False,
        step=True,
    )


def _lines_or_spread(values: Numbers, time_s: Numbers, names: list[str], noun: str) -> list[Layer]:
    if len(names) > LINES_MAX:
        return _spread(values, time_s, noun)
    return [
        Curve(name=name, x=time_s, y=values[:, index], slot=index, markers=False)
        for index, name in enumerate(names)
    ]


def _spread(values: Numbers, time_s: Numbers, noun: str) -> list[Layer]:
    """Range, middle half and median of all streams or cores at each time."""
    least, low, middle, high, most = (percentile_over_streams(values, at) for at in (0, 25, 50, 75, 100))
    return [
        Area(name=f"all {noun}", x=time_s, low=least, high=most, slot=SINGLE_SLOT),
        Area(name=f"middle half of the {noun}", x=time_s, low=low, high=high, slot=SINGLE_SLOT),
        Curve(name=f"median of the {noun}", x=time_s, y=middle, slot=SINGLE_SLOT, markers=False),
    ]


def _draw_probes(probes: ProbeTrace, name: str, slot: int) -> list[Layer]:
    sent_s, rtt_ms = probes.sent_ns / 1e9, probes.rtt_ns / 1e6
    answered = ~np.isnan(rtt_ms)
    layers: list[Layer] = []
    if answered.any():
        layers.append(Points(name=name, x=sent_s[answered], y=rtt_ms[answered], slot=slot))
    for word, chosen in (("late", probes.is_late), ("lost", ~answered & ~probes.is_late)):
        if chosen.any():
            label, where = f"{name}, {word} ({int(chosen.sum())})", sent_s[chosen]
            layers.append(Points(name=label, x=where, y=where, slot=slot, at_axis=True))
    return layers
