"""What PathLab's own exports tell besides what their format has a place for, so that they come back whole."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.store.flags import Status
from pathlab.store.importers.document import Fields
from pathlab.store.records import TrialRecord
from pathlab.store.schema import column_types

#: Columns that say which row of a plan was measured, and how it ended: an import has a row of its own.
_OWN = {"plan_row", "attempt", "cycle", "status", "failed_stage", "failure", "flags", "engine_version"}
PATH_COLUMNS = ("path_source", "path_destination")
#: What intervals give once more, rounded, or though the trial had none: as it was exported.
STEADY_COLUMNS = ("steady_ns", "received_steady_bytes", "throughput_bits_per_s", "fairness_jain")
ADDRESS_COLUMNS = ("source_address", "destination_address")
_FLAG = re.compile(r"[a-z][a-z-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The settings of the plan row, the trial's flags, columns by name; how it ended where it failed."""

    settings: dict[str, Any]
    flags: tuple[str, ...]
    columns: dict[str, Any]
    failure: dict[str, str | None] | None = None  # status, failed_stage, failure


def list_columns(record: TrialRecord) -> dict[str, Any]:
    """The measured columns of a record as an export keeps them."""
    named = dataclasses.asdict(record)
    return {name: value for name, value in named.items() if name not in _OWN and value is not None}


def read_exported(fields: Fields) -> Exported | None:
    """What an export told, None where it was not PathLab's. Raises StoreError for values that cannot be."""
    if "settings" not in fields:
        return None
    settings = fields.sub("settings")
    for name, level in settings.value.items():
        if not isinstance(level, (str, int, float, bool, type(None))):
            settings.refuse(f"{settings.place}.{name} is neither a text nor a number")
    marks = fields.value.get("flags")
    if not isinstance(marks, list) or not all(isinstance(m, str) and _FLAG.fullmatch(m) for m in marks):
        fields.refuse(f"{fields.place}.flags is not a list of flags")
    failure = {name: fields.text(name) for name in ("status", "failed_stage", "failure")}
    failed = failure["status"] in (Status.FAILED, Status.INTERRUPTED)
    return Exported(
        settings=dict(settings.value),
        flags=tuple(marks),
        columns=_read_columns(fields),
        failure=failure if failed else None,
    )


def restore(record: TrialRecord, exported: Exported | None, *names: str) -> TrialRecord:
    """The record with what its file told apart: flags, path, and columns that the format has no place for.

    What the format itself told stays as it was read, save ``names`` and the path: a path is told in the
    direction of the data by the formats, and with a direction of its own by PathLab.
    """
    if exported is None:
        return record
    told = exported.columns
    missing = {name: value for name, value in told.items() if getattr(record, name) is None}
    named = {name: told[name] for name in (*PATH_COLUMNS, *names) if told.get(name) is not None}
    addresses = {name: told.get(name) for name in ADDRESS_COLUMNS}
    steady = {name: told.get(name) for name in STEADY_COLUMNS} if told else {}
    ended = exported.failure or {}
    flags = tuple(dict.fromkeys((*record.flags, *exported.flags)))
    return dataclasses.replace(record, **{**missing, **named, **addresses, **steady, **ended, "flags": flags})


def _read_columns(fields: Fields) -> dict[str, Any]:
    columns = fields.sub("columns")
    types: Mapping[str, Any] = column_types(TrialRecord)
    found: dict[str, Any] = {}
    for name in columns.names():
        if name in _OWN or name not in types:
            continue
        base = types[name].base
        read = {int: columns.whole, float: columns.number, str: columns.text}.get(base)
        if read is not None:
            found[name] = read(name)
    return found
