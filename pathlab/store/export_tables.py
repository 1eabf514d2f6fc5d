"""Tables and series of results as the formats Parquet and CSV write them, one file each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from pathlab.errors import StoreError
from pathlab.quantities import name_unit
from pathlab.store.exporting import Selection
from pathlab.store.records import HostRecord, JournalRecord, OriginRecord, PlanRecord, TrialRecord
from pathlab.store.schema import column_types
from pathlab.store.series import decode_schema, decode_series
from pathlab.store.series_columns import SERIES_KINDS, find_series_kind
from pathlab.store.usable import USABLE, USABLE_MEANING, describe_record

PLANNED = "planned_"
_ARROW: dict[type, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    dict: pa.string(),
    tuple: pa.list_(pa.string()),
}
_PLANNED_TYPES = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
#: Rows of one kind that are gathered before they are written.
_BATCH_ROWS = 250_000


def build_tables(selection: Selection) -> Iterator[tuple[str, pa.Table]]:
    """Yield each table of the results by its name; origins only where there are any."""
    rows = []
    for trial in selection.trials:
        planned = {f"{PLANNED}{name}": value for name, value in trial.settings.items()}
        rows.append({"trial_id": trial.trial_id, **describe_record(trial.record), **planned})
    fields = [
        _TRIAL_ID,
        *(_FLAGS if field.name == _FLAGS.name else field for field in _record_fields(TrialRecord)),
    ]
    fields.append(_field(USABLE, pa.bool_(), USABLE_MEANING, None))
    yield "trials", _build_table(rows, fields, selection)
    plan = [asdict(row) for row in selection.results.plan()]
    journal = [asdict(entry) for entry in selection.results.journal()]
    yield "journal", _build_table(journal, _record_fields(JournalRecord))
    yield "plan", _build_table(plan, _record_fields(PlanRecord))
    hosts = [asdict(host) for host in selection.results.hosts()]
    yield "hosts", _build_table(hosts, _record_fields(HostRecord))
    origins = [asdict(trial.origin) for trial in selection.trials if trial.origin is not None]
    if origins:
        yield "origins", _build_table(origins, _record_fields(OriginRecord))


def _build_table(
    rows: Sequence[dict[str, Any]], fields: list[pa.Field], selection: Selection | None = None
) -> pa.Table:
    if selection is not None:
        fields = [*fields, *_planned_fields(selection)]
    columns = []
    for field in fields:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_string(field.type):
            values = [v if v is None or isinstance(v, str) else _format_json(v) for v in values]
        columns.append(pa.array(values, field.type))
    return pa.table(columns, schema=pa.schema(fields))


def _planned_fields(selection: Selection) -> list[pa.Field]:
    """One column per factor; whole numbers, numbers or truths where all its levels are that, else text."""
    levels: dict[str, list[Any]] = {}
    for trial in selection.trials:
        for name, value in trial.settings.items():
            levels.setdefault(name, []).append(value)
    fields = []
    for name, values in sorted(levels.items()):
        kinds: set[type] = {type(value) for value in values} - {type(None)}
        chosen = pa.string()
        if len(kinds) == 1:
            chosen = _PLANNED_TYPES.get(next(iter(kinds)), chosen)
        elif kinds == {int, float}:
            chosen = pa.float64()
        fields.append(_field(f"{PLANNED}{name}", chosen, f"level of the factor {name}", name_unit(name)))
    return fields


def _record_fields(record: type) -> list[pa.Field]:
    columns = column_types(record).items()
    return [_field(name, _ARROW[column.base], column.meaning, column.unit) for name, column in columns]


def _field(name: str, kind: pa.DataType, meaning: str | None, unit: str | None) -> pa.Field:
    known = {"unit": unit, "description": meaning}
    return pa.field(name, kind, metadata={key: text for key, text in known.items() if text})


_FLAGS = _field("flags", pa.string(), column_types(TrialRecord)["flags"].meaning, None)
_TRIAL_ID = _field("trial_id", pa.int64(), "number of the trial in its file", None)


def list_kinds(selection: Selection) -> list[str]:
    """The kinds of series to be exported."""
    if not selection.with_series:
        return []
    kept = {kind for trial in selection.trials for kind in trial.kinds}
    return [kind for kind in SERIES_KINDS if kind in kept]


def series_schema(selection: Selection, kind: str) -> pa.Schema:
    """Every column that any trial kept of this kind."""
    schemas: list[pa.Schema] = []
    for _, blob in _chosen_blobs(selection, kind):
        schema = decode_schema(kind, blob)
        if not any(schema.equals(known) for known in schemas):
            schemas.append(schema)
    try:
        merged = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise StoreError(
            f"series '{kind}' has a column of one type in one trial and of another in the next",
            hint="export the trials apart, with --trial, or as jsonl",
        ) from error
    known = find_series_kind(kind).columns
    fields = []
    for field in merged:
        column = known.get(field.name)
        unit = column.unit if column else name_unit(field.name)
        fields.append(_field(field.name, field.type, column.meaning if column else None, unit))
    return pa.schema([_TRIAL_ID, *fields])


def _chosen_blobs(selection: Selection, kind: str) -> Iterator[tuple[int, bytes]]:
    chosen = {trial.trial_id for trial in selection.trials}
    return ((number, blob) for number, blob in selection.results.stream_series(kind) if number in chosen)


def series_batches(selection: Selection, kind: str, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of every trial in turn, several trials at a time."""
    gathered: list[pa.Table] = []
    rows = 0
    for trial_id, blob in _chosen_blobs(selection, kind):
        table = decode_series(kind, blob)
        number = pa.array(np.full(table.num_rows, trial_id), pa.int64())
        columns = [
            table[field.name].cast(field.type)
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in list(schema)[1:]
        ]
        gathered.append(pa.table([number, *columns], schema=schema))
        rows += table.num_rows
        if rows >= _BATCH_ROWS:
            yield pa.concat_tables(gathered).combine_chunks()
            gathered, rows = [], 0
    if gathered:
        yield pa.concat_tables(gathered).combine_chunks()


def _format_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
