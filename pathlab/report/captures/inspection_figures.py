"""Figures of a captured connection: time-sequence, bytes in flight, RTT, rates, retransmissions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pathlab.analysis.packets.connection import DirectionTrace
from pathlab.analysis.packets.reduction import TraceCurve
from pathlab.analysis.packets.retransmissions import DUPLICATES_MIN, Cause
from pathlab.report.base.quantities import choose_unit
from pathlab.report.captures.inspection_text import CAUSES, describe_retransmissions
from pathlab.report.plots.model import Axis, Bars, Curve, Layer, Panel, Plot, Points
from pathlab.report.plots.style import INK_SLOT
from pathlab.study.captures.captured_tcp import CapturedConnection
from pathlab.units import format_ratio, format_time, format_volume

TIME = Axis(label="Time since the first packet", unit="s")
#: Extents that have a bar each; longer ones share one.
EXTENTS_SHOWN = 40
DATA_SLOT, ACK_SLOT, WINDOW_SLOT, SACK_SLOT = 0, 2, INK_SLOT, 4
CAUSE_SLOTS = {Cause.FAST: 1, Cause.TIMEOUT: 3, Cause.TAIL_PROBE: 5, Cause.UNEXPLAINED: 6, Cause.UNKNOWN: 6}
SPURIOUS_SLOT, REORDERED_SLOT = 8, 7


def plot_connection(connection: CapturedConnection, suffix: str, place: str) -> Iterator[Plot]:
    """The figures of the direction of most bytes; ``suffix``: of their names, ``place``: of the capture."""
    condition = f"{connection.name}, {place}" if place else connection.name
    trace = connection.main.trace
    makers = (
        ("time-sequence", "Time-sequence", _draw_sequence),
        ("in-flight", "Bytes in flight and the receiver's window", _draw_flight),
        ("captured-rtt", "RTT", _draw_rtts),
        ("captured-rate", "Throughput over time", _draw_rates),
        ("retransmission-causes", "Retransmissions by cause", _draw_causes),
        ("reordering-extent", "Reordering extent", _draw_extents),
    )
    for name, title, draw in makers:
        sentence, panels, empty = draw(trace)
        yield Plot(
            name=f"{name}{suffix}",
            title=title,
            condition=condition,
            sentence=sentence,
            panels=tuple(panels),
            empty=None if panels else empty,
        )


Drawn = tuple[str, Sequence[Panel], str | None]


def _choose_byte_unit(*curves: TraceCurve) -> tuple[str, float]:
    chosen = choose_unit("bytes", np.concatenate([curve.y for curve in curves]))
    return chosen.unit, chosen.size


def _line(name: str, curve: TraceCurve, slot: int, size: float, *, step: bool = False) -> Iterator[Layer]:
    if len(curve):
        y = curve.y / size
        yield Curve(name=name, x=curve.x_s, y=y, slot=slot, markers=False, step=step, solid=slot != INK_SLOT)


def _points(name: str, curve: TraceCurve, slot: int, size: float, *, hollow: bool = False) -> Iterator[Layer]:
    if len(curve):
        yield Points(name=name, x=curve.x_s, y=curve.y / size, slot=slot, hollow=hollow)


def _draw_sequence(trace: DirectionTrace) -> Drawn:
    curves = trace.curves
    unit, size = _choose_byte_unit(curves.segments, curves.acks)
    layers = [
        *_line("receiver's window", curves.window_edges, WINDOW_SLOT, size, step=True),
        *_line("data", curves.segments, DATA_SLOT, size),
        *_line("acknowledged", curves.acks, ACK_SLOT, size, step=True),
        *_points("SACK", curves.sack_edges, SACK_SLOT, size),
    ]
    for cause, curve in curves.retransmissions.items():
        layers += _points(f"retransmission: {CAUSES[cause]}", curve, CAUSE_SLOTS[cause], size)
    layers += _points("spurious retransmission", curves.spurious, SPURIOUS_SLOT, size, hollow=True)
    layers += _points("reordered", curves.reordered, REORDERED_SLOT, size)
    if not len(curves.segments):
        return "", (), "no data in this direction within the time shown"
    y = Axis(label="Sequence number from the first byte", unit=unit)
    sentence = f"Retransmissions: {describe_retransmissions(trace)}."
    return sentence, [Panel(x=TIME, y=y, layers=tuple(layers))], None


def _draw_flight(trace: DirectionTrace) -> Drawn:
    curves, flight = trace.curves, trace.flight
    if not len(curves.in_flight):
        return "", (), "bytes in flight need data and its acknowledgements"
    unit, size = _choose_byte_unit(curves.in_flight)
    layers = [
        *_line("receiver's window", curves.windows, WINDOW_SLOT, size, step=True),
        *_line("in flight", curves.in_flight, DATA_SLOT, size),
    ]
    sentence = (
        f"At most {format_volume(flight.in_flight_max_bytes)} were in flight; "
        f"{format_ratio(flight.full_ratio)} of the packets filled 90 % or more of the window."
        if flight.full_ratio is not None
        else "The receiver's window is not known: the capture does not hold both ends' offers."
    )
    y = Axis(label="Bytes", unit=unit, from_zero=True)
    return sentence, [Panel(x=TIME, y=y, layers=tuple(layers))], None


def _draw_rtts(trace: DirectionTrace) -> Drawn:
    curves = trace.curves
    unit = choose_unit("ns", np.concatenate((curves.rtts.y, curves.ack_rtts.y)))
    layers: list[Layer] = []
    methods = (("by ACKs", curves.ack_rtts, 1, trace.ack_rtt), ("by timestamps", curves.rtts, 0, trace.rtt))
    for name, curve, slot, _ in methods:
        layers += _points(name, curve, slot, unit.size)
    if not layers:
        return "", (), "no RTT was measured: it needs data and its acknowledgements"
    sentences = [
        f"{name[:1].upper()}{name[1:]}: {format_time(rtt.min_ns)} to {format_time(rtt.max_ns)}, median "
        f"{format_time(rtt.median_ns)}."
        for name, _, _, rtt in reversed(methods)
        if rtt.samples
    ]
    y = Axis(label="RTT from the capture to the receiver", unit=unit.unit, from_zero=True)
    return " ".join(sentences), [Panel(x=TIME, y=y, layers=tuple(layers))], None


def _draw_rates(trace: DirectionTrace) -> Drawn:
    curves = trace.curves
    wire = TraceCurve(x_s=curves.wire_bytes_per_s.x_s, y=curves.wire_bytes_per_s.y * 8)
    new = TraceCurve(x_s=curves.new_bytes_per_s.x_s, y=curves.new_bytes_per_s.y * 8)
    if not wire.y.any():
        return "", (), "no payload within the time shown"
    unit = choose_unit("bit/s", wire.y)
    layers = [
        *_line("payload", wire, 1, unit.size, step=True),
        *_line("without retransmissions", new, 0, unit.size, step=True),
    ]
    parts = (wire.x_s[1] - wire.x_s[0]) * 1e9 if len(wire) > 1 else None
    sentence = f"Means over {format_time(parts)} each." if parts else ""
    y = Axis(label="Rate", unit=unit.unit, from_zero=True)
    return sentence, [Panel(x=TIME, y=y, layers=tuple(layers))], None


def _draw_causes(trace: DirectionTrace) -> Drawn:
    counts = [(CAUSES[cause], count) for cause, count in trace.retransmitted.items() if count]
    if trace.spurious:
        counts.append(("spurious (of all)", trace.spurious))
    if not counts:
        return "", (), "no retransmission was captured"
    indices = np.arange(len(counts), dtype=np.float64)
    bars = Bars(
        name="retransmissions", x=indices, height=np.array([float(n) for _, n in counts]), legend=False
    )
    x = Axis(label="Cause", ticks=tuple(indices.tolist()), tick_labels=tuple(name for name, _ in counts))
    y = Axis(label="Retransmissions", unit="packets", from_zero=True)
    return f"Retransmissions: {describe_retransmissions(trace)}.", [Panel(x=x, y=y, layers=(bars,))], None


def _draw_extents(trace: DirectionTrace) -> Drawn:
    extents = trace.curves.extents
    if not extents:
        return "", (), "no segment was reordered"
    shown = {extent: count for extent, count in extents.items() if extent <= EXTENTS_SHOWN}
    beyond = sum(count for extent, count in extents.items() if extent > EXTENTS_SHOWN)
    x = np.array([float(extent) for extent in shown])
    layers: list[Layer] = [
        Bars(
            name="reordered segments",
            x=x,
            height=np.array([float(n) for n in shown.values()]),
            legend=bool(beyond),
        )
    ]
    if beyond:
        at = np.array([float(EXTENTS_SHOWN + 1)])
        layers.append(Bars(name=f"more than {EXTENTS_SHOWN}", x=at, height=np.array([float(beyond)]), slot=1))
    sentence = (
        f"{trace.reordered:,} reordered segments, "
        f"extent up to {trace.reorder_extent_max:,} packets (RFC 4737). "
        f"From {DUPLICATES_MIN} on, duplicate ACKs look like a loss to the sender."
    )
    axes = Axis(label="Extent", unit="packets"), Axis(label="Reordered segments", from_zero=True)
    return sentence, [Panel(x=axes[0], y=axes[1], layers=tuple(layers))], None
