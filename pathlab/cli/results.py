"""``pathlab results``: list, show, merge, prune and check stored results."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pathlab.cli.console import TerminalConsole
from pathlab.errors import StoreError
from pathlab.report.source import format_utc
from pathlab.store.archive import Listing, check_results, list_results, merge_results, prune_results
from pathlab.store.results import Results
from pathlab.units import format_bytes, format_rate, format_time, format_volume, parse_time_ns

_DAY_NS = 86_400_000_000_000


def list_folder(folder: Path, *, as_json: bool) -> None:
    """Print the results below a folder, and those that cannot be read with the reason."""
    listings = list_results(folder)
    if as_json:
        click.echo(json.dumps([{**asdict(one), "path": str(one.path)} for one in listings], indent=2))
        return
    if not listings:
        click.echo(f"no results in '{folder}'")
        return
    console = TerminalConsole()
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("Folder", "Campaign", "Made", "Complete", "Failed", "Size"):
        table.add_column(heading, justify="right" if heading in ("Complete", "Failed", "Size") else "left")
    for one in listings:
        if one.problem is None:
            table.add_row(*_spell_listing(one))
    if table.row_count:
        console.print(table)
    for one in listings:
        if one.problem is not None:
            console.print(f"{one.path}: {one.problem}", soft_wrap=True)


def _spell_listing(one: Listing) -> tuple[str, ...]:
    return (
        str(one.path),
        one.name or "",
        format_utc(one.created_utc or ""),
        f"{one.complete} of {one.planned}",
        str(one.failed),
        format_volume(one.size_bytes),
    )


def show(results: Path, *, as_json: bool) -> None:
    """Print what the results hold: campaign, every trial, where imported ones come from."""
    with Results.open(results) as stored:
        if as_json:
            click.echo(json.dumps(_describe(stored), indent=2))
            return
        console = TerminalConsole()
        campaign = stored.campaign
        console.print(Text.assemble((campaign.title, "bold"), f" ({campaign.name})"))
        console.print(
            f"made {format_utc(campaign.created_utc)} by PathLab {campaign.program_version}; "
            f"format {stored.format_version}; {format_volume(stored.path.stat().st_size)}"
        )
        _print_trials(stored, console)
        for number, origin in stored.origins().items():
            version = f" {origin.program_version}" if origin.program_version else ""
            text = f"{number}: {origin.program}{version}, {origin.part} of {origin.file_name}"
            console.print(f"trial {text} (SHA-256 {origin.file_sha256[:12]}…)", soft_wrap=True)


def _describe(stored: Results) -> dict[str, object]:
    statuses = Counter(record.status for record in stored.records())
    return {
        "path": str(stored.path),
        "format_version": stored.format_version,
        "campaign": {
            key: getattr(stored.campaign, key)
            for key in ("name", "title", "digest", "created_utc", "program_version")
        },
        "planned": len(stored.plan()),
        "unfinished": len(stored.unfinished()),
        "trials": dict(sorted(statuses.items())),
        "origins": [asdict(origin) for origin in stored.origins().values()],
        "size_bytes": stored.path.stat().st_size,
    }


def _print_trials(stored: Results, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("Trial", "Path", "Cycle", "Streams", "Window", "Throughput", "Loaded RTT", "Status"):
        wide = heading in ("Path", "Status")
        least = len("interrupted") if heading == "Status" else None
        table.add_column(heading, justify="left" if wide else "right", no_wrap=not wide, min_width=least)
    numbers = [int(number) for number in stored.trials()["trial_id"]]
    for number, record in zip(numbers, stored.records(), strict=True):
        window = record.window_asked_bytes
        cells = (
            str(number),
            f"{record.path_source} → {record.path_destination}",
            str(record.cycle + 1),
            str(record.streams),
            "auto" if window is None else format_bytes(window),
            format_rate(record.throughput_bits_per_s),
            format_time(record.loaded_rtt_median_ns),
            record.status if record.failure is None else f"{record.status}: {record.failure}",
        )
        table.add_row(*cells)
    console.print(table)


def merge(results: tuple[Path, ...], out: Path) -> None:
    """Make one results folder of several, and print it."""
    click.echo(str(merge_results(list(results), out)))


def prune(results: Path, age: str | None, *, failed: bool, dry_run: bool) -> None:
    """Take failed trials, or series older than ``age``, out of the results, and print how many."""
    before = None
    if age is not None:
        age_ns = _parse_age_ns(age)
        before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(microseconds=age_ns // 1000)
    with Results.open(results, write=True) as stored:
        done = prune_results(stored, failed=failed, series_before=before, dry_run=dry_run)
    verb = "would go" if dry_run else "are gone"
    click.echo(f"{done.trials} trials and {done.series} series {verb}")
    if done.size_after_bytes is not None:
        click.echo(
            f"{format_volume(done.size_before_bytes)} before, {format_volume(done.size_after_bytes)} now"
        )


def _parse_age_ns(text: str) -> int:
    """A time; ``d`` stands for days, which other times have no use for."""
    if text.endswith("d") and text[:-1].isdecimal() and len(text) < 7:
        return int(text[:-1]) * _DAY_NS
    return parse_time_ns(text)


def check(results: tuple[Path, ...]) -> None:
    """Print what is damaged in each of the results. Raises StoreError if one is."""
    damaged = 0
    for path in results:
        found = check_results(path)
        for fault in found.faults:
            click.echo(f"{path}: {fault}")
        if found.faults:
            damaged += 1
        else:
            click.echo(f"{path}: sound ({found.trials} trials, {found.series} series)")
    if damaged:
        raise StoreError(
            f"{damaged} of {len(results)} results files are damaged",
            hint="What still reads can be saved: pathlab export RESULTS --format csv",
        )
