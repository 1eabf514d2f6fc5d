"""Import files of iperf3, Flent, pScheduler, irtt and crusader."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from pathlab.cli.declaration import argument, declare, flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import PATH, WRITABLE_PATH
from pathlab.errors import StoreError
from pathlab.files import open_for_reading
from pathlab.store.location import DATABASE_NAME, RESULTS_ROOT
from pathlab.units import NOT_MEASURED, format_rate

with DeferredImports() as libraries:
    import hashlib

    from pathlab import __version__
    from pathlab.cli.console import TerminalConsole
    from pathlab.report.base.phrases import format_bounded_time
    from pathlab.store.flags import Status
    from pathlab.store.fresh import create_whole
    from pathlab.store.imported_trial import NOTES
    from pathlab.store.importing import ReadFile, read_file, store_files
    from pathlab.store.records import CampaignRecord
    from pathlab.store.results import Results


def import_files(
    files: tuple[Path, ...],
    into: Path | None,
    *,
    source: str | None,
    destination: str | None,
    title: str,
    keep_going: bool,
) -> None:
    """Import FILEs of iperf3 (--json, --json-stream), Flent, pScheduler, irtt and crusader.

    All files or none: each is read before anything is stored. Prints the results folder last.
    """
    for path in () if keep_going else files:
        try:
            open_for_reading(path).close()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            hint = "check the path and its permissions; --keep-going imports the other files"
            raise StoreError(f"'{path}' cannot be read: {reason}", hint=hint) from error
    libraries.load()
    read: list[ReadFile] = []
    for path in files:
        try:
            read.append(read_file(path, source=source, destination=destination))
        except StoreError as error:
            if not keep_going:
                raise
            click.echo(f"pathlab: left out: {error}", err=True)
    if not read:
        raise StoreError("no file could be imported", hint="see the reason for each file above")
    folder = into or _name_folder()
    _store(folder, read, title)
    console = TerminalConsole()
    for file in read:
        for trial in file.trials:
            record = trial.record
            rate = record.throughput_bits_per_s
            rtt = format_bounded_time(
                record.loaded_rtt_median_ns or record.unloaded_rtt_median_ns,
                record.loaded_rtt_median_above_ns or record.unloaded_rtt_median_above_ns,
            )
            what = format_rate(rate) if rate is not None else f"RTT {rtt}"
            if rate is None and rtt == NOT_MEASURED:
                what = "it contains no rate and no RTT"
            if record.status != Status.COMPLETE:
                what = f"{record.status}: {record.failure}"
            ends = f"{record.path_source} → {record.path_destination}"
            console.print(f"{file.document.name}: {record.engine_version}, {ends}, {what}", soft_wrap=True)
        for note in dict.fromkeys(note for trial in file.trials for note in trial.details.get(NOTES, ())):
            console.print(f"  note: {note}", soft_wrap=True)
    click.echo(str(folder))


def _store(folder: Path, read: list[ReadFile], title: str) -> None:
    if (folder / DATABASE_NAME).exists():
        with Results.open(folder, write=True) as results:
            store_files(results, read)
        return
    with create_whole(folder, _build_campaign(title), ()) as results:
        store_files(results, read)


def _build_campaign(title: str) -> CampaignRecord:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return CampaignRecord(
        name="imported",
        title=title,
        digest=hashlib.sha256(f"imported {now}".encode()).hexdigest(),
        text="",
        model={"name": "imported", "imported": True},
        seed=0,
        created_utc=now,
        program_version=__version__,
        environment={"lab": None, "fallback": None},
    )


def _name_folder() -> Path:
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    folder, number = RESULTS_ROOT / f"imported-{stamp}", 2
    while folder.exists():
        folder = RESULTS_ROOT / f"imported-{stamp}-{number}"
        number += 1
    return folder


command = declare(
    "import",
    import_files,
    argument("files", nargs=-1, required=True, type=PATH, metavar="FILE..."),
    option(
        "--into",
        type=WRITABLE_PATH,
        help="Results folder to add to, made if it does not exist; default: a new one under results.",
    ),
    option("--source", help="Call the sending host this, as a campaign does, so that paths compare."),
    option("--destination", help="Call the receiving host this."),
    option("--title", default="Imported measurements", help="Title of a new folder."),
    flag("--keep-going", help="Leave out files that cannot be read, and name them."),
)
