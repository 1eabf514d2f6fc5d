"""A path for a terminal: a line for each hop as it is settled, then what balances and what was lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from rich.console import Console

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.per_hop import HopEstimate
from pathlab.discover.capacity import CapacityResult
from pathlab.discover.mtu import PathMtu
from pathlab.discover.path import PathReport
from pathlab.discover.route import Hop, HopVerdict, Route
from pathlab.printed_table import PrintedParagraph, PrintedRows
from pathlab.table_columns import TableColumn
from pathlab.units import NOT_MEASURED, format_r_squared, format_rate, format_ratio, format_time

NO_ANSWER = "*"
NameLookUp = Callable[[Iterable[str]], Mapping[str, str]]
HOP_COLUMNS = (
    TableColumn("Hop"),
    TableColumn("Address", wraps=True),
    TableColumn("RTT min"),
    TableColumn("median", priority=2),
    TableColumn("Loss", priority=1),
    TableColumn("Capacity (95 % CI)", left=True),
    TableColumn("Latency", priority=3),
    TableColumn("R²", priority=4),
)
#: As wide as a capacity and a latency are at most, but for intervals over several units.
WIDEST_ESTIMATE = ("99.9 Mbit/s (99.9–99.9 Mbit/s)", "99.9 ms", "0.999")
TOO_FEW = "too few answers"
UNDECIDED_REASONS = {
    Undecided.NOT_POSITIVE: "RTT does not grow with size",
    Undecided.BEYOND_RANGE: "within the noise",
    Undecided.NO_SAMPLES: "no answers",
}
VERDICTS = {
    HopVerdict.ANSWERS: "",
    HopVerdict.SILENT: "never answers",
    HopVerdict.NOTHING_BEYOND: "no answers from here on",
    HopVerdict.SPLIT: "no answer on some flows",
    HopVerdict.LIMITED: "limits its answers; its unanswered probes are no loss of the path",
    HopVerdict.LOSSY: "loses packets",
    HopVerdict.UNCLEAR: "loses packets or limits answers",
}
#: Of the host that UDP probes end at, where nothing shows whether it limits its answers.
UNCLEAR_END = (
    "answered only some probes, as hosts that limit their answers do; whether packets are lost is undecided"
)
#: When the lines of progress begin, and the least time between two of one step.
BEGIN_S, PAUSE_S = 1.0, 10.0
STOPS = {
    "precise": "all responding hops converged",
    "out-of-time": "the time budget is used up",
    "out-of-packets": "the packet budget is used up",
    "unanswered": "no hop answered",
    "mtu-too-small": "the path's MTU is too small for several probe sizes (from 600 bytes; IPv6: 1240)",
}


class HopPrinter:
    """Prints the hops of a path in order, each as soon as it and all before it are settled.

    ``look_up`` finds the names of addresses. A capacity is that of the moment when its hop was settled; the
    end says where further probes moved it out of its interval.
    """

    def __init__(self, console: Console, look_up: NameLookUp | None = None) -> None:
        self._console = console
        self._look_up = look_up
        self._names: Mapping[str, str] = {}
        self._route: Route | None = None
        self._rows: PrintedRows | None = None
        self._printed: dict[int, HopEstimate | None] = {}

    def on_step(self, text: str) -> None:
        """Nothing: the hops are what is waited for."""

    def on_route(self, source: str, target: str, route: Route, *, waits: bool) -> None:
        """Take the first route that reaches the target; without a capacity to wait for, print its hops."""
        if self._route is None and route.reached:
            self._begin(source, target, route, with_capacity=waits)
            if not waits:
                self._print_hops({}, len(route.hops))

    def on_settled(self, estimates: Mapping[int, HopEstimate]) -> None:
        if self._route is not None:
            unsettled = (hop.hop for hop in self._route.hops if hop.hop not in estimates)
            self._print_hops(estimates, next(unsettled, len(self._route.hops) + 1) - 1)

    def finish(self, report: PathReport) -> None:
        """Print the hops that are left, then MTU, other methods and flows, and what is missing."""
        capacity = report.capacity
        estimates = {} if capacity is None else {hop.hop: hop.estimate for hop in capacity.hops}
        if self._route is None:
            self._begin(report.source, report.target, report.route, with_capacity=capacity is not None)
        self._print_hops(estimates, len(report.route.hops))
        if self._rows is not None:
            self._rows.print_end()
        for line in (
            *_describe_verdicts(report.route),
            *_describe_undecided(estimates),
            *(f"Hop {hop}, by all probes: {text}." for hop, text in self._list_moved(estimates)),
            *_describe_routes(report),
            *([_describe_mtu(report.mtu)] if report.mtu is not None and report.mtu.mtu_bytes else []),
        ):
            indent = " " * (len(line) - len(line.lstrip()))
            self._console.print(PrintedParagraph(line.lstrip(), mark=indent))
        if capacity is not None:
            self._console.print(PrintedParagraph(_describe_capacity(capacity), "dim"))
        route = report.route
        self._console.print(PrintedParagraph(f"Fingerprint {route.fingerprint} ({route.method}).", "dim"))
        for lost in report.lost:
            self._console.print(PrintedParagraph(f"! not measured: {lost.part}: {lost.reason}", "yellow"))

    def _begin(self, source: str, target: str, route: Route, *, with_capacity: bool) -> None:
        self._route = route
        addresses = {address for hop in route.hops for address in hop.addresses}
        self._names = self._look_up(addresses) if self._look_up is not None else {}
        shown = target if target == route.address else f"{target} ({route.address})"
        self._console.print(PrintedParagraph(f"{source} → {shown}", "bold"))
        widest = WIDEST_ESTIMATE if with_capacity else ("", "", "")
        templates = [(*_describe_hop(hop, self._names), *widest) for hop in route.hops]
        self._rows = PrintedRows(HOP_COLUMNS, templates, self._console, elsewhere="--json")

    def _print_hops(self, estimates: Mapping[int, HopEstimate], last: int) -> None:
        """The hops up to ``last`` that are not printed yet."""
        assert self._route is not None
        assert self._rows is not None
        for hop in self._route.hops[len(self._printed) : last]:
            estimate = estimates.get(hop.hop)
            self._printed[hop.hop] = estimate
            self._rows.print_row((*_describe_hop(hop, self._names), *describe_estimate(estimate)))

    def _list_moved(self, estimates: Mapping[int, HopEstimate]) -> Iterator[tuple[int, str]]:
        """Hops whose capacity by all probes lies outside the interval that was printed."""
        for hop, estimate in estimates.items():
            printed = self._printed.get(hop)
            if printed is None or printed is estimate:
                continue
            now, interval = estimate.capacity_bits_per_s, printed.capacity_interval
            if now is None and printed.capacity_bits_per_s is None:
                continue
            if now is None or interval.low is None or not interval.low <= now <= (interval.high or now):
                yield hop, describe_estimate(estimate)[0]


class ProgressPrinter:
    """Prints what a discovery does, one short line each; nothing of one that is over at once.

    The steps begin with the one at ``BEGIN_S``; of one step there is a line at most every ``PAUSE_S``.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._begun_s, self._printed_s = clock(), -PAUSE_S
        self._step = ""

    def on_step(self, text: str) -> None:
        step, now_s = text.partition(":")[0], self._clock()
        if now_s - self._begun_s < BEGIN_S:
            return
        if step != self._step or now_s - self._printed_s >= PAUSE_S:
            self._console.print(text, soft_wrap=True)
            self._printed_s = now_s
        self._step = step

    def on_route(self, source: str, target: str, route: Route, *, waits: bool) -> None:
        """Nothing: the next step follows at once."""

    def on_settled(self, estimates: Mapping[int, HopEstimate]) -> None:
        """Nothing: the steps say how many are settled."""


