"""Files of any of the known programs into a results file: all of them in one transaction, or none."""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pathlab.errors import StoreError, UsageError
from pathlab.store.importers import crusader, flent, iperf3, irtt, pscheduler
from pathlab.store.importers.document import NOTHING, CutOffError, Document, load_document, parse_json
from pathlab.store.importers.iperf3_text import is_event, is_output, join_outputs
from pathlab.store.importers.measured import ImportedTrial
from pathlab.store.records import OriginRecord, PlanRecord
from pathlab.store.results import Results
from pathlab.store.rows import encode_blobs, insert_trial
from pathlab.store.schema import ORIGIN, PLAN, to_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One program's files: whether a JSON value is one, and its trials (with the number of repeated keys)."""

    is_output: Callable[[Any], bool]
    read: Callable[[Any, Document, int], list[ImportedTrial]]


#: The programs by name, asked in this order.
IMPORTERS: Mapping[str, Importer] = {
    iperf3.PROGRAM: Importer(
        is_output=is_output,
        read=lambda value, document, repeated: iperf3.import_iperf3(value, document.name, repeated=repeated),
    ),
    flent.PROGRAM: Importer(
        is_output=flent.is_output,
        read=lambda value, document, _: flent.import_flent(value, document.name),
    ),
    irtt.PROGRAM: Importer(
        is_output=irtt.is_output, read=lambda value, document, _: irtt.import_irtt(value, document.name)
    ),
    crusader.PROGRAM: Importer(
        is_output=crusader.is_output,
        read=lambda value, document, _: crusader.import_crusader(value, document),
    ),
    pscheduler.PROGRAM: Importer(
        is_output=pscheduler.is_output,
        read=lambda value, document, _: pscheduler.import_pscheduler(value, document.name),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A file that was understood, and the trials in it."""

    document: Document
    trials: tuple[ImportedTrial, ...]


def read_file(path: Path, *, source: str | None = None, destination: str | None = None) -> ReadFile:
    """Read one file of iperf3, Flent, pScheduler, irtt or crusader; nothing is stored yet.

    ``source`` and ``destination`` rename the hosts of its forward direction. Raises StoreError in one line.
    """
    document = load_document(path)
    try:
        trials = _read_trials(document)
        for trial in trials:
            to_row(trial.record)
    except (OverflowError, UsageError) as error:
        raise StoreError(
            f"'{document.name}': a number is beyond 64 bits, or nothing that could be measured", hint=NOTHING
        ) from error
    if source is not None or destination is not None:
        trials = [_rename(trial, source, destination) for trial in trials]
    return ReadFile(document=document, trials=tuple(trials))


def store_files(results: Results, files: Sequence[ReadFile]) -> list[int]:
    """Store every trial of every file in one transaction and return the trials' numbers.

    Raises UsageError for a file that was imported before or is given twice, StoreError when they cannot be
    stored; then none is.
    """
    _refuse_repeats(results, files)
    plan = results.plan()
    next_row = max((row.row for row in plan), default=-1) + 1
    cycles = Counter(_condition(row.path_source, row.path_destination, row.settings) for row in plan)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    pairs = [(file.document, trial) for file in files for trial in file.trials]
    pairs.sort(key=lambda pair: pair[1].record.started_utc)
    numbers = []
    with results.writing("imported trials") as connection:
        for document, trial in pairs:
            record = trial.record
            condition = _condition(record.path_source, record.path_destination, trial.settings)
            record = dataclasses.replace(record, plan_row=next_row, cycle=cycles[condition])
            cycles[condition] += 1
            next_row += 1
            row = PlanRecord(
                row=record.plan_row,
                cycle=record.cycle,
                path_source=record.path_source,
                path_destination=record.path_destination,
                settings=trial.settings,
            )
            connection.execute(sa.insert(PLAN), to_row(row))
            number = insert_trial(connection, to_row(record), encode_blobs(trial.series))
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
            connection.execute(sa.insert(ORIGIN), to_row(origin))
            numbers.append(number)
    return numbers


def _read_trials(document: Document) -> list[ImportedTrial]:
    name = document.name
    if not document.text.strip():
        raise StoreError(f"'{name}' is empty", hint=NOTHING)
    values, fault = parse_json(document.text, name)
    cut = isinstance(fault, CutOffError)
    if len(values) > 1 or is_event(values[0][0]) or (cut and is_output(values[0][0])):
        outputs = join_outputs(values)
        if outputs is None or (fault is not None and not cut):
            raise fault or StoreError(
                f"'{name}' holds several JSON values, and not all of them are iperf3's", hint=NOTHING
            )
        # Of a file that was cut off, everything before is there: of the last test perhaps some intervals.
        return iperf3.import_outputs(outputs, name)
    if fault is not None:
        raise fault
    ((value, repeated),) = values
    for importer in IMPORTERS.values():
        if importer.is_output(value):
            return importer.read(value, document, repeated)
    raise StoreError(
        f"'{name}' is JSON of no program that is known here",
        hint=f"{NOTHING} Known: iperf3, Flent, pScheduler, irtt, crusader's JSON export.",
    )


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


def _refuse_repeats(results: Results, files: Sequence[ReadFile]) -> None:
    known = {origin.file_sha256: number for number, origin in results.origins().items()}
    seen: dict[str, str] = {}
    for file in files:
        document = file.document
        if document.sha256 in known:
            raise UsageError(
                f"'{document.name}' was imported before, as trial {known[document.sha256]}",
                hint=f"{NOTHING} Leave the file out.",
            )
        if document.sha256 in seen:
            raise UsageError(
                f"'{document.name}' is the same file as '{seen[document.sha256]}'",
                hint=f"{NOTHING} Give each file once.",
            )
        seen[document.sha256] = document.name


def _condition(source: str, destination: str, settings: dict[str, Any]) -> str:
    return repr((source, destination, sorted(settings.items())))
