"""Results folders that are made and filled at once: whole, or not there."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathlab.errors import UsageError
from pathlab.store.capture_files import FOLDER
from pathlab.store.location import DATABASE_NAME
from pathlab.store.lock import LOCK_NAME
from pathlab.store.records import CampaignRecord, PlanRecord
from pathlab.store.results import Results


@contextlib.contextmanager
def create_whole(folder: Path, campaign: CampaignRecord, plan: Sequence[PlanRecord]) -> Iterator[Results]:
    """Lend a fresh results folder to be filled; when the block ends by an error, it is gone again.

    Raises UsageError where ``folder`` is a file, else as ``Results.create``.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"'{folder}' is a file, not a results folder", hint="name another folder")
    fresh, had_captures = not folder.exists(), (folder / FOLDER).exists()
    with Results.create(folder, campaign, plan) as results:
        try:
            yield results
        except BaseException:
            for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-shm", LOCK_NAME):
                (folder / name).unlink(missing_ok=True)
            if not had_captures:
                shutil.rmtree(folder / FOLDER, ignore_errors=True)
            if fresh:
                shutil.rmtree(folder, ignore_errors=True)
            raise
