"""What columns a stored series has to have for its readers: their names, types and what may be missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pathlab.store.columns import SERIES_COLUMNS, kind_of

#: Columns without which a series means nothing; those of ``_WHOLE`` have a value in every row.
_NEEDED: Mapping[str, Sequence[str]] = {
    "intervals": ("index", "start_ns", "end_ns", "stream"),
    "tcp_info_raw": ("index", "stream", "tcp_info"),
    "workers": ("index", "start_ns", "end_ns", "worker"),
    "loaded_probes": ("sent_ns", "rtt_ns"),
    "unloaded_probes": ("sent_ns", "rtt_ns"),
}
_WHOLE: Mapping[str, Sequence[str]] = {
    "intervals": ("index", "phase", "start_ns", "end_ns", "stream", "bytes"),
    "workers": ("index", "start_ns", "end_ns", "worker"),
}
_TEXTS = frozenset(
    {
        *("phase", "stamps", "name", "interface", "handle", "parent", "kind"),
        *("requested", "sender", "receiver", "address", "fingerprint", "direction"),
    }
)


def find_column_fault(kind: str, table: pa.Table, *, whole: bool = True) -> str | None:
    """Return what keeps a series from being read as what it is stored as, None where nothing does.

    ``whole``: the table has every column that was stored.
    """
    name = kind_of(kind)
    known = SERIES_COLUMNS.get(name, {})
    seen = {*table.column_names}
    for field in table.schema:
        if field.name in known and not _is_fit(field):
            return f"column '{field.name}' is of the type {field.type}"
    missing = [column for column in _NEEDED.get(name, ()) if column not in seen] if whole else []
    if missing:
        return f"column '{missing[0]}' is not there"
    gaps = [column for column in _WHOLE.get(name, ()) if column in seen and table[column].null_count]
    if gaps:
        return f"column '{gaps[0]}' has rows without a value"
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    endless = [column for column in floats if pc.any(pc.is_inf(table[column])).as_py()]
    return f"column '{endless[0]}' holds an infinite number" if endless else None


def _is_fit(field: pa.Field) -> bool:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_null(kind):
        return True
    if field.name in _TEXTS:
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return _OTHER.get(field.name, _is_number)(field.type)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


_OTHER: Mapping[str, Callable[[pa.DataType], bool]] = {
    "delivery_rate_app_limited": lambda kind: bool(pa.types.is_boolean(kind)) or _is_number(kind),
    "tcp_info": lambda kind: bool(pa.types.is_binary(kind)),
    "reasons": lambda kind: bool(pa.types.is_list(kind) and pa.types.is_string(kind.value_type)),
}
