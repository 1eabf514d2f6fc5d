"""Show a campaign's trials in their order, its time and bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from pathlab.cli.choices import Choices
from pathlab.cli.completions import complete_campaign
from pathlab.cli.declaration import CHOICES, argument, declare, flag, json_flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import STORED_PATH
from pathlab.errors import UsageError
from pathlab.units import format_rate, format_ratio, format_time, format_volume

with DeferredImports() as libraries:
    import json

    from rich.console import Console

    from pathlab.campaign.budget import (
        PROBE_SHARE_MAX_RATIO,
        CampaignEstimate,
        Estimator,
        PathEstimate,
        estimate_campaign,
        find_probe_share,
    )
    from pathlab.campaign.conduct_model import format_stop_rule
    from pathlab.campaign.design import count_cells
    from pathlab.campaign.factors import format_level, format_levels, name_levels
    from pathlab.campaign.model import Campaign
    from pathlab.campaign.order import PlanRow, plan_rows
    from pathlab.campaign.search_model import TRIALS_LEAST, SearchSettings
    from pathlab.cli.console import TerminalConsole
    from pathlab.printed_table import PrintedParagraph, PrintedTable
    from pathlab.runner.campaign.link_shares import LinkShare, share_links
    from pathlab.runner.hosts.window_limits import find_short_windows, record_own_limits
    from pathlab.table_columns import TableColumn


#: By how much trials vary where no pilot shows it: standard deviation of the logarithm of throughput.
ASSUMED_NOISE_RATIO = 0.05
#: Factors besides streams and window that have a column of their own; more of them share one.
COLUMNS_MAX = 3


def show_plan(
    campaign: str, shown: int, *, show_all: bool, as_json: bool, pilot: Path | None, **choices: Any
) -> None:
    """Show the plan of CAMPAIGN: its trials in their order, the time and the bytes they will take.

    CAMPAIGN is a TOML file or the name of a shipped campaign (`pathlab campaigns list`).
    """
    model = Choices(**choices).load(campaign)
    libraries.load()
    rows = plan_rows(model)
    if as_json:
        _print_json(model, rows)
        return
    console = TerminalConsole()
    _print_rows(model, rows, len(rows) if show_all else shown, console)
    estimate = estimate_campaign(model, rows)
    short = find_short_windows(rows, record_own_limits(model))
    sums, power = _list_sums(model, estimate), _describe_power(model, pilot)
    for sentence in (*sums, *power, *_list_probe_shares(model), *short):
        console.print(PrintedParagraph(sentence))
    for path in estimate.paths:
        console.print(PrintedParagraph(_path_text(path), mark="  "))
    if model.lab is not None and len(model.lab.links) > 1:
        for share in share_links(model, rows, estimate.time_ns):
            console.print(PrintedParagraph(_link_text(share), mark="  "))


def _print_json(model: Campaign, rows: Sequence[PlanRow]) -> None:
    estimator = Estimator(model)
    for row in rows:
        estimate = estimator.trial(row)
        line = {
            "row": row.row,
            "cycle": row.cycle,
            "source": row.path.source,
            "destination": row.path.destination,
            **row.settings,
            "estimate_ns": estimate.time_ns,
            "bytes_max": estimate.bytes_max,
        }
        click.echo(json.dumps(line))


def _print_rows(model: Campaign, rows: Sequence[PlanRow], shown: int, console: Console) -> None:
    profile = f", profile '{model.profile}'" if model.profile else ""
    title = f"{model.title}: plan of '{model.name}', seed {model.seed}{profile}"
    names, others, constant = _arrange_factors(model, rows)
    columns = [
        TableColumn("order"),
        TableColumn("cycle", priority=1),
        TableColumn("path", priority=2, left=True, constant="{}" if len(model.paths) == 1 else ""),
        *(TableColumn(name, left=name == "congestion") for name in name_levels(dict.fromkeys(names))),
        TableColumn("other factors", wraps=True),
        TableColumn("time", priority=3),
        TableColumn("bytes at most", priority=4),
    ]
    estimator = Estimator(model)
    texts = []
    for row in rows[:shown]:
        estimate, levels = estimator.trial(row), row.cell.levels
        texts.append(
            (
                f"{row.row + 1}{' control' if row.control else ''}",
                str(row.cycle + 1),
                f"{row.path.source} to {', '.join(row.path.hosts[1:])}",
                *(format_level(name, levels[name]) for name in names),
                _format_levels(row, others),
                format_time(estimate.time_ns),
                _bytes_text(estimate.bytes_max),
            )
        )
    if shown:
        PrintedTable(columns=columns, rows=texts, title=title, elsewhere="--json").print_to(console)
        if constant:
            console.print(PrintedParagraph(f"In all trials: {_format_levels(rows[0], constant)}."))
    if len(rows) > shown:
        console.print(f"{len(rows) - shown} {'more ' if shown else ''}rows (--all shows every row).")


def _arrange_factors(model: Campaign, rows: Sequence[PlanRow]) -> tuple[list[str], list[str], list[str]]:
    """The factors that have a column, those that share one, and those that are the same in all rows."""
    given = model.factors.given
    ends = {"window_sender_bytes", "window_receiver_bytes"} & set(given)
    always = ["streams"] if ends else ["streams", "window_bytes"]
    cells = {id(row.cell): row.cell for row in rows}.values()
    extra = [name for name in given if name not in ("streams", "window_bytes")]
    varying = [name for name in extra if len({getattr(cell, name) for cell in cells}) > 1]
    constant = [name for name in extra if name not in varying]
    if len(varying) <= COLUMNS_MAX:
        return [*always, *varying], [], constant
    return always, varying, constant


def _format_levels(row: PlanRow, names: Sequence[str]) -> str:
    levels = format_levels({name: row.cell.levels[name] for name in names})
    return ", ".join(f"{key} {text}" for key, text in levels.items())


def _bytes_text(size_bytes: int | None) -> str:
    return "unknown" if size_bytes is None else format_volume(size_bytes)


def _list_sums(model: Campaign, estimate: CampaignEstimate) -> Iterator[str]:
    at_cap = format_time(estimate.time_max_ns)
    until = (
        ""
        if model.until_ratio is None
        else f", fewer if {format_stop_rule(model.until_ratio)} is reached earlier"
    )
    if model.search is not None:
        yield from _list_search_sums(model.search, estimate)
    else:
        yield f"{estimate.trials} trials{until}, about {format_time(estimate.time_ns)}, at most {at_cap}."
    cells = count_cells(model)
    if model.points is not None and cells < model.points:
        yield (
            f"{cells} of {model.points} requested points are left: others were drawn twice or violate the "
            "constraints."
        )
    if model.every_ns is not None:
        yield (
            f"A cycle begins every {format_time(model.every_ns)}: "
            f"the last one after about {format_time((model.cycles_planned - 1) * model.every_ns)}."
        )
    if model.budget.hours:
        yield f"Trials run only within {', '.join(model.budget.hours)} (local time)."
    if estimate.bytes_max is None:
        yield (
            "Bytes sent: unknown without a rate or a round-trip time "
            "(set `capacity` and `rtt` of the paths, or `rate` in [budget])."
        )
    else:
        yield f"Bytes sent: at most {format_volume(estimate.bytes_max)}."
    if model.retries:
        times = "once" if model.retries == 1 else f"up to {model.retries} times"
        yield f"Failed trials are extra: each is repeated {times}."


def _list_probe_shares(model: Campaign) -> Iterator[str]:
    """Paths of which probes take more than a hundredth, and an interval that takes less."""
    estimator = Estimator(model)
    for path in model.paths:
        facts = estimator.find_facts(path)
        rates = [item for item in (facts.rate_bits_per_s, facts.reverse_bits_per_s) if item is not None]
        share = find_probe_share(model.probes, min(rates)) if rates else 0.0
        if share > PROBE_SHARE_MAX_RATIO:
            slower_ms = math.ceil(model.probes.interval_ns * share / PROBE_SHARE_MAX_RATIO / 1e6)
            yield (
                f"Probes take {format_ratio(share)} of the {format_rate(min(rates))} from {path.source} to "
                f"{path.destination}. To take 1 % at most: probes.interval={slower_ms}ms."
            )


def _describe_power(model: Campaign, pilot: Path | None) -> Iterator[str]:
    """The difference that a random order within cycles lets a plan find."""
    # load numpy
    from pathlab.analysis.planning.cycles import MINIMUM_CYCLES, POWER_RATIO, find_detectable_ratio
    from pathlab.study.base.trials import is_order_drawn

    if not is_order_drawn(model.to_stored()) or count_cells(model) < 2:
        return
    noise = ASSUMED_NOISE_RATIO if pilot is None else _read_noise(pilot)
    varies = f"trials vary by {format_ratio(noise)} ({'assumed' if pilot is None else pilot})"
    ratio = find_detectable_ratio(model.cycles_planned, noise)
    if ratio is None:
        yield f"Too few cycles to compare combinations: {MINIMUM_CYCLES} are needed."
    else:
        cycles, chance = model.cycles_planned, format_ratio(POWER_RATIO)
        yield (
            f"If {varies}, {cycles} cycles find a difference of {format_ratio(ratio - 1)} between two "
            f"combinations in {chance} of campaigns."
        )


def _read_noise(pilot: Path) -> float:
    from pathlab.store.results import Results
    from pathlab.study.base.trials import read_study_trials
    from pathlab.study.flows.noise import measure_noise

    with Results.open(pilot) as results:
        noise = measure_noise(read_study_trials(results))
    if not noise:
        raise UsageError(
            f"'{pilot}' does not show by how much trials vary",
            hint="name results with two cycles of two combinations, or leave out --pilot",
        )
    return noise


def _list_search_sums(search: SearchSettings, estimate: CampaignEstimate) -> Iterator[str]:
    """How many searches and trials, and what each search does."""
    rule = search.rule
    searches = estimate.trials // rule.trials_expected
    times = format_time(estimate.time_ns), format_time(estimate.time_max_ns)
    yield (
        f"{searches} searches of about {rule.trials_expected} trials each (at most {rule.trials_bound}), "
        f"about {times[0]}, at most {times[1]}. The rows above are the first trial of each."
    )
    yield (
        f"Each finds the highest rate from {format_rate(rule.lowest_bits_per_s)} to "
        f"{format_rate(rule.highest_bits_per_s)} with a loss of {format_ratio(rule.loss_ratio)} at most, "
        f"within {format_ratio(rule.resolution_ratio)}; {TRIALS_LEAST} to {rule.trials_max} trials "
        f"at each of about {rule.steps + 2} rates."
    )


def _path_text(path: PathEstimate) -> str:
    text = f"{path.source} to {path.destination}: {path.trials} trials, bytes {_at_most(path.bytes_max)}"
    if path.share_ratio is not None:
        share = format_ratio(min(1.0, path.share_ratio))
        text += f"; on average at most {share} of {format_rate(path.rate_bits_per_s)}"
    return text


def _link_text(share: LinkShare) -> str:
    link = f"link {share.number + 1}, {share.source} to {share.destination}"
    part = format_ratio(min(1.0, share.share_ratio))
    return f"{link}: on average at most {part} of {format_rate(share.rate_bits_per_s)}"


def _at_most(size_bytes: int | None) -> str:
    return "unknown" if size_bytes is None else f"at most {format_volume(size_bytes)}"


#: Rows printed by default; with all of them the sums would scroll out of sight.
ROWS_SHOWN = 50

command = declare(
    "plan",
    show_plan,
    argument("campaign", shell_complete=complete_campaign),
    *CHOICES,
    option("--rows", "shown", type=click.IntRange(0), default=ROWS_SHOWN, help="Rows to print; 0: none."),
    flag("--all", "show_all", help="Print every row."),
    option(
        "--pilot",
        type=STORED_PATH,
        metavar="RESULTS",
        help="Earlier results that show by how much trials vary; without: 5 % is assumed.",
    ),
    json_flag("Print the rows as JSON lines."),
)
