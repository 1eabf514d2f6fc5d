"""Results of one campaign: one folder, one file, one transaction per trial."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex

import pyarrow as pa
import sqlalchemy as sa

from pathlab.errors import PathlabError, StoreError, UsageError
from pathlab.files import make_folder
from pathlab.store.capture_files import StoredCapture, read_captures
from pathlab.store.check import check_results
from pathlab.store.column_reader import BATCH_ROWS, ColumnBatch, OddValueError, filter_columns, stream_columns
from pathlab.store.database import create_database, open_engine, read_meta
from pathlab.store.faults import translate_faults
from pathlab.store.location import DATABASE_NAME, locate_database
from pathlab.store.lock import FolderLock, name_lock
from pathlab.store.older_files import add_missing_columns
from pathlab.store.records import (
    CampaignRecord,
    HostRecord,
    JournalRecord,
    OriginRecord,
    PlanRecord,
    TrialRecord,
)
from pathlab.store.row_check import build_row, check_rows, has_contradictions, name_damage, read_records
from pathlab.store.rows import (
    check_stored_kind,
    encode_blobs,
    has_result,
    insert_trial,
    read_stored_series,
    stream_blobs,
)
from pathlab.store.schema import (
    CAMPAIGN,
    HOST,
    JOURNAL,
    ORIGIN,
    PLAN,
    SERIES,
    TRIAL,
    Record,
    column_types,
)
from pathlab.store.series import SeriesError, check_kind
from pathlab.store.trial_table import (
    build_filter,
    build_series_frame,
    build_trial_frame,
    parse_trial_id,
    select_trials_where,
)
from pathlab.store.usable import describe_record

if TYPE_CHECKING:
    import pandas as pd


class Results:
    """A results file, open for reading, or for writing by this process alone.

    Made by ``create`` and ``open``; a context manager. Every method raises StoreError when the file cannot
    be read or written; what was stored before is never lost by that.
    """

    def __init__(
        self, database: Path, engine: sa.Engine, meta: Mapping[str, str], lock: FolderLock | None
    ) -> None:
        self.path = database
        self.format_version = int(meta["format_version"])
        self.program_version = meta.get("program_version", "unknown")
        self._engine = engine
        self._lock = lock
        self._writable = lock is not None
        self._lent: set[sa.Connection] = set()
        self._held: sa.Connection | None = None
        with self.reading() as connection:
            rows = connection.execute(sa.select(CAMPAIGN)).all()
        if not rows:
            raise StoreError(
                f"'{database}' holds no campaign", hint="run the campaign again into another folder"
            )
        self.campaign = read_records(CampaignRecord, rows, database)[0]

    @classmethod
    def create(cls, folder: str | Path, campaign: CampaignRecord, plan: Sequence[PlanRecord]) -> Results:
        """Make a results folder with its plan and return it, open for writing.

        Raises StoreError when the folder already holds results, or another process writes it.
        """
        folder = Path(folder)
        database = folder / DATABASE_NAME
        with translate_faults(database):
            make_folder(folder)
            _check_no_results(database)
            lock = FolderLock(folder)
        try:
            _check_no_results(database)
            create_database(database, campaign, plan)
            engine = open_engine(database, write=True)
            return cls(database, engine, read_meta(engine, database), lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, path: str | Path, *, write: bool = False, wait_s: float = 0.0, hold: bool = False) -> Self:
        """Open a results folder, or the file inside one; for reading or writing.

        Another writer is waited for up to ``wait_s``. With ``hold`` one thread reads all of it as it is now,
        through one connection; else the file is opened for each query.

        A file that lacks columns of this version has them, empty; writing adds them to it. Raises StoreError:
        missing, not PathLab's, of another format or version, or being written by another process.
        """
        database = locate_database(Path(path))
        lock = None
        if write:
            if database.is_symlink():
                raise StoreError(
                    f"results file '{database}' is a symbolic link, through which nothing is written",
                    hint=f"name the folder that it leads to: {database.resolve().parent}",
                )
            read_meta(open_engine(database, write=False), database)  # before anything is written
            with translate_faults(database):
                lock = FolderLock(database.parent, name_lock(database), wait_s=wait_s)
        try:
            engine = open_engine(database, write=write)
            meta = read_meta(engine, database)
            add_missing_columns(engine, database, meta.get("program_version", "unknown"), write=write)
            result = cls(database, engine, meta, lock)
            if hold:
                with translate_faults(database):
                    result._held = engine.connect()
                    result._lent.add(result._held)
            return result
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        for connection in list(self._lent):
            connection.close()  # held, or of a stream that nobody read to its end
        self._held = None
        self._engine.dispose()
        self._writable = False
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Close; where reading ended by an error that nobody foresaw, say whether the file is damaged.

        Values can contradict each other in more ways than can be looked for at every reading. Raises
        StoreError naming the first fault of a damaged file; a sound file's error passes.
        """
        reading = self._lock is None
        self.close()
        foreseen = isinstance(error, PathlabError) and not isinstance(error, SeriesError)
        if not reading or not isinstance(error, Exception) or foreseen:
            return
        if faults := check_results(self.path).faults:
            raise name_damage(self.path, faults[0]) from error

    @property
    def folder(self) -> Path:
        """The results folder."""
        return self.path.parent

    def plan(self, *, cycle: int | None = None) -> list[PlanRecord]:
        """Return the plan, or one cycle of it, in its order of execution."""
        query = sa.select(PLAN).order_by(PLAN.c.row)
        return self._read(PlanRecord, query if cycle is None else query.where(PLAN.c.cycle == cycle))

    def find_plan_end(self) -> tuple[int, int]:
        """Return the last row of the plan and the last cycle of a trial; -1 where there is none."""
        columns = PLAN.c.row, TRIAL.c.cycle
        with self.reading() as connection:
            result = [connection.execute(sa.select(sa.func.max(column))).scalar() for column in columns]
        row, cycle = (-1 if number is None else int(number) for number in result)
        return row, cycle

    def unfinished(self) -> list[PlanRecord]:
        """Return the plan rows that have no complete trial and none of another program, in order."""
        return self._read(PlanRecord, sa.select(PLAN).where(~has_result()).order_by(PLAN.c.row))

    def add_plan_row(self, row: PlanRecord) -> None:
        """Store a row that follows from earlier trials, behind all others.

        When this returns, the row is on the disk. Raises StoreError where its number is taken.
        """
        with self.writing(f"row {row.row} of the plan: planned already") as connection:
            connection.execute(sa.insert(PLAN), build_row(row))

    def attempts(self) -> dict[int, int]:
        """Return the highest attempt stored for each plan row that has one."""
        query = sa.select(TRIAL.c.plan_row, sa.func.max(TRIAL.c.attempt)).group_by(TRIAL.c.plan_row)
        with self.reading() as connection:
            return {int(row): int(attempt) for row, attempt in connection.execute(query)}

    def add_host(self, host: HostRecord) -> None:
        """Store the facts of one host."""
        with self.writing(f"host '{host.name}'") as connection:
            connection.execute(sa.insert(HOST), build_row(host))

    def hosts(self) -> list[HostRecord]:
        """Return the facts of every host, as they were recorded, in that order."""
        return self._read(HostRecord, sa.select(HOST).order_by(HOST.c.host_id))

    def add_journal(self, entry: JournalRecord) -> None:
        """Store one entry of the journal."""
        with self.writing(f"journal entry '{entry.kind}'") as connection:
            connection.execute(sa.insert(JOURNAL), build_row(entry))

    def journal(self) -> list[JournalRecord]:
        """Return what happened to the runs of this campaign, in order."""
        return self._read(JournalRecord, sa.select(JOURNAL).order_by(JOURNAL.c.journal_id))

    def add_trial(
        self,
        trial: TrialRecord,
        series: Mapping[str, pa.Table],
        *,
        origin: OriginRecord | None = None,
        put_files: Callable[[int], object] | None = None,
    ) -> int:
        """Store one trial with its series in one transaction and return its id.

        ``origin`` says where an imported trial comes from; its number is replaced. ``put_files`` puts the
        files of a trial of this number in their place before it is committed. When this returns, the trial is
        on the disk. Raises UsageError for a value, a kind of series or a series that does not fit or that a
        reader would refuse, StoreError when the trial could not be stored.
        """
        row, blobs = build_row(trial), encode_blobs(series)
        subject = f"attempt {trial.attempt} of plan row {trial.plan_row}: not planned, or stored already"
        with self.writing(subject) as connection:
            number = insert_trial(connection, row, blobs)
            if origin is not None:
                known = dataclasses.replace(origin, trial_id=number)
                connection.execute(sa.insert(ORIGIN), build_row(known))
            if put_files is not None:
                put_files(number)
        return number

    def trials(self, **where: Any) -> pd.DataFrame:
        """Return trials as a data frame, one typed column per field and ``trial_id``; missing stays missing.

        ``where`` names columns: a value selects equal ones, a list, array or Series any of its values, None
        what was not measured; of ``flags``, trials that bear one of those named, None those without any.
        ``flags`` is a text such as ``lab;window-short``; ``usable`` says whether medians count the trial.
        ``started_utc`` is a timestamp; as text it selects trials too. Raises UsageError for a column that
        does not exist.
        """
        return build_trial_frame(self.stream_trials(**where))

    def records(self, **where: Any) -> list[TrialRecord]:
        """Return trials as records, in the order in which they were stored; ``where`` as in ``trials``."""
        return list(self.records_by_id(**where).values())

    def records_by_id(self, **where: Any) -> dict[int, TrialRecord]:
        """Return trials as ``records``, by their numbers."""
        names = tuple(column_types(TrialRecord))
        result: dict[int, TrialRecord] = {}
        for batch in self.stream_trials(**where):
            rows = zip(*(batch[name] for name in names), strict=True)
            for number, values in zip(batch["trial_id"], rows, strict=True):
                result[number] = TrialRecord(**dict(zip(names, values, strict=True)))
        return result

    def stream_trials(self, *, after: int = 0, **where: Any) -> Iterator[ColumnBatch]:
        """Yield trials by column, some thousand at a time; ``where`` as in ``trials``.

        ``after``: only those with a higher number. All other ways to read trials rest on this one.
        """
        query, keep = select_trials_where(where), build_filter(where)
        if after:
            query = query.where(TRIAL.c.trial_id > after)
        try:
            with self.reading() as connection:
                for batch in stream_columns(connection, TrialRecord, query, TRIAL.c.keys()):
                    if has_contradictions(batch):
                        raise OddValueError
                    yield batch if keep is None else filter_columns(batch, keep(batch))
        except OddValueError:
            self._name_damaged_trial(query)

    def record(self, trial_id: SupportsIndex) -> TrialRecord:
        """Return one trial. Raises UsageError when there is none of that id."""
        number = parse_trial_id(trial_id)
        result = self.records(trial_id=number)
        if not result:
            raise UsageError(
                f"there is no trial {number} in '{self.path}'",
                hint="`pathlab results show` lists them; in Python: results.trials()",
            )
        return result[0]

    def series_kinds(self, trial_id: SupportsIndex) -> tuple[str, ...]:
        """Return the kinds of series that a trial kept, by name."""
        number = parse_trial_id(trial_id)
        query = sa.select(SERIES.c.kind).where(SERIES.c.trial_id == number).order_by(SERIES.c.kind)
        with self.reading() as connection:
            return tuple(check_stored_kind(self.path, kind) for kind in connection.execute(query).scalars())

    def all_series_kinds(self) -> dict[int, tuple[str, ...]]:
        """Return the kinds of series that each trial kept, by name; a trial without any is left out."""
        query = sa.select(SERIES.c.trial_id, SERIES.c.kind).order_by(SERIES.c.trial_id, SERIES.c.kind)
        kinds: dict[int, tuple[str, ...]] = {}
        with self.reading() as connection:
            for number, kind in connection.execute(query):
                kinds[number] = (*kinds.get(number, ()), check_stored_kind(self.path, kind))
        return kinds

    def origins(self, numbers: range | None = None) -> dict[int, OriginRecord]:
        """Return where imported trials come from, by trial; ``numbers``: only of these trials."""
        query = sa.select(ORIGIN).order_by(ORIGIN.c.trial_id)
        if numbers is not None:
            query = query.where(ORIGIN.c.trial_id.between(numbers.start, numbers.stop - 1))
        return {origin.trial_id: origin for origin in self._read(OriginRecord, query)}

    def captures(self, numbers: range | None = None) -> list[StoredCapture]:
        """Return the captures that trials have by their columns; ``numbers``: only of these trials."""
        with self.reading() as connection:
            return list(read_captures(connection, self.folder, numbers))

    def stream_series(self, kind: str) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of every trial's series of one kind, by trial, for ``decode_series``.

        One query for all of them. Raises UsageError for an unknown kind, StoreError at a damaged series.
        """
        check_kind(kind)
        with self.reading() as connection:
            yield from stream_blobs(connection, self.path, kind)

    def series_table(self, trial_id: SupportsIndex, kind: str) -> pa.Table:
        """Return one series as the Arrow table that was stored.

        Raises UsageError for an unknown kind or trial, StoreError when the trial kept no such series or it is
        damaged.
        """
        check_kind(kind)
        result = self.series_tables(trial_id, {kind: None})
        if not result:
            self.record(trial_id)
            kept = ", ".join(self.series_kinds(trial_id)) or "none"
            raise StoreError(f"trial {trial_id} kept no series '{kind}'", hint=f"it kept: {kept}")
        return result[kind]

    def series_tables(
        self, trial_id: SupportsIndex, columns: Mapping[str, Sequence[str] | None]
    ) -> dict[str, pa.Table]:
        """Return those of a trial's series that it kept, as ``series_table`` with these columns alone.

        ``columns`` by kind, None: all; a column that a series does not have is left out.
        """
        number = parse_trial_id(trial_id)
        query = sa.select(SERIES).where(SERIES.c.trial_id == number, SERIES.c.kind.in_(list(columns)))
        with self.reading() as connection:
            result = connection.execute(query).all()
        return {row.kind: read_stored_series(self.path, row, columns[row.kind]) for row in result}

    def series(self, trial_id: SupportsIndex, kind: str) -> pd.DataFrame:
        """Return one series as a data frame with nullable columns, so that a lost probe stays missing.

        Raises as ``series_table``.
        """
        return build_series_frame(self.series_table(trial_id, kind))

    def export_record(self, trial_id: SupportsIndex) -> dict[str, Any]:
        """Return one trial as a dict that JSON can hold: its figures, its plan row, versions and campaign.

        Raises as ``record``.
        """
        number = parse_trial_id(trial_id)
        record = self.record(number)
        planned = self._read(PlanRecord, sa.select(PLAN).where(PLAN.c.row == record.plan_row))
        return {
            "format_version": self.format_version,
            "program_version": self.program_version,
            "campaign": {"name": self.campaign.name, "digest": self.campaign.digest},
            "plan": dataclasses.asdict(planned[0]) if planned else None,
            "trial": {"trial_id": number, **describe_record(record)},
            "series_kinds": list(self.series_kinds(number)),
        }

    def _read(self, record: type[Record], query: sa.Select[Any]) -> list[Record]:
        with self.reading() as connection:
            return read_records(record, connection.execute(query).all(), self.path)

    def _name_damaged_trial(self, query: sa.Select[Any]) -> NoReturn:
        """Raise StoreError for the first value of these trials that check_rows refuses."""
        with self.reading() as connection:
            for rows in connection.execute(query, execution_options={"yield_per": BATCH_ROWS}).partitions():
                check_rows(TrialRecord, rows, self.path)
        raise name_damage(self.path, "a trial has a value of another type than its column")

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Lend a connection for the parts of the store that read rows of their own. Raises StoreError."""
        with translate_faults(self.path):
            if self._held is not None:
                yield self._held
                return
            with self._engine.connect() as connection:
                self._lent.add(connection)
                try:
                    yield connection
                finally:
                    self._lent.discard(connection)

    @contextmanager
    def writing(self, subject: str) -> Iterator[sa.Connection]:
        """Lend a transaction for the parts of the store that write whole sets of rows.

        ``subject`` names what is stored, for a row that contradicts others. Raises UsageError when open for
        reading only, StoreError when it could not be stored; then nothing was.
        """
        if not self._writable:
            raise UsageError(f"'{self.path}' is open for reading only", hint="open it with write=True")
        with translate_faults(self.path, subject=subject), self._engine.begin() as connection:
            yield connection


def _check_no_results(database: Path) -> None:
    if database.exists():
        raise StoreError(
            f"folder '{database.parent}' already holds results",
            hint="run the same campaign again to continue them, or give another folder",
        )
