"""What is wrong with the plan of a campaign whose keys are all right by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from operator import attrgetter

from pathlab.campaign.background_checks import check_background
from pathlab.campaign.bond_checks import check_bonds
from pathlab.campaign.budget import Estimator
from pathlab.campaign.cell import PlannedCell, build_combination, pace_cell
from pathlab.campaign.datagram_factors import DATAGRAM_FACTORS
from pathlab.campaign.design import count_candidates, count_cells, list_cells
from pathlab.campaign.engine_rules import load_rules
from pathlab.campaign.message_factors import MESSAGE_FACTORS
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.campaign.search_checks import check_search
from pathlab.campaign.source_text import Finding, Key
from pathlab.units import SECOND_NS, format_bytes, format_time

PLAN_ROWS_MAX = 1_000_000
#: Without these factors every combination is a stream of bytes of the default engine, which supports all.
CHECKED = {
    *("engine", "transport", "ecn", "pacing_by"),
    *(factor.name for factor in (*MESSAGE_FACTORS, *DATAGRAM_FACTORS)),
}
#: What a refusal of one path depends on, besides the path.
_PATH_KIND = attrgetter("engine", "message_bytes", "transport", "placement", "streams", "transfer_bytes")


def find_plan_faults(campaign: Campaign) -> list[Finding]:
    """Return what makes a plan of sound size impossible, such as a budget that cannot be met."""
    findings = [*_check_rate(campaign), *_check_loaded_rtt(campaign), *check_background(campaign)]
    findings += [*check_bonds(campaign, list_measured(campaign)), *_check_engines(campaign)]
    findings += check_search(campaign, list_cells(campaign))
    budget = campaign.budget
    if any((budget.bytes_per_campaign, budget.bytes_per_day, budget.hours, campaign.every_ns)):
        findings += _check_cells(campaign, tuple(_list_planned(campaign)))
    return findings


def check_plan_size(campaign: Campaign) -> Iterator[Finding]:
    """Too many combinations to choose from, none that is left, or too many trials."""
    count = count_candidates(campaign)
    if campaign.where or campaign.design == "fraction":
        if count > PLAN_ROWS_MAX:
            what = f"there are {count} combinations to choose from"
            yield ("factors",), f"{what}; expected at most {PLAN_ROWS_MAX}"
            return
        count = count_cells(campaign)
        if not count:
            what = "no combination of the factors meets all constraints"
            yield ("where",), f"{what}; expected constraints that leave at least one"
    trials = count * len(campaign.paths) * campaign.cycles_planned
    if trials > PLAN_ROWS_MAX:
        key = "cycles" if campaign.until_ratio is None else "cycles_max"
        yield (key,), f"the plan would have {trials} trials; expected at most {PLAN_ROWS_MAX}"


def _check_engines(campaign: Campaign) -> Iterator[Finding]:
    """What combinations, paths and hosts request of an engine that does not support it, each once."""
    cells: dict[str, list[PlannedCell]] = {}
    plain = CHECKED.isdisjoint(campaign.factors.given) and not any(path.sinks for path in campaign.paths)
    for cell in () if plain else list_measured(campaign):
        cells.setdefault(cell.engine, []).append(cell)
    result: dict[Finding, None] = {}
    for name, own in cells.items():
        engine = load_rules(name)
        result |= dict.fromkeys(_check_caps(campaign, name))
        kinds = {_PATH_KIND(cell): cell for cell in own}.values()
        pairs = [*((0, cell) for cell in own), *itertools.product(range(1, len(campaign.paths)), kinds)]
        for index, cell in pairs:
            for refusal in engine.check(PlanRow(row=0, cycle=0, path=campaign.paths[index], cell=cell)):
                of_path = refusal.path_key is not None
                key: Key = ("paths", index, str(refusal.path_key)) if of_path else ("factors", refusal.factor)
                result[key, refusal.text] = None
    yield from result
    if any(cell.message_bytes is not None for own in cells.values() for cell in own):
        yield from _check_message_rates(campaign)


def list_measured(campaign: Campaign) -> Iterator[PlannedCell]:
    """Every combination that a campaign measures, that of its control rows included.

    Those of a search for the lossless rate are at its highest rate.
    """
    yield from _list_planned(campaign)
    if campaign.control is not None:
        yield build_combination(campaign.control, campaign)


def _list_planned(campaign: Campaign) -> Iterator[PlannedCell]:
    """The same without that of the control rows."""
    for cell in list_cells(campaign):
        yield cell if campaign.search is None else pace_cell(cell, campaign.search.highest_bits_per_s)


def _check_caps(campaign: Campaign, engine: str) -> Iterator[Finding]:
    if load_rules(engine).capabilities.keeps_host_caps:
        return
    for name in campaign.measured_hosts:
        host = campaign.hosts.get(name)
        caps = {} if host is None else {"max_rate": host.max_rate_bits_per_s, "max_bytes": host.max_bytes}
        for key, cap in caps.items():
            if cap is not None:
                yield ("hosts", name, key), f"{engine} does not keep it; expected no {key}, or another engine"


def _check_message_rates(campaign: Campaign) -> Iterator[Finding]:
    """Caps on rates slow a stream of bytes down; messages have a rate of their own, or none."""
    expected = "a message_rate instead, or no message"
    if campaign.budget.rate_bits_per_s is not None:
        yield ("budget", "rate"), f"messages are not paced; expected {expected}"
    for name in campaign.measured_hosts:
        if name in campaign.hosts and campaign.hosts[name].max_rate_bits_per_s is not None:
            yield ("hosts", name, "max_rate"), f"messages are not paced; expected {expected}"


def _check_cells(campaign: Campaign, cells: tuple[PlannedCell, ...]) -> list[Finding]:
    """What limits a plan, against what its cells take."""
    rows = [PlanRow(row=0, cycle=0, path=path, cell=cell) for path in campaign.paths for cell in cells]
    estimator = Estimator(campaign)
    trials = 1 if campaign.search is None else campaign.search.rule.trials_expected
    sizes = [estimator.trial(row).bytes_max for row in rows]
    times_ns = [estimator.trial(row).time_ns for row in rows]
    unbounded = {row.cell.engine for row, size in zip(rows, sizes, strict=True) if size is None}
    return [
        *_check_bytes(campaign, sizes),
        *_check_unbounded(campaign, unbounded),
        *_check_hours(campaign, max(times_ns)),
        *_check_period(campaign, estimator.span_ns(rows) * trials),
    ]


def _check_bytes(campaign: Campaign, sizes: list[int | None]) -> Iterator[Finding]:
    """A plan of unknown size may run: the budget ends it."""
    known = [size for size in sizes if size is not None]
    budget = campaign.budget
    if len(known) < len(sizes):
        return
    planned = sum(known) * campaign.cycles_least
    if budget.bytes_per_campaign is not None and planned > budget.bytes_per_campaign:
        yield (
            ("budget", "bytes_per_campaign"),
            f"the plan may send {format_bytes(planned)}, "
            f"more than {format_bytes(budget.bytes_per_campaign)}; "
            "expected fewer or shorter trials, a rate, or a larger budget",
        )
    if budget.bytes_per_day is not None and max(known) > budget.bytes_per_day:
        yield (
            ("budget", "bytes_per_day"),
            f"one trial may send {format_bytes(max(known))}, more than {format_bytes(budget.bytes_per_day)} "
            "a day; expected shorter trials, a rate, or a larger budget",
        )


def _check_unbounded(campaign: Campaign, engines: Collection[str]) -> Iterator[Finding]:
    """An engine that does not count while it runs cannot be stopped at a number of bytes."""
    for key in ("bytes_per_campaign", "bytes_per_day"):
        for engine in sorted(engines) if getattr(campaign.budget, key) is not None else ():
            if not load_rules(engine).capabilities.counts_while_running:
                yield (
                    ("budget", key),
                    f"{engine} cannot stop at a byte limit, and no rate limits it; "
                    "expected budget.rate as well, or the path's capacity",
                )


def _check_hours(campaign: Campaign, longest_ns: int) -> Iterator[Finding]:
    hours = campaign.budget.day_hours
    open_ns = max((part.length_minutes for part in hours), default=0) * 60 * SECOND_NS
    if hours and longest_ns > open_ns:
        yield (
            ("budget", "hours"),
            f"one trial takes {format_time(longest_ns)}, longer than any of these hours; "
            "expected longer hours or shorter trials",
        )


def _check_period(campaign: Campaign, cycle_ns: int) -> Iterator[Finding]:
    if campaign.every_ns is not None and cycle_ns > campaign.every_ns:
        yield (
            ("every",),
            f"one cycle takes about {format_time(cycle_ns)}, "
            f"longer than {format_time(campaign.every_ns)}; expected a longer period or fewer trials",
        )


def _check_loaded_rtt(campaign: Campaign) -> Iterator[Finding]:
    """A limit that only a probe without an answer could exceed would act on nothing that was measured."""
    limit_ns, timeout_ns = campaign.safety_limits.loaded_rtt_ns, campaign.probes.timeout_ns
    if limit_ns is not None and limit_ns >= timeout_ns:
        yield (
            ("safety_limits", "loaded_rtt"),
            f"{format_time(limit_ns)} is not below the time-out of the probes, {format_time(timeout_ns)}; "
            f'expected probes.timeout = "{format_time(3 * limit_ns)}" or more, or a lower limit',
        )


def _check_rate(campaign: Campaign) -> Iterator[Finding]:
    cap, levels = campaign.budget.rate_bits_per_s, campaign.factors.levels("pacing_bits_per_s")
    if cap is not None and any(isinstance(level, int) and level > cap for level in levels):
        yield (
            ("factors", "pacing"),
            "a level is above the rate that the budget allows; expected levels up to budget.rate",
        )
