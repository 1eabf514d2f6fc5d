"""Results as files among others: what a folder holds, whether it is whole, and what may go."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import hashlib
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pathlab.errors import PathlabError, StoreError, UsageError
from pathlab.store.capture_files import ENDS, copy_captures, remove_captures
from pathlab.store.check import check_results
from pathlab.store.faults import translate_faults
from pathlab.store.flags import Status
from pathlab.store.fresh import create_whole
from pathlab.store.location import DATABASE_NAME
from pathlab.store.overview import count_stored_trials
from pathlab.store.records import PlanRecord
from pathlab.store.results import Results
from pathlab.store.row_check import name_damage
from pathlab.store.schema import CAMPAIGN, ORIGIN, SERIES, TRIAL

_COUNT_CAMPAIGNS = sa.select(sa.func.count()).select_from(CAMPAIGN)
#: Folders below the one that is listed in which results are looked for.
DEPTH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One results file at a glance; ``problem`` says why the rest is not known."""

    path: Path  # its folder, or the file where it is not named results.db
    size_bytes: int
    name: str | None = None
    title: str | None = None
    created_utc: str | None = None
    format_version: int | None = None
    planned: int | None = None
    complete: int | None = None  # plan rows with a complete trial
    failed: int | None = None  # trials that failed or were interrupted
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was, or would be, taken out."""

    trials: int
    series: int
    size_before_bytes: int
    size_after_bytes: int | None  # None: nothing was taken out


def list_results(folder: Path) -> list[Listing]:
    """Every results file in a folder and two levels below, oldest first; unreadable ones with their reason.

    Nothing is written. Raises StoreError when there is no such folder.
    """
    if not folder.is_dir():
        raise StoreError(f"there is no folder '{folder}'", hint="give the folder that holds results folders")
    listings = [_list_one(database) for database in find_databases(folder)]
    listings += [
        Listing(path=path, size_bytes=0, problem=f"folder '{path}' cannot be read: permission denied")
        for path in sorted(folder.glob("*/"))
        if not os.access(path, os.R_OK | os.X_OK)
    ]
    return sorted(listings, key=lambda listing: (listing.created_utc or "", str(listing.path)))


def prune_results(
    results: Results, *, failed: bool, series_before: datetime.datetime | None, dry_run: bool
) -> Pruned:
    """Delete failed and interrupted trials, and the series of trials begun before a time, permanently.

    Captures go with the series. A trial's figures stay when only its series go. Raises UsageError when
    nothing is named.
    """
    if not failed and series_before is None:
        raise UsageError("nothing is named to be pruned", hint="give --failed or --series-older-than")
    bad = sa.select(TRIAL.c.trial_id).where(TRIAL.c.status != Status.COMPLETE) if failed else None
    begun = _list_begun(results)
    old = [n for n, started in begun.items() if series_before is not None and started < series_before]
    before_bytes = results.path.stat().st_size
    with results.writing("what is left") as connection:
        failed_ids = set(connection.execute(bad).scalars()) if bad is not None else set()
        series_ids = failed_ids | set(old)
        series = _count_series(connection, series_ids)
        if not dry_run:
            for number in sorted(series_ids):
                connection.execute(sa.delete(SERIES).where(SERIES.c.trial_id == number))
            for number in sorted(failed_ids):
                for table in (ORIGIN, TRIAL):
                    connection.execute(sa.delete(table).where(table.c.trial_id == number))
            _forget_captures(connection, series_ids - failed_ids)
    after = None
    if not dry_run:
        freed_bytes = sum(remove_captures(results.folder, number) for number in series_ids)
        before_bytes += freed_bytes
        _shrink(results.path)
        after = results.path.stat().st_size
    return Pruned(
        trials=len(failed_ids), series=series, size_before_bytes=before_bytes, size_after_bytes=after
    )


def _forget_captures(connection: sa.Connection, numbers: set[int]) -> None:
    """Trials that are kept say that their captures are gone."""
    for end in ENDS:
        kept = TRIAL.c[f"capture_{end}_sha256"]
        gone = {f"capture_{end}_{name}": None for name in ("bytes", "sha256")}
        for number in sorted(numbers):
            changed = sa.update(TRIAL).where(TRIAL.c.trial_id == number, kept.is_not(None))
            connection.execute(changed.values({**gone, f"capture_{end}_missing": "pruned"}))


def merge_results(sources: list[Path], out: Path) -> Path:
    """Make a results folder of the trials of several, in that order, cycles counted on; return its path.

    Results of one campaign keep its name and text, of several the title names all; neither can be resumed.
    Raises StoreError or UsageError; then nothing is left behind.
    """
    if len(sources) < 2:
        raise UsageError("one results folder cannot be merged", hint="give two or more")
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(Results.open(path)) for path in sources]
        try:
            return _merge(opened, out)
        except UsageError as error:  # a value that no program stores: the file that holds it is damaged
            for results in opened:
                if faults := check_results(results.path).faults:
                    raise name_damage(results.path, faults[0]) from error
            raise


def _merge(opened: list[Results], out: Path) -> Path:
    first = opened[0].campaign
    digests = [results.campaign.digest for results in opened]
    # Another digest than any campaign's: a run that went on here would meet rows that it never planned.
    campaign = dataclasses.replace(first, digest=hashlib.sha256(" ".join(digests).encode()).hexdigest())
    if len(set(digests)) > 1:
        names = list(dict.fromkeys(results.campaign.name for results in opened))
        campaign = dataclasses.replace(
            campaign,
            title=f"Merged: {', '.join(names)}",
            model={"merged": [results.campaign.model for results in opened]},
            text="",
            environment=_join_environments([results.campaign.environment for results in opened]),
        )
    _check_distinct_imports(opened)
    plans = _renumber([results.plan() for results in opened])
    rows = [row for plan in plans for row in plan.values()]
    with create_whole(out, campaign, rows) as merged:
        for results, plan in zip(opened, plans, strict=True):
            _copy(results, merged, plan)
    return out


def _join_environments(environments: list[dict[str, Any]]) -> dict[str, Any]:
    """What holds for the trials of all: facts that are alike, and links of labs whose hosts no other one has.

    Between hosts of two labs, or of a lab and of none, nobody could tell which link a trial crossed.
    """
    first = environments[0]
    if all(environment == first for environment in environments):
        return first
    labs = [environment.get("lab") or {} for environment in environments]
    alike = {name: value for name, value in labs[0].items() if all(lab.get(name) == value for lab in labs)}
    apart = all(isinstance(environment.get("lab"), dict) for environment in environments)
    links = [
        link
        for lab in labs
        for link in lab.get("links", ())
        if all(lab == other or not _list_nodes(lab) & _list_nodes(other) for other in labs)
    ]
    unique = [link for number, link in enumerate(links) if link not in links[:number]]
    reasons = dict.fromkeys(environment.get("fallback") for environment in environments)
    text = "; ".join(str(reason) for reason in reasons if reason)
    return {"lab": {**alike, "links": unique} if apart and not text else None, "fallback": text or None}


def _list_nodes(lab: dict[str, Any]) -> set[str]:
    return {str(node) for link in lab.get("links", ()) for node in link.get("between", ("",))}


def _check_distinct_imports(opened: list[Results]) -> None:
    """One measurement must not count twice."""
    seen: dict[tuple[str, str], Path] = {}
    for number, results in enumerate(opened):
        if any(other.path.samefile(results.path) for other in opened[:number]):
            raise UsageError(f"'{results.folder}' is named twice", hint="name every folder once")
        for origin in results.origins().values():
            first = seen.setdefault((origin.file_sha256, origin.part), results.folder)
            if first != results.folder:
                raise UsageError(
                    f"'{origin.file_name}' ({origin.part}) was imported into both '{first}' and "
                    f"'{results.folder}'",
                    hint="import it into only one of them, then merge",
                )


def _renumber(plans: list[list[PlanRecord]]) -> list[dict[int, PlanRecord]]:
    """Each plan's rows by their old number, numbered on and with cycles counted on."""
    renumbered, next_row, next_cycle = [], 0, 0
    for plan in plans:
        moved = {}
        for row in plan:
            moved[row.row] = dataclasses.replace(row, row=next_row, cycle=row.cycle + next_cycle)
            next_row += 1
        next_cycle = max((row.cycle + 1 for row in moved.values()), default=next_cycle)
        renumbered.append(moved)
    return renumbered


