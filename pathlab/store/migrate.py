"""Older results files are brought to this program's format step by step; newer ones are refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import sqlalchemy as sa

from pathlab.errors import StoreError
from pathlab.store.schema import FORMAT_VERSION, META

Step = Callable[[sa.Connection], None]

_ORIGIN_OF_FORMAT_2 = """
CREATE TABLE origin (
    trial_id BIGINT NOT NULL, program TEXT NOT NULL, program_version TEXT, file_name TEXT NOT NULL,
    file_sha256 TEXT NOT NULL, part TEXT NOT NULL, imported_utc TEXT NOT NULL, details TEXT NOT NULL,
    PRIMARY KEY (trial_id), FOREIGN KEY(trial_id) REFERENCES trial (trial_id), UNIQUE (file_sha256, part)
)
"""


_JOURNAL_OF_FORMAT_2 = """
CREATE TABLE journal (
    journal_id INTEGER NOT NULL, recorded_utc TEXT NOT NULL, kind TEXT NOT NULL, plan_row BIGINT,
    text TEXT NOT NULL, facts TEXT NOT NULL, PRIMARY KEY (journal_id)
)
"""


def _add_origin_and_journal(connection: sa.Connection) -> None:
    # Spelled out: a step must go on making the format of its own time, whatever the records say later.
    connection.exec_driver_sql(_ORIGIN_OF_FORMAT_2)
    connection.exec_driver_sql(_JOURNAL_OF_FORMAT_2)


_BACK_OF_FORMAT_3 = ("received_back_steady_bytes BIGINT", "throughput_back_bits_per_s DOUBLE")


def _add_way_back(connection: sa.Connection) -> None:
    # Series stay as they are: their bytes say themselves whether they are packed or an Arrow stream.
    for column in _BACK_OF_FORMAT_3:
        connection.exec_driver_sql(f"ALTER TABLE trial ADD COLUMN {column}")


_COLUMNS_OF_FORMAT_4 = (
    "retransmitted_steady_segments BIGINT",
    "udp_sent_packets BIGINT",
    "udp_lost_packets BIGINT",
    "udp_jitter_ns DOUBLE",
)


def _add_steady_counts(connection: sa.Connection) -> None:
    for column in _COLUMNS_OF_FORMAT_4:
        connection.exec_driver_sql(f"ALTER TABLE trial ADD COLUMN {column}")


def _add_undelivered(connection: sa.Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE trial ADD COLUMN undelivered_bytes BIGINT")


# From the format that is the key to the next one. Format 1 is the first: nothing leads to it.
STEPS: Mapping[int, Step] = {
    1: _add_origin_and_journal,
    2: _add_way_back,
    3: _add_steady_counts,
    4: _add_undelivered,
}


def check_format(found: int, writer: str, *, wanted: int = FORMAT_VERSION, file: Path | None = None) -> bool:
    """Return whether a file has to be upgraded. Raises StoreError for a format newer than ``wanted``."""
    if found > wanted:
        raise StoreError(
            f"{_name_file(file)} has format {found}, written by PathLab {writer}; this program reads up to "
            f"format {wanted}",
            hint=f"Install PathLab {writer} or newer.",
        )
    return found < wanted


def upgrade(
    connection: sa.Connection,
    found: int,
    *,
    wanted: int = FORMAT_VERSION,
    steps: Mapping[int, Step] = STEPS,
    file: Path | None = None,
) -> None:
    """Run every step from ``found`` to ``wanted`` inside the caller's transaction; ``file`` is for messages.

    Raises StoreError, before anything is changed, when a step is missing: then the file is too old.
    """
    missing = [version for version in range(found, wanted) if version not in steps]
    if missing:
        raise StoreError(
            f"{_name_file(file)} has format {found}, and this program cannot upgrade from format "
            f"{missing[0]}; it reads format {wanted}",
            hint="Open it with an older PathLab, which upgrades it first.",
        )
    for version in range(found, wanted):
        steps[version](connection)
        is_format = META.c.name == "format_version"
        connection.execute(sa.update(META).where(is_format).values(value=str(version + 1)))


def _name_file(file: Path | None) -> str:
    return "the results file" if file is None else f"results file '{file}'"