def _describe_hop(hop: Hop, names: Mapping[str, str]) -> tuple[str, ...]:
    addresses = [
        f"{names[address]} ({address})" if address in names else address for address in hop.addresses
    ] or [NO_ANSWER]
    rtts = (format_time(hop.rtt_min_ns), format_time(hop.rtt_median_ns))
    return str(hop.hop), ", ".join(addresses), *rtts, format_ratio(hop.loss.loss_ratio)


def describe_estimate(estimate: HopEstimate | None) -> tuple[str, str, str]:
    """Capacity with its interval, or its lower bound; latency; R². In words."""
    if estimate is None:
        return NOT_MEASURED, NOT_MEASURED, NOT_MEASURED
    latency, fit = format_time(estimate.latency_ns), format_r_squared(estimate.r_squared)
    interval = estimate.capacity_interval
    if estimate.capacity_bits_per_s is not None and interval.low is not None and interval.high is not None:
        low, high = format_rate(interval.low), format_rate(interval.high)
        number, _, unit = low.partition(" ")
        low = number if high.endswith(f" {unit}") else low
        return f"{format_rate(estimate.capacity_bits_per_s)} ({low}–{high})", latency, fit
    if estimate.at_least_bits_per_s is not None:
        return f"at least {format_rate(estimate.at_least_bits_per_s)}", latency, NOT_MEASURED
    return "undecided", latency, NOT_MEASURED


def _describe_verdicts(route: Route) -> Iterator[str]:
    """What the answers of hops say, hops of one verdict together."""
    for verdict, words in VERDICTS.items():
        hops = [hop for hop in route.hops if hop.verdict is verdict]
        ends = [
            hop for hop in hops if hop.is_target and verdict is HopVerdict.UNCLEAR and route.method == "udp"
        ]
        for named, text in ((hops[: len(hops) - len(ends)], words), (ends, UNCLEAR_END)):
            if text and named:
                yield f"Hop {', '.join(str(hop.hop) for hop in named)}: {text}."


def _describe_undecided(estimates: Mapping[int, HopEstimate]) -> Iterator[str]:
    """Why hops have no capacity, and over which hops one reaches that begins further back."""
    reasons: dict[str, list[str]] = {}
    for hop, estimate in estimates.items():
        if estimate.capacity_bits_per_s is None:
            reason = UNDECIDED_REASONS.get(estimate.undecided, TOO_FEW) if estimate.undecided else TOO_FEW
            reasons.setdefault(reason, []).append(str(hop))
    for reason, hops in reasons.items():
        yield f"Capacity undecided at hop {', '.join(hops)}: {reason}."
    for hop, estimate in estimates.items():
        if estimate.from_hop != estimate.hop - 1:
            yield f"Capacity and latency of hop {hop} are measured from hop {estimate.from_hop}."


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