def _copy(results: Results, merged: Results, plan: dict[int, PlanRecord]) -> None:
    for host in results.hosts():
        merged.add_host(host)
    for entry in results.journal():
        meant = plan.get(entry.plan_row) if entry.plan_row is not None else None
        merged.add_journal(dataclasses.replace(entry, plan_row=meant.row if meant else None))
    origins, kinds = results.origins(), results.all_series_kinds()
    for number, record in results.records_by_id().items():
        row = plan[record.plan_row]
        moved = dataclasses.replace(record, plan_row=row.row, cycle=row.cycle)
        series = {kind: results.series_table(number, kind) for kind in kinds.get(number, ())}
        place = functools.partial(copy_captures, results.folder, number, merged.folder)
        merged.add_trial(moved, series, origin=origins.get(number), put_files=place)


def find_databases(folder: Path) -> list[Path]:
    """Every file of the name of a results file, in a folder and ``DEPTH`` levels below."""
    patterns = ["/".join(["*"] * depth + [DATABASE_NAME]) for depth in range(DEPTH + 1)]
    return [path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file()]


def _list_one(database: Path) -> Listing:
    size_bytes = database.stat().st_size
    done = sa.select(sa.func.count(sa.distinct(TRIAL.c.plan_row))).where(TRIAL.c.status == Status.COMPLETE)
    try:
        with Results.open(database) as results:
            counts, campaign = count_stored_trials(results), results.campaign
            with results.reading() as connection:
                complete = int(connection.execute(done).scalar_one())
                campaigns = int(connection.execute(_COUNT_CAMPAIGNS).scalar_one())
    except PathlabError as error:
        return Listing(path=database.parent, size_bytes=size_bytes, problem=str(error))
    if campaigns > 1:
        problem = f"it holds {campaigns} campaigns"
        return Listing(path=database.parent, size_bytes=size_bytes, problem=problem)
    return Listing(
        path=database.parent,
        size_bytes=size_bytes,
        name=campaign.name,
        title=campaign.title,
        created_utc=campaign.created_utc,
        format_version=results.format_version,
        planned=counts.planned,
        complete=complete,
        failed=counts.trials - counts.by_status.get(Status.COMPLETE, 0),
    )


def _list_begun(results: Results) -> dict[int, datetime.datetime]:
    """When each trial was begun; without those whose time cannot be read."""
    frame = results.trials().dropna(subset=["started_utc"])
    begun = zip(frame["trial_id"], frame["started_utc"], strict=True)
    years = range(datetime.MINYEAR, datetime.MAXYEAR + 1)  # which a time zone can leave
    return {int(number): stamp.to_pydatetime() for number, stamp in begun if stamp.year in years}


def _count_series(connection: sa.Connection, numbers: set[int]) -> int:
    result = connection.execute(sa.select(SERIES.c.trial_id)).scalars()
    return sum(number in numbers for number in result)


def _shrink(database: Path) -> None:
    """Give the room back to the disk; the caller holds the folder's lock."""
    with translate_faults(database), contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
