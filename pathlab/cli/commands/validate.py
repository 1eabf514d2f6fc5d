"""Compare PathLab's engine with iperf3 over a path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pathlab.cli.declaration import (
    ACCEPT_KEYS,
    HOSTS_FILE,
    WAIT_IDLE,
    argument,
    declare,
    json_flag,
    option,
)
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.host_options import name_hosts, read_tables
from pathlab.cli.values import SECONDS, WRITABLE_PATH
from pathlab.errors import CampaignError, UsageError
from pathlab.units import NOT_MEASURED, format_rate

with DeferredImports() as models:
    from pathlab.campaign.host_file import put_hosts
    from pathlab.campaign.load import build_campaign
    from pathlab.campaign.model import Campaign

with DeferredImports() as libraries:
    import json
    import tempfile

    from rich.console import Console

    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.live import LiveView, continue_after_broken_pipe
    from pathlab.cli.outcome import check_complete_rows
    from pathlab.printed_table import PrintedParagraph, PrintedTable
    from pathlab.remote.hosts import build_access
    from pathlab.report.base.phrases import explain_cut, format_interval
    from pathlab.runner.campaign.folders import choose_folder
    from pathlab.runner.campaign.run import CampaignSource, run_campaign
    from pathlab.store.results import Results
    from pathlab.study.comparison.engine_ratio import EngineRatio, compare_engines
    from pathlab.table_columns import TableColumn


ENGINES = ("native", "iperf3")


def validate(
    source: str,
    destination: str,
    out: Path | None,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure from SOURCE to DESTINATION by PathLab's engine and by iperf3, interleaved.

    The ratio of the two throughputs is printed with its 95 % confidence interval for each number of streams;
    the interval needs six cycles or more. iperf3 (3.7 or newer) has to be installed on both hosts.
    """
    campaign = _build_interleaved_campaign(source, destination, options)
    libraries.load()
    access = build_access(accept_new_host_keys=options["accept_new_host_keys"])
    console = TerminalConsole(stderr=as_json)
    with tempfile.TemporaryDirectory(prefix="pathlab-") as scratch:
        folder = choose_folder(campaign, out=out or Path(scratch) / "validate", new=False)
        with LiveView(console, quiet=as_json) as view:
            idle_ns = options["wait_idle_ns"] or 0
            source_of_run = CampaignSource(campaign=campaign, text="", access=access, wait_idle_ns=idle_ns)
            outcome = run_campaign(source_of_run, folder, continue_after_broken_pipe(view))
        with Results.open(folder) as results:
            records = results.records()
            planned = {row.row: str(row.settings["engine"]) for row in results.plan()}
        engines = [planned[record.plan_row] for record in records]
        ratios = compare_engines(records, engines, pair=ENGINES)
        if as_json:
            click.echo(json.dumps({"format": 1, "ratios": [_describe(ratio) for ratio in ratios]}))
        else:
            _print_ratios(ratios, console)
        check_complete_rows(
            outcome, "run the same command again" if out is None else f"run the same command with --out {out}"
        )


def _build_interleaved_campaign(source: str, destination: str, options: dict[str, Any]) -> Campaign:
    """The campaign between two hosts of the hosts file or of a lab. UsageError names what cannot be used."""
    hosts: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    if options["lab"] is None:
        tables = read_tables(options["hosts_file"])
        named = name_hosts((source, destination), tables)
        hosts = {name: table for name, table in named if table is not None}
        source, destination = (name for name, _ in named)
    models.load()
    data = {**build_campaign_tables(source, destination, options), "hosts": hosts}
    try:
        put_hosts(data, tables)  # those to be jumped through
        return build_campaign(data, label="validate")
    except CampaignError as error:
        lines = [mistake.removeprefix("validate:") for mistake in error.mistakes]
        raise UsageError("; ".join(lines), hint="pathlab validate --help") from error


def build_campaign_tables(source: str, destination: str, options: dict[str, Any]) -> dict[str, Any]:
    """The campaign, as tables, that interleaves both engines in a random order within each cycle."""
    words = str(options["streams"]).split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise UsageError(
            f"--streams: '{options['streams']}' is not a list of numbers", hint='such as "1,4,16"'
        )
    return {
        "format": 1,
        "name": "validate",
        "title": f"native and iperf3 from {source} to {destination}",
        "seed": 1,
        "cycles": options["cycles"],
        "paths": [{"source": source, "destination": destination}],
        "factors": {
            "streams": [int(word) for word in words],
            "congestion": options["congestion"] or "default",
            "engine": list(ENGINES),
        },
        "trial": {"warmup": f"{options['warmup_ns']}ns", "duration": f"{options['duration_ns']}ns"},
        "probes": {"interval": "20ms", "unloaded": 5},
        **({} if options["lab"] is None else {"lab": {"topology": options["lab"]}}),
    }


def _describe(ratio: EngineRatio) -> dict[str, Any]:
    return {
        "streams": ratio.streams,
        "pairs": ratio.pairs,
        f"{ENGINES[0]}_bits_per_s": ratio.first_bits_per_s,
        f"{ENGINES[1]}_bits_per_s": ratio.second_bits_per_s,
        "ratio": ratio.ratio,
        "ratio_low": ratio.interval.low,
        "ratio_high": ratio.interval.high,
        "ratio_cut": ratio.interval.cut,
        "method": ratio.interval.method,
    }


def _format_ratio(ratio: float | None) -> str:
    return NOT_MEASURED if ratio is None else f"{ratio:.3f}"


def _print_ratios(ratios: tuple[EngineRatio, ...], console: Console) -> None:
    columns = (
        TableColumn("streams"),
        TableColumn("pairs", priority=3),
        *(TableColumn(engine, priority=2) for engine in ENGINES),
        TableColumn(" / ".join(ENGINES)),
        TableColumn("95 % CI", priority=1),
    )
    rows = []
    for ratio in ratios:
        interval = ratio.interval
        bounds = "undecided"
        if interval.decided:
            bounds = format_interval(interval, _format_ratio)
        rates = (format_rate(ratio.first_bits_per_s), format_rate(ratio.second_bits_per_s))
        rows.append((str(ratio.streams), str(ratio.pairs), *rates, _format_ratio(ratio.ratio), bounds))
    console.print()
    PrintedTable(columns=columns, rows=rows, elsewhere="--json").print_to(console)
    note = "Medians over cycles with both engines; bytes counted by the receiver in the steady window."
    cut = explain_cut(ratio.interval for ratio in ratios)
    console.print(PrintedParagraph(f"{note} {cut}".strip()))


command = declare(
    "validate",
    validate,
    argument("source"),
    argument("destination"),
    option("--streams", default="1,4,16", help="Numbers of streams, with commas."),
    option("--cycles", type=click.IntRange(1, 1000), default=7, help="Pairs of each."),
    option("--time", "duration_ns", type=SECONDS, default="5s", help="Steady window of each trial."),
    option("--warmup", "warmup_ns", type=SECONDS, default="2s", help="Traffic before the steady window."),
    option("--congestion", help="Congestion control of both, such as cubic; else the system's."),
    option("--lab", metavar="NAME", help="Hosts of this ready-made lab (`pathlab lab list`)."),
    WAIT_IDLE,
    HOSTS_FILE,
    ACCEPT_KEYS,
    option("--out", type=WRITABLE_PATH, help="Keep the results in this folder."),
    json_flag("Print the ratios as JSON."),
)
