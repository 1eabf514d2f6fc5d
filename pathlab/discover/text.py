"""A path for a terminal: the hops as a table, what balances, what was lost. Fits 80 columns without names."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.per_hop import HopEstimate
from pathlab.discover.capacity import CapacityResult
from pathlab.discover.mtu import PathMtu
from pathlab.discover.path import PathReport
from pathlab.discover.route import Hop, HopVerdict, Route
from pathlab.units import NOT_MEASURED, format_r_squared, format_rate, format_ratio, format_time

NO_ANSWER = "*"
VERDICTS = {
    HopVerdict.ANSWERS: "",
    HopVerdict.SILENT: "never answers",
    HopVerdict.NOTHING_BEYOND: "no answers from here on",
    HopVerdict.SPLIT: "no answer on some flows",
    HopVerdict.LIMITED: "limits its answers",
    HopVerdict.LOSSY: "loses packets",
    HopVerdict.UNCLEAR: "loses packets or limits answers",
}
STOPS = {
    "precise": "all responding hops converged",
    "out-of-time": "the time budget was spent",
    "out-of-packets": "the packet budget was spent",
    "unanswered": "no hop answered",
    "mtu-too-small": "the path's MTU is too small for several probe sizes (from 600 bytes; IPv6: 1240)",
}


def render_path(report: PathReport, console: Console, names: Mapping[str, str] | None = None) -> None:
    """Print the path's table, then its MTU, the other methods and flows, and what is missing."""
    route = report.route
    console.print(_build_table(report, names or {}))
    for line in _describe_routes(report):
        console.print(Text(line))
    if report.mtu is not None and report.mtu.mtu_bytes is not None:
        console.print(Text(_describe_mtu(report.mtu)))
    if report.capacity is not None:
        console.print(Text(_describe_capacity(report.capacity), style="dim"))
    console.print(Text(f"Fingerprint {route.fingerprint} ({route.method}).", style="dim"))
    for lost in report.lost:
        console.print(Text(f"! not measured: {lost.part}: {lost.reason}", style="yellow"))


def _build_table(report: PathReport, names: Mapping[str, str]) -> Table:
    route = report.route
    shown = report.target if report.target == report.address else f"{report.target} ({report.address})"
    table = Table(
        title=f"{report.source} → {shown}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("Hop", "Address", "RTT min", "median", "Loss", "Capacity (95 %)", "Latency"):
        left = heading == "Address"
        table.add_column(heading, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    estimates = {}
    if report.capacity is not None:
        estimates = {hop.hop: hop.estimate for hop in report.capacity.hops}
    for hop in route.hops:
        table.add_row(*_build_row(hop, estimates.get(hop.hop), names))
    return table


def _build_row(hop: Hop, estimate: HopEstimate | None, names: Mapping[str, str]) -> tuple[str | Text, ...]:
    shown = [f"{names[one]} ({one})" if one in names else one for one in hop.addresses] or [NO_ANSWER]
    note = VERDICTS[hop.verdict]
    address = Text("\n".join([*shown, *([f"({note})"] if note else [])]))
    capacity, latency = describe_estimate(estimate)
    return (
        str(hop.hop),
        address,
        format_time(hop.rtt_min_ns),
        format_time(hop.rtt_median_ns),
        format_ratio(hop.loss.loss_ratio),
        capacity,
        latency,
    )


def describe_estimate(estimate: HopEstimate | None) -> tuple[str, str]:
    """Capacity with its interval and R², or why there is none, on two lines; and latency. In words."""
    if estimate is None:
        return NOT_MEASURED, NOT_MEASURED
    latency = format_time(estimate.latency_ns)
    since = "" if estimate.from_hop == estimate.hop - 1 else f"\nfrom hop {estimate.from_hop} on"
    interval = estimate.capacity_interval
    if estimate.capacity_bits_per_s is not None and interval.low is not None and interval.high is not None:
        low, high = format_rate(interval.low).split(), format_rate(interval.high).split()
        same = low[1] == high[1]
        ends = f"{low[0]}–{high[0]}" if same else f"{low[0]} {low[1]} –\n{high[0]} {high[1]}"
        if estimate.r_squared is not None:
            ends += f", R² {format_r_squared(estimate.r_squared)}"
        return f"{format_rate(estimate.capacity_bits_per_s)}\n{ends}{since}", latency
    reasons = {
        Undecided.NOT_POSITIVE: "RTT does not grow",
        Undecided.BEYOND_RANGE: "within the noise",
        Undecided.NO_SAMPLES: "no answers",
    }
    reason = reasons.get(estimate.undecided, "too few answers") if estimate.undecided else "too few answers"
    if estimate.at_least_bits_per_s is not None:
        reason += f"\nat least {format_rate(estimate.at_least_bits_per_s)}"
    return f"undecided\n{reason}{since}", latency


def _describe_routes(report: PathReport) -> list[str]:
    lines = []
    for route in report.routes:
        ways = {tuple(flow.hops) for flow in route.flows}
        words = f"{route.method}: {_describe_end(route)}"
        if route.balanced:
            words += f"; balanced, {len(ways)} routes on {len(route.flows)} flows"
        elif len(route.flows) > 1:
            words += f"; same route on all {len(route.flows)} flows"
        lines.append(words + ".")
        if route.balanced:
            lines += [
                f"  flow {flow.flow} (source port {flow.source_port}): "
                + " ".join("/".join(addresses) or NO_ANSWER for addresses in flow.hops)
                for flow in route.flows
            ]
    return lines


def _describe_end(route: Route) -> str:
    lengths = sorted({len(flow.hops) for flow in route.flows if flow.reached})
    if not lengths:
        return "the target was not reached"
    count = str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    return f"{count} {'hop' if count == '1' else 'hops'}"


def _describe_mtu(mtu: PathMtu) -> str:
    by = f", limited by {mtu.limited_by}" if mtu.limited_by else ""
    hole = "; larger packets are dropped silently" if mtu.black_hole else ""
    return f"Path MTU {mtu.mtu_bytes} bytes{by}{hole}."


def _describe_capacity(capacity: CapacityResult) -> str:
    """Method, effort and end of the capacity measurement."""
    floor = {"minimum": "their minima", "low-quarter": "the means of their lowest quarters"}[capacity.floor]
    effort = f"{capacity.packets} probes in {capacity.elapsed_s:.0f} s"
    return (
        f"Capacity: slope of RTT against size ({floor}), {effort}; {STOPS[capacity.stopped]}. "
        "R² covers the whole path up to the hop. Latency is half the RTT (assumes symmetry)."
    )
