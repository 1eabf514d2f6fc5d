"""Files of any of the known programs into a results file: all of them in one transaction, or none."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import itertools
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa

from pathlab.errors import StoreError, UsageError
from pathlab.store import importers
from pathlab.store.import_cycles import continue_cycles, sort_by_time, time_trial
from pathlab.store.imported_trial import ImportedTrial, add_notes
from pathlab.store.iperf3_framing import is_event, is_of_iperf3
from pathlab.store.json_fields import DAMAGED, EMPTY, Document, GivenFile, load_document, parse_json
from pathlab.store.plain_text import describe_plain_text
from pathlab.store.records import OriginRecord, PlanRecord
from pathlab.store.results import Results
from pathlab.store.row_check import build_row
from pathlab.store.rows import encode_blobs, insert_trial
from pathlab.store.schema import ORIGIN, PLAN

#: Measurements that are read of one file, those of iperf3 counted as one.
GROUPS_MAX = 10_000
NOTES_MAX = 20


class Importer(Protocol):
    """A module of ``pathlab.store.importers``, which reads one program's files."""

    TITLE: str

    def read_trials(self, given: GivenFile) -> list[ImportedTrial] | None:
        """The trials of a file, None where another program wrote it. Raises StoreError."""


def list_importers() -> list[str]:
    """The names of all importers, in the order in which they are tried."""
    return sorted(module.name for module in pkgutil.iter_modules(importers.__path__))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A file that was understood, and the trials in it."""

    document: Document
    trials: tuple[ImportedTrial, ...]


def read_file(path: Path, *, source: str | None = None, destination: str | None = None) -> ReadFile:
    """Read one file of any program that has an importer; nothing is stored yet.

    ``source`` and ``destination`` rename the hosts of its forward direction. Raises StoreError in one line.
    """
    document = load_document(path)
    try:
        trials = _read_trials(document)
        for trial in trials:
            build_row(trial.record)
    except (OverflowError, UsageError) as error:
        raise StoreError(
            f"'{document.name}': a number is beyond 64 bits, or cannot be a measured value", hint=DAMAGED
        ) from error
    if source is not None or destination is not None:
        trials = [_rename(trial, source, destination) for trial in trials]
    return ReadFile(document=document, trials=tuple(trials))


def store_files(results: Results, files: Sequence[ReadFile]) -> list[int]:
    """Store every trial of every file in one transaction and return the trials' numbers.

    Raises UsageError for a file that was imported before or is given twice, StoreError when they cannot be
    stored; then none is.
    """
    _check_no_repeats(results, files)
    next_row = results.find_plan_end()[0] + 1
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    pairs = [(file.document, trial) for file in files for trial in file.trials]
    timed = [time_trial(trial.record, trial.settings) for _, trial in pairs]
    order = sort_by_time(timed)
    cycles = continue_cycles(results, [timed[index] for index in order])
    numbers = []
    with results.writing("imported trials") as connection:
        for cycle, (document, trial) in zip(cycles, [pairs[index] for index in order], strict=True):
            record = dataclasses.replace(trial.record, plan_row=next_row, cycle=cycle)
            next_row += 1
            row = PlanRecord(
                row=record.plan_row,
                cycle=record.cycle,
                path_source=record.path_source,
                path_destination=record.path_destination,
                settings=trial.settings,
            )
            connection.execute(sa.insert(PLAN), build_row(row))
            number = insert_trial(connection, build_row(record), encode_blobs(trial.series))
            origin = OriginRecord(
                trial_id=number,
                program=trial.program,
                program_version=trial.program_version,
                file_name=document.name,
                file_sha256=document.sha256,
                part=trial.part,
                imported_utc=now,
                details=trial.details,
            )
            connection.execute(sa.insert(ORIGIN), build_row(origin))
            numbers.append(number)
    return numbers


def _read_trials(document: Document) -> list[ImportedTrial]:
    """The trials of every measurement in a file, whatever is around it, with notes on what was left out."""
    name = document.name
    if not document.text.strip():
        raise StoreError(f"'{name}' is empty", hint=EMPTY)
    try:
        parsed = parse_json(document.text, name)
    except StoreError as fault:
        raise describe_plain_text(document) or fault from fault
    if parsed.fault is not None and parsed.is_damaged and any(is_event(value) for value, _ in parsed.values):
        raise parsed.fault  # an event is missing within a test
    notes = list(parsed.notes)
    trials: list[ImportedTrial] = []
    refused: StoreError | None = None
    unknown = 0
    known = [_load_importer(item) for item in list_importers()]
    groups = _group_values(parsed.values)
    for values in groups[:GROUPS_MAX]:
        given = GivenFile(document=document, values=values)
        try:
            result = next(
                (item for importer in known if (item := importer.read_trials(given)) is not None), None
            )
        except StoreError as error:
            if len(notes) < NOTES_MAX:
                notes.append(f"one measurement was left out: {error.message}")
            refused = refused or error
            continue
        if result is None:
            unknown += 1
        trials += _number_parts(result or (), {trial.part for trial in trials})
    if not trials:
        titles = ", ".join(importer.TITLE for importer in known)
        plain = describe_plain_text(document) if parsed.fault is not None else None
        raise (
            refused
            or plain
            or parsed.fault
            or StoreError(f"'{name}' is JSON, but of no known program", hint=f"give a file of {titles}")
        )
    unknown += len(groups[GROUPS_MAX:])
    if unknown:
        notes.append(f"{unknown} JSON {'value' if unknown == 1 else 'values'} of no known program left out")
    return [add_notes(trial, notes) for trial in trials]


def _group_values(values: Sequence[tuple[Any, int]]) -> list[list[tuple[Any, int]]]:
    """All that iperf3 wrote together, as it writes a test in many pieces; every other value for itself."""
    ours = [value for value in values if is_of_iperf3(value[0])]
    others = [[value] for value in values if not is_of_iperf3(value[0])]
    return [ours, *others] if ours else others


def _load_importer(name: str) -> Importer:
    module: Importer = importlib.import_module(f"{importers.__name__}.{name}")
    return module


def _number_parts(trials: Iterable[ImportedTrial], taken: set[str]) -> list[ImportedTrial]:
    """The trials with parts that are not taken in their file."""
    numbered = []
    for trial in trials:
        names = (f"{number}-{trial.part}" for number in itertools.count(2))
        part = trial.part if trial.part not in taken else next(name for name in names if name not in taken)
        taken.add(part)
        numbered.append(dataclasses.replace(trial, part=part))
    return numbered


def _rename(trial: ImportedTrial, source: str | None, destination: str | None) -> ImportedTrial:
    record = trial.record
    names = source, destination
    if trial.part.endswith("reverse"):
        names = destination, source
    record = dataclasses.replace(
        record,
        path_source=names[0] or record.path_source,
        path_destination=names[1] or record.path_destination,
    )
    return dataclasses.replace(trial, record=record)


def _check_no_repeats(results: Results, files: Sequence[ReadFile]) -> None:
    known = {origin.file_sha256: number for number, origin in results.origins().items()}
    seen: dict[str, str] = {}
    for file in files:
        document = file.document
        if document.sha256 in known:
            raise UsageError(
                f"'{document.name}' was imported before, as trial {known[document.sha256]}",
                hint="leave the file out",
            )
        if document.sha256 in seen:
            raise UsageError(
                f"'{document.name}' is the same file as '{seen[document.sha256]}'",
                hint="give each file once",
            )
        seen[document.sha256] = document.name
