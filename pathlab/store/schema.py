"""Tables made from the records, and the way of one record into a row and back."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import math
import operator
import re
import types
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy.engine import RowMapping

from pathlab.errors import UsageError
from pathlab.quantities import name_unit
from pathlab.store.columns import Column
from pathlab.store.records import (
    CampaignRecord,
    HostRecord,
    JournalRecord,
    OriginRecord,
    PlanRecord,
    TrialRecord,
)

FORMAT_VERSION = 1
APPLICATION_ID = 0x504C4142  # "PLAB" in the header of the SQLite file

Record = TypeVar("Record")
DEPTH_MAX = 100  # levels of a JSON value; what writes one anew goes down by recursion
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """What stands for a value that cannot be read; ``reason`` goes on from the name of its column."""

    reason: str


def decode_text(stored: bytes) -> Any:
    """A text of the file, ``Unreadable`` where it is not UTF-8 (the text factory of every connection)."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return Unreadable(reason="is not UTF-8")


class JsonText(sa.types.TypeDecorator[Any]):
    """A dict, or a tuple of texts, kept as JSON text."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, *, as_tuple: bool = False) -> None:
        super().__init__()
        self.as_tuple = as_tuple

    def process_bind_param(self, value: Any, _dialect: sa.Dialect) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False)

    def process_result_value(self, value: Any, _dialect: sa.Dialect | None) -> Any:
        """The dict or tuple of texts; ``Unreadable`` for anything else, so that its row can be named."""
        if value is None or isinstance(value, Unreadable):
            return value
        try:
            loaded = _JSON.decode(value)
            if value.count("{") + value.count("[") > DEPTH_MAX and is_deeper(loaded, DEPTH_MAX):
                return Unreadable(reason="is nested too deeply")
            if _SURROGATE.search(value):  # half of a pair can be read, and written nowhere
                json.dumps(loaded, ensure_ascii=False).encode()
        except (ValueError, TypeError, RecursionError):
            return Unreadable(reason="is not JSON")
        if not self.as_tuple:
            return loaded if isinstance(loaded, dict) else Unreadable(reason="is JSON of another type")
        if isinstance(loaded, list) and all(isinstance(item, str) for item in loaded):
            return tuple(loaded)
        return Unreadable(reason="is JSON of another type")


def read_back(value: Any, base: type) -> Any:
    """A value of a column of that type as it is read again; ``Unreadable`` where it cannot be."""
    if base is str:
        return value if value.isascii() or _is_unicode(value) else Unreadable(reason="is not Unicode")
    if base not in (dict, tuple):
        return value
    column = JsonText(as_tuple=base is tuple)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not _is_unicode(text):
        return Unreadable(reason="is not Unicode")
    return column.process_result_value(text, None)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_deeper(value: Any, levels: int) -> bool:
    """Whether a JSON value has more levels than that."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not levels or any(is_deeper(item, levels - 1) for item in inner if isinstance(item, (dict, list)))


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_JSON = json.JSONDecoder(parse_constant=_reject_constant)  # json.loads would make one for each value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """What a record says of one column; ``base`` is int, float, str, dict or tuple."""

    base: type
    nullable: bool
    meaning: str
    unit: str | None


_KNOWN_TYPES: dict[type, Mapping[str, ColumnType]] = {}  # to read annotations anew costs more than a row


def column_types(record: type) -> Mapping[str, ColumnType]:
    """Return the columns of a record, then those of its bases, from the annotations.

    Raises TypeError for a wrong one.
    """
    if record not in _KNOWN_TYPES:
        hints = get_type_hints(record, include_extras=True)
        names = [name for part in record.__mro__ for name in inspect.get_annotations(part)]
        _KNOWN_TYPES[record] = {name: _column_type(name, hints[name]) for name in names}
    return _KNOWN_TYPES[record]


def build_columns(record: type, *keys: str) -> list[sa.Column[Any]]:
    """Return one column per field of a record; ``keys`` names those of the primary key."""
    return [
        sa.Column(name, _SQL_TYPES[column.base](), primary_key=name in keys, nullable=column.nullable)
        for name, column in column_types(record).items()
    ]


def to_row(record: Any) -> dict[str, Any]:
    """Return a record as column values of the exact types of its annotations.

    Numbers of numpy are accepted. A float that is not finite was not measured and becomes None. Raises
    UsageError naming the column for a value that does not fit.
    """
    row: dict[str, Any] = {}
    for name, column_type in column_types(type(record)).items():
        value = getattr(record, name)
        try:
            row[name] = None if value is None else _CONVERTERS[column_type.base](value)
        except (TypeError, ValueError) as error:
            kind = column_type.base.__name__
            raise UsageError(
                f"column '{name}' of {type(record).__name__} takes {kind}, not {value!r}",
                hint="give a value of that type, or None for what was not measured",
            ) from error
        if row[name] is None and not column_type.nullable:
            raise UsageError(
                f"column '{name}' of {type(record).__name__} cannot be empty", hint="give a value"
            )
    return row


def from_row(record: type[Record], row: RowMapping | Mapping[str, Any]) -> Record:
    """Return the record that a row holds."""
    return record(**{name: row[name] for name in column_types(record)})


def _column_type(name: str, annotated: Any) -> ColumnType:
    hint, described = get_args(annotated) if get_origin(annotated) is Annotated else (annotated, "")
    meaning, unit = described if isinstance(described, Column) else (described, None)
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    bases = [part for part in parts if part is not type(None)]
    base = get_origin(bases[0]) or bases[0]
    if len(bases) != 1 or base not in _SQL_TYPES:
        raise TypeError(f"no column type for {hint}")
    return ColumnType(base=base, nullable=len(parts) > 1, meaning=meaning, unit=name_unit(name, unit))


def _read_int(value: Any) -> int:
    number = operator.index(value)
    if isinstance(value, bool) or not -(2**63) <= number < 2**63:
        raise ValueError("not a 64-bit integer")
    return number


def _read_float(value: Any) -> float | None:
    if isinstance(value, (bool, str)):
        raise TypeError("not a number")
    number = float(value)
    return number if math.isfinite(number) else None


def _read_str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return str(value)


def _read_tuple(value: Any) -> tuple[str, ...]:
    if not isinstance(value, tuple):
        raise TypeError("not a tuple")
    return tuple(_read_str(item) for item in value)


def _read_dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("not a dict")
    cleaned: dict[str, Any] = _clean(value)
    json.dumps(cleaned, allow_nan=False)
    return cleaned


def _clean(value: Any) -> Any:
    """JSON has no NaN: what is not finite was not measured."""
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, float):
        return _read_float(value)
    return value


_SQL_TYPES: Mapping[type, Any] = {
    int: sa.BigInteger,
    float: sa.Double,
    str: sa.Text,
    dict: JsonText,
    tuple: functools.partial(JsonText, as_tuple=True),
}
_CONVERTERS: Mapping[type, Any] = {
    int: _read_int,
    float: _read_float,
    str: _read_str,
    dict: _read_dict,
    tuple: _read_tuple,
}

METADATA = sa.MetaData()

# SQLite numbers rows by itself only for a key of exactly this type.
_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

META = sa.Table(
    "meta",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
CAMPAIGN = sa.Table("campaign", METADATA, *build_columns(CampaignRecord))
HOST = sa.Table("host", METADATA, sa.Column("host_id", _ROW_ID, primary_key=True), *build_columns(HostRecord))
PLAN = sa.Table("plan", METADATA, *build_columns(PlanRecord, "row"))
TRIAL = sa.Table(
    "trial",
    METADATA,
    sa.Column("trial_id", _ROW_ID, primary_key=True),
    *build_columns(TrialRecord),
    sa.ForeignKeyConstraint(["plan_row"], ["plan.row"]),
    sa.UniqueConstraint("plan_row", "attempt"),
)
SERIES = sa.Table(
    "series",
    METADATA,
    sa.Column("trial_id", sa.BigInteger, sa.ForeignKey("trial.trial_id"), primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),  # of the blob; Arrow itself would not see a flipped bit
    sa.Column("blob", sa.LargeBinary, nullable=False),
)
ORIGIN = sa.Table(
    "origin",
    METADATA,
    *build_columns(OriginRecord, "trial_id"),
    sa.ForeignKeyConstraint(["trial_id"], ["trial.trial_id"]),
    sa.UniqueConstraint("file_sha256", "part"),
)
JOURNAL = sa.Table(
    "journal", METADATA, sa.Column("journal_id", _ROW_ID, primary_key=True), *build_columns(JournalRecord)
)
#: The table of each record; a row is named by the first column of its primary key.
TABLES: Mapping[type, sa.Table] = {
    TrialRecord: TRIAL,
    PlanRecord: PLAN,
    HostRecord: HOST,
    CampaignRecord: CAMPAIGN,
    JournalRecord: JOURNAL,
    OriginRecord: ORIGIN,
}
